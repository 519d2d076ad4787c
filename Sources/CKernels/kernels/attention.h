/* Attention of one head. Keys are packed into panels once; then, for a few rows of queries at a time, all their scores
 * are made (they stay in the second cache), turned into exponentials, and multiplied with the rows of v as they lie.
 * The division by the sum of the exponentials comes last, in the store. A handful of queries reads the keys as they lie
 * instead. */

enum {
    attention_vectors = REGISTERS == 32 ? 4 : 2,           /* of a panel of keys */
    attention_panel = attention_vectors * LANES,
    attention_tile = 6,                                    /* rows of queries in registers */
    attention_rows = 4 * attention_tile,                   /* rows whose scores are made at once */
    attention_direct = 3,                                  /* queries for which packing does not pay */
    attention_score_room = 24 * 8192                       /* floats that stay in the second cache */
};

/* c[i][...] = factors[i] * sum over k of a[i][k] b[k][...], for `rows` rows and `vectors` vectors of columns, of which
 * the last has `rest` lanes. */
INLINE void attention_product(const int rows, const int vectors, const int rest, const float *a, ptrdiff_t a_stride,
                              const float *b, ptrdiff_t b_stride, int depth, float *c, ptrdiff_t c_stride,
                              const float *factors, ptrdiff_t factor_step) {
    vf sums[attention_tile][attention_vectors];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int j = 0; j < vectors; j++) sums[i][j] = vset(0);
    _Pragma("clang loop unroll_count(4)") for (int k = 0; k < depth; k++, b += b_stride) {
        vf row[attention_vectors];
        UNROLL for (int j = 0; j < vectors; j++)
            row[j] = j + 1 < vectors ? vload(b + j * LANES) : vload_rest(b + j * LANES, rest);
        UNROLL for (int i = 0; i < rows; i++) {
            const vf x = vset(a[i * a_stride + k]);
            UNROLL for (int j = 0; j < vectors; j++) sums[i][j] = vfma(x, row[j], sums[i][j]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        const vf factor = vset(factors[i * factor_step]);
        UNROLL for (int j = 0; j < vectors; j++)
            vstore_rest(c + i * c_stride + j * LANES, sums[i][j] * factor, j + 1 < vectors ? LANES : rest);
    }
}

typedef void attention_product_function(const float *a, ptrdiff_t a_stride, const float *b, ptrdiff_t b_stride,
                                        int depth, float *c, ptrdiff_t c_stride, const float *factors,
                                        ptrdiff_t factor_step, int rest);

#define ATTENTION_PRODUCT(rows, vectors, is_whole)                                                                     \
    static void attention_product_##rows##_##vectors##_##is_whole(                                                     \
        const float *a, ptrdiff_t a_stride, const float *b, ptrdiff_t b_stride, int depth, float *c,                   \
        ptrdiff_t c_stride, const float *factors, ptrdiff_t factor_step, int rest) {                                   \
        attention_product(rows, vectors, is_whole ? LANES : rest, a, a_stride, b, b_stride, depth, c, c_stride,        \
                          factors, factor_step);                                                                       \
    }
#define ATTENTION_PRODUCTS(vectors, is_whole)                                                                          \
    ATTENTION_PRODUCT(1, vectors, is_whole)                                                                            \
    ATTENTION_PRODUCT(2, vectors, is_whole)                                                                            \
    ATTENTION_PRODUCT(3, vectors, is_whole)                                                                            \
    ATTENTION_PRODUCT(4, vectors, is_whole)                                                                            \
    ATTENTION_PRODUCT(5, vectors, is_whole)                                                                            \
    ATTENTION_PRODUCT(6, vectors, is_whole)
#define ATTENTION_ROW(vectors, is_whole)                                                                               \
    {attention_product_1_##vectors##_##is_whole, attention_product_2_##vectors##_##is_whole,                           \
     attention_product_3_##vectors##_##is_whole, attention_product_4_##vectors##_##is_whole,                           \
     attention_product_5_##vectors##_##is_whole, attention_product_6_##vectors##_##is_whole}

ATTENTION_PRODUCTS(1, 0)
ATTENTION_PRODUCTS(1, 1)
ATTENTION_PRODUCTS(2, 1)
#if REGISTERS == 32
ATTENTION_PRODUCTS(3, 1)
ATTENTION_PRODUCTS(4, 1)
#endif

/* By vectors (0: one that is not whole) and rows - 1. */
static attention_product_function *const attention_products[][attention_tile] = {
    ATTENTION_ROW(1, 0), ATTENTION_ROW(1, 1), ATTENTION_ROW(2, 1),
#if REGISTERS == 32
    ATTENTION_ROW(3, 1), ATTENTION_ROW(4, 1),
#endif
};

/* `rows` rows of a product, in tiles of nearly equal height. */
static void attention_multiply(const float *a, ptrdiff_t a_stride, const float *b, ptrdiff_t b_stride, int depth,
                               float *c, ptrdiff_t c_stride, int rows, int columns, const float *factors,
                               ptrdiff_t factor_step) {
    const int tiles = (rows + attention_tile - 1) / attention_tile;
    for (int column = 0; column < columns;) {
        const int vectors = MIN(attention_vectors, (columns - column) / LANES);
        for (int t = 0; t < tiles; t++) {
            const int first = rows * t / tiles, height = rows * (t + 1) / tiles - first;
            attention_products[vectors][height - 1](a + first * a_stride, a_stride, b + column, b_stride, depth,
                                                    c + first * c_stride + column, c_stride,
                                                    factors + first * factor_step, factor_step, columns - column);
        }
        column += MAX(1, vectors) * LANES;
    }
}

/* MARK: Scratch */

INLINE int attention_padded_keys(const coreai_attention *shape) {
    return (shape->keys + attention_panel - 1) / attention_panel * attention_panel;
}

/* Rows of scores are a little further apart than they are long, so as not to fall on the same lines of the cache. */
INLINE ptrdiff_t attention_score_stride(const coreai_attention *shape) {
    return (ptrdiff_t)attention_padded_keys(shape) + 16;
}

INLINE int attention_rows_at_once(const coreai_attention *shape) {
    const ptrdiff_t fit = attention_score_room / attention_score_stride(shape);
    return (int)MIN(attention_rows, MAX(attention_tile, fit / attention_tile * attention_tile));
}

static size_t attention_scratch_count(const coreai_attention *shape) {
    if (shape->queries <= attention_direct) return (size_t)attention_score_stride(shape);
    return (size_t)attention_padded_keys(shape) * (size_t)shape->depth + 16 +
           (size_t)attention_rows_at_once(shape) * (size_t)attention_score_stride(shape);
}

/* MARK: Parts */

/* Panels of keys, packed[panel][depth][attention_panel]; 0 beyond the last key. */
static void attention_pack(const coreai_attention *shape, const float *k, float *packed) {
    const int depth = shape->depth, padded = attention_padded_keys(shape);
    for (int key = 0; key < padded; key += LANES) {
        float *panel = packed + (ptrdiff_t)(key / attention_panel) * attention_panel * depth + key % attention_panel;
        const int rows = MAX(0, MIN(LANES, shape->keys - key));
        for (int d = 0; d < depth; d += LANES) {
            const int columns = MIN(LANES, depth - d);
            vf block[LANES];
            if (rows == LANES && columns == LANES)
                UNROLL for (int i = 0; i < LANES; i++) block[i] = vload(k + (key + i) * shape->k_stride + d);
            else
                UNROLL for (int i = 0; i < LANES; i++)
                    block[i] = i < rows ? vload_rest(k + (key + i) * shape->k_stride + d, columns) : vset(0);
            v_transpose(block);
            UNROLL for (int i = 0; i < LANES; i++)
                if (i < columns) vstore(panel + (d + i) * attention_panel, block[i]);
        }
    }
}

/* Turns `count` scores into exponentials of their distance from the largest; one over their sum. */
INLINE float attention_softmax(float *scores, int count, const float *mask) {
    if (count <= 0) return NAN;
    if (mask) ROW_MAP(scores, scores, count, vf m = vload_rest(mask + i, rest), x + m);
    return 1 / row_exponentials(scores, scores, count, row_maximum(scores, count));
}

/* Keys that the query sees. */
INLINE int attention_reach(const coreai_attention *shape, int query) {
    return shape->causal ? MAX(0, MIN(shape->keys, query + 1 + shape->keys - shape->queries)) : shape->keys;
}

/* MARK: One query */

/* The scores of one query, LANES keys at a time: a sum of products for each key, then all added across by a
 * transposition. */
static void attention_scores(const coreai_attention *shape, const float *q, const float *k, float *scores, int count) {
    const int depth = shape->depth;
    const vf scale = vset(shape->scale);
    for (int key = 0; key < count; key += LANES) {
        const float *rows[LANES];
        vf sums[LANES];
        UNROLL for (int i = 0; i < LANES; i++) {
            rows[i] = k + (ptrdiff_t)MIN(key + i, count - 1) * shape->k_stride;
            sums[i] = vset(0);
        }
        int d = 0;
        for (; d + LANES <= depth; d += LANES) {
            const vf x = vload(q + d);
            UNROLL for (int i = 0; i < LANES; i++) sums[i] = vfma(x, vload(rows[i] + d), sums[i]);
        }
        if (d < depth) {
            const vf x = vload_part(q + d, depth - d);
            UNROLL for (int i = 0; i < LANES; i++)
                sums[i] = vfma(x, vload_part(rows[i] + d, depth - d), sums[i]);
        }
        v_transpose(sums);
        UNROLL for (int width = LANES / 2; width > 0; width /= 2)
            UNROLL for (int i = 0; i < width; i++) sums[i] += sums[i + width];
        vstore_rest(scores + key, sums[0] * scale, MIN(LANES, count - key));
    }
}

/* o = factor * sum over keys of p[key] v[key]: `vectors` vectors of it, the last of `rest` lanes, in chains. */
INLINE void attention_mix(const float *p, const float *v, ptrdiff_t v_stride, int count, float factor, float *o,
                          const int vectors, const int rest) {
    enum { chains = REGISTERS == 32 ? 4 : 2 };
    vf sums[chains][4];
    UNROLL for (int h = 0; h < chains; h++) UNROLL for (int j = 0; j < vectors; j++) sums[h][j] = vset(0);
    int key = 0;
    for (; key + chains <= count; key += chains)
        UNROLL for (int h = 0; h < chains; h++) {
            const vf x = vset(p[key + h]);
            const float *row = v + (ptrdiff_t)(key + h) * v_stride;
            UNROLL for (int j = 0; j < vectors; j++)
                sums[h][j] = vfma(x, j + 1 < vectors ? vload(row + j * LANES) : vload_rest(row + j * LANES, rest),
                                  sums[h][j]);
        }
    for (; key < count; key++) {
        const vf x = vset(p[key]);
        const float *row = v + (ptrdiff_t)key * v_stride;
        UNROLL for (int j = 0; j < vectors; j++)
            sums[0][j] = vfma(x, j + 1 < vectors ? vload(row + j * LANES) : vload_rest(row + j * LANES, rest),
                              sums[0][j]);
    }
    UNROLL for (int j = 0; j < vectors; j++) {
        UNROLL for (int h = 1; h < chains; h++) sums[0][j] += sums[h][j];
        vstore_rest(o + j * LANES, sums[0][j] * vset(factor), j + 1 < vectors ? LANES : rest);
    }
}

static void attention_query(const coreai_attention *shape, int query, const float *q, const float *k, const float *v,
                            const float *mask, float *o, float *scores) {
    const int count = attention_reach(shape, query), columns = shape->value_depth;
    attention_scores(shape, q, k, scores, count);
    const float factor = attention_softmax(scores, count, mask);
    int c = 0;
    for (; c + 4 * LANES <= columns; c += 4 * LANES)
        attention_mix(scores, v + c, shape->v_stride, count, factor, o + c, 4, LANES);
    for (; c + 2 * LANES <= columns; c += 2 * LANES)
        attention_mix(scores, v + c, shape->v_stride, count, factor, o + c, 2, LANES);
    for (; c + LANES <= columns; c += LANES)
        attention_mix(scores, v + c, shape->v_stride, count, factor, o + c, 1, LANES);
    if (c < columns) attention_mix(scores, v + c, shape->v_stride, count, factor, o + c, 1, columns - c);
}

/* MARK: All queries */

static void attention(const coreai_attention *shape, const float *q, const float *k, const float *v, const float *mask,
                      float *o, float *scratch) {
    if (shape->queries <= attention_direct) {
        for (int i = 0; i < shape->queries; i++)
            attention_query(shape, i, q + i * shape->q_stride, k, v, mask ? mask + i * shape->mask_stride : NULL,
                            o + i * shape->o_stride, scratch);
        return;
    }
    /* Both parts begin on a line of the cache where the scratch does. */
    float *packed = scratch;
    float *scores = packed + ((ptrdiff_t)attention_padded_keys(shape) * shape->depth + 15) / 16 * 16;
    const ptrdiff_t stride = attention_score_stride(shape);
    const int at_once = attention_rows_at_once(shape);
    attention_pack(shape, k, packed);
    for (int first = 0; first < shape->queries; first += at_once) {
        const int rows = MIN(at_once, shape->queries - first), reach = attention_reach(shape, first + rows - 1);
        float factors[attention_rows];
        for (int key = 0; key < reach; key += attention_panel)
            attention_multiply(q + first * shape->q_stride, shape->q_stride, packed + (ptrdiff_t)key * shape->depth,
                               attention_panel, shape->depth, scores + key, stride, rows,
                               MIN(attention_panel, (reach - key + LANES - 1) / LANES * LANES), &shape->scale, 0);
        for (int i = 0; i < rows; i++) {
            float *row = scores + i * stride;
            const int count = attention_reach(shape, first + i);
            factors[i] = attention_softmax(row, count, mask ? mask + (first + i) * shape->mask_stride : NULL);
            for (int key = count; key < reach; key++) row[key] = 0;
        }
        attention_multiply(scores, stride, v, shape->v_stride, reach, o + first * shape->o_stride, shape->o_stride,
                           rows, shape->value_depth, factors, 1);
    }
}
