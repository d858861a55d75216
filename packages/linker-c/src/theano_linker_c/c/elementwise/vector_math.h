/* Mathematical functions as arithmetic without branches, which compilers turn into code for vectors by themselves.
   They take the place of those of the C library where it has no form for vectors that the compiler knows. Errors are
   at most 2 units in the last place; polynomials are those of the least largest error. */
#ifndef THEANO_LINKER_C_VECTOR_MATH_H
#define THEANO_LINKER_C_VECTOR_MATH_H

#include <stdint.h>

/* A loop is vectorised only where nothing in it is called. */
#define THEANO_FORM static inline __attribute__((always_inline, unused))

/* Where no instruction multiplies and adds there are two roundings: constants that reduce arguments end in zeros. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define THEANO_FMA __builtin_fma
#else
#define THEANO_FMA(a, b, c) ((a) * (b) + (c))
#endif

union theano_number {
    double value;
    uint64_t bits;
};

THEANO_FORM double theano_of_bits(uint64_t bits) {
    union theano_number number;
    number.bits = bits;
    return number.value;
}

THEANO_FORM uint64_t theano_bits(double value) {
    union theano_number number;
    number.value = value;
    return number.bits;
}

/* exp(x) = (1 + p) scale^2 and scale = 2^n, n the integer nearest to x / (2 log(2)): two factors, since 2^1024 is
   infinite and results may be subnormal. The sum with 1.5 * 2^52 rounds n and leaves it in the low bits. */
THEANO_FORM double theano_exp(double x) {
    const double shift = 0x1.80000000003ffp52;
    double inside = x < -746.0 ? -746.0 : x;
    inside = inside > 710.0 ? 710.0 : inside;
    double shifted = THEANO_FMA(inside, 0x1.71547652b82fep-1, shift);
    double n = shifted - shift;
    double high = THEANO_FMA(n, -0x1.62e42fee00000p0, inside);
    double r = THEANO_FMA(n, -0x1.a39ef35793c76p-32, high), rest = THEANO_FMA(n, -0x1.a39ef35793c76p-32, high - r);
    double s = r * r, q = 0x1.8e0902c5fe586p-37, odd = 0x1.63ea03ecf035bp-33;
    q = THEANO_FMA(q, s, 0x1.1ef8cd88022d3p-29);
    odd = THEANO_FMA(odd, s, 0x1.ae60ce785e64ap-26);
    q = THEANO_FMA(q, s, 0x1.27e4ed317e2fap-22);
    odd = THEANO_FMA(odd, s, 0x1.71de3c83d05b0p-19);
    q = THEANO_FMA(q, s, 0x1.a01a01b03d42fp-16);
    odd = THEANO_FMA(odd, s, 0x1.a01a019ec3cc9p-13);
    q = THEANO_FMA(q, s, 0x1.6c16c16c0eb5dp-10);
    odd = THEANO_FMA(odd, s, 0x1.1111111111702p-7);
    q = THEANO_FMA(q, s, 0x1.5555555555580p-5);
    odd = THEANO_FMA(odd, s, 0x1.5555555555553p-3);
    q = THEANO_FMA(q, s, 0.5);
    q = THEANO_FMA(odd, r, q);
    double scale = theano_of_bits(theano_bits(shifted) << 52);
    return THEANO_FMA(r + THEANO_FMA(s, q, rest), scale, scale) * scale;
}

/* exp(x) for |x| < 700, where one factor does. */
THEANO_FORM double theano_exp_inside(double x) {
    const double shift = 0x1.80000000003ffp52;
    double shifted = THEANO_FMA(x, 0x1.71547652b82fep0, shift), k = shifted - shift;
    double scale = theano_of_bits(theano_bits(shifted) << 52);
    double r = THEANO_FMA(k, -0x1.a39ef35793c76p-33, THEANO_FMA(k, -0x1.62e42fee00000p-1, x));
    double s = r * r, q = 0x1.28aa9fd8d0290p-22, odd = 0x1.cc8a5bbaed856p-26;
    odd = THEANO_FMA(odd, s, 0x1.71cc198858938p-19);
    q = THEANO_FMA(q, s, 0x1.a0199dbe6ba25p-16);
    odd = THEANO_FMA(odd, s, 0x1.a01a0921c9b0fp-13);
    q = THEANO_FMA(q, s, 0x1.6c16c182c70fep-10);
    odd = THEANO_FMA(odd, s, 0x1.1111110fe12b9p-7);
    q = THEANO_FMA(q, s, 0x1.5555555550ca4p-5);
    odd = THEANO_FMA(odd, s, 0x1.55555555558b7p-3);
    q = THEANO_FMA(q, s, 0x1.000000000000ap-1);
    q = THEANO_FMA(odd, r, q);
    return THEANO_FMA(THEANO_FMA(r * r, q, r), scale, scale);
}

/* 2^x for |x| < 1000. */
THEANO_FORM double theano_exp2_inside(double x) {
    const double shift = 0x1.80000000003ffp52;
    double shifted = x + shift, r = x - (shifted - shift), scale = theano_of_bits(theano_bits(shifted) << 52);
    double s = r * r, q = 0x1.f4397c52bd30cp-32, odd = 0x1.e63c330bb038fp-28;
    q = THEANO_FMA(q, s, 0x1.b52171c159ea3p-24);
    odd = THEANO_FMA(odd, s, 0x1.62bfb7a505e3cp-20);
    q = THEANO_FMA(q, s, 0x1.ffcbfbd9091c8p-17);
    odd = THEANO_FMA(odd, s, 0x1.4309131364aaep-13);
    q = THEANO_FMA(q, s, 0x1.5d87fe7972ab0p-10);
    odd = THEANO_FMA(odd, s, 0x1.3b2ab6fb9f7dep-7);
    q = THEANO_FMA(q, s, 0x1.c6b08d704969cp-5);
    odd = THEANO_FMA(odd, s, 0x1.ebfbdff82c5a0p-3);
    q = THEANO_FMA(q, s, 0x1.62e42fefa39f3p-1);
    q = THEANO_FMA(odd, r, q);
    return THEANO_FMA(q * r, scale, scale);
}

/* exp(x) - 1 = 2 (h p + h - 1/2) with x = k log(2) + r, h = 2^(k-1) and p = exp(r) - 1. */
THEANO_FORM double theano_expm1(double x) {
    const double shift = 0x1.80000000003fep52;
    double inside = x < -40.0 ? -40.0 : x;
    inside = inside > 710.0 ? 710.0 : inside;
    double shifted = THEANO_FMA(inside, 0x1.71547652b82fep0, shift);
    double k = shifted - shift, h = theano_of_bits(theano_bits(shifted) << 52);
    double high = THEANO_FMA(k, -0x1.62e42fee00000p-1, inside);
    double r = THEANO_FMA(k, -0x1.a39ef35793c76p-33, high), rest = THEANO_FMA(k, -0x1.a39ef35793c76p-33, high - r);
    double s = r * r, q = 0x1.1df5b7fc86ec0p-29, odd = 0x1.af5e066fb3bd4p-26;
    q = THEANO_FMA(q, s, 0x1.27e5dbfa7c855p-22);
    odd = THEANO_FMA(odd, s, 0x1.71ddf9b2a36fep-19);
    q = THEANO_FMA(q, s, 0x1.a01a012df2924p-16);
    odd = THEANO_FMA(odd, s, 0x1.a01a01aee4a1cp-13);
    q = THEANO_FMA(q, s, 0x1.6c16c16c2ce65p-10);
    odd = THEANO_FMA(odd, s, 0x1.111111110fa7bp-7);
    q = THEANO_FMA(q, s, 0x1.555555555552cp-5);
    odd = THEANO_FMA(odd, s, 0x1.5555555555558p-3);
    q = THEANO_FMA(q, s, 0.5);
    q = THEANO_FMA(odd, r, q);
    double p = r + THEANO_FMA(r * r, q, rest), y = 2.0 * THEANO_FMA(h, p, h - 0.5);
    /* The first term of the series keeps the sign of zero and the digits of small numbers. */
    return __builtin_fabs(x) < 0x1p-54 ? x : y;
}

/* log(1 + f) - f by f^2, for sqrt(1/2) <= 1 + f < sqrt(2). */
THEANO_FORM double theano_log_rest(double f) {
    double s = f * f, q = -0x1.b4b2832287c26p-5, odd = 0x1.4be7f10645907p-6;
    odd = THEANO_FMA(odd, s, 0x1.0b70386d4ff93p-4);
    q = THEANO_FMA(q, s, -0x1.e591b1d236db3p-5);
    odd = THEANO_FMA(odd, s, 0x1.d4112fed47842p-5);
    q = THEANO_FMA(q, s, -0x1.f85c3d08495dbp-5);
    odd = THEANO_FMA(odd, s, 0x1.115bb4b2e3d01p-4);
    q = THEANO_FMA(q, s, -0x1.24fbbd8e00c0cp-4);
    odd = THEANO_FMA(odd, s, 0x1.3b17764f384d4p-4);
    q = THEANO_FMA(q, s, -0x1.554f0a06073c5p-4);
    odd = THEANO_FMA(odd, s, 0x1.745c8dabb72fbp-4);
    q = THEANO_FMA(q, s, -0x1.9999d21a4a341p-4);
    odd = THEANO_FMA(odd, s, 0x1.c71c77cec36d7p-4);
    q = THEANO_FMA(q, s, -0x1.fffffed8e687fp-4);
    odd = THEANO_FMA(odd, s, 0x1.2492491493971p-3);
    q = THEANO_FMA(q, s, -0x1.55555556f71ebp-3);
    odd = THEANO_FMA(odd, s, 0x1.99999999bffe2p-3);
    q = THEANO_FMA(q, s, -0x1.fffffffffde64p-3);
    odd = THEANO_FMA(odd, s, 0x1.5555555555462p-2);
    q = THEANO_FMA(q, s, -0.5);
    return THEANO_FMA(odd, f, q);
}

/* k log(2) + log(1 + f). */
THEANO_FORM double theano_log_sum(double k, double f) {
    double small = THEANO_FMA(f * f, theano_log_rest(f), k * 0x1.a39ef35793c76p-33);
    return THEANO_FMA(k, 0x1.62e42fee00000p-1, f + small);
}

/* u = 2^k m with sqrt(1/2) <= m < sqrt(2): k in the first bits, m - 1/2 sqrt(2) in the others. */
THEANO_FORM uint64_t theano_log_parts(double u) {
    return theano_bits(u) + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
}

THEANO_FORM double theano_log(double x) {
    /* The digits of subnormal numbers are moved up. */
    double up = x < 0x1p-1022 ? 0x1p54 : 1.0, less = x < 0x1p-1022 ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0;
    uint64_t parts = theano_log_parts(x * up);
    double k = theano_of_bits((parts >> 52) | UINT64_C(0x4330000000000000)) - less;
    double m = theano_of_bits((parts & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double y = theano_log_sum(k, m - 1.0);
    y = x < 1.0 / 0.0 ? y : x;
    double low = x == 0.0 ? -1.0 / 0.0 : 0.0 / 0.0;
    return x <= 0.0 ? low : y;
}

/* 1 + x = 2^k (1 + f), and f = 2^-k x + (2^-k - 1) with one rounding. There 2^(2-k) stands for 2^-k, which may be
   subnormal. */
THEANO_FORM double theano_log1p(double x) {
    uint64_t parts = theano_log_parts(1.0 + x);
    double k = theano_of_bits((parts >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023.0);
    double back = theano_of_bits(UINT64_C(0x8000000000000000) - (parts & UINT64_C(0xfff0000000000000)));
    double y = theano_log_sum(k, THEANO_FMA(0.25 * x, back, THEANO_FMA(back, 0.25, -1.0)));
    y = x < 1.0 / 0.0 ? y : x;
    double low = x == -1.0 ? -1.0 / 0.0 : 0.0 / 0.0;
    y = x <= -1.0 ? low : y;
    return __builtin_fabs(x) < 0x1p-54 ? x : y;
}

/* x + x^3 P(x^2) up to 0.55, and 1 - 2 / (exp(2 x) + 1) from there on. */
THEANO_FORM double theano_tanh(double x) {
    double size = __builtin_fabs(x), inside = size > 22.0 ? 22.0 : size;
    double far = 1.0 - 2.0 / (theano_exp_inside(2.0 * inside) + 1.0), z = size * size, q = 0x1.aec09c5c2eabep-15;
    q = THEANO_FMA(q, z, -0x1.ba1f06ac28b7fp-13);
    q = THEANO_FMA(q, z, 0x1.2fd139435511bp-11);
    q = THEANO_FMA(q, z, -0x1.7cfc803d3ce13p-10);
    q = THEANO_FMA(q, z, 0x1.d6c71e114d379p-9);
    q = THEANO_FMA(q, z, -0x1.226de671e5f4ep-7);
    q = THEANO_FMA(q, z, 0x1.664f462a4d5bcp-6);
    q = THEANO_FMA(q, z, -0x1.ba1ba1b01b1bdp-5);
    q = THEANO_FMA(q, z, 0x1.11111111071c7p-3);
    q = THEANO_FMA(q, z, -0x1.55555555554fap-2);
    double near = THEANO_FMA(q * z, size, size);
    return __builtin_copysign(size < 0.55 ? near : far, x);
}

/* x + x P(x^2) up to 0.85, and 1 - 2^Q(x) from there on. */
THEANO_FORM double theano_erf(double x) {
    double size = __builtin_fabs(x), z = size * size;
    double zz = z * z, p = 0x1.6cf44c02da266p-27, near_odd = -0x1.50ad3f28b9659p-23;
    p = THEANO_FMA(p, zz, 0x1.b821b3cb66887p-20);
    near_odd = THEANO_FMA(near_odd, zz, -0x1.f4b036dcf4b63p-17);
    p = THEANO_FMA(p, zz, 0x1.f9a17cb244510p-14);
    near_odd = THEANO_FMA(near_odd, zz, -0x1.c02da6965bb87p-11);
    p = THEANO_FMA(p, zz, 0x1.565bcccacfb0bp-8);
    near_odd = THEANO_FMA(near_odd, zz, -0x1.b82ce310f9f3fp-6);
    p = THEANO_FMA(p, zz, 0x1.ce2f21a03e045p-4);
    near_odd = THEANO_FMA(near_odd, zz, -0x1.812746b03798dp-2);
    p = THEANO_FMA(p, zz, 0x1.06eba8214db68p-3);
    p = THEANO_FMA(near_odd, z, p);
    double near = THEANO_FMA(p, size, size), t = size > 6.0 ? 6.0 : size;
    double s = t * t, ss = s * s, q = 0x1.0311a1e7a13c3p-31, q1 = -0x1.9d91eb6101d5fp-37, q2 = 0x1.afae19cea5346p-24,
           q3 = -0x1.2d7eb3afdb33ap-27;
    q1 = THEANO_FMA(q1, ss, -0x1.a76d47aef079ap-21);
    q = THEANO_FMA(q, ss, 0x1.2a59e2e473cffp-18);
    q3 = THEANO_FMA(q3, ss, -0x1.3063940dedef2p-16);
    q2 = THEANO_FMA(q2, ss, 0x1.ab6bfde92b407p-15);
    q1 = THEANO_FMA(q1, ss, -0x1.37f7240db6e25p-14);
    q = THEANO_FMA(q, ss, -0x1.bbb3b9a204b6ep-14);
    q3 = THEANO_FMA(q3, ss, 0x1.fe55d1e1b3ed6p-11);
    q2 = THEANO_FMA(q2, ss, -0x1.5433ee3f1231cp-9);
    q1 = THEANO_FMA(q1, ss, 0x1.c6889aa375a48p-12);
    q = THEANO_FMA(q, ss, 0x1.c2bbe1796a9a0p-6);
    q3 = THEANO_FMA(q3, ss, -0x1.2f92c662e0f66p-3);
    q2 = THEANO_FMA(q2, ss, -0x1.d6408a1bcbb78p-1);
    q1 = THEANO_FMA(q1, ss, -0x1.a0be591018d40p0);
    q = THEANO_FMA(q, ss, -0x1.f287dd0d2bbc7p-23);
    q = THEANO_FMA(THEANO_FMA(q3, t, q2), s, THEANO_FMA(q1, t, q));
    double far = 1.0 - theano_exp2_inside(q);
    /* Both are computed, and one is taken by its bits: a choice between them would become a branch. */
    uint64_t beyond = size > 0.85 ? ~UINT64_C(0) : 0;
    return __builtin_copysign(theano_of_bits((theano_bits(far) & beyond) | (theano_bits(near) & ~beyond)), x);
}

/* x = n pi + r, |r| <= pi / 2, and the sine of r with the sign of an odd n: `offset` is 0 for the sine and 1/2 for the
   cosine, of which n - 1/2 is an integer. Digits of pi suffice for |x| <= THEANO_SINE_BOUND. */
#define THEANO_SINE_BOUND 1e5

THEANO_FORM double theano_sine(double x, double turns, double offset, uint64_t sign) {
    const double shift = 0x1.8p52;
    double shifted = turns + shift, n = shifted - shift + offset;
    double r = THEANO_FMA(n, -0x1.68c234c4c0000p-38, THEANO_FMA(n, -0x1.921fb54440000p1, x));
    r = THEANO_FMA(n, -0x1.98a2e03707345p-76, r);
    double z = r * r, q = 0x1.883280b62e6fbp-49;
    q = THEANO_FMA(q, z, -0x1.ae43835938b73p-41);
    q = THEANO_FMA(q, z, 0x1.6123cd044eec2p-33);
    q = THEANO_FMA(q, z, -0x1.ae6454d46cea9p-26);
    q = THEANO_FMA(q, z, 0x1.71de3a52a0a8bp-19);
    q = THEANO_FMA(q, z, -0x1.a01a01a014d6fp-13);
    q = THEANO_FMA(q, z, 0x1.11111111110c8p-7);
    q = THEANO_FMA(q, z, -0x1.5555555555555p-3);
    return theano_of_bits(theano_bits(THEANO_FMA(q * z, r, r)) ^ (theano_bits(shifted) << 63) ^ sign);
}

THEANO_FORM double theano_sin(double x) { return x == 0.0 ? x : theano_sine(x, x * 0x1.45f306dc9c883p-2, 0.0, 0); }

THEANO_FORM double theano_cos(double x) {
    return theano_sine(x, THEANO_FMA(x, 0x1.45f306dc9c883p-2, -0.5), 0.5, UINT64_C(1) << 63);
}

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define THEANO_FMAF __builtin_fmaf

union theano_number_f {
    float value;
    uint32_t bits;
};

THEANO_FORM float theano_of_bits_f(uint32_t bits) {
    union theano_number_f number;
    number.bits = bits;
    return number.value;
}

THEANO_FORM uint32_t theano_bits_f(float value) {
    union theano_number_f number;
    number.value = value;
    return number.bits;
}

/* exp(x) for -87 < x < 88. */
THEANO_FORM float theano_exp_inside_f(float x) {
    const float shift = 0x1.8000fep23f;
    float shifted = THEANO_FMAF(x, 0x1.715476p0f, shift), k = shifted - shift;
    float scale = theano_of_bits_f(theano_bits_f(shifted) << 23);
    float r = THEANO_FMAF(k, -0x1.7f7d1cp-20f, THEANO_FMAF(k, -0x1.62e4p-1f, x)), q = 0x1.69f726p-10f;
    q = THEANO_FMAF(q, r, 0x1.1237a8p-7f);
    q = THEANO_FMAF(q, r, 0x1.555876p-5f);
    q = THEANO_FMAF(q, r, 0x1.55548cp-3f);
    q = THEANO_FMAF(q, r, 0x1.fffffcp-2f);
    return THEANO_FMAF(THEANO_FMAF(r * r, q, r), scale, scale);
}

THEANO_FORM float theano_expm1f(float x) {
    const float shift = 0x1.8000fcp23f;
    float inside = x < -20.0f ? -20.0f : x;
    inside = inside > 89.0f ? 89.0f : inside;
    float shifted = THEANO_FMAF(inside, 0x1.715476p0f, shift), k = shifted - shift;
    float h = theano_of_bits_f(theano_bits_f(shifted) << 23), high = THEANO_FMAF(k, -0x1.62e4p-1f, inside);
    float r = THEANO_FMAF(k, -0x1.7f7d1cp-20f, high), rest = THEANO_FMAF(k, -0x1.7f7d1cp-20f, high - r);
    float s = r * r, q = 0x1.6b67f4p-10f, odd = 0x1.12446ep-7f;
    q = THEANO_FMAF(q, s, 0x1.555732p-5f);
    odd = THEANO_FMAF(odd, s, 0x1.55548cp-3f);
    q = THEANO_FMAF(q, s, 0x1.fffffep-2f);
    q = THEANO_FMAF(odd, r, q);
    float p = r + THEANO_FMAF(r * r, q, rest), y = 2.0f * THEANO_FMAF(h, p, h - 0.5f);
    return __builtin_fabsf(x) < 0x1p-25f ? x : y;
}

/* k log(2) + log(1 + f) for 2/3 <= 1 + f < 4/3. */
THEANO_FORM float theano_log_sum_f(float k, float f) {
    float s = f * f, q = -0x1.0abae6p-3f, odd = 0x1.1e5610p-3f;
    q = THEANO_FMAF(q, s, -0x1.f1d9d6p-4f);
    odd = THEANO_FMAF(odd, s, 0x1.1ee1d8p-3f);
    q = THEANO_FMAF(q, s, -0x1.55a8bep-3f);
    odd = THEANO_FMAF(odd, s, 0x1.99cf02p-3f);
    q = THEANO_FMAF(q, s, -0x1.fffeb8p-3f);
    odd = THEANO_FMAF(odd, s, 0x1.55550ap-2f);
    q = THEANO_FMAF(q, s, -0x1.000000p-1f);
    q = THEANO_FMAF(odd, f, q);
    return THEANO_FMAF(k, 0x1.62e430p-1f, THEANO_FMAF(f * f, q, f));
}

THEANO_FORM float theano_logf(float x) {
    float up = x < 0x1p-126f ? 0x1p24f : 1.0f, less = x < 0x1p-126f ? 0x1p23f + 151.0f : 0x1p23f + 127.0f;
    uint32_t parts = theano_bits_f(x * up) + (UINT32_C(0x3f800000) - UINT32_C(0x3f2aaaab));
    float k = theano_of_bits_f((parts >> 23) | UINT32_C(0x4b000000)) - less;
    float m = theano_of_bits_f((parts & UINT32_C(0x7fffff)) + UINT32_C(0x3f2aaaab));
    float y = theano_log_sum_f(k, m - 1.0f);
    y = x < 1.0f / 0.0f ? y : x;
    float low = x == 0.0f ? -1.0f / 0.0f : 0.0f / 0.0f;
    return x <= 0.0f ? low : y;
}

THEANO_FORM float theano_log1pf(float x) {
    uint32_t parts = theano_bits_f(1.0f + x) + (UINT32_C(0x3f800000) - UINT32_C(0x3f2aaaab));
    float k = theano_of_bits_f((parts >> 23) | UINT32_C(0x4b000000)) - (0x1p23f + 127.0f);
    float back = theano_of_bits_f(UINT32_C(0x80000000) - (parts & UINT32_C(0xff800000)));
    float y = theano_log_sum_f(k, THEANO_FMAF(0.25f * x, back, THEANO_FMAF(back, 0.25f, -1.0f)));
    y = x < 1.0f / 0.0f ? y : x;
    float low = x == -1.0f ? -1.0f / 0.0f : 0.0f / 0.0f;
    y = x <= -1.0f ? low : y;
    return __builtin_fabsf(x) < 0x1p-25f ? x : y;
}

THEANO_FORM float theano_tanhf(float x) {
    float size = __builtin_fabsf(x), inside = size > 10.0f ? 10.0f : size;
    float far = 1.0f - 2.0f / (theano_exp_inside_f(2.0f * inside) + 1.0f), z = size * size, q = -0x1.9c5ffap-8f;
    q = THEANO_FMAF(q, z, 0x1.5979a6p-6f);
    q = THEANO_FMAF(q, z, -0x1.b9310cp-5f);
    q = THEANO_FMAF(q, z, 0x1.110d66p-3f);
    q = THEANO_FMAF(q, z, -0x1.55554cp-2f);
    float near = THEANO_FMAF(q * z, size, size);
    return __builtin_copysignf(size < 0.55f ? near : far, x);
}

THEANO_FORM float theano_erff(float x) {
    float size = __builtin_fabsf(x), z = size * size;
    float zz = z * z, p = 0x1.46d748p-8f, near_odd = -0x1.38683cp-11f;
    near_odd = THEANO_FMAF(near_odd, zz, -0x1.b67baap-6f);
    p = THEANO_FMAF(p, zz, 0x1.ce1982p-4f);
    near_odd = THEANO_FMAF(near_odd, zz, -0x1.8126e2p-2f);
    p = THEANO_FMAF(p, zz, 0x1.06eba6p-3f);
    p = THEANO_FMAF(near_odd, z, p);
    float near = THEANO_FMAF(p, size, size), t = size > 4.0f ? 4.0f : size;
    float s = t * t, q = 0x1.baa07cp-12f, odd = -0x1.4fc1b4p-16f;
    odd = THEANO_FMAF(odd, s, -0x1.0d7f46p-8f);
    q = THEANO_FMAF(q, s, 0x1.990f9cp-6f);
    odd = THEANO_FMAF(odd, s, -0x1.ba9192p-4f);
    q = THEANO_FMAF(q, s, -0x1.446102p-1f);
    odd = THEANO_FMAF(odd, s, -0x1.21215ep0f);
    q = THEANO_FMAF(q, s, 0x1.43f0fcp-13f);
    q = THEANO_FMAF(odd, t, q);
    float far = 1.0f - theano_exp_inside_f(q);
    uint32_t beyond = size > 0.85f ? ~UINT32_C(0) : 0;
    return __builtin_copysignf(theano_of_bits_f((theano_bits_f(far) & beyond) | (theano_bits_f(near) & ~beyond)), x);
}

THEANO_FORM float theano_sine_f(float x, float turns, float offset, uint32_t sign) {
    const float shift = 0x1.8p23f;
    float shifted = turns + shift, n = shifted - shift + offset;
    float r = THEANO_FMAF(n, 0x1.777a5cp-24f, THEANO_FMAF(n, -0x1.921fb6p1f, x));
    r = THEANO_FMAF(n, 0x1.ee59dap-49f, r);
    float z = r * r, q = 0x1.5e373ap-19f;
    q = THEANO_FMAF(q, z, -0x1.9f7a28p-13f);
    q = THEANO_FMAF(q, z, 0x1.110f18p-7f);
    q = THEANO_FMAF(q, z, -0x1.55554ep-3f);
    return theano_of_bits_f(theano_bits_f(THEANO_FMAF(q * z, r, r)) ^ (theano_bits_f(shifted) << 31) ^ sign);
}

THEANO_FORM float theano_sinf(float x) { return x == 0.0f ? x : theano_sine_f(x, x * 0x1.45f306p-2f, 0.0f, 0); }

THEANO_FORM float theano_cosf(float x) {
    return theano_sine_f(x, THEANO_FMAF(x, 0x1.45f306p-2f, -0.5f), 0.5f, UINT32_C(1) << 31);
}
#else
/* Without that instruction the digits of float64 are cheaper than roundings that cancel. */
THEANO_FORM float theano_expm1f(float x) { return (float)theano_expm1((double)x); }

THEANO_FORM float theano_logf(float x) { return (float)theano_log((double)x); }

THEANO_FORM float theano_log1pf(float x) { return (float)theano_log1p((double)x); }

THEANO_FORM float theano_tanhf(float x) { return (float)theano_tanh((double)x); }

THEANO_FORM float theano_erff(float x) { return (float)theano_erf((double)x); }

THEANO_FORM float theano_sinf(float x) { return (float)theano_sin((double)x); }

THEANO_FORM float theano_cosf(float x) { return (float)theano_cos((double)x); }

#endif

/* The same, for a loop that finds out whether arguments are beyond the bound. */
#define THEANO_SINES

THEANO_FORM double theano_sin_far(double x, uint32_t *far) {
    *far |= __builtin_fabs(x) > (double)THEANO_SINE_BOUND;
    return theano_sin(x);
}

THEANO_FORM double theano_cos_far(double x, uint32_t *far) {
    *far |= __builtin_fabs(x) > (double)THEANO_SINE_BOUND;
    return theano_cos(x);
}

THEANO_FORM float theano_sinf_far(float x, uint32_t *far) {
    *far |= __builtin_fabsf(x) > (float)THEANO_SINE_BOUND;
    return theano_sinf(x);
}

THEANO_FORM float theano_cosf_far(float x, uint32_t *far) {
    *far |= __builtin_fabsf(x) > (float)THEANO_SINE_BOUND;
    return theano_cosf(x);
}

#endif
