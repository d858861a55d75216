/* Plans of Fourier transforms: the factors of a length and the tables of its passes. Recent plans are kept. */
#include "fourier.h"
#include <math.h>
#include <pthread.h>

enum { MOST_PLANS = 32 };
static FourierPlan *plans[MOST_PLANS];
static uint64_t uses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fourier_root(int64_t k, int64_t n, double *re, double *im) {
    /* Angles are brought to at most pi / 4, so that their rounding errors stay small. */
    int below = 2 * k <= n;
    int64_t t = below ? 2 * k : 2 * (n - k); /* in units of pi / n, 0..n */
    int left = 2 * t > n;
    t = left ? n - t : t; /* 0..n / 2 */
    int steep = 4 * t > n;
    double angle = 3.14159265358979323846 * (double)(steep ? n - 2 * t : 2 * t) / (2 * (double)n);
    double c = steep ? sin(angle) : cos(angle), s = steep ? cos(angle) : sin(angle);
    *re = left ? -c : c;
    *im = below ? -s : s;
}

static void put(const FourierPlan *p, void *table, int64_t at, double re, double im) {
    if (p->is_double) {
        ((double *)table)[2 * at] = re;
        ((double *)table)[2 * at + 1] = im;
    } else {
        ((float *)table)[2 * at] = (float)re;
        ((float *)table)[2 * at + 1] = (float)im;
    }
}

static void put_root(const FourierPlan *p, void *table, int64_t at, int64_t k, int64_t n) {
    double re, im;
    fourier_root(k, n, &re, &im);
    put(p, table, at, re, im);
}

static void *pairs(const FourierPlan *p, int64_t count) {
    return malloc((size_t)(count + 1) * 2 * (p->is_double ? sizeof(double) : sizeof(float)));
}

static void discard(FourierPlan *p) {
    if (p == NULL)
        return;
    discard(p->wide);
    free(p->twiddles);
    free(p->chirp);
    free(p->spectrum);
    free(p->roots);
    free(p);
}

/* Factors of n, those of 8 and 4 first; returns the product of the large primes. */
static int64_t factorize(FourierPlan *p, int64_t n) {
    p->passes = 0;
    for (; n % 8 == 0; n /= 8)
        p->radices[p->passes++] = 8;
    for (int radix = 4; radix <= GREATEST_RADIX; radix = radix == 4 ? 2 : radix == 2 ? 3 : radix + 2)
        for (; n % radix == 0; n /= radix)
            p->radices[p->passes++] = radix;
    return n;
}

/* Whether there are no prime factors but 2, 3 and 5. */
static int is_smooth(int64_t n) {
    for (int radix = 2; radix <= 5; radix++)
        while (n % radix == 0)
            n /= radix;
    return n == 1;
}

/* Tables of the passes: for odd radices their roots, then the factors of the results but the first, for each i. */
static int make_passes(FourierPlan *p) {
    int64_t total = 0, done = 1, at = 0;
    for (int f = 0; f < p->passes; f++) {
        int64_t radix = p->radices[f], inner = p->n / (done * radix);
        total += (radix % 2 ? radix : 0) + (radix - 1) * inner;
        done *= radix;
    }
    if ((p->twiddles = pairs(p, total)) == NULL)
        return -1;
    done = 1;
    for (int f = 0; f < p->passes; f++) {
        int64_t radix = p->radices[f], inner = p->n / (done * radix);
        for (int64_t k = 0; k < (radix % 2 ? radix : 0); k++)
            put_root(p, p->twiddles, at++, k, radix);
        for (int64_t i = 0; i < inner; i++)
            for (int64_t j = 1; j < radix; j++)
                put_root(p, p->twiddles, at++, j * done * i, p->n);
        done *= radix;
    }
    return 0;
}

static FourierPlan *make(int64_t n, int is_double);

/* x[k] = conj(c[k]) sum_j (x[j] conj(c[j])) c[k - j] where c[j] = exp(pi i j^2 / n): a convolution, whose length may be
 * any from 2 n - 1 on. (L. Bluestein, 1970) */
static int make_convolution(FourierPlan *p) {
    int64_t n = p->n, length = 2 * n - 1;
    while (!is_smooth(length))
        length++;
    FourierPlan *exact = make(length, 1);
    size_t lanes = (size_t)fourier_kernels(1, 1)->lanes, bytes = 2 * (size_t)length * sizeof(double);
    double *values = calloc(1, bytes);
    void *work = NULL;
    p->wide = make(length, p->is_double);
    p->chirp = pairs(p, n);
    p->spectrum = pairs(p, length);
    int failed = exact == NULL || values == NULL || p->wide == NULL || p->chirp == NULL || p->spectrum == NULL ||
                 posix_memalign(&work, 64, 4 * sizeof(double) * (size_t)exact->room * lanes) != 0;
    for (int64_t j = 0, square = 0; j < n && !failed; square = (square + 2 * j + 1) % (2 * n), j++) {
        double re, im;
        fourier_root(square, 2 * n, &re, &im);
        put(p, p->chirp, j, re, im);
        int64_t mirror = j == 0 ? 0 : length - j;
        values[2 * j] = values[2 * mirror] = re;
        values[2 * j + 1] = values[2 * mirror + 1] = -im;
    }
    if (!failed) {
        FourierSide side = {.step = 2 * sizeof(double), .imag = sizeof(double)};
        for (int l = 0; l < MOST_LANES; l++)
            side.at[l] = (char *)values;
        fourier_kernels(1, 1)->transform(exact, COMPLEX_LINES, &side, &side, 1, NULL, 0, work);
        for (int64_t k = 0; k < length; k++)
            put(p, p->spectrum, k, values[2 * k] / (double)length, values[2 * k + 1] / (double)length);
    }
    p->room = length;
    free(work);
    free(values);
    discard(exact);
    return failed ? -1 : 0;
}

static FourierPlan *make(int64_t n, int is_double) {
    FourierPlan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->n = n;
    p->room = n + 1;
    p->is_double = is_double;
    p->users = 1;
    int failed = factorize(p, n) == 1 ? make_passes(p) : make_convolution(p);
    if (failed || (p->roots = pairs(p, n + 1)) == NULL) {
        discard(p);
        return NULL;
    }
    for (int64_t k = 0; k <= n; k++)
        put_root(p, p->roots, k, k, 2 * n);
    return p;
}

FourierPlan *fourier_acquire(int64_t n, int is_double) {
    pthread_mutex_lock(&lock);
    int oldest = 0, k = 0;
    for (; k < MOST_PLANS && plans[k] != NULL; k++) {
        if (plans[k]->n == n && plans[k]->is_double == is_double)
            break;
        if (plans[k]->last_use < plans[oldest]->last_use)
            oldest = k;
    }
    FourierPlan *p = k < MOST_PLANS ? plans[k] : NULL, *dropped = NULL;
    if (p == NULL && (p = make(n, is_double)) != NULL) {
        k = k < MOST_PLANS ? k : oldest;
        if (plans[k] != NULL && --plans[k]->users == 0)
            dropped = plans[k];
        plans[k] = p;
    }
    if (p != NULL) {
        p->users++;
        p->last_use = ++uses;
    }
    pthread_mutex_unlock(&lock);
    discard(dropped);
    return p;
}

void fourier_after_fork(void) { pthread_mutex_init(&lock, NULL); }

void fourier_release(FourierPlan *p) {
    if (p == NULL)
        return;
    pthread_mutex_lock(&lock);
    int left = --p->users;
    pthread_mutex_unlock(&lock);
    if (left == 0)
        discard(p);
}
