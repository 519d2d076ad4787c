/* Transposition of matrices of 4-byte elements, which pass through the registers as floats unchanged. */

/* r[i][j] becomes r[j][i]. */
INLINE void v_transpose(vf r[LANES]) {
#if LANES == 16
    vf t[16];
    UNROLL for (int i = 0; i < 16; i += 4) {
        /* 4x4 blocks within the quarters of vectors. */
        __m512d a = (__m512d)_mm512_unpacklo_ps((__m512)r[i], (__m512)r[i + 1]);
        __m512d b = (__m512d)_mm512_unpackhi_ps((__m512)r[i], (__m512)r[i + 1]);
        __m512d c = (__m512d)_mm512_unpacklo_ps((__m512)r[i + 2], (__m512)r[i + 3]);
        __m512d d = (__m512d)_mm512_unpackhi_ps((__m512)r[i + 2], (__m512)r[i + 3]);
        t[i] = (vf)_mm512_unpacklo_pd(a, c);
        t[i + 1] = (vf)_mm512_unpackhi_pd(a, c);
        t[i + 2] = (vf)_mm512_unpacklo_pd(b, d);
        t[i + 3] = (vf)_mm512_unpackhi_pd(b, d);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        /* Then the quarters. */
        __m512 a = _mm512_shuffle_f32x4((__m512)t[i], (__m512)t[4 + i], 0x88);
        __m512 b = _mm512_shuffle_f32x4((__m512)t[i], (__m512)t[4 + i], 0xdd);
        __m512 c = _mm512_shuffle_f32x4((__m512)t[8 + i], (__m512)t[12 + i], 0x88);
        __m512 d = _mm512_shuffle_f32x4((__m512)t[8 + i], (__m512)t[12 + i], 0xdd);
        r[i] = (vf)_mm512_shuffle_f32x4(a, c, 0x88);
        r[4 + i] = (vf)_mm512_shuffle_f32x4(b, d, 0x88);
        r[8 + i] = (vf)_mm512_shuffle_f32x4(a, c, 0xdd);
        r[12 + i] = (vf)_mm512_shuffle_f32x4(b, d, 0xdd);
    }
#elif LANES == 8
    vf t[8];
    UNROLL for (int i = 0; i < 8; i += 4) {
        __m256d a = (__m256d)_mm256_unpacklo_ps((__m256)r[i], (__m256)r[i + 1]);
        __m256d b = (__m256d)_mm256_unpackhi_ps((__m256)r[i], (__m256)r[i + 1]);
        __m256d c = (__m256d)_mm256_unpacklo_ps((__m256)r[i + 2], (__m256)r[i + 3]);
        __m256d d = (__m256d)_mm256_unpackhi_ps((__m256)r[i + 2], (__m256)r[i + 3]);
        t[i] = (vf)_mm256_unpacklo_pd(a, c);
        t[i + 1] = (vf)_mm256_unpackhi_pd(a, c);
        t[i + 2] = (vf)_mm256_unpacklo_pd(b, d);
        t[i + 3] = (vf)_mm256_unpackhi_pd(b, d);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        r[i] = (vf)_mm256_permute2f128_ps((__m256)t[i], (__m256)t[4 + i], 0x20);
        r[4 + i] = (vf)_mm256_permute2f128_ps((__m256)t[i], (__m256)t[4 + i], 0x31);
    }
#else
    vf a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    vf c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
#endif
}

/* A block of up to LANES rows and columns. */
static void transpose_block(const float *x, ptrdiff_t x_stride, float *y, ptrdiff_t y_stride, int rows, int columns) {
    vf r[LANES];
    if (rows == LANES && columns == LANES) {
        UNROLL for (int i = 0; i < LANES; i++) r[i] = vload(x + i * x_stride);
        v_transpose(r);
        UNROLL for (int i = 0; i < LANES; i++) vstore(y + i * y_stride, r[i]);
        return;
    }
    UNROLL for (int i = 0; i < LANES; i++) r[i] = i < rows ? vload_rest(x + i * x_stride, columns) : vset(0);
    v_transpose(r);
    UNROLL for (int i = 0; i < LANES; i++)
        if (i < columns) vstore_rest(y + i * y_stride, r[i], rows);
}

/* Three planes to pixels of three numbers: an image's channels last. */
static void interleave_three(const float *restrict a, const float *restrict b, const float *restrict c,
                             float *restrict y, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; i++) {
        y[3 * i] = a[i];
        y[3 * i + 1] = b[i];
        y[3 * i + 2] = c[i];
    }
}

static void transpose(const void *x, ptrdiff_t x_stride, void *y, ptrdiff_t y_stride, int rows, int columns) {
    /* Tiles of which the lines of both sides stay in the first cache and their pages in its table. */
    enum { tile = 64 };
    const float *from = x;
    float *to = y;
    if (rows == 3 && y_stride == 3) return interleave_three(from, from + x_stride, from + 2 * x_stride, to, columns);
    for (int r0 = 0; r0 < rows; r0 += tile)
        for (int c0 = 0; c0 < columns; c0 += tile)
            for (int c = c0; c < MIN(columns, c0 + tile); c += LANES)
                for (int r = r0; r < MIN(rows, r0 + tile); r += LANES)
                    transpose_block(from + r * x_stride + c, x_stride, to + c * y_stride + r, y_stride,
                                    MIN(LANES, rows - r), MIN(LANES, columns - c));
}
