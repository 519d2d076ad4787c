/* Products with a matrix that was packed before.
 *
 *     panel p holds columns p * panel ..< (p + 1) * panel:  | k = 0: its columns | k = 1 | ... | k = depth - 1 |
 *
 * The last panel is as many whole vectors wide as it must be, filled up with zeros. The left side is read where it
 * lies: packing it gains nothing.
 *
 * Loops from the outside: parts of the depth, blocks of rows that stay in the second cache, panels, tiles. Only a
 * great depth is cut into parts, since the sums then go through the result. */

#define GEMM_ROW_BLOCK 64
#define GEMM_WHOLE_DEPTH 1536
#define GEMM_DEPTH_BLOCK 1024

/* Ends of a count cut into `parts` equal within one. */
INLINE int part_begin(int count, int part, int parts) { return (int)((int64_t)count * part / parts); }

static int gemm_panel(int columns) {
    int vectors = (columns + LANES - 1) / LANES;
#if REGISTERS == 32
    /* The width that divides the columns, or else the one that leaves the widest last panel. */
    if (vectors <= 2) return MAX(vectors, 1) * LANES;
    if (vectors % 3 == 0) return 3 * LANES;
    if (vectors % 4 == 0) return 4 * LANES;
    return (vectors % 3 == 1 && vectors > 4 ? 4 : 3) * LANES;
#else
    return (vectors > 1 ? 2 : 1) * LANES;
#endif
}

static size_t gemm_packed_count(int depth, int columns, int panel) {
    (void)panel;
    return (size_t)depth * ((size_t)(columns + LANES - 1) / LANES * LANES);
}

/* Floats in a row of the panel that begins at column `first`. */
INLINE int panel_width(int columns, int panel, int first) {
    return MIN(panel, (columns - first + LANES - 1) / LANES * LANES);
}

static void gemm_pack(const float *b, ptrdiff_t row_stride, ptrdiff_t column_stride, int depth, int columns, int panel,
                      float *out) {
    for (int first = 0; first < columns; first += panel) {
        int width = panel_width(columns, panel, first), count = MIN(width, columns - first);
        for (int k = 0; k < depth; k++, out += width) {
            const float *row = b + k * row_stride + first * column_stride;
            if (column_stride == 1)
                memcpy(out, row, (size_t)count * sizeof(float));
            else
                for (int j = 0; j < count; j++) out[j] = row[j * column_stride];
            for (int j = count; j < width; j++) out[j] = 0;
        }
    }
}

/* One row: each panel is read once, front to back. */
static void gemv(const float *a, const coreai_panels *b, int first, int last, float *c,
                 const coreai_epilogue *epilogue) {
    for (int n = first; n < last; n += b->panel) {
        int columns = MIN(b->panel, last - n), vectors = (columns + LANES - 1) / LANES;
        tile t = {.rows = &a, .segments = 1, .length = b->depth, .panel = b->data + (ptrdiff_t)n * b->depth,
                  .y = c + n, .tail = columns - (vectors - 1) * LANES, .epilogue = epilogue_at(epilogue, 0, n)};
        tiles_of_one_row[vectors](&t);
        activate_rows(epilogue->activation, c + n, 0, 1, columns);
    }
}

/* Rows first_row ..< first_row + count and a part of the depth, all panels. */
static void gemm_block(const float *a, ptrdiff_t a_stride, const coreai_panels *b, int first, int last, float *c,
                       ptrdiff_t c_stride, int first_row, int count, int k, int length,
                       const coreai_epilogue *epilogue) {
    const float *rows[GEMM_ROW_BLOCK + TILE_MAX_ROWS];
    for (int i = 0; i < count; i++) rows[i] = a + (first_row + i) * a_stride + k;
    coreai_epilogue here = *epilogue;
    if (k > 0) here.bias = here.residual = NULL;
    if (k + length < b->depth) here.activation = COREAI_ACTIVATION_NONE;
    for (int n = first; n < last; n += b->panel) {
        int columns = MIN(b->panel, last - n), vectors = (columns + LANES - 1) / LANES;
        int parts = (count + tile_rows[vectors] - 1) / tile_rows[vectors];
        tile t = {.rows = rows, .segments = 1, .length = length, .y_stride = c_stride, .continues = k > 0,
                  .panel = b->data + (ptrdiff_t)n * b->depth + (ptrdiff_t)k * vectors * LANES,
                  .y = c + first_row * c_stride + n, .tail = columns - (vectors - 1) * LANES,
                  .epilogue = epilogue_at(&here, first_row, n)};
        for (int part = 0; part < parts; part++) {
            int tile_count = part_begin(count, part + 1, parts) - part_begin(count, part, parts);
            tiles[vectors][tile_count](&t);
            activate_rows(here.activation, t.y, c_stride, tile_count, columns);
            t.rows += tile_count;
            tile_move(&t, tile_count);
        }
    }
}

static void gemm(const float *a, ptrdiff_t a_stride, const coreai_panels *b, int first, int last, float *c,
                 ptrdiff_t c_stride, int rows, const coreai_epilogue *epilogue) {
    if (rows == 1) {
        gemv(a, b, first, last, c, epilogue);
        return;
    }
    int k = 0;
    do {
        int length = b->depth - k;
        if (b->depth > GEMM_WHOLE_DEPTH) length = MIN(length, GEMM_DEPTH_BLOCK);
        for (int row = 0, count; row < rows; row += count) {
            count = MIN(GEMM_ROW_BLOCK, rows - row);
            /* No block of less than a tile at the end. */
            if (rows - row - count < TILE_MAX_ROWS) count = rows - row;
            gemm_block(a, a_stride, b, first, last, c, c_stride, row, count, k, length, epilogue);
        }
        k += length;
    } while (k < b->depth);
}
