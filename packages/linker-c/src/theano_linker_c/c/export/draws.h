/* Distributions for exported C code, drawn as NumPy draws them. `real` gives numbers from 0 to 1, without 1, and moves
 * the state `s` of a generator. Each function is copied where it is called. */

static double theano_twister_draw(void *s) { return theano_twister_real((uint32_t *)s); }

static double theano_pcg_draw(void *s) { return theano_pcg_real((uint64_t *)s); }

/* The logarithm of the gamma function of a positive whole number: Stirling's series (5.11.1), from 7 on. */
static double theano_log_gamma_whole(double x) {
    static const double terms[10] = {8.333333333333333e-02,  -2.777777777777778e-03, 7.936507936507937e-04,
                                     -5.952380952380952e-04, 8.417508417508418e-04,  -1.917526917526918e-03,
                                     6.410256410256410e-03,  -2.955065359477124e-02, 1.796443723688307e-01,
                                     -1.39243221690590e+00};
    double y = x, sum = terms[9];
    if (x == 1 || x == 2)
        return 0;
    while (y < 7)
        y += 1;
    for (int k = 8; k >= 0; k--)
        sum = sum * (1 / (y * y)) + terms[k];
    sum = sum / y + 0.5 * 1.8378770664093453 + (y - 0.5) * log(y) - y;
    for (; y > x; y -= 1)
        sum -= log(y - 1);
    return sum;
}

/* Sum over the probabilities until they exceed a uniform number; for means up to 30. */
static int64_t theano_binomial_by_sum(double (*real)(void *), void *s, int64_t n, double p) {
    const double q = 1 - p, first = exp((double)n * log(q)), mean = (double)n * p;
    const double far = mean + 10 * sqrt(mean * q + 1);
    const int64_t most = far < (double)n ? (int64_t)far : n;
    double part = first, u = real(s);
    int64_t x = 0;
    while (u > part) {
        x++;
        if (x > most) {
            x = 0;
            part = first;
            u = real(s);
        } else {
            u -= part;
            part = ((double)(n - x + 1) * p * part) / ((double)x * q);
        }
    }
    return x;
}

static double theano_stirling_rest(double x) {
    const double y = x * x;
    return (13680 - (462 - (132 - (99 - 140 / y) / y) / y) / y) / x / 166320;
}

/* Rejection from a triangle, parallelograms and exponential tails: V. Kachitvichyanukul and B. W. Schmeiser, "Binomial
 * random variate generation", 1988; p is at most 0.5. */
static int64_t theano_binomial_by_rejection(double (*real)(void *), void *s, int64_t n, double p) {
    const double q = 1 - p, middle = (double)n * p + p, nrq = (double)n * p * q;
    const int64_t mode = (int64_t)floor(middle);
    const double m = (double)mode, half = floor(2.195 * sqrt(nrq) - 4.6 * q) + 0.5;
    const double centre = m + 0.5, left = centre - half, right = centre + half, c = 0.134 + 20.5 / (15.3 + m);
    const double al = (middle - left) / (middle - left * p), ar = (right - middle) / (right * q);
    const double rate_l = al * (1 + al / 2), rate_r = ar * (1 + ar / 2);
    const double p2 = half * (1 + 2 * c), p3 = p2 + c / rate_l, p4 = p3 + c / rate_r;
    for (;;) {
        const double u = real(s) * p4;
        double v = real(s), y, k;
        if (u <= half)
            return (int64_t)floor(centre - half * v + u);
        if (u <= p2) {
            const double x = left + (u - half) / c;
            v = v * c + 1 - fabs(m - x + 0.5) / half;
            if (v > 1)
                continue;
            y = floor(x);
        } else if (u <= p3) {
            y = floor(left + log(v) / rate_l);
            if (y < 0 || v == 0)
                continue;
            v = v * (u - p2) * rate_l;
        } else {
            y = floor(right - log(v) / rate_r);
            if (y > (double)n || v == 0)
                continue;
            v = v * (u - p3) * rate_r;
        }
        k = fabs(y - m);
        if (k > 20 && k < nrq / 2 - 1) {
            const double rho = (k / nrq) * ((k * (k / 3 + 0.625) + 0.16666666666666666) / nrq + 0.5);
            const double t = -k * k / (2 * nrq), a = log(v);
            const double x1 = y + 1, f1 = m + 1, z = (double)n + 1 - m, w = (double)n - y + 1;
            double bound;
            if (a < t - rho)
                return (int64_t)y;
            if (a > t + rho)
                continue;
            bound = centre * log(f1 / x1) + ((double)n - m + 0.5) * log(z / w) + (y - m) * log(w * p / (x1 * q));
            bound += theano_stirling_rest(f1) + theano_stirling_rest(z);
            bound += theano_stirling_rest(x1) + theano_stirling_rest(w);
            if (a <= bound)
                return (int64_t)y;
        } else {
            const double odds = p / q, a = odds * (double)(n + 1);
            double f = 1;
            for (double i = m + 1; i <= y; i++)
                f *= a / i - odds;
            for (double i = y + 1; i <= m; i++)
                f /= a / i - odds;
            if (v <= f)
                return (int64_t)y;
        }
    }
}

static int64_t theano_binomial_lower(double (*real)(void *), void *s, int64_t n, double p) {
    return p * (double)n <= 30 ? theano_binomial_by_sum(real, s, n, p) : theano_binomial_by_rejection(real, s, n, p);
}

/* How many of n trials succeed. */
static int64_t theano_binomial(double (*real)(void *), void *s, int64_t n, double p) {
    return p <= 0.5 ? theano_binomial_lower(real, s, n, p) : n - theano_binomial_lower(real, s, n, 1 - p);
}

/* Counts of k categories in n trials: one binomial number after the other, of what is left. 1 if p are no
 * probabilities; a sum of little more than 1 comes from rounding. `always` draws for no trials and no chance, too. */
static int theano_multinomial(double (*real)(void *), void *s, int64_t n, int64_t k, double *p, int64_t *found,
                              int always) {
    double sum = 0, rest = 1;
    int64_t left = n;
    for (int64_t j = 0; j < k; j++) {
        if (!(p[j] >= 0 && p[j] <= 1.00001))
            return 1;
        sum += p[j];
        found[j] = 0;
    }
    if (sum > 1 && sum < 1.00001)
        for (int64_t j = 0; j < k; j++)
            p[j] /= sum;
    else if (k > 0 && sum - p[k - 1] > 1 + 1e-12)
        return 1;
    for (int64_t j = 0; j < k - 1 && (left > 0 || (always && j == 0)); j++) {
        const double chance = p[j] / rest;
        found[j] = chance > 0 || always ? theano_binomial(real, s, left, chance) : 0;
        left -= found[j];
        rest -= p[j];
    }
    if (k > 0 && left > 0)
        found[k - 1] = left;
    return 0;
}

/* A Poisson number: products of uniform numbers for small means; otherwise W. Hoermann, "The transformed rejection
 * method for generating Poisson random variables", 1993. */
static int64_t theano_poisson(double (*real)(void *), void *s, double mean) {
    if (mean == 0)
        return 0;
    if (mean < 10) {
        const double bound = exp(-mean);
        double product = real(s);
        int64_t x = 0;
        for (; product > bound; x++)
            product *= real(s);
        return x;
    }
    const double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b, c = 1.1239 + 1.1328 / (b - 3.4);
    const double top = 0.9277 - 3.6224 / (b - 2), logarithm = log(mean);
    for (;;) {
        const double u = real(s) - 0.5, v = real(s), rest = 0.5 - fabs(u);
        const double k = floor((2 * a / rest + b) * u + mean + 0.43);
        if (rest >= 0.07 && v <= top)
            return (int64_t)k;
        if (k < 0 || (rest < 0.013 && v > rest))
            continue;
        if (log(v) + log(c) - log(a / (rest * rest) + b) <= -mean + k * logarithm - theano_log_gamma_whole(k + 1))
            return (int64_t)k;
    }
}

/* The next 32 bits of PCG64: each word of 64 bits gives two, the lower half first; the other half is in the state. */
static uint32_t theano_pcg_half(uint64_t *s) {
    if (s[4]) {
        s[4] = 0;
        return (uint32_t)s[5];
    }
    const uint64_t both = theano_pcg_next(s);
    s[4] = 1;
    s[5] = both >> 32;
    return (uint32_t)both;
}

/* A whole number from 0 to `most`, by masks and rejection. */
static uint64_t theano_pcg_masked(uint64_t *s, uint64_t most) {
    uint64_t mask = most, found;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    if (most == 0)
        return 0;
    do
        found = (most > 0xffffffffu ? theano_pcg_next(s) : theano_pcg_half(s)) & mask;
    while (found > most);
    return found;
}

/* A whole number from 0 to `most`: the upper half of a product; D. Lemire, "Fast random integer generation in an
 * interval", 2019. */
static uint64_t theano_pcg_below(uint64_t *s, uint64_t most) {
    if (most == 0)
        return 0;
    if (most < 0xffffffffu) {
        const uint32_t count = (uint32_t)most + 1, least = (uint32_t)(0u - count) % count;
        uint64_t product;
        do
            product = (uint64_t)theano_pcg_half(s) * count;
        while ((uint32_t)product < least);
        return product >> 32;
    }
    if (most == 0xffffffffu)
        return theano_pcg_half(s);
    if (most == UINT64_MAX)
        return theano_pcg_next(s);
    const uint64_t count = most + 1, least = (0u - count) % count, c = count & 0xffffffffu, d = count >> 32;
    for (;;) {
        const uint64_t x = theano_pcg_next(s), a = x & 0xffffffffu, b = x >> 32;
        const uint64_t middle = (a * c >> 32) + (b * c & 0xffffffffu) + (a * d & 0xffffffffu);
        if (x * count >= least)
            return b * d + (b * c >> 32) + (a * d >> 32) + (middle >> 32);
    }
}

/* A normal number by 256 strips of one area: G. Marsaglia and W. W. Tsang, "The ziggurat method for generating random
 * variables", 2000. `widths` are those of the strips in units of 2^-52, `inside` the numbers below which a strip lies
 * under the curve, `heights` the values of the curve. */
static double theano_pcg_normal(uint64_t *s, const double *widths, const uint64_t *inside, const double *heights) {
    const double end = 3.6541528853610088, inverse = 0.27366123732975828;
    for (;;) {
        const uint64_t word = theano_pcg_next(s), size = word >> 9 & 0x000fffffffffffffu;
        const int strip = (int)(word & 255);
        const double x = word >> 8 & 1 ? -((double)size * widths[strip]) : (double)size * widths[strip];
        if (size < inside[strip])
            return x;
        if (strip == 0) {
            double beyond, y;
            do {
                beyond = -inverse * log1p(-theano_pcg_real(s));
                y = -log1p(-theano_pcg_real(s));
            } while (y + y <= beyond * beyond);
            return size >> 8 & 1 ? -(end + beyond) : end + beyond;
        }
        if ((heights[strip - 1] - heights[strip]) * theano_pcg_real(s) + heights[strip] < exp(-0.5 * x * x))
            return x;
    }
}
