/* Bessel functions of the first kind, plain and modified, of real order: DLMF, chapter 10. */

/* J of an order up to 2 for x from 25 on: 10.17.3. */
static double theano_bessel_far(double order, double x) {
    const double pi = 3.14159265358979323846, mu = 4 * order * order, turn = order / 2 + 0.25;
    const double c = cos(pi * turn), s = sin(pi * turn), cx = cos(x), sx = sin(x);
    double term = 1, p = 1, q = 0;
    for (int k = 1; k < 40; k++) {
        const double odd = 2.0 * k - 1, next = term * (mu - odd * odd) / (k * 8 * x);
        if (fabs(next) >= fabs(term) || fabs(next) < 1e-18)
            break;
        term = next;
        if (k % 2)
            q += k % 4 == 1 ? term : -term;
        else
            p += k % 4 == 2 ? -term : term;
    }
    return sqrt(2 / (pi * x)) * (p * (cx * c + sx * s) - q * (sx * c - cx * s));
}

/* J (sign -1) and I (sign 1) by 10.2.2 and 10.25.2, for orders that are no negative whole numbers. */
static double theano_bessel_series(double order, double x, double sign) {
    const double y = x * x / 4, beyond = order + 1;
    double term, sum, size = order * log(x / 2), shift = 0;
    /* What is too large or too small for a double is kept as a logarithm. */
    if (fabs(size) < 300 && fabs(beyond) < 100) {
        term = pow(x / 2, order) / tgamma(beyond);
    } else {
        shift = size - lgamma(beyond);
        term = beyond < 0 && fmod(floor(-beyond), 2.0) == 0 ? -1 : 1;
    }
    sum = term;
    for (double k = 1; k < 1e6; k++) {
        term *= sign * y / (k * (k + order));
        sum += term;
        if (fabs(sum) > 1e250) {
            sum *= 1e-250;
            term *= 1e-250;
            shift += 575.64627324851142101;
        }
        if (fabs(term) <= fabs(sum) * 1e-18 && k + order > 0)
            break;
    }
    if (shift == 0)
        return sum;
    return copysign(exp(log(fabs(sum)) + shift), sum);
}

/* J of an order from 0 on: the recurrence 10.6.1 from far above down to the fraction of the order, made to fit by
 * 10.23.15. */
static double theano_bessel_down(double order, double x) {
    const double whole = floor(order), a = order - whole;
    double top = floor((whole > x ? whole : x) / 2 + 25 + sqrt(whole > x ? whole : x)), high = 0, now = 1e-280;
    double found = 0, sum = 0, weight = tgamma(a + 1);
    /* weight is (a + 2 m) gamma(a + m) / m!, less a power of m that goes into `scale`: found by walking up first. */
    double factor = a == 0 ? 1 : weight / a;
    for (double m = 1; m <= top; m++)
        factor *= m == 1 && a == 0 ? 1 : (a + m - 1) / m;
    for (double k = 2 * top; k > 0; k--) {
        const double low = 2 * (a + k) / x * now - high;
        if (k == whole)
            found = now;
        if (fmod(k, 2.0) == 0) {
            const double m = k / 2;
            sum += (a + k) * factor * now;
            factor *= m == 1 && a == 0 ? 1 : m / (a + m - 1);
        }
        high = now;
        now = low;
        if (fabs(now) > 1e200) {
            now *= 1e-200;
            high *= 1e-200;
            sum *= 1e-200;
            found *= 1e-200;
        }
    }
    if (whole == 0)
        found = now;
    sum += a == 0 ? now : weight * now;
    return found / sum * pow(x / 2, a);
}

/* J of an order from 0 on, x > 0; above an order of a million, what is no power of x has no formula here. */
static double theano_bessel_positive(double order, double x) {
    if (x * x < 10 * (order + 1))
        return theano_bessel_series(order, x, -1.0);
    if (order > 1e6)
        return (double)NAN;
    if (x > 25 && order < x) {
        const double whole = floor(order), a = order - whole;
        double before = theano_bessel_far(a, x), value = theano_bessel_far(a + 1, x);
        if (whole == 0)
            return before;
        for (double k = 1; k < whole; k++) {
            const double next = 2 * (a + k) / x * value - before;
            before = value;
            value = next;
        }
        return value;
    }
    return theano_bessel_down(order, x);
}

static double theano_special_jv(double order, double x, int unused) {
    (void)unused;
    const int whole = order == floor(order), odd = whole && fmod(fabs(order), 2.0) == 1;
    const double sign = odd && (order < 0) != (x < 0) ? -1 : 1, size = fabs(x);
    if (order != order || x != x || isinf(x) || (x < 0 && !whole))
        return (double)NAN;
    if (size == 0) {
        if (order == 0)
            return 1;
        if (whole || order > 0)
            return 0;
        return fmod(ceil(-order), 2.0) == 1 ? (double)INFINITY : -(double)INFINITY;
    }
    if (whole || order > 0)
        return sign * theano_bessel_positive(fabs(order), size);
    {
        /* From the fraction of the order downwards by 10.6.1, in which direction the function grows. */
        const double count = ceil(-order), a = order + count;
        double value = theano_bessel_positive(a, size), above = theano_bessel_positive(a + 1, size);
        if (count > 1e6)
            return (double)NAN;
        for (double k = 0; k < count; k++) {
            const double next = 2 * (a - k) / size * value - above;
            above = value;
            value = next;
        }
        return value;
    }
}

static double theano_special_j0(double x, int unused) {
    (void)unused;
    return theano_special_jv(0, x, 0);
}

static double theano_special_j1(double x, int unused) {
    (void)unused;
    return theano_special_jv(1, x, 0);
}

/* The series 10.25.2, and 10.40.1 for large x. */
static double theano_special_iv(double order, double x, int unused) {
    (void)unused;
    const int whole = order == floor(order), odd = whole && fmod(fabs(order), 2.0) == 1;
    const double size = fabs(x), mu = 4 * order * order, sign = x < 0 && odd ? -1 : 1;
    if (order != order || x != x || isinf(x) || (x < 0 && !whole))
        return (double)NAN;
    if (size == 0) {
        if (order == 0)
            return 1;
        if (whole || order > 0)
            return 0;
        return (double)INFINITY;
    }
    if (size > 40 && size > mu / 2) {
        double term = 1, sum = 1;
        for (int k = 1; k < 60 && fabs(term) > 1e-18; k++) {
            const double low = 2.0 * k - 1;
            term *= -(mu - low * low) / (8 * k * size);
            sum += term;
        }
        return sign * exp(size / 2) * (sum / sqrt(2 * 3.14159265358979323846 * size)) * exp(size / 2);
    }
    return sign * theano_bessel_series(whole ? fabs(order) : order, size, 1.0);
}

static double theano_special_i0(double x, int unused) {
    (void)unused;
    return theano_special_iv(0, x, 0);
}

static double theano_special_i1(double x, int unused) {
    (void)unused;
    return theano_special_iv(1, x, 0);
}

/* K of an order from 0 on for x > 0, times exp(x): the integral 10.32.9 by the trapezoidal rule, which converges faster
 * than any power of the step. Exponents are kept relative to that of the greatest term. */
static double theano_bessel_second(double order, double x) {
    const double width = sqrt(sqrt(order * order + x * x)), step = width > 3 ? 0.45 / width : 0.15;
    const double peak = asinh(order / x), half_of = sinh(peak / 2), most = order * peak - 2 * x * half_of * half_of;
    const double middle = floor(peak / step);
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        for (double k = side ? middle + 1 : middle; k >= 0 && k < middle + 1e5; k += side ? 1 : -1) {
            const double t = k * step, part = sinh(t / 2), decay = -2 * x * part * part - most;
            const double term = 0.5 * (exp(order * t + decay) + exp(decay - order * t));
            sum += k == 0 ? 0.5 * term : term;
            if (term < 1e-19 * sum)
                break;
        }
    }
    return sum * step * exp(most);
}

static double theano_special_kve(double order, double x, int unused) {
    (void)unused;
    const double size = fabs(order);
    if (order != order || !(x >= 0) || isinf(x))
        return (double)NAN;
    if (x == 0)
        return (double)INFINITY;
    return theano_bessel_second(size, x);
}

/* I of an order from 0 on for x > 0, times exp(-x): 10.25.2, 10.40.1, or 10.28.2 with the fraction 10.33.1. */
static double theano_bessel_first(double order, double x) {
    const double mu = 4 * order * order;
    double c, d = 0, fraction;
    if (x * x < 10 * (order + 1))
        return theano_bessel_series(order, x, 1.0) * exp(-x);
    if (x > 40 && x > mu / 2) {
        double term = 1, sum = 1;
        for (int k = 1; k < 60 && fabs(term) > 1e-18; k++) {
            const double low = 2.0 * k - 1;
            term *= -(mu - low * low) / (8 * k * x);
            sum += term;
        }
        return sum / sqrt(2 * 3.14159265358979323846 * x);
    }
    fraction = c = 1e-300;
    for (double k = 1; k < 1e6; k++) {
        const double b = 2 * (order + k) / x;
        double change;
        d = 1 / (b + d);
        c = b + 1 / c;
        change = c * d;
        fraction *= change;
        if (fabs(change - 1) < 1e-16)
            break;
    }
    return 1 / (x * (theano_bessel_second(order + 1, x) + fraction * theano_bessel_second(order, x)));
}

/* 10.27.2 for negative orders. */
static double theano_special_ive(double order, double x, int unused) {
    (void)unused;
    const int whole = order == floor(order), odd = whole && fmod(fabs(order), 2.0) == 1;
    const double size = fabs(x), pi = 3.14159265358979323846;
    double value;
    if (order != order || x != x || isinf(x) || (x < 0 && !whole))
        return (double)NAN;
    if (size == 0)
        return order == 0 ? 1 : whole || order > 0 ? 0 : (double)NAN;
    value = theano_bessel_first(fabs(order), size);
    if (!whole && order < 0) {
        const double rest = fmod(-order, 2.0);
        value += 2 / pi * sin(pi * rest) * theano_special_kve(order, size, 0) * exp(-2 * size);
    }
    return x < 0 && odd ? -value : value;
}
