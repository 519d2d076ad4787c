/* Functions of vectors of floats.
 *
 * Within 3 ulp unless said otherwise, over the whole range: right at 0, infinity and below the normal numbers; NaN
 * stays NaN. The polynomials are minimax fits (Lawson iteration on Chebyshev nodes), weighted for the relative error of
 * the function. */

typedef double vd_half __attribute__((ext_vector_type(LANES / 2)));
typedef int64_t vl_half __attribute__((ext_vector_type(LANES / 2)));
typedef uint64_t vu_half __attribute__((ext_vector_type(LANES / 2)));
typedef float vf_half __attribute__((ext_vector_type(LANES / 2)));

/* MARK: Bits */

INLINE vf v_abs(vf x) { return (vf)((vu)x & (vu)(0x7fffffffu)); }
INLINE vf v_negate(vf x) { return (vf)((vu)x ^ (vu)(0x80000000u)); }
INLINE vf v_copysign(vf magnitude, vf sign) {
    return (vf)(((vu)magnitude & (vu)(0x7fffffffu)) | ((vu)sign & (vu)(0x80000000u)));
}

/* Whether a lane of a comparison holds. */
INLINE bool v_any(vi truth) {
#if defined(LEVEL_AVX512)
    return _mm512_movepi32_mask((__m512i)truth) != 0;
#elif defined(LEVEL_AVX2)
    return _mm256_movemask_ps((__m256)truth) != 0;
#elif defined(__x86_64__)
    return _mm_movemask_ps((__m128)truth) != 0;
#else
    return __builtin_reduce_or(truth) != 0;
#endif
}

/* min and max in which NaN of either operand wins, and the first operand where both are equal (+0 and -0 are). */
INLINE vf v_minimum(vf x, vf y) { return y != y ? y : vmin(y, x); }
INLINE vf v_maximum(vf x, vf y) { return y != y ? y : vmax(y, x); }

/* The lanes combined by a function of two numbers or vectors. */
#if LANES == 16
#define V_REDUCE(v, combine) V_REDUCE8(combine((v).lo, (v).hi), combine)
#elif LANES == 8
#define V_REDUCE(v, combine) V_REDUCE8(v, combine)
#else
#define V_REDUCE(v, combine) V_REDUCE4(v, combine)
#endif
#define V_REDUCE8(v, combine) ({ __auto_type v8_ = (v); V_REDUCE4(combine(v8_.lo, v8_.hi), combine); })
#define V_REDUCE4(v, combine) ({ __auto_type v4_ = (v); V_REDUCE2(combine(v4_.lo, v4_.hi), combine); })
#define V_REDUCE2(v, combine) ({ __auto_type v2_ = (v); combine(v2_.x, v2_.y); })
#define V_PLUS(a, b) ((a) + (b))
#define V_TIMES(a, b) ((a) * (b))
#define V_LARGER(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ > b_ ? a_ : b_; })
#define V_SMALLER(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ < b_ ? a_ : b_; })

INLINE float v_reduce_add(vf v) { return V_REDUCE(v, V_PLUS); }
INLINE float v_reduce_multiply(vf v) { return V_REDUCE(v, V_TIMES); }
/* NaN where a lane is. */
INLINE float v_reduce_maximum(vf v) { return v_any(v != v) ? NAN : V_REDUCE(v, V_LARGER); }
INLINE float v_reduce_minimum(vf v) { return v_any(v != v) ? NAN : V_REDUCE(v, V_SMALLER); }

/* Which lanes are among the first `n`. */
INLINE vi v_first_lanes(int n) {
#if LANES == 16
    const vi index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
    const vi index = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const vi index = {0, 1, 2, 3};
#endif
    return index < (vi)(n);
}
/* Whole vectors, and at the end of an array the `n` lanes that are left. */
INLINE vf vload_rest(const float *p, int n) { return n == LANES ? vload(p) : vload_part(p, n); }
INLINE void vstore_rest(float *p, vf v, int n) {
    if (n == LANES)
        vstore(p, v);
    else
        vstore_part(p, v, n);
}
/* The first `n` lanes, and `filler` in the others. */
INLINE vf v_load_filled(const float *p, int n, float filler) {
    return v_first_lanes(n) ? vload_part(p, n) : vset(filler);
}

/* MARK: Whole numbers */

#if defined(__x86_64__) && defined(LEVEL_PLAIN)
/* SSE2 has no rounding instruction: adding 2^23 leaves no room for a fraction. */
INLINE vf v_round(vf x) {
    const vf big = vset(0x1p23f);
    vf t = v_abs(x);
    return t >= big ? x : v_copysign((t + big) - big, x);
}
INLINE vf v_trunc(vf x) {
    vf t = v_abs(x), r = v_round(t);
    return v_copysign(r > t ? r - vset(1) : r, x);
}
INLINE vf v_floor(vf x) {
    vf r = v_round(x);
    return v_copysign(r > x ? r - vset(1) : r, x);
}
INLINE vf v_ceil(vf x) {
    vf r = v_round(x);
    return v_copysign(r < x ? r + vset(1) : r, x);
}
#else
INLINE vf v_round(vf x) { return __builtin_elementwise_roundeven(x); }
INLINE vf v_trunc(vf x) { return __builtin_elementwise_trunc(x); }
INLINE vf v_floor(vf x) { return __builtin_elementwise_floor(x); }
INLINE vf v_ceil(vf x) { return __builtin_elementwise_ceil(x); }
#endif

INLINE vf v_sqrt(vf x) { return __builtin_elementwise_sqrt(x); }
INLINE vf v_rsqrt(vf x) { return vset(1) / v_sqrt(x); }

/* 1 / x for a normal x whose inverse is normal. */
INLINE vf v_reciprocal(vf x) {
#if defined(LEVEL_AVX512)
    vf y = (vf)_mm512_rcp14_ps((__m512)x);
    return vfma(vfma(-x, y, vset(1)), y, y);
#else
    return vset(1) / x;
#endif
}

/* c[0] + c[1] x + ... */
#define POLYNOMIAL(x, ...) polynomial(x, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))
INLINE vf polynomial(vf x, const float *c, int count) {
    vf p = vset(c[count - 1]);
    UNROLL for (int i = count - 2; i >= 0; i--) p = vfma(p, x, vset(c[i]));
    return p;
}

/* MARK: Exponentials */

/* x 2^n for whole n: right where the result is infinite or below the normal numbers, for |n| <= 250. */
INLINE vf v_scale(vf x, vf n) {
#if defined(LEVEL_AVX512)
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    vi whole = __builtin_convertvector(n, vi), half = whole >> 1;
    return x * (vf)((half + 127) << 23) * (vf)((whole - half + 127) << 23);
#endif
}

/* x = n ln 2 + r, |r| <= ln 2 / 2, for |x| < 2^20. */
INLINE vf v_exp_reduce(vf x, vf *n) {
#if defined(__x86_64__) && defined(LEVEL_PLAIN)
    *n = (x * vset(0x1.715476p0f) + vset(0x1.8p23f)) - vset(0x1.8p23f);
#else
    *n = v_round(x * vset(0x1.715476p0f));
#endif
    vf r = vfma(*n, vset(-0.693145752f), x);
    return vfma(*n, vset(-1.42860677e-6f), r);
}

/* e^x - 1 for |x| <= ln 2 / 2. */
INLINE vf v_exp_fraction(vf r) {
    vf p = POLYNOMIAL(r, 4.999999337e-01f, 1.666651952e-01f, 4.166840113e-02f, 8.368851279e-03f, 1.381431838e-03f);
    return vfma(p, r * r, r);
}

/* 1 ulp */
INLINE vf v_exp(vf x) {
    vf n, r = v_exp_reduce(vmax(vset(-104), vmin(vset(89), x)), &n);
    return v_scale(v_exp_fraction(r) + vset(1), n);
}

/* For x <= 0, or NaN. */
INLINE vf v_exp_negative(vf x) {
    vf n, r = v_exp_reduce(vmax(vset(-104), x), &n);
    return v_scale(v_exp_fraction(r) + vset(1), n);
}

/* For x <= 0, or NaN, with a relative error of 2e-7: the exponential of softmax. On levels that have no instruction to
 * scale, 0 in place of numbers below the normal ones. */
INLINE vf v_exp_softmax(vf x) {
    vf n, r = v_exp_reduce(vmax(vset(-104), x), &n);
    vf p = POLYNOMIAL(r, 4.999922582e-01f, 1.666711816e-01f, 4.189099028e-02f, 8.312432381e-03f);
    p = vfma(p, r * r, r) + vset(1);
#if defined(LEVEL_AVX512)
    return v_scale(p, n);
#else
    vi exponent = __builtin_convertvector(n, vi) + 127;
    exponent = exponent > 0 ? exponent : (vi)(0);
    return p * (vf)(exponent << 23);
#endif
}

INLINE vf v_exp2(vf x) {
    x = vmax(vset(-151), vmin(vset(129), x));
    vf n = v_round(x), r = (x - n) * vset(0.693147181f);
    return v_scale(v_exp_fraction(r) + vset(1), n);
}

INLINE vf v_log(vf x) {
    /* Numbers below the normal ones, and those without a logarithm, which are set right at the end. */
    vi tiny = x < vset(0x1p-126f);
    vf scaled = tiny ? x * vset(0x1p23f) : x;
    vi bits = (vi)scaled - 0x3f3504f3; /* sqrt(1/2): the fraction shall lie about 1 */
    vf n = __builtin_convertvector(bits >> 23, vf) - (tiny ? vset(23) : vset(0));
    vf f = (vf)((bits & 0x007fffff) + 0x3f3504f3) - vset(1);
    vf p = POLYNOMIAL(f, 3.333331260e-01f, -2.500000960e-01f, 2.000211873e-01f, -1.666799567e-01f, 1.421955091e-01f,
                      -1.240559143e-01f, 1.188817462e-01f, -1.167564127e-01f, 6.746601235e-02f);
    vf s = f * f, r = vfma(n, vset(1.42860677e-6f), p * f * s);
    r = vfma(vset(-0.5f), s, r) + f;
    r = vfma(n, vset(0.693145752f), r);
    r = x == vset(INFINITY) ? x : r;
    r = x == vset(0) ? vset(-INFINITY) : r;
    return ((x < vset(0)) | (x != x)) ? vset(NAN) : r;
}

/* MARK: Sigmoids */

/* 1 / (1 + e^-x) */
INLINE vf v_sigmoid(vf x) {
    vf e = v_exp_negative((vf)((vu)x | (vu)(0x80000000u)));
    return (x < vset(0) ? e : vset(1)) * v_reciprocal(vset(1) + e);
}

/* x / (1 + e^-x); NaN at -infinity. */
INLINE vf v_silu(vf x) { return x * v_sigmoid(x); }

INLINE vf v_tanh(vf x) {
    vf t = vmin(vset(10), v_abs(x)), s = t * t;
    vf small = vfma(POLYNOMIAL(s, -3.333328392e-01f, 1.333149125e-01f, -5.374349526e-02f, 2.065057899e-02f,
                               -5.717036548e-03f) * s, t, t);
    vf n, r = v_exp_reduce(t + t, &n);
    vf large = vfma(vset(-2), v_reciprocal(v_scale(v_exp_fraction(r) + vset(1), n) + vset(1)), vset(1));
    return v_copysign(t > vset(0.625f) ? large : small, x);
}

/* x min(max(x + 3, 0), 6) / 6 */
INLINE vf v_hard_swish(vf x) { return x * (vmax(vset(0), vmin(vset(6), x + vset(3))) * vset(1.0f / 6)); }

/* MARK: The normal distribution */

#if defined(LEVEL_AVX512)
/* Polynomials of degree 5 about the middles of 16 segments; a lane's coefficients come by one permutation each. */
static const float v_erf_segments[6][16] __attribute__((aligned(64))) = {
    {1.403162021e-01f, 4.041169035e-01f, 6.232408773e-01f, 7.840750598e-01f, 8.883882335e-01f, 9.481700754e-01f,
     9.784437350e-01f, 9.919900582e-01f, 9.973459704e-01f, 9.992170614e-01f, 9.997946240e-01f, 9.999521450e-01f,
     9.999901032e-01f, 9.999981847e-01f, 9.999997049e-01f, 9.999999575e-01f},
    {1.110885253e+00f, 9.803528056e-01f, 7.634995456e-01f, 5.247450584e-01f, 3.182739653e-01f, 1.703597727e-01f,
     8.047225463e-02f, 3.354582491e-02f, 1.234081928e-02f, 4.006477942e-03f, 1.147875609e-03f, 2.902286605e-04f,
     6.475887443e-05f, 1.275181440e-05f, 2.215943068e-06f, 3.398282111e-07f},
    {-1.388575723e-01f, -3.676254627e-01f, -4.771815570e-01f, -4.591504919e-01f, -3.580603141e-01f, -2.342477170e-01f,
     -1.307693978e-01f, -6.289899577e-02f, -2.622399907e-02f, -9.514959397e-03f, -3.012863827e-03f, -8.342493233e-04f,
     -2.023084089e-04f, -4.301683955e-05f, -8.027216459e-06f, -1.315553553e-06f},
    {-3.587164637e-01f, -2.348746135e-01f, -5.567584098e-02f, 9.291825642e-02f, 1.624495552e-01f, 1.579381049e-01f,
     1.148424000e-01f, 6.744251689e-02f, 3.303794767e-02f, 1.373050060e-02f, 4.890230255e-03f, 1.502382919e-03f,
     3.999423117e-04f, 9.255314325e-05f, 1.866452137e-05f, 3.286130306e-06f},
    {6.817879055e-02f, 1.654139840e-01f, 1.754938573e-01f, 1.121532470e-01f, 2.833469122e-02f, -2.998309085e-02f,
     -4.938131442e-02f, -4.216312453e-02f, -2.640287698e-02f, -1.320593642e-02f, -5.466934968e-03f, -1.908536598e-03f,
     -5.682219011e-04f, -1.453426933e-04f, -3.210358968e-05f, -6.146434511e-06f},
    {1.034355088e-01f, 4.530489628e-02f, -2.698133009e-02f, -6.663779995e-02f, -6.102390884e-02f, -3.064923199e-02f,
     -2.327178343e-03f, 1.130888465e-02f, 1.243695026e-02f, 8.361012773e-03f, 4.239050150e-03f, 1.729768894e-03f,
     5.853064291e-04f, 1.669820472e-04f, 4.058418447e-05f, 8.462315311e-06f},
};
/* Phi, the normal distribution. */
static const float v_phi_segments[6][16] __attribute__((aligned(64))) = {
    {5.682320983e-01f, 6.969418245e-01f, 8.049331689e-01f, 8.855360231e-01f, 9.390533054e-01f, 9.706627908e-01f,
     9.872707962e-01f, 9.950330975e-01f, 9.982603442e-01f, 9.994538859e-01f, 9.998465321e-01f, 9.999614314e-01f,
     9.999913388e-01f, 9.999982632e-01f, 9.999996892e-01f, 9.999999504e-01f},
    {3.930930000e-01f, 3.492828916e-01f, 2.757663807e-01f, 1.934582803e-01f, 1.205911179e-01f, 6.679213275e-02f,
     3.287133126e-02f, 1.437445118e-02f, 5.585309754e-03f, 1.928347459e-03f, 5.915689850e-04f, 1.612529414e-04f,
     3.905639236e-05f, 8.405411051e-06f, 1.607342027e-06f, 2.731117341e-07f},
    {-3.378075817e-02f, -9.004798031e-02f, -1.184920527e-01f, -1.163768290e-01f, -9.327009336e-02f, -6.314012037e-02f,
     -3.672394152e-02f, -1.852975228e-02f, -8.159762772e-03f, -3.148535717e-03f, -1.067517785e-03f, -3.186814519e-04f,
     -8.389037504e-05f, -1.949604889e-05f, -4.003652156e-06f, -7.270383188e-07f},
    {-6.357900837e-02f, -4.273626619e-02f, -1.201823910e-02f, 1.442821930e-02f, 2.799315892e-02f, 2.865897789e-02f,
     2.187302475e-02f, 1.352835515e-02f, 7.016525334e-03f, 3.106035236e-03f, 1.185829232e-03f, 3.930849488e-04f,
     1.136582340e-04f, 2.876105080e-05f, 6.385140277e-06f, 1.246007049e-06f},
    {8.301363133e-03f, 2.038023927e-02f, 2.221215876e-02f, 1.501866749e-02f, 4.755735176e-03f, -2.960917601e-03f,
     -6.052272593e-03f, -5.614351184e-03f, -3.767740472e-03f, -2.019524639e-03f, -8.992647483e-04f, -3.394284330e-04f,
     -1.099008663e-04f, -3.076069769e-05f, -7.482531852e-06f, -1.587948505e-06f},
    {9.186808502e-03f, 4.277969432e-03f, -2.001859909e-03f, -5.738185666e-03f, -5.630167472e-03f, -3.155949407e-03f,
     -5.713714911e-04f, 8.600042432e-04f, 1.141243603e-03f, 8.468775429e-04f, 4.677477887e-04f, 2.077845439e-04f,
     7.678471164e-05f, 2.403842549e-05f, 6.446971740e-06f, 1.492284624e-06f},
};
INLINE vf v_segments(const float table[6][16], vf t, float width) {
    vi k = __builtin_convertvector(vmin(t * vset(1 / width), vset(15)), vi);
    vf d = vfma(__builtin_convertvector(k, vf) + vset(0.5f), vset(-width), t);
    vf p = (vf)_mm512_permutexvar_ps((__m512i)k, _mm512_load_ps(table[5]));
    UNROLL for (int j = 4; j >= 0; j--) p = vfma(p, d, (vf)_mm512_permutexvar_ps((__m512i)k, _mm512_load_ps(table[j])));
    return p;
}
#endif

INLINE vf v_erf(vf x) {
    vf t = v_abs(x), s = x * x;
    vf small = x * POLYNOMIAL(s, 1.128379166e+00f, -3.761262582e-01f, 1.128358515e-01f, -2.685381187e-02f,
                              5.188327560e-03f, -8.010192517e-04f, 7.853857692e-05f);
#if defined(LEVEL_AVX512)
    vf large = v_segments(v_erf_segments, t, 0.25f);
#else
    /* 1 - e^(t q(t)) */
    vf clamped = vmin(vset(4), t), n;
    vf q = POLYNOMIAL(clamped, -1.128533446e+00f, -6.356531695e-01f, -1.053483589e-01f, 2.294581273e-02f,
                      -3.232474652e-03f, 2.161211430e-04f);
    vf r = v_exp_reduce(q * clamped, &n);
    vf large = vset(1) - v_scale(v_exp_fraction(r) + vset(1), n);
#endif
    large = t >= vset(4) ? vset(1) : large;
    return t > vset(0.75f) ? v_copysign(large, x) : small;
}

/* x Phi(x) = x (1 + erf(x / sqrt 2)) / 2, to 5e-7 absolute; NaN at -infinity. */
INLINE vf v_gelu(vf x) {
    vf t = v_abs(x);
#if defined(LEVEL_AVX512)
    vf upper = t >= vset(5.5f) ? vset(1) : v_segments(v_phi_segments, t, 0.34375f);
    return x * (x < vset(0) ? vset(1) - upper : upper);
#else
    vf clamped = vmin(vset(6), t), n;
    vf q = POLYNOMIAL(clamped, -6.931471136e-01f, -7.978884632e-01f, -3.182739273e-01f, -3.646165687e-02f,
                      5.002021615e-03f, -1.756696881e-04f, -9.571517626e-05f, 2.028975409e-05f, -1.380675529e-06f);
    vf r = v_exp_reduce(q, &n);
    vf lower = v_scale(v_exp_fraction(r) + vset(1), n);
    lower = t >= vset(6) ? vset(0) : lower;
    return x * (x < vset(0) ? lower : vset(1) - lower);
#endif
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which is x sigmoid of twice that argument. */
INLINE vf v_gelu_tanh(vf x) {
    vf u = x * vfma(x * x, vset(2 * 0.7978845608f * 0.044715f), vset(2 * 0.7978845608f));
    return x * v_sigmoid(u);
}

/* MARK: Lane by lane */

INLINE vf v_each(vf x, vi which, vf others, float function(float)) {
    float in[LANES], out[LANES];
    int32_t flags[LANES];
    vstore(in, x);
    vstore(out, others);
    memcpy(flags, &which, sizeof flags);
    for (int i = 0; i < LANES; i++)
        if (flags[i]) out[i] = function(in[i]);
    return vload(out);
}

INLINE vf v_each2(vf x, vf y, vi which, vf others, float function(float, float)) {
    float a[LANES], b[LANES], out[LANES];
    int32_t flags[LANES];
    vstore(a, x);
    vstore(b, y);
    vstore(out, others);
    memcpy(flags, &which, sizeof flags);
    for (int i = 0; i < LANES; i++)
        if (flags[i]) out[i] = function(a[i], b[i]);
    return vload(out);
}

/* C's fmodf: the sign of x. */
INLINE vf v_mod(vf x, vf y) { return v_each2(x, y, (vi)(-1), x, fmodf); }

/* MARK: Circular functions */

/* x - n pi / 2 for |x| < 8192: pi / 2 in parts of few bits, of which n has exact multiples. */
INLINE vf v_circle_reduce(vf x, vi *quadrant) {
    vf n = v_round(x * vset(0.636619772f));
    *quadrant = __builtin_convertvector(n, vi);
    x = vfma(n, vset(-0x1.92p0f), x);
    x = vfma(n, vset(-0x1.fb4p-12f), x);
    x = vfma(n, vset(-0x1.444p-24f), x);
    return vfma(n, vset(-0x1.68c234p-39f), x);
}

/* The sine of x + quadrant pi / 2. */
INLINE vf v_sine_of_quadrant(vf x, vi quadrant) {
    vf s = x * x;
    vf sine = vfma(POLYNOMIAL(s, -1.666665423e-01f, 8.332131488e-03f, -1.951083813e-04f) * s, x, x);
    vf cosine = vfma(POLYNOMIAL(s, 4.166664437e-02f, -1.388725147e-03f, 2.442567967e-05f), s * s,
                     vfma(vset(-0.5f), s, vset(1)));
    vf y = (quadrant & 1) != 0 ? cosine : sine;
    return (vf)((vi)y ^ ((quadrant & 2) << 30));
}

INLINE vf v_sin(vf x) {
    vi quadrant, far = ~(v_abs(x) < vset(8192));
    vf near = far ? vset(0) : x;
    vf y = v_sine_of_quadrant(v_circle_reduce(near, &quadrant), quadrant);
    y = x == vset(0) ? x : y;
    return v_any(far) ? v_each(x, far, y, sinf) : y;
}

INLINE vf v_cos(vf x) {
    vi quadrant, far = ~(v_abs(x) < vset(8192));
    vf near = far ? vset(0) : x;
    vf r = v_circle_reduce(near, &quadrant);
    vf y = v_sine_of_quadrant(r, quadrant + 1);
    return v_any(far) ? v_each(x, far, y, cosf) : y;
}

/* MARK: Powers */

/* 2^(y log2 x) for 0 < x < infinity, in double precision. */
INLINE vf_half v_pow_positive(vf_half x, vf_half y) {
    vd_half wide = __builtin_convertvector(x, vd_half);
    vl_half bits = (vl_half)wide - 0x3fe6a09e667f3bcdll; /* sqrt(1/2) */
    vd_half m = (vd_half)((bits & 0xfffffffffffffll) + 0x3fe6a09e667f3bcdll);
    /* The exponent by way of a double's fraction: integers of 64 bits are slow to convert on older processors. */
    vl_half exponent = ((vl_half)((vu_half)bits >> 52) & 0xfff) ^ 0x800;
    vd_half n = (vd_half)(exponent | 0x4330000000000000ll) - (0x1p52 + 0x800);
    vd_half s = (m - 1.0) / (m + 1.0), z = s * s;
    vd_half p = 2.0 / 13;
    UNROLL for (int k = 11; k >= 1; k -= 2) p = p * z + 2.0 / k;
    vd_half t = (p * s * 1.4426950408889634 + n) * __builtin_convertvector(y, vd_half);
    t = t > 300.0 ? (vd_half)(300.0) : t;
    t = t < -300.0 ? (vd_half)(-300.0) : t;
    vd_half shifted = t + 0x1.8p52, r = t - (shifted - 0x1.8p52);
    vd_half e = 1.53149465045299138e-05;
    e = e * r + 1.54671103446218927e-04;
    e = e * r + 1.33334307883670178e-03;
    e = e * r + 9.61803691084638264e-03;
    e = e * r + 5.55041096257083977e-02;
    e = e * r + 2.40226510758533879e-01;
    e = e * r + 6.93147180541655139e-01;
    e = e * r + 1.0;
    return __builtin_convertvector((vd_half)((vl_half)e + ((vl_half)shifted << 52)), vf_half);
}

/* C's powf. */
INLINE vf v_pow(vf x, vf y) {
    vi special = ~((x > vset(0)) & (x < vset(INFINITY)) & (v_abs(y) < vset(INFINITY)));
    vf base = special ? vset(1) : x, power = special ? vset(1) : y, z;
    z.lo = v_pow_positive(base.lo, power.lo);
    z.hi = v_pow_positive(base.hi, power.hi);
    return v_any(special) ? v_each2(x, y, special, z, powf) : z;
}
