/* The function of Owen, and the hypergeometric function of Gauss: DLMF, chapter 15. */

/* Owen's integral up to a from 0 to 1, h from 0 on, by Gauss' rule with 16 points (3.5.27) in four parts. What lies
 * beyond 9.2 / h counts nothing. */
static double theano_owen_integral(double h, double a) {
    const double series[2][8] = {{0.09501250983763744, 0.2816035507792589, 0.45801677765722737, 0.6178762444026438,
                                  0.755404408355003, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499},
                                 {0.1894506104550685, 0.18260341504492358, 0.16915651939500254, 0.14959598881657674,
                                  0.12462897125553388, 0.09515851168249279, 0.062253523938647894,
                                  0.027152459411754096}};
    const double end = a * h > 9.2 ? 9.2 / h : a, radius = end / 8, coarse = floor(h * 16) / 16;
    double sum = 0;
    for (int part = 0; part < 4; part++)
        for (int k = 0; k < 16; k++) {
            const double place = k < 8 ? series[0][k] : -series[0][k - 8];
            const double t = radius * (2 * part + 1 + place), u = h * t;
            sum += series[1][k % 8] * exp(-0.5 * u * u) / (1 + t * t);
        }
    /* The square of `coarse` is exact. */
    return sum * radius * exp(-0.5 * coarse * coarse) * exp(-0.5 * (h - coarse) * (h + coarse)) *
           0.15915494309189533577;
}

/* For a > 1 the places of h and a h are changed: with the probabilities q beyond them, T(h, a) + T(a h, 1 / a) is
 * (q + q') / 2 - q q'. */
static double theano_special_owens_t(double h, double a, int unused) {
    (void)unused;
    const double size = fabs(a), root = 0.70710678118654752440, far = fabs(h), product = far == 0 ? 0 : far * size;
    double value;
    if (h != h || a != a)
        return (double)NAN;
    if (a == 0 || isinf(far))
        return copysign(0.0, a);
    if (far == 0) {
        value = atan(size) * 0.15915494309189533577;
    } else if (size <= 1) {
        value = theano_owen_integral(far, size);
    } else {
        const double near_part = 0.5 * erfc(far * root), far_part = 0.5 * erfc(product * root);
        value = 0.5 * (near_part + far_part) - near_part * far_part;
        if (product < 40)
            value -= theano_owen_integral(product, 1 / size);
    }
    return copysign(value, a);
}

/* Gauss' series 15.2.1 of the function (order 0) or of its derivative by z (order 1), and polynomials. */
static double theano_gauss_series(double a, double b, double c, double z, int derivative) {
    double term = 1, sum = 1, first = 1;
    if (derivative) {
        first = a * b / c;
        a += 1;
        b += 1;
        c += 1;
    }
    for (double k = 0; k < 1e5; k++) {
        term *= (a + k) * (b + k) / ((c + k) * (k + 1)) * z;
        if (term == 0)
            break;
        sum += term;
        if (fabs(term) <= fabs(sum) * 1e-18 && k > fabs(a) + fabs(b) + fabs(c))
            break;
    }
    return first * sum;
}

/* For z from 0 to 1 by power series about places that come nearer to z: from 15.10.1 come their coefficients, from the
 * last place the value and the slope. */
static double theano_gauss_steps(double a, double b, double c, double z) {
    double at = 0.5, value, slope;
    if (z <= 0.6)
        return theano_gauss_series(a, b, c, z, 0);
    value = theano_gauss_series(a, b, c, at, 0);
    slope = theano_gauss_series(a, b, c, at, 1);
    for (int steps = 0; steps < 2000 && at != z; steps++) {
        const double radius = at < 1 - at ? at : 1 - at, next = z - at <= 0.5 * radius ? z : at + 0.5 * radius;
        const double move = next - at, second = at * (1 - at), one = 1 - 2 * at;
        double before = value, now = slope * move, sum = value + now, derivative = now, size;
        for (double k = 0; k < 300; k++) {
            /* The coefficients are multiplied with powers of the move. */
            const double later =
                (((a + k) * (b + k)) * before * move * move - (k + 1) * (k * one + c - (a + b + 1) * at) * now * move) /
                (second * (k + 2) * (k + 1));
            before = now;
            now = later;
            sum += now;
            derivative += (k + 2) * now;
            size = fabs(now) + fabs(before);
            if (size <= 1e-18 * fabs(sum) && (k + 2) * size <= 1e-18 * fabs(derivative))
                break;
        }
        value = sum;
        slope = derivative / move;
        at = next;
    }
    return value;
}

/* 1 / gamma(x), 0 at the poles. */
static double theano_gamma_below(double x) { return x <= 0 && x == floor(x) ? 0 : 1 / tgamma(x); }

static double theano_special_hyp2f1(double a, double b, double c, double z, int unused) {
    (void)unused;
    const int ends_a = a <= 0 && a == floor(a), ends_b = b <= 0 && b == floor(b);
    if (a != a || b != b || c != c || z != z)
        return (double)NAN;
    if (z == 0 || a == 0 || b == 0)
        return 1;
    if (c <= 0 && c == floor(c) && !((ends_a && a > c) || (ends_b && b > c)))
        return (double)INFINITY;
    if (ends_a || ends_b)
        return theano_gauss_series(a, b, c, z, 0);
    if (a == c || b == c)
        return pow(1 - z, a == c ? -b : -a);
    if (z > 1)
        return (double)INFINITY;
    if (z == 1) {
        const double s = c - a - b;
        if (s <= 0)
            return (double)INFINITY;
        return tgamma(c) * tgamma(s) * theano_gamma_below(c - a) * theano_gamma_below(c - b);
    }
    if (z < 0) {
        /* 15.8.1, of the two ways that with fewer changes of sign. */
        const int first = fabs(c - b) < fabs(c - a);
        const double front = first ? a : b, other = first ? b : a;
        return pow(1 - z, -front) * theano_gauss_steps(front, c - other, c, z / (z - 1));
    }
    return theano_gauss_steps(a, b, c, z);
}
