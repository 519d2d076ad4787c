/* Convolutions of each channel with its own kernel, vectors of channels.
 *
 * For kernels of 3x3, 5x5 and 7x7 up to 7 neighbouring pixels of a row are summed in registers: a pixel of the input is
 * loaded once for each row of the kernel and serves all pixels that it belongs to. The pointers to pixels serve all
 * channels. Everything else, and channels that fill no vector where such loads are slow, takes the taps one by one. */

#define DEPTHWISE_MAX_PIXELS 7
#define DEPTHWISE_MAX_KERNEL 7
#define DEPTHWISE_MAX_POINTERS (DEPTHWISE_MAX_KERNEL * ((DEPTHWISE_MAX_PIXELS - 1) * 2 + DEPTHWISE_MAX_KERNEL))

/* Neighbouring pixels of the result. */
typedef struct {
    const float *const *pixels;    /* of the input: rows of the kernel by pixels in reach; at the first channel */
    const float *w;                /* at the first channel */
    int channels;                  /* to be computed */
    ptrdiff_t w_stride;            /* between taps */
    float *y;
    ptrdiff_t y_stride;
    coreai_epilogue epilogue;      /* at the first pixel and channel */
} depthwise_group;

INLINE void depthwise_channels(const int pixels, const int kernel, const int stride, const depthwise_group *g,
                               ptrdiff_t c, int count) {
    const coreai_epilogue *e = &g->epilogue;
    const int reach = (pixels - 1) * stride + kernel;
    vf sums[DEPTHWISE_MAX_PIXELS];
    vf bias = e->bias ? vload_count(e->bias + c, count) : vset(0);
    UNROLL for (int i = 0; i < pixels; i++) sums[i] = bias;
    if (e->residual)
        UNROLL for (int i = 0; i < pixels; i++) sums[i] += vload_count(e->residual + i * e->residual_stride + c, count);
    const float *const *pointers = g->pixels;
    const float *w = g->w + c;
    for (int ky = 0; ky < kernel; ky++, pointers += reach) {
        vf weights[DEPTHWISE_MAX_KERNEL];
        UNROLL for (int kx = 0; kx < kernel; kx++, w += g->w_stride) weights[kx] = vload_count(w, count);
        UNROLL for (int i = 0; i < reach; i++) {
            vf v = vload_count(pointers[i] + c, count);
            UNROLL for (int kx = 0; kx < kernel; kx++)
                if (i >= kx && (i - kx) % stride == 0 && (i - kx) / stride < pixels)
                    sums[(i - kx) / stride] = vfma(v, weights[kx], sums[(i - kx) / stride]);
        }
    }
    ACTIVATE_IN_REGISTERS(e, UNROLL for (int i = 0; i < pixels; i++), sums[i]);
    UNROLL for (int i = 0; i < pixels; i++) vstore_count(g->y + i * g->y_stride + c, sums[i], count);
}

/* Channels that the groups compute; the others are left to depthwise_any. */
INLINE int depthwise_grouped_channels(int channels) {
#if defined(LEVEL_AVX512)
    return channels;
#else
    return channels / LANES * LANES;
#endif
}

INLINE void depthwise_run(const int pixels, const int kernel, const int stride, const depthwise_group *g) {
    ptrdiff_t c = 0;
    for (; c + LANES <= g->channels; c += LANES) depthwise_channels(pixels, kernel, stride, g, c, LANES);
#if defined(LEVEL_AVX512)
    if (c < g->channels) depthwise_channels(pixels, kernel, stride, g, c, (int)(g->channels - c));
#endif
}

#define DEPTHWISE(pixels, kernel, stride)                                                                              \
    static void depthwise_##pixels##_##kernel##_##stride(const depthwise_group *g) {                                   \
        const depthwise_group own = *g;                                                                                \
        depthwise_run(pixels, kernel, stride, &own);                                                                   \
    }
#define DEPTHWISE_PIXELS(kernel, stride)                                                                               \
    DEPTHWISE(1, kernel, stride) DEPTHWISE(2, kernel, stride) DEPTHWISE(3, kernel, stride)                             \
    DEPTHWISE(4, kernel, stride) DEPTHWISE(5, kernel, stride) DEPTHWISE(6, kernel, stride)                             \
    DEPTHWISE(7, kernel, stride)
#define DEPTHWISE_ROW(kernel, stride)                                                                                  \
    {0, depthwise_1_##kernel##_##stride, depthwise_2_##kernel##_##stride, depthwise_3_##kernel##_##stride,             \
     depthwise_4_##kernel##_##stride, depthwise_5_##kernel##_##stride, depthwise_6_##kernel##_##stride,                \
     depthwise_7_##kernel##_##stride}
DEPTHWISE_PIXELS(3, 1) DEPTHWISE_PIXELS(3, 2) DEPTHWISE_PIXELS(5, 1) DEPTHWISE_PIXELS(5, 2)
DEPTHWISE_PIXELS(7, 1) DEPTHWISE_PIXELS(7, 2)

/* By kernel (3, 5, 7), stride (1, 2) and pixels. */
static void (*const depthwise_groups[3][2][DEPTHWISE_MAX_PIXELS + 1])(const depthwise_group *) = {
    {DEPTHWISE_ROW(3, 1), DEPTHWISE_ROW(3, 2)}, {DEPTHWISE_ROW(5, 1), DEPTHWISE_ROW(5, 2)},
    {DEPTHWISE_ROW(7, 1), DEPTHWISE_ROW(7, 2)}};

static bool depthwise_has_groups(const coreai_convolution *s) {
    const int kernel = s->kernel_width;
    return (kernel == 3 || kernel == 5 || kernel == 7) && s->kernel_height == kernel && s->stride_x >= 1 &&
           s->stride_x <= 2 && s->dilation_x == 1 && s->dilation_y == 1;
}

/* Channels first ..< last of one row of the result. */
static void depthwise_row(const coreai_convolution *s, const float *x, const float *w, float *y, int oy, int first,
                          int last, const coreai_epilogue *epilogue) {
    const int kernel = s->kernel_width, top = oy * s->stride_y - s->pad_top;
    void (*const *functions)(const depthwise_group *) = depthwise_groups[(kernel - 3) / 2][s->stride_x - 1];
    const int groups = (s->out_width + DEPTHWISE_MAX_PIXELS - 1) / DEPTHWISE_MAX_PIXELS;
    for (int group = 0; group < groups; group++) {
        const int begin = part_begin(s->out_width, group, groups), end = part_begin(s->out_width, group + 1, groups);
        const int reach = (end - begin - 1) * s->stride_x + kernel, left = begin * s->stride_x - s->pad_left;
        const float *pixels[DEPTHWISE_MAX_POINTERS];
        const int inside_begin = MIN(MAX(0, -left), reach), inside_end = MAX(inside_begin, MIN(reach, s->width - left));
        for (int ky = 0; ky < kernel; ky++) {
            const float **row = pixels + ky * reach;
            const bool outside = (unsigned)(top + ky) >= (unsigned)s->height;
            const int begin = outside ? reach : inside_begin, end = outside ? reach : inside_end;
            for (int i = 0; i < begin; i++) row[i] = zeros;
            for (int i = begin; i < end; i++) row[i] = conv_pixel(s, x, top + ky, left + i) + first;
            for (int i = end; i < reach; i++) row[i] = zeros;
        }
        const ptrdiff_t pixel = (ptrdiff_t)oy * s->out_width + begin;
        depthwise_group g = {.pixels = pixels, .w = w + first, .channels = last - first, .w_stride = s->channels,
                             .y = y + pixel * s->y_stride + first, .y_stride = s->y_stride,
                             .epilogue = epilogue_at(epilogue, pixel, first)};
        functions[end - begin](&g);
        activate_rows(epilogue->activation, g.y, g.y_stride, end - begin, last - first);
    }
}

/* Taps of a kernel's side that fall inside the image. */
typedef struct {
    int begin, end;
} depthwise_taps;

INLINE depthwise_taps depthwise_inside(int start, int kernel, int dilation, int size) {
    depthwise_taps taps = {0, kernel};
    while (taps.begin < kernel && start + taps.begin * dilation < 0) taps.begin++;
    while (taps.end > taps.begin && start + (taps.end - 1) * dilation >= size) taps.end--;
    return taps;
}

/* Channels c ..< c + vectors * LANES, or the `count` ones of a single vector, of one pixel. */
INLINE void depthwise_pixel(const coreai_convolution *s, const int vectors, int count, const float *x, const float *w,
                            int top, int left, depthwise_taps rows, depthwise_taps columns, ptrdiff_t c, float *y,
                            const coreai_epilogue *e) {
    vf sums[4];
    UNROLL for (int j = 0; j < vectors; j++) {
        sums[j] = e->bias ? vload_count(e->bias + c + j * LANES, count) : vset(0);
        if (e->residual) sums[j] += vload_count(e->residual + c + j * LANES, count);
    }
    for (int ky = rows.begin; ky < rows.end; ky++)
        for (int kx = columns.begin; kx < columns.end; kx++) {
            const float *pixel = conv_pixel(s, x, top + ky * s->dilation_y, left + kx * s->dilation_x) + c;
            const float *tap = w + ((ptrdiff_t)ky * s->kernel_width + kx) * s->channels + c;
            UNROLL for (int j = 0; j < vectors; j++)
                sums[j] = vfma(vload_count(pixel + j * LANES, count), vload_count(tap + j * LANES, count), sums[j]);
        }
    ACTIVATE_IN_REGISTERS(e, UNROLL for (int j = 0; j < vectors; j++), sums[j]);
    UNROLL for (int j = 0; j < vectors; j++) vstore_count(y + c + j * LANES, sums[j], count);
}

/* Channels from `first` on of one row of the result, for any kernel. */
static void depthwise_row_any(const coreai_convolution *s, const float *x, const float *w, float *y, int oy, int first,
                              const coreai_epilogue *epilogue) {
    const int top = oy * s->stride_y - s->pad_top;
    const depthwise_taps rows = depthwise_inside(top, s->kernel_height, s->dilation_y, s->height);
    for (int ox = 0; ox < s->out_width; ox++) {
        const int left = ox * s->stride_x - s->pad_left;
        const depthwise_taps columns = depthwise_inside(left, s->kernel_width, s->dilation_x, s->width);
        const ptrdiff_t pixel = (ptrdiff_t)oy * s->out_width + ox;
        const coreai_epilogue e = epilogue_at(epilogue, pixel, 0);
        float *to = y + pixel * s->y_stride;
        ptrdiff_t c = first;
        for (; c + 4 * LANES <= s->channels; c += 4 * LANES)
            depthwise_pixel(s, 4, LANES, x, w, top, left, rows, columns, c, to, &e);
        for (; c + LANES <= s->channels; c += LANES)
            depthwise_pixel(s, 1, LANES, x, w, top, left, rows, columns, c, to, &e);
        if (c < s->channels)
            depthwise_pixel(s, 1, (int)(s->channels - c), x, w, top, left, rows, columns, c, to, &e);
        activate_rows(epilogue->activation, to + first, s->y_stride, 1, s->channels - first);
    }
}

static void depthwise(const coreai_convolution *s, const float *x, const float *w, float *y, int first_row,
                      int last_row, const coreai_epilogue *epilogue) {
    const int grouped = depthwise_has_groups(s) ? depthwise_grouped_channels(s->channels) : 0;
    for (int oy = first_row; oy < last_row; oy++) {
        for (int c = 0; c < grouped; c += ZERO_COUNT)
            depthwise_row(s, x, w, y, oy, c, MIN(grouped, c + ZERO_COUNT), epilogue);
        if (grouped < s->channels) depthwise_row_any(s, x, w, y, oy, grouped, epilogue);
    }
}
