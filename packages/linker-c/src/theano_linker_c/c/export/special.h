/* Special functions of double numbers, under the names by which scalar code calls them. The last argument is not used.
 * Formulas have the numbers of the Digital Library of Mathematical Functions. */

static double theano_special_gamma(double x, int unused) {
    (void)unused;
    return tgamma(x);
}

static double theano_special_gammaln(double x, int unused) {
    (void)unused;
    return isinf(x) ? x : lgamma(x);
}

/* 5.5.2 up to 10, and 5.11.2; 5.5.4 on the left. */
static double theano_special_psi(double x, int unused) {
    (void)unused;
    const double pi = 3.14159265358979323846;
    double sum = 0, y;
    if (x == 0)
        return copysign((double)INFINITY, -x);
    if (x < 0) {
        const double part = x - floor(x);
        return part == 0 || isinf(x) ? (double)NAN : theano_special_psi(1 - x, 0) - pi / tan(pi * part);
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

/* Halley's method, from an approximation of two digits; q is from 0 to 1. */
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
    return x == 1 ? 0 : x < 1 ? theano_erfc_root(x) : -theano_erfc_root(2 - x);
}

static double theano_special_erfinv(double x, int unused) {
    (void)unused;
    double y;
    if (!(fabs(x) <= 1))
        return (double)NAN;
    if (fabs(x) == 1)
        return copysign((double)INFINITY, x);
    if (fabs(x) > 0.5)
        return copysign(theano_erfc_root(1 - fabs(x)), x);
    /* The first terms of the series, then Halley's method. */
    y = 0.88622692545275801365 * x;
    y += y * y * y / 3;
    for (int k = 0; k < 3; k++) {
        const double error = (erf(y) - x) / (1.12837916709551257390 * exp(-y * y));
        y -= error / (1 + y * error);
    }
    return x == 0 ? x : y;
}

/* 7.9.4 as a fraction of 60 levels; exp(x * x) erfc(x) with the rounding error of the square elsewhere. */
static double theano_special_erfcx(double x, int unused) {
    (void)unused;
    if (x > 5) {
        double below = x;
        for (int k = 60; k > 0; k--)
            below = x + 0.5 * k / below;
        return 0.56418958354775628695 / below;
    }
    return exp(x * x) * (1 + (isinf(x) ? 0 : fma(x, x, -(x * x)))) * erfc(x);
}

/* Bessel functions of the first kind of order 0 and 1 for large x: 10.17.3. */
static double theano_bessel_far(double x, int order) {
    const double w = 8 * x, mu = 4.0 * order * order, s = sin(x), c = cos(x);
    double term = 1, p = 1, q = 0;
    for (int k = 1; k < 40; k++) {
        const double next = term * (mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * w);
        if (fabs(next) >= fabs(term) || fabs(next) < 1e-18)
            break;
        term = next;
        if (k % 2)
            q += k % 4 == 1 ? term : -term;
        else
            p += k % 4 == 2 ? -term : term;
    }
    if (order == 0)
        return (p * (c + s) - q * (s - c)) / sqrt(3.14159265358979323846 * x);
    return (p * (s - c) + q * (s + c)) / sqrt(3.14159265358979323846 * x);
}

/* Order n, a whole number: the recurrence 10.6.1 downwards, made to fit by 10.12.4; upwards for large x. */
static double theano_special_jv(double order, double x, int unused) {
    (void)unused;
    const int n = (int)fabs(order);
    const double size = fabs(x);
    double sign = (order < 0) != (x < 0) && n % 2 ? -1 : 1, high = 0, now = 1e-300, sum = 0, found = 0;
    if (x != x)
        return x;
    if (isinf(x))
        return (double)NAN;
    if (size < 1e-8) {
        double power = 1;
        for (int k = 1; k <= n; k++)
            power *= size / 2 / k;
        return sign * power;
    }
    if (size > 25 && n < size) {
        double before = theano_bessel_far(size, 0), value = theano_bessel_far(size, 1);
        if (n == 0)
            return before;
        for (int k = 1; k < n; k++) {
            const double next = 2 * k / size * value - before;
            before = value;
            value = next;
        }
        return sign * value;
    }
    for (int k = 2 * (((n > size ? n : (int)size) + 40 + n / 8) / 2); k > 0; k--) {
        const double low = 2 * k / size * now - high;
        if (k == n)
            found = now;
        if (k % 2 == 0)
            sum += 2 * now;
        high = now;
        now = low;
        if (fabs(now) > 1e200) {
            now *= 1e-200;
            high *= 1e-200;
            sum *= 1e-200;
            found *= 1e-200;
        }
    }
    return sign * (n == 0 ? now : found) / (sum + now);
}

static double theano_special_j0(double x, int unused) {
    (void)unused;
    return theano_special_jv(0, x, 0);
}

static double theano_special_j1(double x, int unused) {
    (void)unused;
    return theano_special_jv(1, x, 0);
}

/* Modified Bessel functions of whole order: the series 10.25.2, and 10.40.1 for large x. */
static double theano_special_iv(double order, double x, int unused) {
    (void)unused;
    const int n = (int)fabs(order);
    const double size = fabs(x), mu = 4.0 * n * n, sign = x < 0 && n % 2 ? -1 : 1;
    double term = 1, sum = 1;
    if (x != x)
        return x;
    if (size > 40 && size > mu / 2) {
        for (int k = 1; k < 60 && fabs(term) > 1e-18; k++) {
            term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * k * size);
            sum += term;
        }
        return sign * exp(size / 2) * (sum / sqrt(2 * 3.14159265358979323846 * size)) * exp(size / 2);
    }
    for (int k = 1; k <= n; k++)
        term *= size / 2 / k;
    sum = term;
    for (int k = 1; term > sum * 1e-18; k++) {
        term *= size * size / 4 / k / (k + n);
        sum += term;
    }
    return sign * sum;
}

static double theano_special_i0(double x, int unused) {
    (void)unused;
    return theano_special_iv(0, x, 0);
}

static double theano_special_i1(double x, int unused) {
    (void)unused;
    return theano_special_iv(1, x, 0);
}

/* log(gamma(x)) less Stirling's approximation, from 10 on: 5.11.1. */
static double theano_stirling(double x) {
    const double y = 1 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * 691.0 / 360360))))) /
           x;
}

static double theano_special_betaln(double a, double b, int unused) {
    (void)unused;
    const double low = a < b ? a : b, high = a < b ? b : a;
    if (low >= 10)
        return -0.5 * log(high) + 0.91893853320467274178 + theano_stirling(low) + theano_stirling(high) -
               theano_stirling(low + high) + (low - 0.5) * log(low / (low + high)) - high * log1p(low / high);
    if (low > 0 && high >= 10)
        return lgamma(low) + theano_stirling(high) - theano_stirling(low + high) + low - low * log(low + high) -
               (high - 0.5) * log1p(low / high);
    return lgamma(a) + lgamma(b) - lgamma(a + b);
}

/* x^a exp(-x) / gamma(a + 1). */
static double theano_gamma_front(double a, double x) {
    if (a < 10)
        return exp(a * log(x) - x) / tgamma(a + 1);
    {
        const double d = (x - a) / a;
        double less = log(x / a) - d;
        if (fabs(d) < 0.3) {
            double power = -d * d;
            less = 0;
            for (int k = 2; k < 60; k++, power *= -d)
                less += power / k;
        }
        return exp(a * less - theano_stirling(a)) / sqrt(2 * 3.14159265358979323846 * a);
    }
}

/* log(gamma(1 + a)), by 5.7.3 for small a. */
static double theano_gammaln_beyond(double a) {
    if (a > 0.01)
        return lgamma(1 + a);
    return a * (-0.57721566490153286061 +
                a * (0.82246703342411321824 -
                     a * (0.40068563438653142847 -
                          a * (0.27058080842778454788 -
                               a * (0.20738555102867398527 - a * (0.16955717699740818995 - a * 0.144049896768846))))));
}

/* The lower (0) or upper (1) part: the series 8.7.1, or the fraction 8.9.2. */
static double theano_gamma_part(double a, double x, int upper) {
    if (a != a || x != x || a < 0 || x < 0 || (a == 0 && x == 0))
        return (double)NAN;
    if (a == 0 || isinf(x))
        return isinf(a) ? (double)NAN : !upper;
    if (x == 0 || isinf(a))
        return upper;
    if (x < a + 1 || x < 1.5) {
        double term = 1, sum = 1, lower;
        if (upper && x < 1.5 && a < 1.5) {
            /* 1 - x^a / gamma(1 + a), without cancellation, less the other terms of 8.7.1. */
            const double power = a * log(x) - theano_gammaln_beyond(a);
            double other = 0;
            term = 1;
            for (int k = 1; k < 60; k++) {
                term *= -x / k;
                other += a * term / (a + k);
            }
            return -expm1(power) - exp(power) * other;
        }
        for (double k = 1; k < 1e6 && term > sum * 1e-17; k++) {
            term *= x / (a + k);
            sum += term;
        }
        lower = theano_gamma_front(a, x) * sum;
        return upper ? 1 - lower : lower;
    }
    {
        double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d, result;
        for (double k = 1; k < 1e6; k++) {
            const double factor = -k * (k - a);
            double change;
            b += 2;
            d = 1 / (factor * d + b);
            c = b + factor / c;
            change = c * d;
            fraction *= change;
            if (fabs(change - 1) < 1e-16)
                break;
        }
        result = theano_gamma_front(a, x) * a * fraction;
        return upper ? result : 1 - result;
    }
}

static double theano_special_gammainc(double a, double x, int unused) {
    (void)unused;
    return theano_gamma_part(a, x, 0);
}

static double theano_special_gammaincc(double a, double x, int unused) {
    (void)unused;
    return theano_gamma_part(a, x, 1);
}

/* The fraction 8.17.22, on the side on which it converges fast. */
static double theano_special_betainc(double a, double b, double x, int unused) {
    (void)unused;
    double c = 1, d, fraction;
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (isinf(a) && isinf(b)))
        return (double)NAN;
    if (x == 0 || x == 1)
        return x;
    if (a == 0 || isinf(b))
        return 1;
    if (b == 0 || isinf(a))
        return 0;
    if (x > (a + 1) / (a + b + 2))
        return 1 - theano_special_betainc(b, a, 1 - x, 0);
    d = 1 / (1 - (a + b) * x / (a + 1));
    fraction = d;
    for (double k = 1; k < 1e5; k++) {
        const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        double change;
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        fraction *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        change = c * d;
        fraction *= change;
        if (fabs(change - 1) < 1e-16)
            break;
    }
    return exp(a * log(x) + b * log1p(-x) - theano_special_betaln(a, b, 0)) * fraction / a;
}
