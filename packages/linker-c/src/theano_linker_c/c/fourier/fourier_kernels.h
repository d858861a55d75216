/* Read by fourier_kernels.c with REAL (a type), LANES (elements of a vector), TARGET (an attribute) and NAME(x).
 *
 * Passes are those of C. Temperton's self-sorting transform: with n = ido * radix * l1, results of the pass before are
 * c[i + ido * (m + radix * k)], and those of this pass go to i + ido * (k + l1 * j). */

typedef REAL NAME(vector) __attribute__((vector_size(LANES * sizeof(REAL))));
typedef struct {
    NAME(vector) re, im;
} NAME(value);

#define VALUE NAME(value)
#define INLINED static inline TARGET __attribute__((always_inline))

INLINED VALUE NAME(plus)(VALUE a, VALUE b) { return (VALUE){a.re + b.re, a.im + b.im}; }
INLINED VALUE NAME(minus)(VALUE a, VALUE b) { return (VALUE){a.re - b.re, a.im - b.im}; }
INLINED VALUE NAME(times)(VALUE a, const REAL *w) {
    return (VALUE){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}
/* -i a */
INLINED VALUE NAME(turned)(VALUE a) { return (VALUE){a.im, -a.re}; }

INLINED void NAME(two)(VALUE *x) {
    VALUE a = x[0];
    x[0] = NAME(plus)(a, x[1]);
    x[1] = NAME(minus)(a, x[1]);
}

INLINED void NAME(four)(VALUE *x) {
    VALUE a = NAME(plus)(x[0], x[2]), b = NAME(minus)(x[0], x[2]);
    VALUE c = NAME(plus)(x[1], x[3]), d = NAME(turned)(NAME(minus)(x[1], x[3]));
    x[0] = NAME(plus)(a, c);
    x[1] = NAME(plus)(b, d);
    x[2] = NAME(minus)(a, c);
    x[3] = NAME(minus)(b, d);
}

INLINED void NAME(eight)(VALUE *x) {
    static const REAL half = (REAL)0.70710678118654752440;
    VALUE even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    NAME(four)(even);
    NAME(four)(odd);
    odd[1] = (VALUE){(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
    odd[2] = NAME(turned)(odd[2]);
    odd[3] = (VALUE){(odd[3].im - odd[3].re) * half, -(odd[3].re + odd[3].im) * half};
    UNROLLED for (int j = 0; j < 4; j++) {
        x[j] = NAME(plus)(even[j], odd[j]);
        x[j + 4] = NAME(minus)(even[j], odd[j]);
    }
}

/* Of an odd radix: elements m and radix - m have conjugate factors. */
INLINED void NAME(odd)(const int radix, VALUE *x, const REAL *roots) {
    VALUE sums[GREATEST_RADIX / 2 + 1], differences[GREATEST_RADIX / 2 + 1], first = x[0];
    const int half = radix / 2;
    VALUE total = first;
    for (int m = 1; m <= half; m++) {
        sums[m] = NAME(plus)(x[m], x[radix - m]);
        differences[m] = NAME(turned)(NAME(minus)(x[m], x[radix - m]));
        total = NAME(plus)(total, sums[m]);
    }
    x[0] = total;
    for (int j = 1; j <= half; j++) {
        VALUE a = first, b = {{0}, {0}};
        for (int m = 1, at = j; m <= half; m++, at = at + j >= radix ? at + j - radix : at + j) {
            REAL c = roots[2 * at], s = -roots[2 * at + 1];
            a = (VALUE){a.re + sums[m].re * c, a.im + sums[m].im * c};
            b = (VALUE){b.re + differences[m].re * s, b.im + differences[m].im * s};
        }
        x[j] = NAME(plus)(a, b);
        x[radix - j] = NAME(minus)(a, b);
    }
}

INLINED void NAME(pass)(const int radix, int64_t ido, int64_t l1, const VALUE *c, VALUE *ch, const REAL *w) {
    const REAL *roots = w;
    w += radix % 2 ? 2 * radix : 0;
    for (int64_t k = 0; k < l1; k++)
        for (int64_t i = 0; i < ido; i++) {
            const VALUE *from = c + i + ido * radix * k;
            const REAL *factors = w + 2 * (radix - 1) * i;
            VALUE *to = ch + i + ido * k, x[GREATEST_RADIX];
            UNROLLED for (int m = 0; m < radix; m++) x[m] = from[ido * m];
            switch (radix) {
            case 2: NAME(two)(x); break;
            case 4: NAME(four)(x); break;
            case 8: NAME(eight)(x); break;
            default: NAME(odd)(radix, x, roots); break;
            }
            to[0] = x[0];
            /* Factors of 1 are left out: they would make NaN of infinite numbers. */
            if (i == 0)
                UNROLLED for (int j = 1; j < radix; j++) to[ido * l1 * j] = x[j];
            else
                UNROLLED for (int j = 1; j < radix; j++) to[ido * l1 * j] = NAME(times)(x[j], factors + 2 * (j - 1));
        }
}

#define DEFINE_PASS(RADIX)                                                                                             \
    static TARGET void NAME(pass_##RADIX)(int64_t ido, int64_t l1, const VALUE *c, VALUE *ch, const REAL *w) {         \
        NAME(pass)(RADIX, ido, l1, c, ch, w);                                                                          \
    }
DEFINE_PASS(2)
DEFINE_PASS(3)
DEFINE_PASS(4)
DEFINE_PASS(5)
DEFINE_PASS(7)
DEFINE_PASS(8)

static TARGET void NAME(pass_odd)(int radix, int64_t ido, int64_t l1, const VALUE *c, VALUE *ch, const REAL *w) {
    NAME(pass)(radix, ido, l1, c, ch, w);
}

/* All passes; returns the place of the results, which is a or b. */
static TARGET VALUE *NAME(passes)(const FourierPlan *p, VALUE *a, VALUE *b) {
    const REAL *w = p->twiddles;
    int64_t l1 = 1;
    for (int f = 0; f < p->passes; f++) {
        int radix = p->radices[f];
        int64_t ido = p->n / (l1 * radix);
        switch (radix) {
        case 2: NAME(pass_2)(ido, l1, a, b, w); break;
        case 3: NAME(pass_3)(ido, l1, a, b, w); break;
        case 4: NAME(pass_4)(ido, l1, a, b, w); break;
        case 5: NAME(pass_5)(ido, l1, a, b, w); break;
        case 7: NAME(pass_7)(ido, l1, a, b, w); break;
        case 8: NAME(pass_8)(ido, l1, a, b, w); break;
        default: NAME(pass_odd)(radix, ido, l1, a, b, w); break;
        }
        w += 2 * ((radix % 2 ? radix : 0) + (radix - 1) * ido);
        l1 *= radix;
        VALUE *results = b;
        b = a;
        a = results;
    }
    return a;
}

static TARGET VALUE *NAME(convolve)(const FourierPlan *p, VALUE *a, VALUE *b) {
    const REAL *chirp = p->chirp, *spectrum = p->spectrum;
    int64_t length = p->wide->n;
    for (int64_t j = 0; j < p->n; j++)
        a[j] = NAME(times)(a[j], chirp + 2 * j);
    memset(a + p->n, 0, (size_t)(length - p->n) * sizeof *a);
    VALUE *x = NAME(passes)(p->wide, a, b);
    for (int64_t k = 0; k < length; k++) {
        VALUE product = NAME(times)(x[k], spectrum + 2 * k);
        x[k] = (VALUE){product.im, product.re};
    }
    x = NAME(passes)(p->wide, x, x == a ? b : a);
    for (int64_t k = 0; k < p->n; k++)
        x[k] = NAME(times)((VALUE){x[k].im, x[k].re}, chirp + 2 * k);
    return x;
}

INLINED int NAME(is_beside)(const FourierSide *side) {
    npy_intp between = side->at[1] - side->at[0];
    return (between < 0 ? -between : between) < (side->step < 0 ? -side->step : side->step);
}

/* Read elements 0..n-1 of all lanes. Of lines side by side one element of all lanes is read at a time, of others some
 * elements of each lane, so that both operands and results stay in the cache. */
static TARGET void NAME(gather)(const FourierSide *from, int64_t n, VALUE *x) {
    const npy_intp step = from->step, imag = from->imag;
    const int64_t tile = NAME(is_beside)(from) ? 1 : TILE;
    for (int64_t start = 0; start < n; start += tile, x += tile) {
        const int64_t count = n - start < tile ? n - start : tile;
        for (int l = 0; l < LANES; l++) {
            const char *at = from->at[l] + start * step;
            REAL *to = (REAL *)x + l;
            for (int64_t i = 0; i < count; i++, at += step, to += 2 * LANES) {
                to[0] = *(const REAL *)at;
                to[LANES] = imag == 0 ? (REAL)0 : *(const REAL *)(at + imag);
            }
        }
    }
}

static TARGET void NAME(scatter)(const FourierSide *to, int64_t n, int lanes, const VALUE *x) {
    const npy_intp step = to->step, imag = to->imag;
    const int64_t tile = NAME(is_beside)(to) ? 1 : TILE;
    for (int64_t start = 0; start < n; start += tile, x += tile) {
        const int64_t count = n - start < tile ? n - start : tile;
        for (int l = 0; l < lanes; l++) {
            char *at = to->at[l] + start * step;
            const REAL *from = (const REAL *)x + l;
            for (int64_t i = 0; i < count; i++, at += step, from += 2 * LANES) {
                *(REAL *)at = from[0];
                if (imag != 0)
                    *(REAL *)(at + imag) = from[LANES];
            }
        }
    }
}

/* exp(-2 pi i (line + l) k / n) in lane l, for the n of a plan. Of the roots of 2 n there is the first half. */
INLINED VALUE NAME(roots)(const FourierPlan *p, int64_t line, int64_t k) {
    VALUE w;
    for (int l = 0; l < LANES; l++) {
        int64_t at = 2 * ((line + l) * k % p->n), below = at < p->n;
        const REAL *root = (const REAL *)p->roots + 2 * (below ? at : at - p->n);
        w.re[l] = below ? root[0] : -root[0];
        w.im[l] = below ? root[1] : -root[1];
    }
    return w;
}

INLINED VALUE NAME(product)(VALUE a, VALUE b) { return (VALUE){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* Turn elements 0..n-1 of lane l, each by a root times one of the first roots. */
static TARGET void NAME(turn)(const FourierPlan *p, int64_t line, int64_t n, VALUE *x) {
    VALUE first[TILE];
    for (int64_t k = 0; k < TILE; k++)
        first[k] = NAME(roots)(p, line, k);
    for (int64_t start = 0; start < n; start += TILE) {
        VALUE w = NAME(roots)(p, line, start);
        for (int64_t k = start; k < n && k < start + TILE; k++)
            x[k] = NAME(product)(x[k], NAME(product)(w, first[k - start]));
    }
}

/* x[0..n] becomes the first half of the transform of 2 n real numbers. x[0..n-1] is that of the numbers in pairs: the
 * transforms of the even ones, (x[k] + conj x[n - k]) / 2, and of the odd ones are joined. */
static TARGET void NAME(join)(const FourierPlan *p, VALUE *x) {
    const REAL *w = p->roots;
    NAME(vector) re = x[0].re, im = x[0].im, zero = {0};
    x[0] = (VALUE){re + im, zero};
    x[p->n] = (VALUE){re - im, zero};
    for (int64_t k = 1; 2 * k <= p->n; k++) {
        VALUE a = x[k], b = {x[p->n - k].re, -x[p->n - k].im};
        VALUE even = {(a.re + b.re) * (REAL)0.5, (a.im + b.im) * (REAL)0.5};
        VALUE odd = NAME(times)((VALUE){(a.im - b.im) * (REAL)0.5, (b.re - a.re) * (REAL)0.5}, w + 2 * k);
        VALUE back = NAME(minus)(even, odd);
        x[k] = NAME(plus)(even, odd);
        x[p->n - k] = (VALUE){back.re, -back.im};
    }
}

/* The inverse of `join`, without the factor 1/2, and with real and imaginary parts in each other's place. */
static TARGET void NAME(split)(const FourierPlan *p, VALUE *x) {
    const REAL *w = p->roots;
    NAME(vector) first = x[0].re, last = x[p->n].re;
    x[0] = (VALUE){first - last, first + last};
    for (int64_t k = 1; 2 * k <= p->n; k++) {
        VALUE a = x[k], b = {x[p->n - k].re, -x[p->n - k].im};
        VALUE even = NAME(plus)(a, b), difference = NAME(minus)(a, b);
        REAL back[2] = {w[2 * k], -w[2 * k + 1]};
        VALUE odd = NAME(times)(difference, back);
        /* even + i odd, and conj(even) + i conj(odd) */
        x[p->n - k] = (VALUE){odd.re - even.im, even.re + odd.im};
        x[k] = (VALUE){even.im + odd.re, even.re - odd.im};
    }
}

static TARGET void NAME(transform)(const FourierPlan *p, int kind, const FourierSide *from, const FourierSide *to,
                                   int count, const FourierPlan *turns, int64_t line, void *work) {
    VALUE *a = work, *b = a + p->room;
    int64_t n = p->n, half = n / 2 + 1;
    switch (kind) {
    case HALF_EVEN:
        NAME(gather)(from, n + 1, a);
        NAME(split)(p, a);
        break;
    case HALF_ODD:
        NAME(gather)(from, half, a);
        /* The forward transform of the conjugate elements; results are real. */
        a[0].im = (NAME(vector)){0};
        for (int64_t k = 1; k < half; k++) {
            a[n - k] = a[k];
            a[k].im = -a[k].im;
        }
        break;
    default: NAME(gather)(from, n, a);
    }
    VALUE *x = p->wide != NULL ? NAME(convolve)(p, a, b) : NAME(passes)(p, a, b);
    if (kind == REAL_EVEN)
        NAME(join)(p, x);
    if (turns != NULL)
        NAME(turn)(turns, line, n, x);
    NAME(scatter)(to, kind == REAL_EVEN ? n + 1 : kind == REAL_ODD ? half : n, count, x);
}

static const FourierKernels NAME(kernels) = {LANES, NAME(transform)};

#undef DEFINE_PASS
#undef INLINED
#undef VALUE
#undef REAL
#undef LANES
#undef TARGET
#undef NAME
