/* 3x3 convolutions of stride 1 as Winograd's F(4x4, 3x3): 36 multiplications where the sum takes 144.
 *
 *     V[36][tiles][channels]     = B^T d B for 6x6 pixels of the input each, all channels of a vector at once
 *     M[36][tiles][out_channels] = 36 products with the packed U = G g G^T
 *     y                          = A^T M A, bias, residual, activation, for 4x4 pixels of the result each
 *
 * The points are 0, ±1/sqrt 2, ±sqrt 2 and infinity: among those tried the ones with the least error, which is that of
 * the plain sum. The two rows of a pair of points are an even part plus and minus an odd part, at half the
 * multiplications. U is computed in double precision and rounded once. */

#define WINOGRAD_POINTS 6
#define WINOGRAD_MATRICES (WINOGRAD_POINTS * WINOGRAD_POINTS)
#define WINOGRAD_PIXELS 4
#define WINOGRAD_MAX_TILES 24
#define WINOGRAD_MIN_TILES 12
#define WINOGRAD_SCRATCH_FLOATS (180 * 1024)
#define WINOGRAD_GAP 16            /* floats between rows: no strides of 4 KiB, which share one place in the cache */

#define WINOGRAD_A 0.70710678118654752
#define WINOGRAD_B 1.41421356237309505

static size_t winograd_packed_count(int out_channels, int channels) {
    return WINOGRAD_MATRICES * gemm_packed_count(channels, out_channels, gemm_panel(out_channels));
}

static void winograd_pack(const float *w, int out_channels, int channels, float *out) {
    const double a = WINOGRAD_A, b = WINOGRAD_B, points[WINOGRAD_POINTS - 1] = {0, a, -a, b, -b};
    double g[WINOGRAD_POINTS][3] = {[WINOGRAD_POINTS - 1] = {0, 0, 1}};
    for (int i = 0; i < WINOGRAD_POINTS - 1; i++) {
        double others = 1;
        for (int k = 0; k < WINOGRAD_POINTS - 1; k++)
            if (k != i) others *= points[i] - points[k];
        for (int j = 0; j < 3; j++) g[i][j] = (j == 0 ? 1 : j == 1 ? points[i] : points[i] * points[i]) / others;
    }

    const int panel = gemm_panel(out_channels);
    const size_t matrix = gemm_packed_count(channels, out_channels, panel);
    memset(out, 0, WINOGRAD_MATRICES * matrix * sizeof(float));
    for (int o = 0; o < out_channels; o++) {
        int first = o / panel * panel, width = panel_width(out_channels, panel, first);
        for (int c = 0; c < channels; c++) {
            const float *taps = w + ((ptrdiff_t)o * channels + c) * 9;
            float *to = out + (ptrdiff_t)first * channels + (ptrdiff_t)c * width + (o - first);
            double half[WINOGRAD_POINTS][3];
            for (int i = 0; i < WINOGRAD_POINTS; i++)
                for (int j = 0; j < 3; j++)
                    half[i][j] = g[i][0] * taps[j] + g[i][1] * taps[3 + j] + g[i][2] * taps[6 + j];
            for (int i = 0; i < WINOGRAD_POINTS; i++)
                for (int j = 0; j < WINOGRAD_POINTS; j++, to += matrix)
                    *to = (float)(half[i][0] * g[j][0] + half[i][1] * g[j][1] + half[i][2] * g[j][2]);
        }
    }
}

INLINE int winograd_tile_count(const coreai_convolution *s) {
    int down = (s->out_height + WINOGRAD_PIXELS - 1) / WINOGRAD_PIXELS;
    int across = (s->out_width + WINOGRAD_PIXELS - 1) / WINOGRAD_PIXELS;
    return down * across;
}

/* Tiles that are transformed at a time: V and M shall stay in the second cache, and U is read again for each block. */
static int winograd_block(const coreai_convolution *s) {
    int64_t floats = WINOGRAD_MATRICES * ((int64_t)s->channels + s->out_channels + 2 * WINOGRAD_GAP);
    int64_t fit = WINOGRAD_SCRATCH_FLOATS / floats;
    int block = (int)MAX(WINOGRAD_MIN_TILES, MIN(WINOGRAD_MAX_TILES, fit));
    return MAX(1, MIN(block, winograd_tile_count(s)));
}

static size_t winograd_scratch_count(const coreai_convolution *s) {
    return (size_t)WINOGRAD_MATRICES * (size_t)winograd_block(s) *
           ((size_t)s->channels + (size_t)s->out_channels + 2 * WINOGRAD_GAP);
}

/* B^T d: six pixels to six points. */
INLINE void winograd_input_line(const vf *d, vf *t) {
    const vf aa = vset((float)(WINOGRAD_A * WINOGRAD_A)), bb = vset((float)(WINOGRAD_B * WINOGRAD_B));
    const vf a = vset((float)WINOGRAD_A), b = vset((float)WINOGRAD_B);
    const vf product = aa * bb, sum = aa + bb;
    t[0] = vfma(d[0], product, vfma(d[2], -sum, d[4]));
    vf even = vfma(d[2], -bb, d[4]), odd = vfma(d[1], -bb, d[3]);
    t[1] = vfma(odd, a, even);
    t[2] = vfma(odd, -a, even);
    even = vfma(d[2], -aa, d[4]), odd = vfma(d[1], -aa, d[3]);
    t[3] = vfma(odd, b, even);
    t[4] = vfma(odd, -b, even);
    t[5] = vfma(d[1], product, vfma(d[3], -sum, d[5]));
}

/* A^T m: six points to four pixels. */
INLINE void winograd_output_line(const vf *m, vf *y) {
    const float a = (float)WINOGRAD_A, b = (float)WINOGRAD_B;
    vf sum1 = m[1] + m[2], difference1 = m[1] - m[2], sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    y[0] = m[0] + (sum1 + sum2);
    y[1] = vfma(difference1, vset(a), difference2 * vset(b));
    y[2] = vfma(sum1, vset(a * a), sum2 * vset(b * b));
    y[3] = vfma(difference1, vset(a * a * a), vfma(difference2, vset(b * b * b), m[5]));
}

/* A tile's `count` channels of 36 pixels to the 36 matrices, `matrix` floats apart. */
INLINE void winograd_input_channels(const float *const *pixels, ptrdiff_t c, int count, float *v, ptrdiff_t matrix) {
    vf half[WINOGRAD_POINTS][WINOGRAD_POINTS];
    UNROLL for (int j = 0; j < WINOGRAD_POINTS; j++) {
        vf column[WINOGRAD_POINTS], t[WINOGRAD_POINTS];
        UNROLL for (int i = 0; i < WINOGRAD_POINTS; i++)
            column[i] = vload_count(pixels[i * WINOGRAD_POINTS + j] + c, count);
        winograd_input_line(column, t);
        UNROLL for (int i = 0; i < WINOGRAD_POINTS; i++) half[i][j] = t[i];
    }
    UNROLL for (int i = 0; i < WINOGRAD_POINTS; i++) {
        vf t[WINOGRAD_POINTS];
        winograd_input_line(half[i], t);
        UNROLL for (int j = 0; j < WINOGRAD_POINTS; j++)
            vstore_count(v + (i * WINOGRAD_POINTS + j) * matrix + c, t[j], count);
    }
}

static void winograd_input(const float *const *pixels, int channels, float *v, ptrdiff_t matrix) {
    ptrdiff_t c = 0;
    for (; c + LANES <= channels; c += LANES) winograd_input_channels(pixels, c, LANES, v, matrix);
    if (c < channels) winograd_input_channels(pixels, c, (int)(channels - c), v, matrix);
}

/* The part of a result that one tile gives. */
typedef struct {
    float *y;
    ptrdiff_t y_stride, residual_stride;
    ptrdiff_t width;               /* of the result, in pixels */
    int rows, columns;             /* of the tile's 4x4 pixels those that exist */
    coreai_epilogue epilogue;      /* at the tile's first pixel */
} winograd_result;

INLINE void winograd_output_channels(const float *m, ptrdiff_t matrix, ptrdiff_t c, int count,
                                     const winograd_result *r) {
    const coreai_epilogue *e = &r->epilogue;
    vf half[WINOGRAD_PIXELS][WINOGRAD_POINTS];
    UNROLL for (int j = 0; j < WINOGRAD_POINTS; j++) {
        vf column[WINOGRAD_POINTS], t[WINOGRAD_PIXELS];
        UNROLL for (int i = 0; i < WINOGRAD_POINTS; i++)
            column[i] = vload_count(m + (i * WINOGRAD_POINTS + j) * matrix + c, count);
        winograd_output_line(column, t);
        UNROLL for (int i = 0; i < WINOGRAD_PIXELS; i++) half[i][j] = t[i];
    }
    vf bias = e->bias ? vload_count(e->bias + c, count) : vset(0);
    UNROLL for (int i = 0; i < WINOGRAD_PIXELS; i++) {
        if (i >= r->rows) break;
        vf t[WINOGRAD_PIXELS];
        winograd_output_line(half[i], t);
        UNROLL for (int j = 0; j < WINOGRAD_PIXELS; j++) t[j] += bias;
        if (e->residual)
            UNROLL for (int j = 0; j < WINOGRAD_PIXELS; j++)
                if (j < r->columns)
                    t[j] += vload_count(e->residual + (i * r->width + j) * e->residual_stride + c, count);
        ACTIVATE_IN_REGISTERS(e, UNROLL for (int j = 0; j < WINOGRAD_PIXELS; j++), t[j]);
        UNROLL for (int j = 0; j < WINOGRAD_PIXELS; j++)
            if (j < r->columns) vstore_count(r->y + (i * r->width + j) * r->y_stride + c, t[j], count);
    }
}

static void winograd_output(const float *m, ptrdiff_t matrix, int channels, const winograd_result *r) {
    ptrdiff_t c = 0;
    for (; c + LANES <= channels; c += LANES) winograd_output_channels(m, matrix, c, LANES, r);
    if (c < channels) winograd_output_channels(m, matrix, c, (int)(channels - c), r);
    for (int i = 0; i < r->rows; i++)
        activate_rows(r->epilogue.activation, r->y + i * r->width * r->y_stride, r->y_stride, r->columns, channels);
}

static void winograd(const coreai_convolution *s, const float *x, const float *packed, float *y, int first_tile,
                     int last_tile, float *scratch, const coreai_epilogue *epilogue) {
    const int across = (s->out_width + WINOGRAD_PIXELS - 1) / WINOGRAD_PIXELS, most = winograd_block(s);
    const int panel = gemm_panel(s->out_channels);
    const size_t packed_matrix = gemm_packed_count(s->channels, s->out_channels, panel);
    const ptrdiff_t v_stride = s->channels + WINOGRAD_GAP, m_stride = s->out_channels + WINOGRAD_GAP;
    float *v = scratch, *m = scratch + WINOGRAD_MATRICES * most * v_stride;
    const coreai_epilogue nothing = {.activation = COREAI_ACTIVATION_NONE};

    const int tile_count = last_tile - first_tile, blocks = (tile_count + most - 1) / most;
    for (int block = 0; block < blocks; block++) {
        const int begin = first_tile + part_begin(tile_count, block, blocks);
        const int end = first_tile + part_begin(tile_count, block + 1, blocks);

        for (int t = begin; t < end; t++) {
            const int top = t / across * WINOGRAD_PIXELS - s->pad_top;
            const int left = t % across * WINOGRAD_PIXELS - s->pad_left;
            for (int c = 0; c < s->channels; c += ZERO_COUNT) {
                const float *pixels[WINOGRAD_MATRICES];
                for (int i = 0; i < WINOGRAD_POINTS; i++)
                    for (int j = 0; j < WINOGRAD_POINTS; j++) {
                        int iy = top + i, ix = left + j;
                        bool inside = (unsigned)iy < (unsigned)s->height && (unsigned)ix < (unsigned)s->width;
                        pixels[i * WINOGRAD_POINTS + j] = inside ? conv_pixel(s, x, iy, ix) + c : zeros;
                    }
                winograd_input(pixels, MIN(ZERO_COUNT, s->channels - c), v + (t - begin) * v_stride + c,
                               most * v_stride);
            }
        }

        for (int i = 0; i < WINOGRAD_MATRICES; i++) {
            const coreai_panels u = {.data = packed + i * packed_matrix, .depth = s->channels,
                                     .columns = s->out_channels, .panel = panel};
            gemm(v + i * most * v_stride, v_stride, &u, 0, s->out_channels, m + i * most * m_stride, m_stride,
                 end - begin, &nothing);
        }

        for (int t = begin; t < end; t++) {
            const int oy = t / across * WINOGRAD_PIXELS, ox = t % across * WINOGRAD_PIXELS;
            const ptrdiff_t pixel = (ptrdiff_t)oy * s->out_width + ox;
            winograd_result result = {.y = y + pixel * s->y_stride, .y_stride = s->y_stride, .width = s->out_width,
                                      .rows = MIN(WINOGRAD_PIXELS, s->out_height - oy),
                                      .columns = MIN(WINOGRAD_PIXELS, s->out_width - ox),
                                      .epilogue = epilogue_at(epilogue, pixel, 0)};
            winograd_output(m + (t - begin) * m_stride, most * m_stride, s->out_channels, &result);
        }
    }
}
