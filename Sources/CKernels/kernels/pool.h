/* Pooling of images, channels last. */

/* The taps of a window that lie inside the image: `count` of them from `first`, `step` apart. */
typedef struct {
    int first, count;
} pool_range;

INLINE pool_range pool_clip(int origin, int kernel, int dilation, int size) {
    int skipped = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
    int end = origin >= size ? 0 : MIN(kernel, (size - origin + dilation - 1) / dilation);
    return (pool_range){origin + skipped * dilation, MAX(0, end - skipped)};
}

/* One output pixel's channels, `vectors` vectors of which the last has `rest` lanes. Means are added row by row of the
 * window: large windows lose less. */
INLINE void pool_channels(const bool maximum, const float *x, ptrdiff_t row_step, ptrdiff_t column_step, int rows,
                          int columns, float divisor, float *y, const int vectors, int rest) {
    vf total[4];
    UNROLL for (int j = 0; j < vectors; j++) total[j] = vset(maximum ? -INFINITY : 0);
    for (int r = 0; r < rows; r++, x += row_step) {
        const float *tap = x;
        vf part[4];
        UNROLL for (int j = 0; j < vectors; j++) part[j] = maximum ? total[j] : vset(0);
        for (int c = 0; c < columns; c++, tap += column_step)
            UNROLL for (int j = 0; j < vectors; j++) {
                vf v = j + 1 < vectors ? vload(tap + j * LANES) : vload_rest(tap + j * LANES, rest);
                part[j] = maximum ? v_maximum(part[j], v) : part[j] + v;
            }
        UNROLL for (int j = 0; j < vectors; j++) total[j] = maximum ? part[j] : total[j] + part[j];
    }
    UNROLL for (int j = 0; j < vectors; j++) {
        vf v = maximum ? total[j] : total[j] / vset(divisor);
        vstore_rest(y + j * LANES, v, j + 1 < vectors ? LANES : rest);
    }
}

INLINE void pool_rows(const bool maximum, bool count_padding, const coreai_convolution *shape, const float *x,
                      float *y, int first_row, int last_row) {
    const int channels = shape->channels;
    const ptrdiff_t line = shape->width * shape->x_stride;
    for (int row = first_row; row < last_row; row++) {
        pool_range rows =
            pool_clip(row * shape->stride_y - shape->pad_top, shape->kernel_height, shape->dilation_y, shape->height);
        for (int column = 0; column < shape->out_width; column++) {
            pool_range columns = pool_clip(column * shape->stride_x - shape->pad_left, shape->kernel_width,
                                           shape->dilation_x, shape->width);
            int taps = count_padding ? shape->kernel_height * shape->kernel_width : rows.count * columns.count;
            /* A window outside the image has no first tap to point at. */
            bool empty = rows.count == 0 || columns.count == 0;
            const float *from = empty ? x : x + rows.first * line + columns.first * shape->x_stride;
            float *to = y + ((ptrdiff_t)row * shape->out_width + column) * shape->y_stride;
            int c = 0;
#define POOL(vectors, rest)                                                                                            \
    pool_channels(maximum, from + c, shape->dilation_y * line, shape->dilation_x * shape->x_stride,                    \
                  empty ? 0 : rows.count, columns.count, (float)taps, to + c, vectors, rest)
            for (; c + 4 * LANES <= channels; c += 4 * LANES) POOL(4, LANES);
            for (; c + LANES <= channels; c += LANES) POOL(1, LANES);
            if (c < channels) POOL(1, channels - c);
#undef POOL
        }
    }
}

static void pool_max(const coreai_convolution *shape, const float *x, float *y, int first_row, int last_row) {
    pool_rows(true, false, shape, x, y, first_row, last_row);
}

static void pool_mean(const coreai_convolution *shape, bool count_padding, const float *x, float *y, int first_row,
                      int last_row) {
    pool_rows(false, count_padding, shape, x, y, first_row, last_row);
}
