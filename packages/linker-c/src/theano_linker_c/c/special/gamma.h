/* The gamma function, its logarithm, the derivative of that, and the beta function's logarithm: DLMF, chapter 5. */

static double theano_special_gamma(double x, int unused) {
    (void)unused;
    return tgamma(x);
}

/* log(gamma(1 + a)): the series 5.7.3 near 0, where the function is, too. */
static double theano_gammaln_beyond(double a) {
    const double series[32] = {-0.5772156649015329,   0.8224670334241132,   -0.40068563438653143,  0.27058080842778454,
                               -0.207385551028674,    0.16955717699740822,  -0.14404989676884614,  0.12550966952474304,
                               -0.11133426586956469,  0.10009945751278179,  -0.09095401714582904,  0.083353840546109,
                               -0.0769325164113522,   0.07143294629536134,  -0.06666870588242046,  0.06250095514121304,
                               -0.05882397865868458,  0.055555767627403614, -0.05263167937961666,  0.05000004769810169,
                               -0.04761907033014223,  0.04545455629320467,  -0.04347826605304026,  0.04166666915034121,
                               -0.04000000119214014,  0.03846153903467519,  -0.037037037312989324, 0.03571428584733336,
                               -0.034482758684919304, 0.03333333336437758,  -0.03225806453115041,  0.03125000000727597};
    double sum = series[31];
    if (fabs(a) > 0.3)
        return lgamma(1 + a);
    for (int k = 30; k >= 0; k--)
        sum = series[k] + a * sum;
    return a * sum;
}

/* 5.5.1 leads from the zero at 2 to that at 1. */
static double theano_special_gammaln(double x, int unused) {
    (void)unused;
    if (isinf(x))
        return x;
    if (fabs(x - 1) < 0.3)
        return theano_gammaln_beyond(x - 1);
    if (fabs(x - 2) < 0.3)
        return log1p(x - 2) + theano_gammaln_beyond(x - 2);
    return lgamma(x);
}

/* 5.5.2 up to 12, and 5.11.2; 5.5.4 on the left. */
static double theano_special_psi(double x, int unused) {
    (void)unused;
    const double pi = 3.14159265358979323846;
    double sum = 0, y;
    if (x == 0)
        return copysign((double)INFINITY, -x);
    if (x < 0) {
        const double part = x - rint(x);
        if (part == 0 || isinf(x))
            return (double)NAN;
        sum = -pi / tan(pi * part);
        x = 1 - x;
    }
    if (isinf(x))
        return x;
    for (; x < 12; x += 1)
        sum -= 1 / x;
    y = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           y * (1.0 / 12 -
                y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
}

/* log(gamma(x)) less Stirling's approximation, from 10 on: 5.11.1. */
static double theano_stirling(double x) {
    const double y = 1 / (x * x);
    return (1.0 / 12 -
            y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360 - y / 156)))))) /
           x;
}

/* Stirling's approximations are subtracted by hand, since they are much larger than what is left. */
static double theano_special_betaln(double a, double b, int unused) {
    (void)unused;
    const double low = a < b ? a : b, high = a < b ? b : a, root = 0.91893853320467274178;
    if (low >= 10)
        return -0.5 * log(high) + root + theano_stirling(low) + theano_stirling(high) - theano_stirling(low + high) +
               (low - 0.5) * log(low / (low + high)) - high * log1p(low / high);
    if (low > 0 && high >= 10)
        return theano_special_gammaln(low, 0) + theano_stirling(high) - theano_stirling(low + high) + low -
               low * log(low + high) - (high - 0.5) * log1p(low / high);
    {
        const double first = theano_special_gammaln(a, 0), second = theano_special_gammaln(b, 0);
        return isinf(first) || isinf(second) ? (double)INFINITY : first + second - theano_special_gammaln(a + b, 0);
    }
}
