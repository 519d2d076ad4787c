/* The interpreter of pointwise programs: tile by tile of the result, step by step of the program, so that what lies
 * between two steps stays in the first cache. Goals in order: exact semantics, few passes over memory, a short start of
 * a call.
 *
 * A dense f32 operand is read where it lies, so the result may be written over it. Others are brought into a register
 * of a tile: once a call where they repeat within the tile, else for every tile. */

enum {
    pw_most_registers = COREAI_PW_MAX_REGISTERS,
    pw_tile = 1024,
    /* Rows of the result so long are tiles of their own: what is constant along them is a number then. */
    pw_long_row = 256,
    pw_storage = 14336 /* floats; a call takes less than 64 KiB of stack */
};

/* Where a register lies during a tile: element i at data[i & mask], a number in LANES copies with mask 0. */
typedef struct {
    const float *data;
    ptrdiff_t mask;
} pw_register;

/* MARK: Halves */

#if defined(LEVEL_AVX512)
INLINE vf pw_half(const uint16_t *p) { return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
INLINE void pw_store_half(uint16_t *p, vf x) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(LEVEL_AVX2)
INLINE vf pw_half(const uint16_t *p) { return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
INLINE void pw_store_half(uint16_t *p, vf x) {
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT));
}
#endif

static void pw_widen_half(const uint16_t *x, float *out, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(LEVEL_AVX512) || defined(LEVEL_AVX2)
    for (; i + LANES <= n; i += LANES) vstore(out + i, pw_half(x + i));
#endif
    if (i < n) coreai_widen_half(x + i, out + i, (size_t)(n - i));
}

static void pw_narrow_half(const float *x, uint16_t *out, ptrdiff_t n) {
    ptrdiff_t i = 0;
#if defined(LEVEL_AVX512) || defined(LEVEL_AVX2)
    for (; i + LANES <= n; i += LANES) pw_store_half(out + i, vload(x + i));
#endif
    if (i < n) coreai_narrow_half(x + i, out + i, (size_t)(n - i));
}

/* MARK: Steps */

INLINE vf pw_load(pw_register r, ptrdiff_t i) { return vload(r.data + (i & r.mask)); }
INLINE vf pw_load_part(pw_register r, ptrdiff_t i, int rest) {
    return r.mask ? vload_part(r.data + i, rest) : vload(r.data);
}

#define PW_LOOP(x_full, y_full, z_full, x_part, y_part, z_part, expression)                                            \
    {                                                                                                                  \
        ptrdiff_t i = 0;                                                                                               \
        _Pragma("clang loop unroll_count(4)") for (; i + LANES <= n; i += LANES) {                                     \
            vf x = x_full, y = y_full, z = z_full;                                                                     \
            vstore(out + i, expression);                                                                               \
            (void)x, (void)y, (void)z;                                                                                 \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            const int rest = (int)(n - i);                                                                             \
            vf x = x_part, y = y_part, z = z_part;                                                                     \
            vstore_part(out + i, expression, rest);                                                                    \
            (void)x, (void)y, (void)z;                                                                                 \
        }                                                                                                              \
    }
#define PW_UNARY(expression)                                                                                           \
    PW_LOOP(pw_load(a, i), x, x, pw_load_part(a, i, rest), x, x, expression)                                           \
    break
#define PW_BINARY(expression)                                                                                          \
    PW_LOOP(pw_load(a, i), pw_load(b, i), x, pw_load_part(a, i, rest), pw_load_part(b, i, rest), x, expression)        \
    break
#define PW_TERNARY(expression)                                                                                         \
    PW_LOOP(pw_load(a, i), pw_load(b, i), pw_load(c, i), pw_load_part(a, i, rest), pw_load_part(b, i, rest),           \
            pw_load_part(c, i, rest), expression)                                                                      \
    break
/* The arithmetic of which most programs are made, with a number held in a register. */
#define PW_ARITHMETIC(expression)                                                                                      \
    if (b.mask == 0 && a.mask != 0) {                                                                                  \
        const vf number = vload(b.data);                                                                               \
        PW_LOOP(vload(a.data + i), number, x, vload_part(a.data + i, rest), number, x, expression)                     \
    } else if (a.mask == 0 && b.mask != 0) {                                                                           \
        const vf number = vload(a.data);                                                                               \
        PW_LOOP(number, vload(b.data + i), x, number, vload_part(b.data + i, rest), x, expression)                     \
    } else                                                                                                             \
        PW_LOOP(pw_load(a, i), pw_load(b, i), x, pw_load_part(a, i, rest), pw_load_part(b, i, rest), x, expression)    \
    break

#define PW_TRUTH(condition) ((condition) ? vset(1) : vset(0))

INLINE vf pw_sign(vf x) { return x > vset(0) ? vset(1) : x < vset(0) ? vset(-1) : x; }

/* a * b + c, rounded once. */
INLINE vf pw_fma(vf a, vf b, vf c) {
#if defined(__x86_64__) && defined(LEVEL_PLAIN)
    /* The product is exact in double precision. Where the sum is not, its last bit says so: then the second rounding,
     * to single precision, is the only one. */
    typedef double vd __attribute__((ext_vector_type(LANES)));
    typedef int64_t vl __attribute__((ext_vector_type(LANES)));
    vd p = __builtin_convertvector(a, vd) * __builtin_convertvector(b, vd), q = __builtin_convertvector(c, vd);
    vd s = p + q, t = s - p, error = (p - (s - t)) + (q - t);
    vl bits = (vl)s;
    vl odd = (error != 0.0) & (error == error) & ((bits & 1) == 0);
    vl step = (error > 0.0) == (s > 0.0) ? (vl)(1) : (vl)(-1);
    return __builtin_convertvector((vd)(bits + (odd & step)), vf);
#else
    return vfma(a, b, c);
#endif
}

INLINE vf pw_round_bfloat(vf x) {
    vu bits = (vu)x, rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (vf)((x != x ? bits | 0x400000 : rounded) & 0xffff0000u);
}

static __attribute__((noinline)) void pw_round_half(pw_register a, float *out, ptrdiff_t n) {
    float number[LANES];
    uint16_t half[LANES];
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        const int rest = (int)MIN(LANES, n - i);
        vstore(number, rest == LANES ? pw_load(a, i) : pw_load_part(a, i, rest));
        pw_narrow_half(number, half, LANES);
        pw_widen_half(half, number, LANES);
        vstore_rest(out + i, vload(number), rest);
    }
}

static __attribute__((noinline)) void pw_power(pw_register a, pw_register b, float *out, ptrdiff_t n) {
    const float twice = b.mask ? 0 : 2 * b.data[0];
    switch (fabsf(twice) <= 6 && twice == truncf(twice) ? (int)twice : 0) {
    case 6: PW_UNARY(x * x * x);
    case 4: PW_UNARY(x * x);
    case 2: PW_UNARY(x);
    case -2: PW_UNARY(vset(1) / x);
    /* Other than roots, powers have no -0, and a value at -infinity. */
    case 1: PW_UNARY(x == vset(-INFINITY) ? vset(INFINITY) : v_sqrt(x + vset(0)));
    case -1: PW_UNARY(x == vset(-INFINITY) ? vset(0) : v_rsqrt(x + vset(0)));
    default: PW_BINARY(v_pow(x, y));
    }
}

static __attribute__((noinline)) void pw_step(int32_t code, pw_register a, pw_register b, pw_register c, float *out,
                                              ptrdiff_t n) {
    switch (code) {
    case COREAI_PW_ADD: PW_ARITHMETIC(x + y);
    case COREAI_PW_SUB: PW_ARITHMETIC(x - y);
    case COREAI_PW_MUL: PW_ARITHMETIC(x * y);
    case COREAI_PW_DIV: PW_ARITHMETIC(x / y);
    case COREAI_PW_MIN: PW_ARITHMETIC(v_minimum(x, y));
    case COREAI_PW_MAX: PW_ARITHMETIC(v_maximum(x, y));
    case COREAI_PW_POW: pw_power(a, b, out, n); break;
    case COREAI_PW_MOD: PW_BINARY(v_mod(x, y));
    case COREAI_PW_EQUAL: PW_BINARY(PW_TRUTH(x == y));
    case COREAI_PW_NOT_EQUAL: PW_BINARY(PW_TRUTH(x != y));
    case COREAI_PW_GREATER: PW_BINARY(PW_TRUTH(x > y));
    case COREAI_PW_AND: PW_BINARY(PW_TRUTH((x != vset(0)) & (y != vset(0))));
    case COREAI_PW_OR: PW_BINARY(PW_TRUTH((x != vset(0)) | (y != vset(0))));
    case COREAI_PW_SELECT: PW_TERNARY(x != vset(0) ? y : z);
    case COREAI_PW_FMA: PW_TERNARY(pw_fma(x, y, z));
    case COREAI_PW_CLAMP: PW_TERNARY(v_minimum(v_maximum(x, y), z));
    case COREAI_PW_NEG: PW_UNARY(v_negate(x));
    case COREAI_PW_ABS: PW_UNARY(v_abs(x));
    case COREAI_PW_SIGN: PW_UNARY(pw_sign(x));
    case COREAI_PW_SQRT: PW_UNARY(v_sqrt(x));
    case COREAI_PW_RSQRT: PW_UNARY(v_rsqrt(x));
    case COREAI_PW_EXP: PW_UNARY(v_exp(x));
    case COREAI_PW_EXP2: PW_UNARY(v_exp2(x));
    case COREAI_PW_LOG: PW_UNARY(v_log(x));
    case COREAI_PW_SIN: PW_UNARY(v_sin(x));
    case COREAI_PW_COS: PW_UNARY(v_cos(x));
    case COREAI_PW_TANH: PW_UNARY(v_tanh(x));
    case COREAI_PW_ERF: PW_UNARY(v_erf(x));
    case COREAI_PW_FLOOR: PW_UNARY(v_floor(x));
    case COREAI_PW_CEIL: PW_UNARY(v_ceil(x));
    case COREAI_PW_ROUND: PW_UNARY(v_round(x));
    case COREAI_PW_TRUNC: PW_UNARY(v_trunc(x));
    case COREAI_PW_NOT: PW_UNARY(PW_TRUTH(x == vset(0)));
    case COREAI_PW_IS_NAN: PW_UNARY(PW_TRUTH(x != x));
    case COREAI_PW_SIGMOID: PW_UNARY(v_sigmoid(x));
    case COREAI_PW_SILU: PW_UNARY(v_silu(x));
    case COREAI_PW_GELU: PW_UNARY(v_gelu(x));
    case COREAI_PW_GELU_TANH: PW_UNARY(v_gelu_tanh(x));
    case COREAI_PW_HARD_SWISH: PW_UNARY(v_hard_swish(x));
    case COREAI_PW_ROUND_HALF: pw_round_half(a, out, n); break;
    case COREAI_PW_ROUND_BFLOAT: PW_UNARY(pw_round_bfloat(x));
    default: PW_UNARY(x);
    }
}

/* MARK: Pairs of steps */

/* Two steps of arithmetic of which the second alone reads the first's result are one pass. Each rounds. */
#define PW_PAIR(first, second) ((first) * 16 + (second))
enum { pw_reversed_sub = 15 };

#define PW_PAIR_LOOP(expression)                                                                                       \
    if (b.mask == 0 && c.mask == 0) {                                                                                  \
        const vf number = vload(b.data), other = vload(c.data);                                                        \
        PW_LOOP(vload(a.data + i), number, other, vload_part(a.data + i, rest), number, other, expression)             \
    } else                                                                                                             \
        PW_LOOP(pw_load(a, i), pw_load(b, i), pw_load(c, i), pw_load_part(a, i, rest), pw_load_part(b, i, rest),       \
                pw_load_part(c, i, rest), expression)                                                                  \
    break
#define PW_PAIRS(code, first)                                                                                          \
    case PW_PAIR(code, COREAI_PW_ADD): PW_PAIR_LOOP(first + z);                                                        \
    case PW_PAIR(code, COREAI_PW_SUB): PW_PAIR_LOOP(first - z);                                                        \
    case PW_PAIR(code, pw_reversed_sub): PW_PAIR_LOOP(z - first);                                                      \
    case PW_PAIR(code, COREAI_PW_MUL): PW_PAIR_LOOP(first * z);                                                        \
    case PW_PAIR(code, COREAI_PW_MIN): PW_PAIR_LOOP(v_minimum(first, z));                                              \
    case PW_PAIR(code, COREAI_PW_MAX): PW_PAIR_LOOP(v_maximum(first, z));

static __attribute__((noinline)) void pw_pair(int32_t pair, pw_register a, pw_register b, pw_register c, float *out,
                                              ptrdiff_t n) {
#pragma STDC FP_CONTRACT OFF
    switch (pair) {
        PW_PAIRS(COREAI_PW_ADD, (x + y))
        PW_PAIRS(COREAI_PW_SUB, (x - y))
        PW_PAIRS(COREAI_PW_MUL, (x * y))
        PW_PAIRS(COREAI_PW_MIN, v_minimum(x, y))
        PW_PAIRS(COREAI_PW_MAX, v_maximum(x, y))
    default: break;
    }
}

/* The pair that `step` makes with `next`, which reads register `r`, the step's result, once; -1 if there is none. */
static int32_t pw_pair_of(coreai_pointwise_step step, coreai_pointwise_step next, int r) {
    const bool is_first = next.a == r;
    int32_t second = next.code;
    if (step.code == COREAI_PW_DIV || step.code > COREAI_PW_MAX || second == COREAI_PW_DIV || second > COREAI_PW_MAX)
        return -1;
    if (!is_first && second == COREAI_PW_SUB) second = pw_reversed_sub;
    /* Of equal numbers, which +0 and -0 are, min and max take the first. */
    if (!is_first && (second == COREAI_PW_MIN || second == COREAI_PW_MAX)) return -1;
    return PW_PAIR(step.code, second);
}

/* MARK: Types */

INLINE ptrdiff_t pw_width(int32_t type) { return type == COREAI_PW_FLOAT ? 4 : type == COREAI_PW_BOOL ? 1 : 2; }

static float pw_widen_one(int32_t type, const char *p) {
    float value;
    uint16_t half;
    uint32_t bits;
    switch (type) {
    case COREAI_PW_FLOAT: memcpy(&value, p, 4); return value;
    case COREAI_PW_BOOL: return *p ? 1 : 0;
    case COREAI_PW_HALF:
        memcpy(&half, p, 2);
        coreai_widen_half(&half, &value, 1);
        return value;
    default:
        memcpy(&half, p, 2);
        bits = (uint32_t)half << 16;
        memcpy(&value, &bits, 4);
        return value;
    }
}

/* `n` numbers of which one lies `stride` elements after the other. */
static void pw_widen(int32_t type, const char *p, ptrdiff_t stride, float *out, ptrdiff_t n) {
    if (stride == 0) {
        const float value = pw_widen_one(type, p);
        for (ptrdiff_t i = 0; i < n; i++) out[i] = value;
    } else if (type == COREAI_PW_FLOAT) {
        const float *x = (const float *)p;
        if (stride == 1)
            for (ptrdiff_t i = 0; i < n; i++) out[i] = x[i];
        else
            for (ptrdiff_t i = 0; i < n; i++) out[i] = x[i * stride];
    } else if (stride != 1) {
        for (ptrdiff_t i = 0; i < n; i++) out[i] = pw_widen_one(type, p + i * stride * pw_width(type));
    } else if (type == COREAI_PW_HALF) {
        pw_widen_half((const uint16_t *)p, out, n);
    } else if (type == COREAI_PW_BFLOAT) {
        const uint16_t *x = (const uint16_t *)p;
        for (ptrdiff_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)x[i] << 16;
            memcpy(&out[i], &bits, 4);
        }
    } else {
        for (ptrdiff_t i = 0; i < n; i++) out[i] = p[i] ? 1 : 0;
    }
}

static void pw_narrow(int32_t type, pw_register value, char *p, ptrdiff_t n) {
    const float *x = value.data;
    if (value.mask == 0) {
        /* A number has only LANES copies. */
        const ptrdiff_t width = pw_width(type);
        for (ptrdiff_t i = 0; i < n; i += LANES)
            pw_narrow(type, (pw_register){x, -1}, p + i * width, MIN(LANES, n - i));
    } else if (type == COREAI_PW_HALF) {
        pw_narrow_half(x, (uint16_t *)p, n);
    } else if (type == COREAI_PW_BFLOAT) {
        uint16_t *out = (uint16_t *)p;
        for (ptrdiff_t i = 0; i < n; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], 4);
            uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;
            out[i] = (uint16_t)((x[i] != x[i] ? nan : rounded) >> 16);
        }
    } else {
        for (ptrdiff_t i = 0; i < n; i++) p[i] = x[i] != 0;
    }
}

/* MARK: Operands */

/* The program's axes with those joined that every operand passes through as one; the last is the row. */
typedef struct {
    int rank;
    ptrdiff_t shape[COREAI_PW_MAX_RANK];
    ptrdiff_t strides[pw_most_registers][COREAI_PW_MAX_RANK];
} pw_axes;

static void pw_join_axes(const coreai_pointwise *program, pw_axes *axes) {
    const int operands = program->operand_count;
    int rank = 0;
    for (int axis = 0; axis < program->rank; axis++) {
        const ptrdiff_t size = program->shape[axis];
        if (size == 1) continue;
        bool joins = rank > 0;
        for (int k = 0; joins && k < operands; k++)
            joins = axes->strides[k][rank - 1] == program->operands[k].strides[axis] * size;
        if (!joins) axes->shape[rank++] = 1;
        axes->shape[rank - 1] *= size;
        for (int k = 0; k < operands; k++) axes->strides[k][rank - 1] = program->operands[k].strides[axis];
    }
    if (rank == 0) {
        axes->shape[rank++] = 1;
        for (int k = 0; k < operands; k++) axes->strides[k][0] = 0;
    }
    axes->rank = rank;
}

/* The position of `element` of the result: `index` on every axis. */
INLINE void pw_position(const pw_axes *axes, ptrdiff_t element, ptrdiff_t index[COREAI_PW_MAX_RANK]) {
    for (int axis = axes->rank - 1; axis > 0; axis--) {
        index[axis] = element % axes->shape[axis];
        element /= axes->shape[axis];
    }
    index[0] = element;
}

INLINE ptrdiff_t pw_offset(const pw_axes *axes, int operand, const ptrdiff_t index[COREAI_PW_MAX_RANK]) {
    ptrdiff_t offset = 0;
    for (int axis = 0; axis < axes->rank; axis++) offset += index[axis] * axes->strides[operand][axis];
    return offset;
}

/* The next row: index on the row's axis is 0 again. */
INLINE void pw_next_row(const pw_axes *axes, ptrdiff_t index[COREAI_PW_MAX_RANK]) {
    index[axes->rank - 1] = 0;
    for (int axis = axes->rank - 2; axis >= 0; axis--) {
        if (++index[axis] < axes->shape[axis]) return;
        if (axis > 0) index[axis] = 0;
    }
}

/* Elements first ..< first + n of an operand, through as many rows as they take. LANES floats behind the last may be
 * written. */
static void pw_expand(const pw_axes *axes, int operand, int32_t type, const char *base, ptrdiff_t first, float *out,
                      ptrdiff_t n) {
    const int row_axis = axes->rank - 1;
    const ptrdiff_t row = axes->shape[row_axis], stride = axes->strides[operand][row_axis];
    ptrdiff_t index[COREAI_PW_MAX_RANK];
    pw_position(axes, first, index);
    while (n > 0) {
        /* As many rows as follow each other with one step, of which the first may have begun. */
        const char *from = base + pw_offset(axes, operand, index) * pw_width(type);
        ptrdiff_t run = MIN(n, row - index[row_axis]);
        const bool is_simple = type == COREAI_PW_FLOAT && (stride == 0 || stride == 1) && row_axis > 0;
        if (!is_simple || index[row_axis] > 0 || row > LANES) {
            pw_widen(type, from, stride, out, run);
            pw_next_row(axes, index);
        } else {
            /* Short rows: a vector each, whose end the next row covers. */
            const ptrdiff_t step = axes->strides[operand][row_axis - 1];
            const ptrdiff_t rows = MIN(axes->shape[row_axis - 1] - index[row_axis - 1], (n + row - 1) / row);
            const float *x = (const float *)from;
            if (stride == 0)
                for (ptrdiff_t r = 0; r < rows; r++) vstore(out + r * row, vset(x[r * step]));
            else
                for (ptrdiff_t r = 0; r < rows; r++) vstore(out + r * row, vload_rest(x + r * step, (int)row));
            run = MIN(n, rows * row);
            index[row_axis - 1] += rows - 1;
            pw_next_row(axes, index);
        }
        out += run;
        n -= run;
    }
}

/* After how many elements of the result the operand repeats; 0 if not before the end. */
static ptrdiff_t pw_period(const pw_axes *axes, int operand) {
    int axis = 0;
    while (axis < axes->rank && axes->strides[operand][axis] == 0) axis++;
    if (axis == 0) return 0;
    ptrdiff_t period = 1;
    for (; axis < axes->rank; axis++) period *= axes->shape[axis];
    return period;
}

static bool pw_is_dense(const pw_axes *axes, int operand) {
    ptrdiff_t stride = 1;
    for (int axis = axes->rank - 1; axis >= 0; axis--) {
        if (axes->strides[operand][axis] != stride) return false;
        stride *= axes->shape[axis];
    }
    return true;
}

/* MARK: Calls */

typedef enum {
    PW_NUMBER,     /* the same everywhere */
    PW_REPEATED,   /* brought into its register before the first tile */
    PW_DIRECT,     /* f32, read where it lies, at the element's own place */
    PW_DENSE,      /* of another type, at the element's own place */
    PW_ROW,        /* f32 without gaps along the row, read where it lies */
    PW_ROW_NUMBER, /* the same along the row */
    PW_ANY         /* brought into its register for each tile */
} pw_kind;

typedef struct {
    _Alignas(64) float storage[pw_storage];
    pw_axes axes;
    bool by_rows;                            /* no tile reaches beyond a row */
    ptrdiff_t tile;
    pw_kind kinds[pw_most_registers];        /* of operands */
    pw_register registers[pw_most_registers];
    int32_t pairs[pw_most_registers];        /* of the step before and this one; -1 where a step stands alone */
    bool joins_next[pw_most_registers];      /* steps done with the next one */
    float *slots[pw_most_registers];         /* of what is not read in place; NULL for the result itself */
} pw_call;

INLINE int pw_arity(int32_t code) {
    if (code == COREAI_PW_SELECT || code == COREAI_PW_FMA || code == COREAI_PW_CLAMP) return 3;
    return code <= COREAI_PW_OR ? 2 : 1;
}

static pw_kind pw_kind_of(const pw_call *call, int operand, bool is_float) {
    const ptrdiff_t inner = call->axes.strides[operand][call->axes.rank - 1];
    const ptrdiff_t period = pw_period(&call->axes, operand);
    if (period == 1) return PW_NUMBER;
    if (call->by_rows) return inner == 0 ? PW_ROW_NUMBER : inner == 1 && is_float ? PW_ROW : PW_ANY;
    if (pw_is_dense(&call->axes, operand)) return is_float ? PW_DIRECT : PW_DENSE;
    return period > 0 && period <= pw_tile / 2 ? PW_REPEATED : PW_ANY;
}

static ptrdiff_t pw_common_multiple(ptrdiff_t a, ptrdiff_t b) {
    ptrdiff_t divisor = a, rest = b;
    while (rest > 0) {
        const ptrdiff_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
}

/* The size of tiles of which `count` fit, a multiple of the periods of what repeats. */
static ptrdiff_t pw_tile_size(pw_call *call, const coreai_pointwise *program, ptrdiff_t room, int count) {
    const ptrdiff_t row = call->axes.shape[call->axes.rank - 1];
    const ptrdiff_t largest = MIN(pw_tile, (room / MAX(1, count) / LANES - 1) * LANES);
    if (call->by_rows) {
        if (row <= largest || call->axes.rank == 1) return largest;
        /* Rows in equal parts. */
        const ptrdiff_t parts = (row + largest - 1) / largest;
        return ((row + parts - 1) / parts + LANES - 1) / LANES * LANES;
    }
    ptrdiff_t multiple = 1;
    for (int k = 0; k < program->operand_count; k++) {
        if (call->kinds[k] != PW_REPEATED) continue;
        const ptrdiff_t common = pw_common_multiple(multiple, pw_period(&call->axes, k));
        if (common <= largest)
            multiple = common;
        else
            call->kinds[k] = PW_ANY;
    }
    const ptrdiff_t whole = pw_common_multiple(multiple, LANES);
    return whole <= largest ? largest / whole * whole : largest / multiple * multiple;
}

/* Decides how each operand is read, and gives every register its place. */
static void pw_prepare(pw_call *call, const coreai_pointwise *program, const void *const *operands) {
    const int inputs = program->operand_count + program->constant_count, count = inputs + program->step_count;
    const coreai_pointwise_step *steps = program->steps;
    pw_register *registers = call->registers;
    pw_join_axes(program, &call->axes);
    call->by_rows = call->axes.rank == 1 || call->axes.shape[call->axes.rank - 1] >= pw_long_row;

    /* Numbers take LANES floats at the start of the storage; the tiles follow them. */
    float *numbers = call->storage;
    int tiles = 0, tile_of[pw_most_registers];
    for (int k = 0; k < program->operand_count; k++) {
        const pw_kind kind = pw_kind_of(call, k, program->operands[k].type == COREAI_PW_FLOAT);
        const bool is_number = kind == PW_NUMBER || kind == PW_ROW_NUMBER;
        call->kinds[k] = kind;
        call->slots[k] = numbers;
        registers[k] = (pw_register){numbers, is_number ? 0 : -1};
        tile_of[k] = is_number || kind == PW_DIRECT || kind == PW_ROW ? -1 : tiles++;
        if (kind == PW_NUMBER) vstore(numbers, vset(pw_widen_one(program->operands[k].type, operands[k])));
        if (is_number) numbers += LANES;
    }
    for (int k = program->operand_count; k < inputs; k++, numbers += LANES) {
        vstore(numbers, vset(program->constants[k - program->operand_count]));
        registers[k] = (pw_register){numbers, 0};
        tile_of[k] = -1;
    }

    /* The result of a step takes the tile of a step's that is read for the last time. */
    int last_use[pw_most_registers], uses[pw_most_registers] = {0}, unused[pw_most_registers], unused_count = 0;
    for (int s = 0; s < program->step_count; s++) {
        const int from[3] = {steps[s].a, steps[s].b, steps[s].c};
        for (int j = 0; j < pw_arity(steps[s].code); j++) {
            last_use[from[j]] = s;
            uses[from[j]]++;
        }
    }
    for (int s = 0; s < program->step_count; s++) {
        const int from[3] = {steps[s].a, steps[s].b, steps[s].c}, k = inputs + s;
        const bool is_last = k == count - 1;
        registers[k].mask = is_last ? -1 : 0;
        for (int j = 0; j < pw_arity(steps[s].code); j++) {
            const int r = from[j];
            registers[k].mask |= registers[r].mask;
            if (r < inputs || last_use[r] != s || tile_of[r] < 0) continue;
            unused[unused_count++] = tile_of[r];
            last_use[r] = -1;
        }
        tile_of[k] = -1;
        call->slots[k] = NULL;
        call->joins_next[s] = false;
        call->pairs[s] = s > 0 && call->joins_next[s - 1] ? pw_pair_of(steps[s - 1], steps[s], k - 1) : -1;
        if (registers[k].mask == 0) {
            call->slots[k] = numbers;
            numbers += LANES;
        } else if (!is_last && call->pairs[s] < 0 && uses[k] == 1 && last_use[k] == s + 1 &&
                   pw_pair_of(steps[s], steps[s + 1], k) >= 0) {
            call->joins_next[s] = true;
        } else if (!is_last || program->result_type != COREAI_PW_FLOAT) {
            tile_of[k] = unused_count > 0 ? unused[--unused_count] : tiles++;
        }
    }

    const ptrdiff_t room = call->storage + pw_storage - numbers;
    call->tile = pw_tile_size(call, program, room, tiles);
    /* What brings operands in may write a vector more. */
    const ptrdiff_t spacing = (call->tile + LANES - 1) / LANES * LANES + LANES;
    for (int k = 0; k < count; k++) {
        if (tile_of[k] < 0) continue;
        call->slots[k] = numbers + tile_of[k] * spacing;
        registers[k].data = call->slots[k];
    }
}

/* Operands of the elements first ..< first + n, of which the first lies at `index`. */
static void pw_read(pw_call *call, const coreai_pointwise *program, const void *const *operands, ptrdiff_t first,
                    const ptrdiff_t index[COREAI_PW_MAX_RANK], ptrdiff_t n) {
    for (int k = 0; k < program->operand_count; k++) {
        const int32_t type = program->operands[k].type;
        const char *base = operands[k];
        const ptrdiff_t width = pw_width(type), inner = call->axes.strides[k][call->axes.rank - 1];
        switch (call->kinds[k]) {
        case PW_NUMBER:
        case PW_REPEATED: break;
        case PW_DIRECT: call->registers[k].data = (const float *)base + first; break;
        case PW_DENSE: pw_widen(type, base + first * width, 1, call->slots[k], n); break;
        case PW_ROW: call->registers[k].data = (const float *)base + pw_offset(&call->axes, k, index); break;
        case PW_ROW_NUMBER:
            vstore(call->slots[k], vset(pw_widen_one(type, base + pw_offset(&call->axes, k, index) * width)));
            break;
        case PW_ANY:
            if (call->by_rows)
                pw_widen(type, base + pw_offset(&call->axes, k, index) * width, inner, call->slots[k], n);
            else
                pw_expand(&call->axes, k, type, base, first, call->slots[k], n);
            break;
        }
    }
}

static void pointwise(const coreai_pointwise *program, const void *const *operands, void *result, ptrdiff_t first,
                      ptrdiff_t last) {
    const int inputs = program->operand_count + program->constant_count, count = inputs + program->step_count;
    if (first >= last || count == 0 || count > pw_most_registers) return;
    pw_call call;
    pw_prepare(&call, program, operands);
    for (int k = 0; k < program->operand_count; k++)
        if (call.kinds[k] == PW_REPEATED)
            pw_expand(&call.axes, k, program->operands[k].type, operands[k], first, call.slots[k],
                      MIN(call.tile, last - first));

    const int row_axis = call.axes.rank - 1;
    const ptrdiff_t result_width = pw_width(program->result_type);
    ptrdiff_t index[COREAI_PW_MAX_RANK], n;
    pw_position(&call.axes, first, index);
    for (ptrdiff_t element = first; element < last; element += n) {
        n = MIN(call.tile, last - element);
        if (call.by_rows) n = MIN(n, call.axes.shape[row_axis] - index[row_axis]);
        pw_read(&call, program, operands, element, index, n);
        char *target = (char *)result + element * result_width;
        for (int s = 0; s < program->step_count; s++) {
            const coreai_pointwise_step step = program->steps[s];
            pw_register *to = &call.registers[inputs + s];
            if (call.joins_next[s]) continue;
            float *out = call.slots[inputs + s] ? call.slots[inputs + s] : (float *)target;
            if (call.pairs[s] >= 0) {
                const coreai_pointwise_step before = program->steps[s - 1];
                const int other = step.a == inputs + s - 1 ? step.b : step.a;
                pw_register x = call.registers[before.a], y = call.registers[before.b];
                pw_pair(call.pairs[s], x, y, call.registers[other], out, n);
            } else {
                pw_step(step.code, call.registers[step.a], call.registers[step.b], call.registers[step.c], out,
                        to->mask ? n : LANES);
            }
            to->data = out;
        }
        /* A program without steps only converts. */
        const pw_register value = call.registers[count - 1];
        if (program->step_count == 0 && program->result_type == COREAI_PW_FLOAT)
            pw_step(-1, value, value, value, (float *)target, n);
        else if (program->result_type != COREAI_PW_FLOAT)
            pw_narrow(program->result_type, value, target, n);
        if (!call.by_rows) continue;
        index[row_axis] += n;
        if (index[row_axis] == call.axes.shape[row_axis]) pw_next_row(&call.axes, index);
    }
}
