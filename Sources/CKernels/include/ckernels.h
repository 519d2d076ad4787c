/* SIMD kernels for the CPU backend: one table of functions for each instruction set level, all of one shape.
 *
 * Arrays are dense f32 unless a parameter says otherwise; strides count floats. No function allocates, keeps state or reads
 * beyond its arguments. Where work is to be shared between threads, a function takes the part it is to do. */
#ifndef COREAI_CKERNELS_H
#define COREAI_CKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __clang__
#define _Nonnull
#define _Nullable
#endif

/* Widens IEEE half-precision numbers; exact. `count` elements each, the arrays may not overlap. */
void coreai_widen_half(const uint16_t *_Nonnull source, float *_Nonnull target, size_t count);

/* Rounds to half precision, to nearest even; overflow to infinity. `count` elements each, no overlap. */
void coreai_narrow_half(const float *_Nonnull source, uint16_t *_Nonnull target, size_t count);

/* Asks for huge pages where the system has them on request. `memory` is aligned to a page. */
void coreai_advise_huge_pages(void *_Nonnull memory, size_t count);

/* MARK: What follows a product or a convolution while its sums are in registers */

typedef enum {
    COREAI_ACTIVATION_NONE,
    COREAI_ACTIVATION_CLAMP,       /* min(max(x, low), high) */
    COREAI_ACTIVATION_LEAKY,       /* x < 0 ? low * x : x */
    COREAI_ACTIVATION_HARD_SWISH,  /* x * min(max(x + 3, 0), 6) / 6 */
    COREAI_ACTIVATION_HARD_SIGMOID, /* min(max(low * x + high, 0), 1) */
    COREAI_ACTIVATION_SIGMOID,
    COREAI_ACTIVATION_SILU,
    COREAI_ACTIVATION_TANH,
    COREAI_ACTIVATION_GELU,        /* x * (1 + erf(x / sqrt 2)) / 2 */
    COREAI_ACTIVATION_GELU_TANH
} coreai_activation;

/* y = activation(sum + bias + residual) */
typedef struct {
    const float *_Nullable bias;      /* one for each column (output channel) */
    const float *_Nullable residual;  /* a row for each row of the result, `residual_stride` apart */
    ptrdiff_t residual_stride;
    coreai_activation activation;
    float low, high;
} coreai_epilogue;

/* MARK: Products and convolutions */

/* A matrix of `depth` rows and `columns` columns as `gemm_pack` leaves it: panels of `panel` columns. */
typedef struct {
    const float *_Nonnull data;       /* aligned to 64 bytes */
    int depth, columns, panel;
} coreai_panels;

/* A convolution of one image, channels last. Sizes in pixels; `*_stride` of x and y between neighbouring pixels, in floats;
 * rows of pixels are dense: row r begins at r * width * stride. */
typedef struct {
    int height, width, channels;
    int out_height, out_width, out_channels;
    int kernel_height, kernel_width;
    int stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
    ptrdiff_t x_stride, y_stride;
} coreai_convolution;

/* MARK: Pointwise programs */

typedef enum {
    COREAI_PW_ADD, COREAI_PW_SUB, COREAI_PW_MUL, COREAI_PW_DIV, COREAI_PW_MIN, COREAI_PW_MAX, COREAI_PW_POW,
    COREAI_PW_MOD, COREAI_PW_EQUAL, COREAI_PW_NOT_EQUAL, COREAI_PW_GREATER, COREAI_PW_AND, COREAI_PW_OR,
    COREAI_PW_SELECT,              /* a != 0 ? b : c */
    COREAI_PW_FMA,                 /* a * b + c, rounded once */
    COREAI_PW_NEG, COREAI_PW_ABS, COREAI_PW_SIGN, COREAI_PW_SQRT, COREAI_PW_RSQRT, COREAI_PW_EXP, COREAI_PW_EXP2,
    COREAI_PW_LOG, COREAI_PW_SIN, COREAI_PW_COS, COREAI_PW_TANH, COREAI_PW_ERF, COREAI_PW_FLOOR, COREAI_PW_CEIL,
    COREAI_PW_ROUND,               /* to nearest, ties to even */
    COREAI_PW_TRUNC, COREAI_PW_NOT, COREAI_PW_IS_NAN,
    COREAI_PW_SIGMOID, COREAI_PW_SILU, COREAI_PW_GELU, COREAI_PW_GELU_TANH, COREAI_PW_HARD_SWISH,
    COREAI_PW_CLAMP,               /* min(max(a, b), c) */
    COREAI_PW_ROUND_HALF,          /* to the nearest IEEE half and back */
    COREAI_PW_ROUND_BFLOAT         /* to the nearest bfloat16 and back */
} coreai_pointwise_code;

/* One step: registers are numbered from 0, first the operands, then the constants, then one for each step.
 * A truth value is 1 or 0. */
typedef struct {
    int32_t code;
    int32_t a, b, c;               /* registers; unused ones are 0 */
} coreai_pointwise_step;

typedef enum { COREAI_PW_FLOAT, COREAI_PW_HALF, COREAI_PW_BFLOAT, COREAI_PW_BOOL } coreai_pointwise_type;

#define COREAI_PW_MAX_RANK 6
#define COREAI_PW_MAX_REGISTERS 64 /* operands, constants and steps together; nothing is done for programs of more */

/* A tensor as the program reads it over the result's shape; strides are 0 where it is broadcast. */
typedef struct {
    int32_t type;                  /* coreai_pointwise_type */
    ptrdiff_t strides[COREAI_PW_MAX_RANK];  /* in elements, one for each axis of the result */
} coreai_pointwise_operand;

typedef struct {
    int32_t operand_count, constant_count, step_count;
    int32_t result_type;           /* coreai_pointwise_type */
    const coreai_pointwise_operand *_Nullable operands;
    const float *_Nullable constants;
    const coreai_pointwise_step *_Nonnull steps;
    int32_t rank;
    ptrdiff_t shape[COREAI_PW_MAX_RANK];    /* of the result, which is dense */
} coreai_pointwise;

typedef enum {
    COREAI_REDUCE_SUM, COREAI_REDUCE_MEAN, COREAI_REDUCE_MAX, COREAI_REDUCE_MIN, COREAI_REDUCE_PRODUCT,
    COREAI_REDUCE_SUM_OF_SQUARES, COREAI_REDUCE_L2
} coreai_reduction;

/* One head of attention: o = softmax(scale * q k^T + mask) v. Strides between positions. */
typedef struct {
    int queries, keys, depth, value_depth;
    ptrdiff_t q_stride, k_stride, v_stride, o_stride;
    ptrdiff_t mask_stride;         /* between queries; 0 when one row serves all */
    float scale;
    bool causal;                   /* query i sees keys 0 ... i + keys - queries */
} coreai_attention;

/* MARK: The table */

typedef struct {
    const char *_Nonnull name;     /* "plain", "neon", "avx2", "avx512" */
    int lanes;                     /* floats in a vector */

    /* gemm.h */
    /* The panel width that suits a matrix of so many columns. */
    int (*_Nonnull gemm_panel)(int columns);
    /* Floats that a packed matrix takes. */
    size_t (*_Nonnull gemm_packed_count)(int depth, int columns, int panel);
    /* Packs b[k * row_stride + n * column_stride]. `out` is aligned to 64 bytes. */
    void (*_Nonnull gemm_pack)(const float *_Nonnull b, ptrdiff_t row_stride, ptrdiff_t column_stride, int depth,
                               int columns, int panel, float *_Nonnull out);
    /* c[rows][first..<last] = epilogue(a[rows][depth] * b). `first` is a multiple of the panel width, `last` another or
     * the number of columns; the panel width is this level's. The residual may be `c` itself. `c` and the epilogue's
     * residual begin at row 0 of `a` and at column 0. */
    void (*_Nonnull gemm)(const float *_Nonnull a, ptrdiff_t a_stride, const coreai_panels *_Nonnull b, int first,
                          int last, float *_Nonnull c, ptrdiff_t c_stride, int rows,
                          const coreai_epilogue *_Nonnull epilogue);

    /* convolution.h: weights are panels over output channels, depth = taps * channels, from w[o][c][ky][kx]. */
    void (*_Nonnull conv_pack)(const float *_Nonnull w, int out_channels, int channels, int taps, int panel,
                               float *_Nonnull out);
    /* Output pixels first_pixel ..< last_pixel (row-major), output channels first ..< last (first: multiple of the panel).
     * `y` and the residual begin at pixel 0, channel 0. */
    void (*_Nonnull conv)(const coreai_convolution *_Nonnull shape, const float *_Nonnull x,
                          const coreai_panels *_Nonnull weights, float *_Nonnull y, int first_pixel, int last_pixel,
                          int first, int last, const coreai_epilogue *_Nonnull epilogue);

    /* winograd.h: 3x3, stride 1, dilation 1, F(4x4). */
    size_t (*_Nonnull winograd_packed_count)(int out_channels, int channels);
    void (*_Nonnull winograd_pack)(const float *_Nonnull w, int out_channels, int channels, float *_Nonnull out);
    /* Tiles of 4x4 output pixels in row-major order: ceil(out_height / 4) * ceil(out_width / 4). */
    size_t (*_Nonnull winograd_scratch_count)(const coreai_convolution *_Nonnull shape);
    void (*_Nonnull winograd)(const coreai_convolution *_Nonnull shape, const float *_Nonnull x,
                              const float *_Nonnull packed, float *_Nonnull y, int first_tile, int last_tile,
                              float *_Nonnull scratch, const coreai_epilogue *_Nonnull epilogue);

    /* depthwise.h: out_channels == channels, weights w[tap][channel]. Output rows first_row ..< last_row. */
    void (*_Nonnull depthwise)(const coreai_convolution *_Nonnull shape, const float *_Nonnull x,
                               const float *_Nonnull w, float *_Nonnull y, int first_row, int last_row,
                               const coreai_epilogue *_Nonnull epilogue);

    /* pool.h: channels last; output rows first_row ..< last_row. The mean divides by the taps inside the image, or by all. */
    void (*_Nonnull pool_max)(const coreai_convolution *_Nonnull shape, const float *_Nonnull x, float *_Nonnull y,
                              int first_row, int last_row);
    void (*_Nonnull pool_mean)(const coreai_convolution *_Nonnull shape, bool count_padding, const float *_Nonnull x,
                               float *_Nonnull y, int first_row, int last_row);

    /* pointwise.h: elements first ..< last of the result, row-major. `operands` in the program's order. The result may lie
     * where a dense operand of its type lies. */
    void (*_Nonnull pointwise)(const coreai_pointwise *_Nonnull program,
                               const void *_Nonnull const *_Nullable operands, void *_Nonnull result, ptrdiff_t first,
                               ptrdiff_t last);

    /* rows.h: one result row (or number) for each row of `count` floats; rows `x_stride` and `y_stride` apart. A result row may
     * lie where its x lies. NaN anywhere in a row makes its maximum, minimum and softmax NaN. */
    void (*_Nonnull softmax_rows)(const float *_Nonnull x, ptrdiff_t x_stride, float *_Nonnull y, ptrdiff_t y_stride,
                                  int rows, int count);
    /* The same down each of `columns` columns of `count` numbers, `stride` apart in x and y; count > 0. */
    void (*_Nonnull softmax_columns)(const float *_Nonnull x, float *_Nonnull y, ptrdiff_t stride, int columns,
                                     int count);
    void (*_Nonnull log_softmax_rows)(const float *_Nonnull x, ptrdiff_t x_stride, float *_Nonnull y,
                                      ptrdiff_t y_stride, int rows, int count);
    /* (x - mean) / sqrt(variance + epsilon) * gain + shift */
    void (*_Nonnull layer_norm_rows)(const float *_Nonnull x, ptrdiff_t x_stride, float *_Nonnull y,
                                     ptrdiff_t y_stride, int rows, int count, const float *_Nullable gain,
                                     const float *_Nullable shift, float epsilon);
    /* x / sqrt(mean of squares + epsilon) * gain */
    void (*_Nonnull rms_norm_rows)(const float *_Nonnull x, ptrdiff_t x_stride, float *_Nonnull y, ptrdiff_t y_stride,
                                   int rows, int count, const float *_Nullable gain, float epsilon);
    void (*_Nonnull reduce_rows)(coreai_reduction kind, const float *_Nonnull x, ptrdiff_t x_stride,
                                 float *_Nonnull y, int rows, int count);
    /* y[columns] over `count` rows of x. */
    void (*_Nonnull reduce_columns)(coreai_reduction kind, const float *_Nonnull x, ptrdiff_t x_stride,
                                    float *_Nonnull y, int columns, int count);

    /* attention.h */
    size_t (*_Nonnull attention_scratch_count)(const coreai_attention *_Nonnull shape);
    void (*_Nonnull attention)(const coreai_attention *_Nonnull shape, const float *_Nonnull q,
                               const float *_Nonnull k, const float *_Nonnull v, const float *_Nullable mask,
                               float *_Nonnull o, float *_Nonnull scratch);

    /* transpose.h: y[c][r] = x[r][c] for 4-byte elements. */
    void (*_Nonnull transpose)(const void *_Nonnull x, ptrdiff_t x_stride, void *_Nonnull y, ptrdiff_t y_stride,
                               int rows, int columns);
} coreai_kernels;

/* The table of a level, or NULL when this processor or this build lacks it. */
const coreai_kernels *_Nullable coreai_kernels_named(const char *_Nonnull name);

/* The best level this processor has, no higher than COREAI_CPU_LEVEL (a level's name) where that is set. Decided once. */
const coreai_kernels *_Nonnull coreai_kernels_best(void);

#endif
