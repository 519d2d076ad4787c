/* The register tile that products and convolutions share: some rows by some vectors of columns, summed over the depth
 * in registers.
 *
 * A row of the left side is a pointer for each segment of the depth: one for a product, one for each tap of a
 * convolution. For each step of the depth a tile loads its vectors of weights once and broadcasts one float of each
 * row.
 *
 * Bounds are literals in every instance and the arrays have constant sizes, or the compiler leaves the sums in memory.
 * Sums, weights and a broadcast must fit in the registers: see with objdump that the loop holds no use of the stack. */

#if defined(__aarch64__)
/* Four steps at once would load the rows as vectors, for which no registers are left. */
#define TILE_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TILE_UNROLL _Pragma("clang loop unroll_count(4)")
#endif

#define TILE_MAX_ROWS 12
#define TILE_MAX_VECTORS 4

typedef struct {
    const float *const *rows;      /* for each segment one pointer for each row of the tile */
    int segments, length;          /* `length` floats follow each pointer */
    const float *panel;            /* segments * length rows of the tile's vectors */
    float *y;
    ptrdiff_t y_stride;
    int tail;                      /* columns in the last vector */
    bool continues;                /* the sums go on from y */
    coreai_epilogue epilogue;      /* at the tile's first row and column */
} tile;

/* The result `rows` further on. */
INLINE void tile_move(tile *t, int rows) {
    t->y += rows * t->y_stride;
    if (t->epilogue.residual) t->epilogue.residual += rows * t->epilogue.residual_stride;
}

INLINE void tile_start(const int rows, const int vectors, const tile *t, vf (*sums)[TILE_MAX_VECTORS]) {
    if (t->continues) {
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int j = 0; j < vectors; j++)
                sums[i][j] = vload_count(t->y + i * t->y_stride + j * LANES, j == vectors - 1 ? t->tail : LANES);
    } else {
        UNROLL for (int j = 0; j < vectors; j++) {
            vf bias = vset(0);
            if (t->epilogue.bias)
                bias = vload_count(t->epilogue.bias + j * LANES, j == vectors - 1 ? t->tail : LANES);
            UNROLL for (int i = 0; i < rows; i++) sums[i][j] = bias;
        }
    }
    /* Now, since the residual may be y itself, which the parts of a great depth go through. */
    if (t->epilogue.residual)
        UNROLL for (int i = 0; i < rows; i++)
            UNROLL for (int j = 0; j < vectors; j++)
                sums[i][j] += vload_count(t->epilogue.residual + i * t->epilogue.residual_stride + j * LANES,
                                          j == vectors - 1 ? t->tail : LANES);
}

INLINE void tile_finish(const int rows, const int vectors, const tile *t, vf (*sums)[TILE_MAX_VECTORS]) {
#define EACH_SUM UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++)
    ACTIVATE_IN_REGISTERS(&t->epilogue, EACH_SUM, sums[i][j]);
    EACH_SUM vstore_count(t->y + i * t->y_stride + j * LANES, sums[i][j], j == vectors - 1 ? t->tail : LANES);
#undef EACH_SUM
}

INLINE void tile_run(const int rows, const int vectors, const tile *t) {
    vf sums[TILE_MAX_ROWS][TILE_MAX_VECTORS];
    tile_start(rows, vectors, t, sums);
    const float *panel = t->panel;
    const float *const *pointers = t->rows;
    const ptrdiff_t length = t->length;
    for (int segment = 0; segment < t->segments; segment++, pointers += rows) {
        const float *row[TILE_MAX_ROWS];
        UNROLL for (int i = 0; i < rows; i++) row[i] = pointers[i];
        TILE_UNROLL for (ptrdiff_t k = 0; k < length; k++) {
            vf weights[TILE_MAX_VECTORS];
            UNROLL for (int j = 0; j < vectors; j++) weights[j] = vload(panel + j * LANES);
            UNROLL for (int i = 0; i < rows; i++) {
                vf a = vset(row[i][k]);
                UNROLL for (int j = 0; j < vectors; j++) sums[i][j] = vfma(a, weights[j], sums[i][j]);
            }
            panel += vectors * LANES;
        }
    }
    tile_finish(rows, vectors, t, sums);
}

/* A tile of one row would wait for its few sums: four sums for each vector, each of every fourth step. */
INLINE void tile_run_one_row(const int vectors, const tile *t) {
    vf sums[4][TILE_MAX_VECTORS];
    tile_start(1, vectors, t, sums);
    UNROLL for (int phase = 1; phase < 4; phase++)
        UNROLL for (int j = 0; j < vectors; j++) sums[phase][j] = vset(0);
    const float *row = t->rows[0], *panel = t->panel;
    const int step = vectors * LANES;
    int k = 0;
    for (; k + 4 <= t->length; k += 4, panel += 4 * step) {
        UNROLL for (int phase = 0; phase < 4; phase++) {
            vf a = vset(row[k + phase]);
            UNROLL for (int j = 0; j < vectors; j++) {
                if (j * LANES % 16 == 0) __builtin_prefetch(panel + phase * step + j * LANES + 1024);
                sums[phase][j] = vfma(a, vload(panel + phase * step + j * LANES), sums[phase][j]);
            }
        }
    }
    for (; k < t->length; k++, panel += step) {
        vf a = vset(row[k]);
        UNROLL for (int j = 0; j < vectors; j++) sums[0][j] = vfma(a, vload(panel + j * LANES), sums[0][j]);
    }
    UNROLL for (int j = 0; j < vectors; j++) sums[0][j] = (sums[0][j] + sums[1][j]) + (sums[2][j] + sums[3][j]);
    tile_finish(1, vectors, t, sums);
}

/* MARK: Every tile there is */

/* Own copies, which no store to the result can change. */
#define TILE(rows, vectors)                                                                                            \
    static void tile_##rows##x##vectors(const tile *t) {                                                               \
        const tile own = *t;                                                                                           \
        tile_run(rows, vectors, &own);                                                                                 \
    }
#define ONE_ROW(vectors)                                                                                               \
    static void tile_one_row_##vectors(const tile *t) {                                                                \
        const tile own = *t;                                                                                           \
        tile_run_one_row(vectors, &own);                                                                               \
    }
#define TILES_4(vectors) TILE(1, vectors) TILE(2, vectors) TILE(3, vectors) TILE(4, vectors)
#define TILES_6(vectors) TILES_4(vectors) TILE(5, vectors) TILE(6, vectors)
#define TILES_8(vectors) TILES_6(vectors) TILE(7, vectors) TILE(8, vectors)
#define TILES_10(vectors) TILES_8(vectors) TILE(9, vectors) TILE(10, vectors)
#define TILES_12(vectors) TILES_10(vectors) TILE(11, vectors) TILE(12, vectors)

#define ROW_4(v) tile_1x##v, tile_2x##v, tile_3x##v, tile_4x##v
#define ROW_6(v) ROW_4(v), tile_5x##v, tile_6x##v
#define ROW_8(v) ROW_6(v), tile_7x##v, tile_8x##v
#define ROW_10(v) ROW_8(v), tile_9x##v, tile_10x##v
#define ROW_12(v) ROW_10(v), tile_11x##v, tile_12x##v

/* By vectors: the most rows, and the tiles by rows. */
#if REGISTERS == 32
TILES_12(1) TILES_10(2) TILES_8(3) TILES_6(4)
ONE_ROW(1) ONE_ROW(2) ONE_ROW(3) ONE_ROW(4)
static const int tile_rows[TILE_MAX_VECTORS + 1] = {0, 12, 10, 8, 6};
static void (*const tiles[TILE_MAX_VECTORS + 1][TILE_MAX_ROWS + 1])(const tile *) = {
    {0}, {0, ROW_12(1)}, {0, ROW_10(2)}, {0, ROW_8(3)}, {0, ROW_6(4)}};
static void (*const tiles_of_one_row[TILE_MAX_VECTORS + 1])(const tile *) = {
    0, tile_one_row_1, tile_one_row_2, tile_one_row_3, tile_one_row_4};
#elif defined(LEVEL_AVX2)
TILES_10(1) TILES_6(2)
ONE_ROW(1) ONE_ROW(2)
static const int tile_rows[3] = {0, 10, 6};
static void (*const tiles[3][TILE_MAX_ROWS + 1])(const tile *) = {{0}, {0, ROW_10(1)}, {0, ROW_6(2)}};
static void (*const tiles_of_one_row[3])(const tile *) = {0, tile_one_row_1, tile_one_row_2};
#else
TILES_6(1) TILES_4(2)
ONE_ROW(1) ONE_ROW(2)
static const int tile_rows[3] = {0, 6, 4};
static void (*const tiles[3][TILE_MAX_ROWS + 1])(const tile *) = {{0}, {0, ROW_6(1)}, {0, ROW_4(2)}};
static void (*const tiles_of_one_row[3])(const tile *) = {0, tile_one_row_1, tile_one_row_2};
#endif
