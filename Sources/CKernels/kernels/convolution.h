/* Convolution of images whose channels come last: a product whose left side is found through pointers.
 *
 * A tile is some consecutive pixels of the result, across the ends of rows. A pixel of the result reads segments of
 * the input that lie in one piece:
 *
 *     taps: one segment of `channels` floats for each tap; taps outside the image read zeros
 *     rows: for few channels, if pixels are dense: one segment of `kernel_width * channels` floats for each row of the
 *           kernel; at the left and right border the segment is a copy with zeros in it
 *
 * The weights, [tap][channel] in panels over the output channels, serve both. Pointers and copies are made for a block
 * of pixels and used by all panels. The depth is cut into steps: what pointers, copies and the second cache have
 * room for. */

#define CONV_BLOCK 48
#define CONV_MAX_PIXELS (CONV_BLOCK + TILE_MAX_ROWS)
#define CONV_MAX_POINTERS (49 * CONV_MAX_PIXELS)
#define CONV_MAX_ROW 256           /* floats of a segment that is copied at the border */
#define CONV_PANEL_FLOATS (128 * 1024)
#define ZERO_COUNT 4096

/* What is outside the image. */
static const float zeros[ZERO_COUNT] __attribute__((aligned(64)));

static void conv_pack(const float *w, int out_channels, int channels, int taps, int panel, float *out) {
    for (int first = 0; first < out_channels; first += panel) {
        int width = panel_width(out_channels, panel, first), count = MIN(width, out_channels - first);
        for (int tap = 0; tap < taps; tap++)
            for (int c = 0; c < channels; c++, out += width) {
                const float *from = w + ((ptrdiff_t)first * channels + c) * taps + tap;
                for (int j = 0; j < count; j++) out[j] = from[(ptrdiff_t)j * channels * taps];
                for (int j = count; j < width; j++) out[j] = 0;
            }
    }
}

/* The pixels of a block and how they are cut into tiles. */
typedef struct {
    int first, count, tiles;
} conv_block;

/* A part of the depth: `segments` from `first_segment` on, of each the floats from `offset` on. */
typedef struct {
    int first_segment, segments, offset, length;
} conv_step;

INLINE const float *conv_pixel(const coreai_convolution *s, const float *x, int iy, int ix) {
    return x + ((ptrdiff_t)iy * s->width + ix) * s->x_stride;
}

/* The pointers of a pixel to its taps, `apart` from each other. */
INLINE void conv_point_taps(const coreai_convolution *s, const float *x, int oy, int ox, const conv_step *step,
                            const float **pointers, int apart) {
    int top = oy * s->stride_y - s->pad_top, left = ox * s->stride_x - s->pad_left;
    int ky = step->first_segment / s->kernel_width, kx = step->first_segment % s->kernel_width;
    for (int i = 0; i < step->segments; i++, pointers += apart) {
        int iy = top + ky * s->dilation_y, ix = left + kx * s->dilation_x;
        bool inside = (unsigned)iy < (unsigned)s->height && (unsigned)ix < (unsigned)s->width;
        *pointers = inside ? conv_pixel(s, x, iy, ix) + step->offset : zeros;
        if (++kx == s->kernel_width) kx = 0, ky++;
    }
}

/* The pointers of a pixel to its kernel rows; rows across the border go to `copies`. Returns what is left of it. */
static float *conv_point_rows(const coreai_convolution *s, const float *x, int oy, int ox, const conv_step *step,
                              const float **pointers, int apart, float *copies) {
    int iy = oy * s->stride_y - s->pad_top + step->first_segment * s->dilation_y;
    const int left = ox * s->stride_x - s->pad_left;
    const int begin = MIN(MAX(0, -left), s->kernel_width), end = MAX(begin, MIN(s->kernel_width, s->width - left));
    for (int i = 0; i < step->segments; i++, pointers += apart, iy += s->dilation_y) {
        if ((unsigned)iy >= (unsigned)s->height || begin == end) {
            *pointers = zeros;
            continue;
        }
        const float *from = conv_pixel(s, x, iy, left + begin);
        if (end - begin == s->kernel_width) {
            *pointers = from;
            continue;
        }
        const int before = begin * s->channels, inside = end * s->channels;
        for (int k = 0; k < before; k++) copies[k] = 0;
        for (int k = before; k < inside; k++) copies[k] = from[k - before];
        for (int k = inside; k < step->length; k++) copies[k] = 0;
        *pointers = copies;
        copies += step->length;
    }
    return copies;
}

/* Whether `count` pixels from (oy, ox) on are of one row and no kernel crosses the left or right border. */
INLINE bool conv_is_interior(const coreai_convolution *s, int ox, int count) {
    return ox + count <= s->out_width && ox * s->stride_x >= s->pad_left &&
           (ox + count - 1) * s->stride_x - s->pad_left + (s->kernel_width - 1) * s->dilation_x < s->width;
}

/* The pointers of such pixels: equally far apart in each segment. `kernel_columns` segments are a row of the kernel. */
INLINE void conv_point_interior(const coreai_convolution *s, const float *x, int oy, int ox, int count,
                                const conv_step *step, int kernel_columns, const float **pointers) {
    int ky = step->first_segment / kernel_columns, kx = step->first_segment % kernel_columns;
    int iy = oy * s->stride_y - s->pad_top + ky * s->dilation_y;
    const int left = ox * s->stride_x - s->pad_left;
    const ptrdiff_t apart = s->stride_x * s->x_stride;
    for (int i = 0; i < step->segments; i++, pointers += count) {
        bool inside = (unsigned)iy < (unsigned)s->height;
        const float *pixel = inside ? conv_pixel(s, x, iy, left + kx * s->dilation_x) + step->offset : zeros;
        ptrdiff_t move = inside ? apart : 0;
        for (int j = 0; j < count; j++, pixel += move) pointers[j] = pixel;
        if (++kx == kernel_columns) kx = 0, iy += s->dilation_y;
    }
}

/* Pointers of all tiles of a block: for each tile, for each segment, its pixels. */
static void conv_point(const coreai_convolution *s, const float *x, const conv_block *block, const conv_step *step,
                       bool by_rows, const float **pointers, float *copies) {
    int oy = block->first / s->out_width, ox = block->first % s->out_width;
    for (int t = 0; t < block->tiles; t++) {
        int count = part_begin(block->count, t + 1, block->tiles) - part_begin(block->count, t, block->tiles);
        if (conv_is_interior(s, ox, count)) {
            conv_point_interior(s, x, oy, ox, count, step, by_rows ? 1 : s->kernel_width, pointers);
            ox += count;
            if (ox == s->out_width) ox = 0, oy++;
        } else {
            for (int i = 0; i < count; i++) {
                if (by_rows)
                    copies = conv_point_rows(s, x, oy, ox, step, pointers + i, count, copies);
                else
                    conv_point_taps(s, x, oy, ox, step, pointers + i, count);
                if (++ox == s->out_width) ox = 0, oy++;
            }
        }
        pointers += step->segments * count;
    }
}

/* Pixels of a block whose kernel rows cross the left or right border. */
static int conv_border_count(const coreai_convolution *s, const conv_block *block) {
    int ox = block->first % s->out_width, count = 0;
    for (int i = 0; i < block->count; i++) {
        int left = ox * s->stride_x - s->pad_left;
        count += left < 0 || left + s->kernel_width > s->width;
        if (++ox == s->out_width) ox = 0;
    }
    return count;
}

/* A convolution that is a product as it stands. */
static bool conv_is_product(const coreai_convolution *s) {
    return s->kernel_height == 1 && s->kernel_width == 1 && s->stride_y == 1 && s->stride_x == 1 && s->pad_top == 0 &&
           s->pad_left == 0 && s->out_width == s->width && s->out_height <= s->height;
}

static void conv(const coreai_convolution *s, const float *x, const coreai_panels *weights, float *y, int first_pixel,
                 int last_pixel, int first, int last, const coreai_epilogue *epilogue) {
    if (conv_is_product(s)) {
        coreai_epilogue here = epilogue_at(epilogue, first_pixel, 0);
        gemm(x + first_pixel * s->x_stride, s->x_stride, weights, first, last, y + first_pixel * s->y_stride,
             s->y_stride, last_pixel - first_pixel, &here);
        return;
    }
    const float *pointers[CONV_MAX_POINTERS];
    float copies[CONV_MAX_PIXELS * CONV_MAX_ROW];
    const bool by_rows = s->dilation_x == 1 && s->x_stride == s->channels && s->kernel_width > 1 &&
                         s->channels <= 64 && s->kernel_width * s->channels <= CONV_MAX_ROW;
    const int segments = by_rows ? s->kernel_height : s->kernel_height * s->kernel_width;
    const int segment_length = by_rows ? s->kernel_width * s->channels : s->channels;
    const int most_rows = tile_rows[weights->panel / LANES];

    conv_block block = {.first = first_pixel};
    for (; block.first < last_pixel; block.first += block.count) {
        block.count = MIN(CONV_BLOCK, last_pixel - block.first);
        /* No block of less than a tile at the end. */
        if (last_pixel - block.first - block.count < most_rows) block.count = last_pixel - block.first;
        block.tiles = (block.count + most_rows - 1) / most_rows;

        int most_segments = CONV_MAX_POINTERS / block.count;
        most_segments = MIN(most_segments, MAX(1, CONV_PANEL_FLOATS / (MAX(segment_length, 1) * weights->panel)));
        if (by_rows) {
            int copied = conv_border_count(s, &block) * segment_length;
            if (copied > 0) most_segments = MIN(most_segments, CONV_MAX_PIXELS * CONV_MAX_ROW / copied);
        }

        conv_step step = {.first_segment = 0};
        while (step.first_segment < segments) {
            /* Whole segments, or a part of one that is longer than the zeros. */
            bool whole = segment_length <= ZERO_COUNT;
            step.segments = whole ? MIN(most_segments, segments - step.first_segment) : 1;
            step.length = MIN(ZERO_COUNT, segment_length - step.offset);
            bool begins = step.first_segment == 0 && step.offset == 0;
            ptrdiff_t depth_begin = (ptrdiff_t)step.first_segment * segment_length + step.offset;

            conv_point(s, x, &block, &step, by_rows, pointers, copies);
            step.offset += step.length;
            if (step.offset == segment_length) step.offset = 0, step.first_segment += step.segments;

            coreai_epilogue here = *epilogue;
            if (!begins) here.bias = here.residual = NULL;
            if (step.first_segment < segments) here.activation = COREAI_ACTIVATION_NONE;
            for (int n = first; n < last; n += weights->panel) {
                int columns = MIN(weights->panel, last - n), vectors = (columns + LANES - 1) / LANES;
                tile t = {.rows = pointers, .segments = step.segments, .length = step.length, .continues = !begins,
                          .y = y + block.first * s->y_stride + n, .y_stride = s->y_stride,
                          .epilogue = epilogue_at(&here, block.first, n),
                          .panel = weights->data + (ptrdiff_t)n * weights->depth + depth_begin * vectors * LANES,
                          .tail = columns - (vectors - 1) * LANES};
                for (int i = 0; i < block.tiles; i++) {
                    int rows = part_begin(block.count, i + 1, block.tiles) - part_begin(block.count, i, block.tiles);
                    tiles[vectors][rows](&t);
                    activate_rows(here.activation, t.y, s->y_stride, rows, columns);
                    t.rows += step.segments * rows;
                    tile_move(&t, rows);
                }
            }
        }
    }
}
