/* Relatives of the error function: DLMF, chapter 7. */

/* The fraction 7.9.4, and its first levels far out; nearer, exp(x * x) erfc(x), where the rounding error of the
 * square is made good. */
static double theano_special_erfcx(double x, int unused) {
    (void)unused;
    if (x > 5) {
        double below = x;
        for (int k = x > 50 ? 6 : 60; k > 0; k--)
            below = x + 0.5 * k / below;
        return 0.56418958354775628695 / below;
    }
    return exp(x * x) * (1 + (isinf(x) ? 0 : fma(x, x, -(x * x)))) * erfc(x);
}

/* Halley's method for erfc(x) = q, q from 0 to 1; Abramowitz and Stegun 26.2.22 gives the first two digits. */
static double theano_erfc_root(double q) {
    const double t = sqrt(-2 * log(q / 2));
    double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
    for (int k = 0; k < 4; k++) {
        const double slope = 1.12837916709551257390 * exp(-x * x), error = (erfc(x) - q) / slope;
        if (!(slope > 0))
            break;
        x += error / (1 - x * error);
    }
    return x;
}

static double theano_special_erfcinv(double x, int unused) {
    (void)unused;
    if (!(x >= 0 && x <= 2))
        return (double)NAN;
    if (x == 0 || x == 2)
        return x == 0 ? (double)INFINITY : -(double)INFINITY;
    if (x > 0.5 && x < 1.5)
        return -theano_special_erfinv(x - 1, 0);
    return x < 1 ? theano_erfc_root(x) : -theano_erfc_root(2 - x);
}

/* The first terms of the series 7.17.2 near 0, then Halley's method. */
static double theano_special_erfinv(double x, int unused) {
    (void)unused;
    double y;
    if (!(fabs(x) <= 1))
        return (double)NAN;
    if (fabs(x) == 1)
        return copysign((double)INFINITY, x);
    if (fabs(x) > 0.5)
        return copysign(theano_erfc_root(1 - fabs(x)), x);
    y = 0.88622692545275801365 * x;
    y += y * y * y / 3;
    for (int k = 0; k < 3; k++) {
        const double error = (erf(y) - x) / (1.12837916709551257390 * exp(-y * y));
        y -= error / (1 + y * error);
    }
    return x == 0 ? x : y;
}
