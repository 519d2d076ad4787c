/* Rows of numbers: softmax, norms, reductions. A row may be written where it was read. */

/* Rows and columns are added in blocks of so many numbers a lane, and the blocks' sums in double precision or apart:
 * the error of long sums grows with the blocks, not with the numbers. */
#define BLOCK_OF_SUM 256

/* The sum of `term`, an expression of the vector x, over a row. */
#define ROW_SUM(total, x_row, count, term)                                                                             \
    double total = 0;                                                                                                  \
    {                                                                                                                  \
        const float *const row_ = (x_row);                                                                             \
        for (int start_ = 0; start_ < (count); start_ += BLOCK_OF_SUM * LANES) {                                       \
            const int end_ = MIN((count), start_ + BLOCK_OF_SUM * LANES);                                              \
            int i_ = start_;                                                                                           \
            vf sums_[4];                                                                                               \
            UNROLL for (int j_ = 0; j_ < 4; j_++) sums_[j_] = vset(0);                                                 \
            for (; i_ + 4 * LANES <= end_; i_ += 4 * LANES)                                                            \
                UNROLL for (int j_ = 0; j_ < 4; j_++) {                                                                \
                    const vf x = vload(row_ + i_ + j_ * LANES);                                                        \
                    sums_[j_] += (term);                                                                               \
                }                                                                                                      \
            for (; i_ + LANES <= end_; i_ += LANES) {                                                                  \
                const vf x = vload(row_ + i_);                                                                         \
                sums_[0] += (term);                                                                                    \
            }                                                                                                          \
            if (i_ < end_) {                                                                                           \
                const vf x = vload_part(row_ + i_, end_ - i_);                                                         \
                sums_[1] += v_first_lanes(end_ - i_) ? (term) : vset(0);                                               \
            }                                                                                                          \
            total += (double)v_reduce_add((sums_[0] + sums_[1]) + (sums_[2] + sums_[3]));                              \
        }                                                                                                              \
    }

/* y = term along a row, an expression of the vector x and of what `statements` declare; these find their numbers at
 * place i and have `rest` lanes of them. */
#define ROW_MAP(x_row, y_row, count, statements, term)                                                                 \
    do {                                                                                                               \
        const float *const from_ = (x_row);                                                                            \
        float *const to_ = (y_row);                                                                                    \
        int i = 0;                                                                                                     \
        for (; i + LANES <= (count); i += LANES) {                                                                     \
            const int rest = LANES;                                                                                    \
            const vf x = vload(from_ + i);                                                                             \
            statements;                                                                                                \
            vstore(to_ + i, (term));                                                                                   \
            (void)rest;                                                                                                \
        }                                                                                                              \
        if (i < (count)) {                                                                                             \
            const int rest = (count) - i;                                                                              \
            const vf x = vload_part(from_ + i, rest);                                                                  \
            statements;                                                                                                \
            vstore_part(to_ + i, (term), rest);                                                                        \
        }                                                                                                              \
    } while (0)

/* The largest number of a row; where there is NaN, it or another. */
INLINE float row_maximum(const float *x, int count) {
    vf m0 = vset(-INFINITY), m1 = m0, m2 = m0, m3 = m0;
    int i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        m0 = vmax(vload(x + i), m0);
        m1 = vmax(vload(x + i + LANES), m1);
        m2 = vmax(vload(x + i + 2 * LANES), m2);
        m3 = vmax(vload(x + i + 3 * LANES), m3);
    }
    for (; i + LANES <= count; i += LANES) m0 = vmax(vload(x + i), m0);
    if (i < count) m1 = vmax(v_load_filled(x + i, count - i, -INFINITY), m1);
    m0 = vmax(vmax(m0, m1), vmax(m2, m3));
    return V_REDUCE(m0, V_LARGER);
}

/* y = e^(x - maximum), and the sum of these. Not for more numbers than float sums bear: blocks of rows are the
 * caller's. */
INLINE float row_exponentials(const float *x, float *y, int count, float maximum) {
    const vf m = vset(maximum);
    vf s0 = vset(0), s1 = s0;
    int i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        vf a = v_exp_softmax(vload(x + i) - m), b = v_exp_softmax(vload(x + i + LANES) - m);
        vstore(y + i, a);
        vstore(y + i + LANES, b);
        s0 += a;
        s1 += b;
    }
    if (i + LANES <= count) {
        vf a = v_exp_softmax(vload(x + i) - m);
        vstore(y + i, a);
        s0 += a;
        i += LANES;
    }
    if (i < count) {
        vf a = v_exp_softmax(vload_part(x + i, count - i) - m);
        vstore_part(y + i, a, count - i);
        s1 += v_first_lanes(count - i) ? a : vset(0);
    }
    return v_reduce_add(s0 + s1);
}

static void softmax_rows(const float *x, ptrdiff_t x_stride, float *y, ptrdiff_t y_stride, int rows, int count) {
    for (int r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        float maximum = row_maximum(x, count);
        double sum = 0;
        for (int start = 0; start < count; start += BLOCK_OF_SUM * LANES)
            sum += (double)row_exponentials(x + start, y + start, MIN(BLOCK_OF_SUM * LANES, count - start), maximum);
        const vf factor = vset((float)(1 / sum));
        ROW_MAP(y, y, count, , x * factor);
    }
}

/* As many columns as one vector has, or the `rest` of them. */
INLINE void softmax_column_block(const float *x, float *y, ptrdiff_t stride, int count, int rest) {
    vf maximum = vload_part(x, rest);
    for (int i = 1; i < count; i++) maximum = vmax(vload_part(x + i * stride, rest), maximum);
    vf sum = vset(0);
    for (int i = 0; i < count; i++) {
        const vf e = v_exp_softmax(vload_part(x + i * stride, rest) - maximum);
        vstore_part(y + i * stride, e, rest);
        sum += e;
    }
    const vf factor = vset(1) / sum;
    for (int i = 0; i < count; i++) vstore_part(y + i * stride, vload_part(y + i * stride, rest) * factor, rest);
}

static void softmax_columns(const float *x, float *y, ptrdiff_t stride, int columns, int count) {
    int column = 0;
    for (; column + LANES <= columns; column += LANES)
        softmax_column_block(x + column, y + column, stride, count, LANES);
    if (column < columns) softmax_column_block(x + column, y + column, stride, count, columns - column);
}

static void log_softmax_rows(const float *x, ptrdiff_t x_stride, float *y, ptrdiff_t y_stride, int rows, int count) {
    for (int r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        const vf m = vset(row_maximum(x, count));
        ROW_SUM(sum, x, count, v_exp_softmax(x - m));
        const vf shift = vset((float)log(sum));
        ROW_MAP(x, y, count, , (x - m) - shift);
    }
}

static void layer_norm_rows(const float *x, ptrdiff_t x_stride, float *y, ptrdiff_t y_stride, int rows, int count,
                            const float *gain, const float *shift, float epsilon) {
    for (int r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        ROW_SUM(sum, x, count, x);
        const vf mean = vset((float)(sum / count));
        ROW_SUM(squares, x, count, (x - mean) * (x - mean));
        const vf factor = vset((float)(1 / sqrt(squares / count + (double)epsilon)));
        if (gain && shift)
            ROW_MAP(x, y, count, vf g = vload_rest(gain + i, rest); vf s = vload_rest(shift + i, rest),
                    vfma((x - mean) * factor, g, s));
        else if (gain)
            ROW_MAP(x, y, count, vf g = vload_rest(gain + i, rest), (x - mean) * factor * g);
        else if (shift)
            ROW_MAP(x, y, count, vf s = vload_rest(shift + i, rest), vfma(x - mean, factor, s));
        else
            ROW_MAP(x, y, count, , (x - mean) * factor);
    }
}

static void rms_norm_rows(const float *x, ptrdiff_t x_stride, float *y, ptrdiff_t y_stride, int rows, int count,
                          const float *gain, float epsilon) {
    for (int r = 0; r < rows; r++, x += x_stride, y += y_stride) {
        ROW_SUM(squares, x, count, x * x);
        const vf factor = vset((float)(1 / sqrt(squares / count + (double)epsilon)));
        if (gain)
            ROW_MAP(x, y, count, vf g = vload_rest(gain + i, rest), x * factor * g);
        else
            ROW_MAP(x, y, count, , x * factor);
    }
}

/* MARK: Reductions */

/* A fold of one row in four chains. */
#define ROW_FOLD(result, x_row, count, neutral, combine, reduce)                                                       \
    float result;                                                                                                      \
    {                                                                                                                  \
        vf f_[4];                                                                                                      \
        int i_ = 0;                                                                                                    \
        UNROLL for (int j_ = 0; j_ < 4; j_++) f_[j_] = vset(neutral);                                                  \
        for (; i_ + 4 * LANES <= (count); i_ += 4 * LANES)                                                             \
            UNROLL for (int j_ = 0; j_ < 4; j_++) f_[j_] = combine(f_[j_], vload((x_row) + i_ + j_ * LANES));          \
        for (; i_ + LANES <= (count); i_ += LANES) f_[0] = combine(f_[0], vload((x_row) + i_));                        \
        if (i_ < (count)) f_[1] = combine(f_[1], v_load_filled((x_row) + i_, (count) - i_, neutral));                  \
        result = reduce(combine(combine(f_[0], f_[1]), combine(f_[2], f_[3])));                                        \
    }

static void reduce_rows(coreai_reduction kind, const float *x, ptrdiff_t x_stride, float *y, int rows, int count) {
    for (int r = 0; r < rows; r++, x += x_stride) {
        switch (kind) {
        case COREAI_REDUCE_SUM:
        case COREAI_REDUCE_MEAN: {
            ROW_SUM(sum, x, count, x);
            y[r] = (float)(kind == COREAI_REDUCE_SUM ? sum : sum / count);
            break;
        }
        case COREAI_REDUCE_SUM_OF_SQUARES:
        case COREAI_REDUCE_L2: {
            ROW_SUM(sum, x, count, x * x);
            y[r] = (float)(kind == COREAI_REDUCE_L2 ? sqrt(sum) : sum);
            break;
        }
        case COREAI_REDUCE_MAX: {
            ROW_FOLD(largest, x, count, -INFINITY, v_maximum, v_reduce_maximum);
            y[r] = largest;
            break;
        }
        case COREAI_REDUCE_MIN: {
            ROW_FOLD(smallest, x, count, INFINITY, v_minimum, v_reduce_minimum);
            y[r] = smallest;
            break;
        }
        case COREAI_REDUCE_PRODUCT: {
            ROW_FOLD(product, x, count, 1, V_TIMES, v_reduce_multiply);
            y[r] = product;
            break;
        }
        }
    }
}

/* `vectors` vectors of columns, the last of them of `rest` lanes, over all rows. */
INLINE void reduce_column_block(coreai_reduction kind, const float *x, ptrdiff_t x_stride, float *y, int count,
                                const int vectors, const int rest) {
    enum { most = 8 };
    const bool adds = kind != COREAI_REDUCE_MAX && kind != COREAI_REDUCE_MIN && kind != COREAI_REDUCE_PRODUCT;
    const vf neutral = vset(adds                           ? 0.0f
                            : kind == COREAI_REDUCE_MAX    ? -INFINITY
                            : kind == COREAI_REDUCE_MIN    ? INFINITY
                                                           : 1.0f);
    vf total[most];
    UNROLL for (int j = 0; j < vectors; j++) total[j] = neutral;
    for (int start = 0; start < count; start += BLOCK_OF_SUM) {
        vf part[most];
        UNROLL for (int j = 0; j < vectors; j++) part[j] = adds ? neutral : total[j];
        for (int r = start; r < MIN(count, start + BLOCK_OF_SUM); r++, x += x_stride)
            UNROLL for (int j = 0; j < vectors; j++) {
                vf v = j + 1 < vectors || rest == LANES ? vload(x + j * LANES) : vload_part(x + j * LANES, rest);
                switch (kind) {
                case COREAI_REDUCE_SUM:
                case COREAI_REDUCE_MEAN: part[j] += v; break;
                case COREAI_REDUCE_SUM_OF_SQUARES:
                case COREAI_REDUCE_L2: part[j] = vfma(v, v, part[j]); break;
                case COREAI_REDUCE_MAX: part[j] = v_maximum(part[j], v); break;
                case COREAI_REDUCE_MIN: part[j] = v_minimum(part[j], v); break;
                case COREAI_REDUCE_PRODUCT: part[j] *= v; break;
                }
            }
        UNROLL for (int j = 0; j < vectors; j++) total[j] = adds ? total[j] + part[j] : part[j];
    }
    UNROLL for (int j = 0; j < vectors; j++) {
        vf v = total[j];
        if (kind == COREAI_REDUCE_MEAN) v /= vset((float)count);
        if (kind == COREAI_REDUCE_L2) v = v_sqrt(v);
        if (j + 1 < vectors || rest == LANES)
            vstore(y + j * LANES, v);
        else
            vstore_part(y + j * LANES, v, rest);
    }
}

INLINE void reduce_columns_of(const coreai_reduction kind, const float *x, ptrdiff_t x_stride, float *y, int columns,
                              int count) {
    enum { wide = REGISTERS / 4 };
    int c = 0;
    for (; c + wide * LANES <= columns; c += wide * LANES)
        reduce_column_block(kind, x + c, x_stride, y + c, count, wide, LANES);
    for (; c + LANES <= columns; c += LANES) reduce_column_block(kind, x + c, x_stride, y + c, count, 1, LANES);
    if (c < columns) reduce_column_block(kind, x + c, x_stride, y + c, count, 1, columns - c);
}

static void reduce_columns(coreai_reduction kind, const float *x, ptrdiff_t x_stride, float *y, int columns,
                           int count) {
    switch (kind) {
    case COREAI_REDUCE_SUM: reduce_columns_of(COREAI_REDUCE_SUM, x, x_stride, y, columns, count); break;
    case COREAI_REDUCE_MEAN: reduce_columns_of(COREAI_REDUCE_MEAN, x, x_stride, y, columns, count); break;
    case COREAI_REDUCE_MAX: reduce_columns_of(COREAI_REDUCE_MAX, x, x_stride, y, columns, count); break;
    case COREAI_REDUCE_MIN: reduce_columns_of(COREAI_REDUCE_MIN, x, x_stride, y, columns, count); break;
    case COREAI_REDUCE_PRODUCT: reduce_columns_of(COREAI_REDUCE_PRODUCT, x, x_stride, y, columns, count); break;
    case COREAI_REDUCE_SUM_OF_SQUARES:
        reduce_columns_of(COREAI_REDUCE_SUM_OF_SQUARES, x, x_stride, y, columns, count);
        break;
    case COREAI_REDUCE_L2: reduce_columns_of(COREAI_REDUCE_L2, x, x_stride, y, columns, count); break;
    }
}
