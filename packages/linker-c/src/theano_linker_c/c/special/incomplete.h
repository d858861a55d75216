/* Incomplete gamma and beta functions: DLMF, chapter 8. */

/* log(ratio) - d for ratio = 1 + d, without cancellation for small d: 4.6.1. */
static double theano_log_less(double ratio, double d) {
    double power, sum = 0;
    if (fabs(d) > 0.3)
        return log(ratio) - d;
    power = -d * d;
    for (int k = 2; k < 60 && fabs(power) > fabs(sum) * 1e-18; k++) {
        sum += power / k;
        power *= -d;
    }
    return sum;
}

/* x^a exp(-x) / gamma(a + 1). */
static double theano_gamma_front(double a, double x) {
    if (a < 10)
        return exp(a * log(x) - x) / tgamma(a + 1);
    return exp(a * theano_log_less(x / a, (x - a) / a) - theano_stirling(a)) / sqrt(2 * 3.14159265358979323846 * a);
}

/* Both functions near the turning point for large a: 8.12.3 and 8.12.4. A row has the power series in eta of one of
 * the functions c of 8.12.9. */
static double theano_gamma_large(double a, double x, int upper) {
    const double series[4][22] = {
        {-0.3333333333333333,    0.08333333333333333,    -0.014814814814814815,   0.0011574074074074073,
         0.0003527336860670194,  -0.0001787551440329218, 3.919263178522438e-05,   -2.185448510679992e-06,
         -1.85406221071516e-06,  8.296711340953087e-07,  -1.7665952736826078e-07, 6.707853543401498e-09,
         1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,    -2.5514193994946248e-11,
         -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13,
         3.371763262400985e-13,  -1.392388722418162e-13},
        {-0.001851851851851852,   -0.003472222222222222,   0.0026455026455026454,   -0.0009902263374485596,
         0.00020576131687242798,  -4.018775720164609e-07,  -1.8098550334489977e-05, 7.64916091608111e-06,
         -1.6120900894563446e-06, 4.647127802807434e-09,   1.378633446915721e-07,   -5.752545603517705e-08,
         1.1951628599778148e-08,  -1.7543241719747647e-11, -1.0091543710600413e-09, 4.162792991842583e-10,
         -8.56390702649298e-11,   6.067215101604758e-14,   7.1624989648114856e-12,  -2.933186643771437e-12,
         5.996696365683689e-13,   -2.1671786527323313e-16},
        {0.004133597883597883,    -0.0026813271604938273,  0.0007716049382716049,   2.0093878600823047e-06,
         -0.0001073665322636516,  5.2923448829120125e-05,  -1.2760635188618728e-05, 3.423578734096138e-08,
         1.3721957309062934e-06,  -6.298992138380055e-07,  1.4280614206064242e-07,  -2.0477098421990866e-10,
         -1.409252991086752e-08,  6.228974084922022e-09,   -1.3670488396617114e-09, 9.428356159014678e-13,
         1.2872252400089318e-10,  -5.5645956134363323e-11, 1.197593554636698e-11,   -4.1689782251838634e-15,
         -1.0940640427884595e-12, 4.662239946390136e-13},
        {0.0006494341563786008,   0.00022947209362139917,  -0.0004691894943952557,  0.00026772063206283885,
         -7.561801671883977e-05,  -2.396505113867297e-07,  1.1082654115347302e-05,  -5.6749528269915965e-06,
         1.4230900732435883e-06,  -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
         -1.9111168485973655e-08, 2.3928620439808118e-12,  2.0620131815488797e-09,  -9.460496661855133e-10,
         2.1541049775774907e-10,  -1.388823336813903e-14,  -2.1894761681963938e-11, 9.790998951171684e-12,
         -2.178219188018096e-12,  6.208819573407901e-17}};
    const double d = (x - a) / a, level = -theano_log_less(x / a, d), eta = copysign(sqrt(2 * level), d);
    double sum = 0, power = 1;
    for (int k = 0; k < 4; k++) {
        double c = series[k][21];
        for (int n = 20; n >= 0; n--)
            c = series[k][n] + eta * c;
        sum += power * c;
        power /= a;
    }
    sum *= exp(-a * level) / sqrt(2 * 3.14159265358979323846 * a);
    return upper ? 0.5 * erfc(eta * sqrt(a / 2)) + sum : 0.5 * erfc(-eta * sqrt(a / 2)) - sum;
}

/* The lower function: the series 8.7.1. */
static double theano_gamma_series(double a, double x) {
    double term = 1, sum = 1;
    for (double k = 1; k < 1e5 && term > sum * 1e-17; k++) {
        term *= x / (a + k);
        sum += term;
    }
    return theano_gamma_front(a, x) * sum;
}

/* The upper function: the fraction 8.9.2. */
static double theano_gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
    for (double k = 1; k < 1e5; k++) {
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
    return theano_gamma_front(a, x) * a * fraction;
}

/* The upper function for small a and x: 1 - x^a / gamma(1 + a), without cancellation, less what 8.7.1 adds. */
static double theano_gamma_near(double a, double x) {
    const double power = a * log(x) - theano_gammaln_beyond(a);
    double term = 1, other = 0;
    for (int k = 1; k < 60; k++) {
        term *= -x / k;
        other += a * term / (a + k);
    }
    return -expm1(power) - exp(power) * other;
}

static double theano_gamma_part(double a, double x, int upper) {
    double value;
    if (a != a || x != x || a < 0 || x < 0 || (a == 0 && x == 0))
        return (double)NAN;
    if (a == 0 || isinf(x))
        return isinf(a) ? (double)NAN : !upper;
    if (x == 0 || isinf(a))
        return upper;
    if (a > 1e4 && fabs(x - a) < 0.3 * a)
        return theano_gamma_large(a, x, upper);
    if (upper && x < 1.5 && a < 1.5)
        return theano_gamma_near(a, x);
    if (x < a + 1 || x < 1.5) {
        value = theano_gamma_series(a, x);
        return upper ? 1 - value : value;
    }
    value = theano_gamma_fraction(a, x);
    return upper ? value : 1 - value;
}

static double theano_special_gammainc(double a, double x, int unused) {
    (void)unused;
    return theano_gamma_part(a, x, 0);
}

static double theano_special_gammaincc(double a, double x, int unused) {
    (void)unused;
    return theano_gamma_part(a, x, 1);
}

/* x^a (1 - x)^b / beta(a, b); where both are large, what the powers and the beta function have in common is left
 * out. y is 1 - x. */
static double theano_beta_front(double a, double b, double x, double y) {
    const double both = a + b, pi = 3.14159265358979323846;
    if (a < 10 || b < 10)
        return exp(a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x)) -
                   theano_special_betaln(a, b, 0));
    const double off = x < 0.5 ? x - a / both : b / both - y;
    return sqrt(a * b / both / (2 * pi)) *
           exp(a * theano_log_less(x * both / a, off * both / a) + b * theano_log_less(y * both / b, -off * both / b) +
               theano_stirling(both) - theano_stirling(a) - theano_stirling(b));
}

/* The function, or with `upper` 1 less it, where y is 1 - x: the fraction 8.17.22, on the side on which it converges
 * fast. */
static double theano_beta_part(double a, double b, double x, double y, int upper) {
    double c = 1, d, fraction;
    int other = upper;
    if (x > (a + 1) / (a + b + 2)) {
        const double first = a, low = x;
        a = b;
        b = first;
        x = y;
        y = low;
        other = !upper;
    }
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
    fraction *= theano_beta_front(a, b, x, y) / a;
    return other ? 1 - fraction : fraction;
}

static double theano_special_betainc(double a, double b, double x, int unused) {
    (void)unused;
    if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (isinf(a) && isinf(b)))
        return (double)NAN;
    if (x == 0 || x == 1)
        return x;
    if (a == 0 || isinf(b))
        return 1;
    if (b == 0 || isinf(a))
        return 0;
    return theano_beta_part(a, b, x, 1 - x, 0);
}

/* The x at which one of the two functions is `part`: steps of Newton's for their logarithms by that of x, within bounds
 * that close in. Both logarithms are concave, so that all steps but the first one come from one side. */
static double theano_gamma_inverse(double a, double part, int upper) {
    /* The first term of 8.7.1, from which the lower function is less. */
    const double least = a > 10 ? a : pow((upper ? 1 - part : part) * tgamma(a + 1), 1 / a);
    double low = 0, high = (double)INFINITY, x = upper && a > 1 ? a : least;
    if (!upper && least < 1e-17 * (a + 1))
        return least;
    if (x < 1e-300)
        x = 1e-300;
    for (int k = 0; k < 400; k++) {
        const double value = theano_gamma_part(a, x, upper), gap = log(value / part);
        double next, step;
        if (upper == (gap > 0))
            low = x;
        else
            high = x;
        step = gap * value / (theano_gamma_front(a, x) * a);
        next = x * exp(upper ? step : -step);
        if (fabs(step) < 2e-16 || next == x)
            return next;
        if (!(next > low && next < high))
            next = isinf(high) ? 4 * x + 1e-300 : low == 0 ? x * 1e-20 : sqrt(low) * sqrt(high);
        if (fabs(next - x) <= 1e-16 * x)
            return next;
        x = next;
    }
    return x;
}

static double theano_gamma_inverse_of(double a, double part, int upper) {
    if (!(a >= 0 && part >= 0 && part <= 1))
        return (double)NAN;
    if (part == 0 || part == 1)
        return (part == 1) == upper ? 0 : (double)INFINITY;
    if (a == 0 || isinf(a))
        return (double)NAN;
    return part > 0.5 ? theano_gamma_inverse(a, 1 - part, !upper) : theano_gamma_inverse(a, part, upper);
}

static double theano_special_gammaincinv(double a, double part, int unused) {
    (void)unused;
    return theano_gamma_inverse_of(a, part, 0);
}

static double theano_special_gammainccinv(double a, double part, int unused) {
    (void)unused;
    return theano_gamma_inverse_of(a, part, 1);
}

/* Likewise, by the logarithm of x / (1 - x). */
static double theano_special_betaincinv(double a, double b, double part, int unused) {
    (void)unused;
    const int upper = part > 0.5;
    const double wanted = upper ? 1 - part : part;
    double low = 0, high = (double)INFINITY, ratio = a / b;
    if (!(a > 0 && b > 0 && part >= 0 && part <= 1) || isinf(a) || isinf(b))
        return (double)NAN;
    if (part == 0 || part == 1)
        return part;
    for (int k = 0; k < 400; k++) {
        const double x = ratio / (1 + ratio), y = 1 / (1 + ratio);
        const double value = theano_beta_part(a, b, x, y, upper), gap = log(value / wanted);
        const double step = gap * value / theano_beta_front(a, b, x, y);
        double next = ratio * exp(upper ? step : -step);
        if (upper == (gap > 0))
            low = ratio;
        else
            high = ratio;
        if (fabs(step) < 2e-16 || next == ratio) {
            ratio = next;
            break;
        }
        if (!(next > low && next < high))
            next = isinf(high) ? ratio * 1e20 : low == 0 ? ratio * 1e-20 : sqrt(low) * sqrt(high);
        if (fabs(next - ratio) <= 1e-16 * ratio || next == 0 || isinf(next)) {
            ratio = next;
            break;
        }
        ratio = next;
    }
    return isinf(ratio) ? 1 : ratio / (1 + ratio);
}
