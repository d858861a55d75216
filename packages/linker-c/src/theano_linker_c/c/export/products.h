/* Products of REAL numbers; NAME(x) is the name of a function for them, BLAS(x) that of a routine of CBLAS. */

static REAL NAME(theano_dot)(int64_t n, const REAL *a, int64_t a_step, const REAL *b, int64_t b_step) {
    REAL lanes[8] = {0}, total = 0;
    int64_t i = 0;
#ifdef THEANO_CBLAS
    if (a_step > 0 && b_step > 0)
        return BLAS(dot)((int)n, a, (int)a_step, b, (int)b_step);
#endif
    if (a_step == 1 && b_step == 1)
        for (; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++)
                lanes[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        total += a[i * a_step] * b[i * b_step];
    for (int k = 0; k < 8; k++)
        total += lanes[k];
    return total;
}

/* y = alpha * a x + beta * y; y is not read where beta is 0. */
static void NAME(theano_gemv)(int64_t m, int64_t n, REAL alpha, const REAL *a, int64_t a_row, int64_t a_column,
                              const REAL *x, int64_t x_step, REAL beta, REAL *y, int64_t y_step) {
#ifdef THEANO_CBLAS
    if (m > 0 && n > 0 && x_step > 0 && y_step > 0 && (a_column == 1 || a_row == 1) && a_row > 0 && a_column > 0) {
        const int along = a_column == 1;
        const int64_t step = along ? a_row : a_column, least = along ? n : m;
        BLAS(gemv)(CblasRowMajor, along ? CblasNoTrans : CblasTrans, (int)(along ? m : n), (int)(along ? n : m), alpha,
                   a, (int)(step < least ? least : step), x, (int)x_step, beta, y, (int)y_step);
        return;
    }
#endif
    if (a_row == 1 && a_column != 1) {
        /* Columns are contiguous: they are added one after the other. */
        for (int64_t i = 0; i < m; i++)
            y[i * y_step] = beta == 0 ? 0 : beta * y[i * y_step];
        for (int64_t j = 0; j < n; j++) {
            const REAL factor = alpha * x[j * x_step];
            const REAL *column = a + j * a_column;
            for (int64_t i = 0; i < m; i++)
                y[i * y_step] += factor * column[i];
        }
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        const REAL product = alpha * NAME(theano_dot)(n, a + i * a_row, a_column, x, x_step);
        y[i * y_step] = beta == 0 ? product : product + beta * y[i * y_step];
    }
}

/* sums += a b for four rows of a and a panel of sixteen columns of b. With compilers that know vectors the sums stay in
 * registers. */
static void NAME(theano_tile)(int64_t terms, const REAL *a, const int64_t *rows, int64_t a_column, const REAL *panel,
                              REAL *sums) {
#if defined(__GNUC__)
    typedef REAL vector __attribute__((vector_size(32)));
    enum { PER_VECTOR = 32 / sizeof(REAL), VECTORS = 16 / PER_VECTOR };
    for (int part = 0; part < VECTORS; part += 2) {
        vector s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, x, y;
        const REAL *p = panel + part * PER_VECTOR;
        for (int64_t k = 0; k < terms; k++, p += 16) {
            const REAL *at = a + k * a_column;
            const REAL f0 = at[rows[0]], f1 = at[rows[1]], f2 = at[rows[2]], f3 = at[rows[3]];
            memcpy(&x, p, sizeof x);
            memcpy(&y, p + PER_VECTOR, sizeof y);
            s0 += f0 * x;
            t0 += f0 * y;
            s1 += f1 * x;
            t1 += f1 * y;
            s2 += f2 * x;
            t2 += f2 * y;
            s3 += f3 * x;
            t3 += f3 * y;
        }
        REAL *to = sums + part * PER_VECTOR;
        memcpy(to, &s0, sizeof s0);
        memcpy(to + PER_VECTOR, &t0, sizeof t0);
        memcpy(to + 16, &s1, sizeof s1);
        memcpy(to + 16 + PER_VECTOR, &t1, sizeof t1);
        memcpy(to + 32, &s2, sizeof s2);
        memcpy(to + 32 + PER_VECTOR, &t2, sizeof t2);
        memcpy(to + 48, &s3, sizeof s3);
        memcpy(to + 48 + PER_VECTOR, &t3, sizeof t3);
    }
#else
    for (int j = 0; j < 64; j++)
        sums[j] = 0;
    for (int64_t k = 0; k < terms; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 16; j++)
                sums[16 * i + j] += a[k * a_column + rows[i]] * panel[16 * k + j];
#endif
}

/* c = alpha * a b + beta * c; c is not read where beta is 0. Sixteen columns of b are copied together, and four rows of
 * a are multiplied with them at a time. */
static void NAME(theano_gemm)(int64_t m, int64_t n, int64_t depth, REAL alpha, const REAL *a, int64_t a_row,
                              int64_t a_column, const REAL *b, int64_t b_row, int64_t b_column, REAL beta, REAL *c,
                              int64_t c_row, int64_t c_column) {
    enum { ROWS = 4, COLUMNS = 16, DEPTH = 256 };
    REAL panel[DEPTH * COLUMNS];
#ifdef THEANO_CBLAS
    if (m > 0 && n > 0 && depth > 0 && c_column == 1 && (a_row == 1 || a_column == 1) &&
        (b_row == 1 || b_column == 1)) {
        const int a_plain = a_column == 1, b_plain = b_column == 1;
        const int64_t a_step = a_plain ? a_row : a_column, a_least = a_plain ? depth : m;
        const int64_t b_step = b_plain ? b_row : b_column, b_least = b_plain ? n : depth;
        BLAS(gemm)(CblasRowMajor, a_plain ? CblasNoTrans : CblasTrans, b_plain ? CblasNoTrans : CblasTrans, (int)m,
                   (int)n, (int)depth, alpha, a, (int)(a_step < a_least ? a_least : a_step), b,
                   (int)(b_step < b_least ? b_least : b_step), beta, c, (int)(c_row < n ? n : c_row));
        return;
    }
#endif
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * c_row + j * c_column] = beta == 0 ? 0 : beta * c[i * c_row + j * c_column];
    for (int64_t begin = 0; begin < depth; begin += DEPTH) {
        const int64_t terms = depth - begin < DEPTH ? depth - begin : DEPTH;
        for (int64_t first = 0; first < n; first += COLUMNS) {
            const int64_t width = n - first < COLUMNS ? n - first : COLUMNS;
            for (int64_t k = 0; k < terms; k++)
                for (int64_t j = 0; j < COLUMNS; j++)
                    panel[k * COLUMNS + j] = j < width ? b[(begin + k) * b_row + (first + j) * b_column] : 0;
            for (int64_t top = 0; top < m; top += ROWS) {
                const int64_t rows = m - top < ROWS ? m - top : ROWS;
                int64_t starts[ROWS];
                REAL sums[ROWS][COLUMNS];
                for (int i = 0; i < ROWS; i++)
                    starts[i] = (top + (i < rows ? i : 0)) * a_row + begin * a_column;
                NAME(theano_tile)(terms, a, starts, a_column, panel, &sums[0][0]);
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < width; j++)
                        c[(top + i) * c_row + (first + j) * c_column] += alpha * sums[i][j];
            }
        }
    }
}
