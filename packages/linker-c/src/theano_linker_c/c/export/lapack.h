/* Linear algebra on matrices of REAL numbers with contiguous rows. What returns an int gives 0 where all went well. */

/* l = the lower factor of a, of which the lower triangle is read; upper: the upper factor, of the upper triangle. */
static int NAME(theano_cholesky)(int64_t n, int lower, const REAL *a, REAL *l) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            REAL left = (lower ? a[i * n + j] : a[j * n + i]) - NAME(theano_dot)(j, l + i * n, 1, l + j * n, 1);
            if (i == j && !(left > 0))
                return 1;
            l[i * n + j] = i == j ? (REAL)sqrt(left) : left / l[j * n + j];
        }
        for (int64_t j = i + 1; j < n; j++)
            l[i * n + j] = 0;
    }
    for (int64_t i = 0; i < n && !lower; i++)
        for (int64_t j = 0; j < i; j++) {
            l[j * n + i] = l[i * n + j];
            l[i * n + j] = 0;
        }
    return 0;
}

/* f = the gradient by a matrix, in place of the gradient by its lower factor l (Smith 1995). */
static void NAME(theano_factor_back)(int64_t n, const REAL *l, REAL *f) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            f[i * n + j] = 0;
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = k + 1; j <= i; j++) {
                f[i * n + k] -= f[i * n + j] * l[j * n + k];
                f[j * n + k] -= f[i * n + j] * l[i * n + k];
            }
        for (int64_t i = k + 1; i < n; i++) {
            f[i * n + k] /= l[k * n + k];
            f[k * n + k] -= l[i * n + k] * f[i * n + k];
        }
        f[k * n + k] /= 2 * l[k * n + k];
    }
}

/* Solve a x = x, where a is triangular and x has m columns. unit: the diagonal of a counts as ones. */
static int NAME(theano_triangular)(int64_t n, int64_t m, int lower, int unit, const REAL *a, REAL *x) {
    for (int64_t i = 0; i < n && !unit; i++)
        if (a[i * n + i] == 0)
            return 1;
    for (int64_t turn = 0; turn < n; turn++) {
        const int64_t i = lower ? turn : n - 1 - turn, begin = lower ? 0 : i + 1, end = lower ? i : n;
        if (m == 1)
            x[i] -= NAME(theano_dot)(end - begin, a + i * n + begin, 1, x + begin, 1);
        else
            for (int64_t k = begin; k < end; k++) {
                const REAL factor = a[i * n + k];
                for (int64_t j = 0; j < m; j++)
                    x[i * m + j] -= factor * x[k * m + j];
            }
        for (int64_t j = 0; j < m && !unit; j++)
            x[i * m + j] /= a[i * n + i];
    }
    return 0;
}

/* a = both triangular factors of a with its rows exchanged as `rows` says. The sign of the exchanges, 0 if a is
 * singular. */
static int NAME(theano_lu)(int64_t n, REAL *a, int64_t *rows) {
    int sign = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k]))
                best = i;
        rows[k] = best;
        if (a[best * n + k] == 0)
            return 0;
        for (int64_t j = 0; j < n && best != k; j++) {
            const REAL kept = a[k * n + j];
            a[k * n + j] = a[best * n + j];
            a[best * n + j] = kept;
        }
        sign = best == k ? sign : -sign;
        for (int64_t i = k + 1; i < n; i++) {
            const REAL factor = a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sign;
}

/* Solve a x = x, where x has m columns; a is overwritten. */
static int NAME(theano_solve)(int64_t n, int64_t m, REAL *a, REAL *x, int64_t *rows) {
    if (NAME(theano_lu)(n, a, rows) == 0)
        return 1;
    for (int64_t k = 0; k < n; k++)
        for (int64_t j = 0; j < m && rows[k] != k; j++) {
            const REAL kept = x[k * m + j];
            x[k * m + j] = x[rows[k] * m + j];
            x[rows[k] * m + j] = kept;
        }
    NAME(theano_triangular)(n, m, 1, 1, a, x);
    return NAME(theano_triangular)(n, m, 0, 0, a, x);
}

/* Copy a triangle of a matrix to the other one. */
static void NAME(theano_mirror)(int64_t n, int lower, REAL *a) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            if (lower)
                a[j * n + i] = a[i * n + j];
            else
                a[i * n + j] = a[j * n + i];
        }
}

static void NAME(theano_unit)(int64_t n, REAL *a) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] = i == j;
}

static REAL NAME(theano_det)(int64_t n, REAL *a, int64_t *rows) {
    REAL product = (REAL)NAME(theano_lu)(n, a, rows);
    for (int64_t i = 0; i < n && product != 0; i++)
        product *= a[i * n + i];
    return product;
}

/* Exchange two rows, or columns, of n elements that are `step` apart. */
static void NAME(theano_exchange)(int64_t n, REAL *x, REAL *y, int64_t step) {
    for (int64_t i = 0; i < n * step; i += step) {
        const REAL kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

/* x = g times the cofactors of a, which is overwritten. With a = l d r, where pivots are the greatest elements that are
 * left, they are those of l, d and r, and of d the products of the other pivots: of singular matrices, too. */
static void NAME(theano_cofactors)(int64_t n, REAL g, REAL *a, REAL *x, int64_t *rows, int64_t *columns) {
    for (int64_t k = 0; k < n; k++) {
        int64_t row = k, column = k;
        for (int64_t i = k; i < n; i++)
            for (int64_t j = k; j < n; j++)
                if (fabs(a[i * n + j]) > fabs(a[row * n + column])) {
                    row = i;
                    column = j;
                }
        rows[k] = row;
        columns[k] = column;
        if (row != k) {
            NAME(theano_exchange)(n, a + k * n, a + row * n, 1);
            g = -g;
        }
        if (column != k) {
            NAME(theano_exchange)(n, a + k, a + column, n);
            g = -g;
        }
        const REAL pivot = a[k * n + k];
        for (int64_t i = k + 1; i < n && pivot != 0; i++) {
            const REAL factor = a[i * n + k] /= pivot;
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
        for (int64_t j = k + 1; j < n && pivot != 0; j++)
            a[k * n + j] /= pivot;
    }
    /* Transposed: r^-1 times the products times l^-1. */
    NAME(theano_unit)(n, x);
    NAME(theano_triangular)(n, n, 1, 1, a, x);
    for (int64_t i = 0; i < n; i++) {
        REAL product = g;
        for (int64_t k = 0; k < n; k++)
            if (k != i)
                product *= a[k * n + k];
        for (int64_t j = 0; j < n; j++)
            x[i * n + j] *= product;
    }
    NAME(theano_triangular)(n, n, 0, 1, a, x);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            const REAL kept = x[i * n + j];
            x[i * n + j] = x[j * n + i];
            x[j * n + i] = kept;
        }
    for (int64_t k = n - 1; k >= 0; k--) {
        if (rows[k] != k)
            NAME(theano_exchange)(n, x + k * n, x + rows[k] * n, 1);
        if (columns[k] != k)
            NAME(theano_exchange)(n, x + k, x + columns[k], n);
    }
}

/* The sign of a determinant and, in *logarithm, the logarithm of its absolute value. */
static REAL NAME(theano_slogdet)(int64_t n, REAL *a, int64_t *rows, REAL *logarithm) {
    double sum = 0;
    int sign = NAME(theano_lu)(n, a, rows);
    for (int64_t i = 0; i < n && sign != 0; i++) {
        sum += log(fabs(a[i * n + i]));
        sign = a[i * n + i] < 0 ? -sign : sign;
    }
    *logarithm = sign == 0 ? (REAL)-INFINITY : (REAL)sum;
    return (REAL)sign;
}

/* The sine and cosine of the rotation that makes a matrix ((a, b), (b, c)) diagonal, and the tangent. */
static REAL NAME(theano_rotation)(REAL a, REAL b, REAL c, REAL *sine, REAL *cosine) {
    const REAL ratio = (c - a) / (2 * b);
    const REAL tangent = (ratio < 0 ? -1 : 1) / ((REAL)fabs(ratio) + (REAL)sqrt(1 + ratio * ratio));
    *cosine = 1 / (REAL)sqrt(1 + tangent * tangent);
    *sine = tangent * *cosine;
    return tangent;
}

static void NAME(theano_rotate)(int64_t n, REAL *x, REAL *y, int64_t step, REAL sine, REAL cosine) {
    for (int64_t i = 0; i < n; i++) {
        const REAL a = x[i * step], b = y[i * step];
        x[i * step] = cosine * a - sine * b;
        y[i * step] = sine * a + cosine * b;
    }
}

/* Eigenvalues in ascending order, and eigenvectors as columns, of a symmetric matrix that is overwritten, by Jacobi's
 * rotations; `space` holds a matrix. */
static int NAME(theano_eigh)(int64_t n, REAL *a, REAL *values, REAL *vectors, REAL *space) {
    const REAL little = sizeof(REAL) == 4 ? (REAL)1e-9 : (REAL)1e-18;
    REAL norm = 0;
    int turns = 0, again = 1;
    for (int64_t i = 0; i < n * n; i++)
        norm = fabs(a[i]) > norm || a[i] != a[i] ? (REAL)fabs(a[i]) : norm;
    if (!(norm < (REAL)INFINITY))
        return 1;
    NAME(theano_unit)(n, space);
    for (; again && turns < 60; turns++) {
        again = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                REAL sine, cosine, change;
                const REAL first = a[p * n + p], middle = a[p * n + q], last = a[q * n + q];
                if (!(fabs(middle) > little * norm))
                    continue;
                again = 1;
                change = NAME(theano_rotation)(first, middle, last, &sine, &cosine) * middle;
                NAME(theano_rotate)(n, a + p * n, a + q * n, 1, sine, cosine);
                for (int64_t k = 0; k < n; k++) {
                    a[k * n + p] = a[p * n + k];
                    a[k * n + q] = a[q * n + k];
                }
                a[p * n + p] = first - change;
                a[q * n + q] = last + change;
                a[p * n + q] = a[q * n + p] = 0;
                NAME(theano_rotate)(n, space + p * n, space + q * n, 1, sine, cosine);
            }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t least = -1;
        for (int64_t k = 0; k < n; k++)
            if (a[k * n + k] == a[k * n + k] && (least < 0 || a[k * n + k] < a[least * n + least]))
                least = k;
        values[i] = a[least * n + least];
        a[least * n + least] = (REAL)NAN;
        for (int64_t k = 0; k < n; k++)
            vectors[k * n + i] = space[least * n + k];
    }
    return 0;
}

/* x = the gradient by a symmetric matrix, in its lower or upper triangle, given its eigenvalues w, its eigenvectors v
 * and the gradients by these; `space` holds two matrices. Values that differ by roundings count as equal. */
static void NAME(theano_eigh_back)(int64_t n, int lower, const REAL *w, const REAL *v, const REAL *gw, const REAL *gv,
                                   REAL *x, REAL *space) {
    const REAL step = 16 * (sizeof(REAL) == 4 ? (REAL)1.1920929e-7 : (REAL)2.220446049250313e-16);
    REAL *turn = space, *inner = space + n * n, size = 0, values = 0, slopes = 0;
    for (int64_t i = 0; i < n; i++) {
        values += (REAL)fabs(w[i]);
        slopes += (REAL)fabs(gw[i]);
        for (int64_t j = 0; j < n; j++) {
            turn[i * n + j] = NAME(theano_dot)(n, v + i, n, gv + j, n);
            size += (REAL)fabs(turn[i * n + j]);
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const REAL skew = (turn[i * n + j] - turn[j * n + i]) / 2, gap = w[j] - w[i];
            const int equal = fabs(gap) <= step * values;
            const int same = fabs(skew) <= step * size && fabs(gw[j] - gw[i]) <= step * slopes;
            inner[i * n + j] = i == j ? gw[i] : equal && same ? 0 : skew / (equal ? 0 : gap);
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            turn[i * n + j] = NAME(theano_dot)(n, v + i * n, 1, inner + j, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            inner[i * n + j] = NAME(theano_dot)(n, turn + i * n, 1, v + j * n, 1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const REAL both = inner[i * n + j] + inner[j * n + i];
            x[j * n + i] = lower ? 0 : both;
            x[i * n + j] = i == j ? both / 2 : lower ? both : 0;
        }
}

/* Make rows `from` to `count` of u orthonormal to those before and to each other; they have m elements. */
static void NAME(theano_complete)(int64_t from, int64_t count, int64_t m, REAL *u) {
    int64_t unit = 0;
    for (int64_t i = from; i < count; i++) {
        REAL *const row = u + i * m, least = (REAL)(0.5 / sqrt((double)m));
        for (REAL size = 0; size < least && unit < m; unit++) {
            for (int64_t k = 0; k < m; k++)
                row[k] = k == unit;
            for (int64_t turn = 0; turn < 2 * i; turn++) {
                const REAL *const other = u + turn % i * m;
                const REAL part = NAME(theano_dot)(m, row, 1, other, 1);
                for (int64_t k = 0; k < m; k++)
                    row[k] -= part * other[k];
            }
            size = (REAL)sqrt(NAME(theano_dot)(m, row, 1, row, 1));
            for (int64_t k = 0; k < m && size >= least; k++)
                row[k] /= size;
        }
    }
}

/* Singular values of a matrix whose n columns, of m >= n elements, stand one after the other in u; then u has the left
 * singular vectors, and more orthonormal ones up to `columns`, and v the right ones, by one-sided rotations of Jacobi.
 * v is NULL where only values are wanted. */
static int NAME(theano_svd)(int64_t m, int64_t n, int64_t columns, REAL *u, REAL *values, REAL *v) {
    const REAL little = sizeof(REAL) == 4 ? (REAL)6e-8 : (REAL)1.1e-16;
    int64_t rank = 0;
    int again = 1;
    for (int64_t i = 0; i < m * n; i++)
        if (!(fabs(u[i]) < (REAL)INFINITY))
            return 1;
    if (v != NULL)
        NAME(theano_unit)(n, v);
    for (int turns = 0; again && turns < 60; turns++) {
        again = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                REAL *const x = u + p * m, *const y = u + q * m, sine, cosine;
                const REAL a = NAME(theano_dot)(m, x, 1, x, 1), c = NAME(theano_dot)(m, y, 1, y, 1);
                const REAL b = NAME(theano_dot)(m, x, 1, y, 1);
                if (!(fabs(b) > 4 * little * sqrt((double)a) * sqrt((double)c)) && c <= a)
                    continue;
                again = 1;
                if (fabs(b) > 4 * little * sqrt((double)a) * sqrt((double)c)) {
                    NAME(theano_rotation)(a, b, c, &sine, &cosine);
                } else {
                    sine = 1;
                    cosine = 0;
                }
                NAME(theano_rotate)(m, x, y, 1, sine, cosine);
                if (v != NULL)
                    NAME(theano_rotate)(n, v + p * n, v + q * n, 1, sine, cosine);
            }
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = (REAL)sqrt(NAME(theano_dot)(m, u + i * m, 1, u + i * m, 1));
    if (v == NULL)
        return 0;
    for (; rank < n && values[rank] > 0 && values[rank] > little * (REAL)m * values[0]; rank++)
        for (int64_t k = 0; k < m; k++)
            u[rank * m + k] /= values[rank];
    NAME(theano_complete)(rank, columns, m, u);
    return 0;
}

/* a = r, and in q the product of the reflections, of which `columns` columns are wanted; q may be NULL. `space` holds
 * one number for each row, and one for each reflection. */
static void NAME(theano_qr)(int64_t m, int64_t n, int64_t columns, REAL *a, REAL *q, REAL *space) {
    const int64_t count = m < n ? m : n;
    REAL *const row = space, *const factors = space + (n > columns ? n : columns);
    for (int64_t k = 0; k < count; k++) {
        const REAL first = a[k * n + k];
        const int64_t below = m - k - 1;
        const REAL rest = NAME(theano_dot)(below, a + (k + 1) * n + k, n, a + (k + 1) * n + k, n);
        const REAL size = (REAL)sqrt((double)first * first + rest), to = first > 0 ? -size : size;
        factors[k] = rest == 0 ? 0 : (to - first) / to;
        if (rest == 0)
            continue;
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + k] /= first - to;
        a[k * n + k] = to;
        for (int64_t j = k + 1; j < n; j++)
            row[j] = a[k * n + j];
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t j = k + 1; j < n; j++)
                row[j] += a[i * n + k] * a[i * n + j];
        for (int64_t j = k + 1; j < n; j++)
            a[k * n + j] -= factors[k] * row[j];
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factors[k] * a[i * n + k] * row[j];
    }
    for (int64_t i = 0; i < m && q != NULL; i++)
        for (int64_t j = 0; j < columns; j++)
            q[i * columns + j] = i == j;
    for (int64_t k = count - 1; k >= 0 && q != NULL; k--) {
        for (int64_t j = 0; j < columns; j++)
            row[j] = q[k * columns + j];
        for (int64_t i = k + 1; i < m; i++)
            for (int64_t j = 0; j < columns; j++)
                row[j] += a[i * n + k] * q[i * columns + j];
        for (int64_t i = k; i < m; i++)
            for (int64_t j = 0; j < columns; j++)
                q[i * columns + j] -= factors[k] * (i == k ? 1 : a[i * n + k]) * row[j];
    }
    for (int64_t i = 1; i < m; i++)
        for (int64_t j = 0; j < i && j < n; j++)
            a[i * n + j] = 0;
}
