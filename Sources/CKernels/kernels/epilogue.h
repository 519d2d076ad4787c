/* What follows a sum: bias and residual are where it starts from, the activation ends it.
 *
 * Activations of a few instructions are applied in registers before the store. The others take too many registers and
 * too much code for that: they run over the finished part of the result while it is in the nearest cache. */

/* `count` lanes; one that is literally LANES costs nothing. */
INLINE vf vload_count(const float *p, int count) {
#if defined(LEVEL_AVX512)
    return vload_part(p, count);
#else
    return count == LANES ? vload(p) : vload_part(p, count);
#endif
}

INLINE void vstore_count(float *p, vf v, int count) {
#if defined(LEVEL_AVX512)
    vstore_part(p, v, count);
#else
    if (count == LANES)
        vstore(p, v);
    else
        vstore_part(p, v, count);
#endif
}

/* The same epilogue for a part of the result that begins `row` rows and `column` columns further on. */
INLINE coreai_epilogue epilogue_at(const coreai_epilogue *e, ptrdiff_t row, ptrdiff_t column) {
    coreai_epilogue part = *e;
    if (part.bias) part.bias += column;
    if (part.residual) part.residual += row * e->residual_stride + column;
    return part;
}

/* The order of the operands keeps a NaN. */
INLINE vf activate_clamp(vf x, vf low, vf high) { return vmin(high, vmax(low, x)); }
INLINE vf activate_leaky(vf x, vf slope) { return x < vset(0) ? slope * x : x; }
INLINE vf activate_hard_sigmoid(vf x, vf slope, vf shift) {
    return activate_clamp(vfma(slope, x, shift), vset(0), vset(1));
}

/* The activation of all sums of a tile, if it is one of those for registers. */
#define ACTIVATE_IN_REGISTERS(e, for_each, x)                                                                          \
    do {                                                                                                               \
        const vf low_ = vset((e)->low), high_ = vset((e)->high);                                                       \
        switch ((e)->activation) {                                                                                     \
        case COREAI_ACTIVATION_CLAMP: for_each x = activate_clamp(x, low_, high_); break;                              \
        case COREAI_ACTIVATION_LEAKY: for_each x = activate_leaky(x, low_); break;                                     \
        case COREAI_ACTIVATION_HARD_SWISH: for_each x = v_hard_swish(x); break;                                        \
        case COREAI_ACTIVATION_HARD_SIGMOID: for_each x = activate_hard_sigmoid(x, low_, high_); break;                \
        default: break;                                                                                                \
        }                                                                                                              \
    } while (0)

#define ACTIVATE_ROWS(name, function)                                                                                  \
    static void name(float *y, ptrdiff_t y_stride, int rows, int columns) {                                            \
        for (int row = 0; row < rows; row++, y += y_stride) {                                                          \
            int column = 0;                                                                                            \
            for (; column + LANES <= columns; column += LANES) vstore(y + column, function(vload(y + column)));        \
            if (column < columns)                                                                                      \
                vstore_part(y + column, function(vload_part(y + column, columns - column)), columns - column);         \
        }                                                                                                              \
    }
ACTIVATE_ROWS(activate_rows_sigmoid, v_sigmoid)
ACTIVATE_ROWS(activate_rows_silu, v_silu)
ACTIVATE_ROWS(activate_rows_tanh, v_tanh)
ACTIVATE_ROWS(activate_rows_gelu, v_gelu)
ACTIVATE_ROWS(activate_rows_gelu_tanh, v_gelu_tanh)

/* The activation of finished rows, if it is not one of those for registers. */
INLINE void activate_rows(coreai_activation activation, float *y, ptrdiff_t y_stride, int rows, int columns) {
    switch (activation) {
    case COREAI_ACTIVATION_SIGMOID: activate_rows_sigmoid(y, y_stride, rows, columns); break;
    case COREAI_ACTIVATION_SILU: activate_rows_silu(y, y_stride, rows, columns); break;
    case COREAI_ACTIVATION_TANH: activate_rows_tanh(y, y_stride, rows, columns); break;
    case COREAI_ACTIVATION_GELU: activate_rows_gelu(y, y_stride, rows, columns); break;
    case COREAI_ACTIVATION_GELU_TANH: activate_rows_gelu_tanh(y, y_stride, rows, columns); break;
    default: break;
    }
}
