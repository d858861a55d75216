/* Mathematical functions as arithmetic without branches, which compilers turn into code for vectors by themselves.
   They take the place of those of the C library where it has no form for vectors that the compiler knows. */
#ifndef THEANO_LINKER_C_VECTOR_MATH_H
#define THEANO_LINKER_C_VECTOR_MATH_H

#include <stdint.h>

/* A loop is vectorised only where nothing in it is called. */
#define THEANO_FORM static inline __attribute__((always_inline))

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

/* exp(x) = 2 scale (1 + r + rest) for -40 <= x < 709.8, with x = k log(2) + r and scale = 2^(k-1): the factor 2 apart,
   since 2^1024 is infinite. The sum with 1.5 * 2^52 rounds k to an integer and leaves it in the low bits. */
THEANO_FORM double theano_exp_parts(double x, double *rest, double *scale) {
    const double shift = 0x1.8p52;
    double shifted = x * 0x1.71547652b82fep+0 + shift;
    double k = shifted - shift;
    double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
    double q = 0x1.6124613a86d09p-33;
    q = q * r + 0x1.1eed8eff8d898p-29;
    q = q * r + 0x1.ae64567f544e4p-26;
    q = q * r + 0x1.27e4fb7789f5cp-22;
    q = q * r + 0x1.71de3a556c734p-19;
    q = q * r + 0x1.a01a01a01a01ap-16;
    q = q * r + 0x1.a01a01a01a01ap-13;
    q = q * r + 0x1.6c16c16c16c17p-10;
    q = q * r + 0x1.1111111111111p-7;
    q = q * r + 0x1.5555555555555p-5;
    q = q * r + 0x1.5555555555555p-3;
    q = q * r + 0.5;
    *scale = theano_of_bits((theano_bits(shifted) << 52) + UINT64_C(0x3fe0000000000000));
    *rest = r * r * q;
    return r;
}

/* exp(x) - 1 in the same bounds, and what the result lacks of it. */
THEANO_FORM double theano_expm1_inside(double x, double *lacks) {
    double scale, rest, r = theano_exp_parts(x, &rest, &scale);
    double a = scale - 0.5, b = scale * r, sum = a + b, part = sum - a;
    double small = (a - (sum - part)) + (b - part) + scale * rest, total = sum + small;
    *lacks = 2.0 * (sum - total + small);
    return 2.0 * total;
}

THEANO_FORM double theano_expm1(double x) {
    double inside = x < -40.0 ? -40.0 : x;
    inside = inside > 709.79 ? 709.79 : inside;
    double lacks, y = theano_expm1_inside(inside, &lacks);
    y = x > 0x1.62e42fefa39efp+9 ? 1.0 / 0.0 : y;
    double size = x < 0.0 ? -x : x;
    /* The first term of the series keeps the sign of zero and the digits of small numbers. */
    return size < 0x1p-54 ? x : y;
}

THEANO_FORM double theano_tanh(double x) {
    double size = x < 0.0 ? -x : x;
    size = size > 22.0 ? 22.0 : size;
    /* (t + lacks) / (t + 2 + lacks) is about y + (lacks - y e) / d with d the rounded t + 2, e what it lacks, and
       1 / d = (1 - y) / 2. */
    double lacks, t = theano_expm1_inside(2.0 * size, &lacks);
    double d = t + 2.0, e = (t > 2.0 ? 2.0 - (d - t) : t - (d - 2.0)) + lacks, y = t / d;
    y = y + (lacks - y * e) * (0.5 - 0.5 * y);
    y = x < 0.0 ? -y : y;
    return size < 0x1p-28 ? x : y;
}

/* log(u) + c for u = 1 + x, c what the sum has lost: u = 2^k m, sqrt(1/2) <= m < sqrt(2), and the series of
   2 artanh(s), s = (m - 1) / (m + 1). */
THEANO_FORM double theano_log1p(double x) {
    double u = 1.0 + x;
    uint64_t moved = theano_bits(u) + (UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd));
    double k = theano_of_bits((moved >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023.0);
    double m = theano_of_bits((moved & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double lost = (u >= 2.0 ? 1.0 - (u - x) : x - (u - 1.0)) / u;
    double f = k == 0.0 ? x : m - 1.0;
    lost = k == 0.0 ? 0.0 : lost;
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double r = 0x1.e6afc55fb1dd0p-4;
    r = r * z + 0x1.debedbffa0c74p-4;
    r = r * z + 0x1.111d273ca8ae1p-3;
    r = r * z + 0x1.3b137b347f3bfp-3;
    r = r * z + 0x1.745d17d35328cp-3;
    r = r * z + 0x1.c71c71c64c8ccp-3;
    r = r * z + 0x1.2492492492959p-2;
    r = r * z + 0x1.9999999999998p-2;
    r = r * z + 0x1.5555555555555p-1;
    double y = k * 0x1.62e42fee00000p-1 - ((half - (s * (half + z * r) + (k * 0x1.a39ef35793c76p-33 + lost))) - f);
    y = x > 0x1.fffffffffffffp+1023 ? x : y;
    y = u == 0.0 ? -1.0 / 0.0 : y;
    y = x < -1.0 ? 0.0 / 0.0 : y;
    double size = x < 0.0 ? -x : x;
    return size < 0x1p-54 ? x : y;
}

/* x + x P(x^2) up to 1, and 1 - exp(-x^2) Q((x - 2) / (x + 2)) from there on. */
THEANO_FORM double theano_erf(double x) {
    double size = x < 0.0 ? -x : x;
    double near = size > 1.0 ? 1.0 : size, far = size < 1.0 ? 1.0 : size;
    far = far > 6.0 ? 6.0 : far;
    double z = near * near, p = 0x1.05ffd737fb32ep-34;
    p = p * z - 0x1.389d4f2641625p-30;
    p = p * z + 0x1.f7b4bf3b13964p-27;
    p = p * z - 0x1.5f1ecb6f0764cp-23;
    p = p * z + 0x1.b9df224ca4b97p-20;
    p = p * z - 0x1.f4d1e3183f7aep-17;
    p = p * z + 0x1.f9a321d5b8e1ep-14;
    p = p * z - 0x1.c02db3dac435fp-11;
    p = p * z + 0x1.565bcd0dbaa38p-8;
    p = p * z - 0x1.b82ce31284e00p-6;
    p = p * z + 0x1.ce2f21a042b30p-4;
    p = p * z - 0x1.812746b0379e6p-2;
    p = p * z + 0x1.06eba8214db69p-3;
    double w = (far - 2.0) / (far + 2.0), q = -0x1.30be46f379823p-20;
    q = q * w + 0x1.559a2f0faada6p-20;
    q = q * w + 0x1.0d39558a33004p-18;
    q = q * w + 0x1.5e89dbd23021dp-20;
    q = q * w - 0x1.d5b4578dde1bbp-17;
    q = q * w - 0x1.ce6ac975b91e0p-16;
    q = q * w + 0x1.cdd4519ae1742p-16;
    q = q * w + 0x1.6da887a2804f7p-13;
    q = q * w + 0x1.6d5ee91b54222p-15;
    q = q * w - 0x1.016b5b63ce721p-10;
    q = q * w - 0x1.bc25a48873fcfp-11;
    q = q * w + 0x1.ca95ed50b7c81p-8;
    q = q * w + 0x1.e9471597be87ap-9;
    q = q * w - 0x1.437f0b68c0489p-4;
    q = q * w + 0x1.eeea7dc8a78a1p-3;
    q = q * w - 0x1.b57034efd3f74p-2;
    q = q * w + 0x1.058671b52c776p-2;
    double scale, rest, r = theano_exp_parts(-far * far, &rest, &scale);
    double tail = 2.0 * (scale + scale * (r + rest)) * q;
    /* Both are computed, and one is taken by its bits: a choice between them would become a branch. */
    uint64_t beyond = size > 1.0 ? ~UINT64_C(0) : 0;
    double y = theano_of_bits((theano_bits(1.0 - tail) & beyond) | (theano_bits(near + near * p) & ~beyond));
    y = size != size ? x : y;
    return x < 0.0 ? -y : (size == 0.0 ? x : y);
}

/* In float32 the digits of float64 are cheaper than other polynomials are to keep. */
THEANO_FORM float theano_expm1f(float x) { return (float)theano_expm1((double)x); }

THEANO_FORM float theano_tanhf(float x) { return (float)theano_tanh((double)x); }

THEANO_FORM float theano_log1pf(float x) { return (float)theano_log1p((double)x); }

THEANO_FORM float theano_erff(float x) { return (float)theano_erf((double)x); }

#endif
