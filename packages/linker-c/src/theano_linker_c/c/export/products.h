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

/* y = alpha * a x + beta * y, for columns, or rows, whose elements follow each other: four of them at a time. */
THEANO_FOR_BYTES
static void NAME(theano_lines_BYTES)(int64_t m, int64_t n, REAL alpha, const REAL *a, int64_t a_row, int64_t a_column,
                                     const REAL *x, int64_t x_step, REAL beta, REAL *restrict y, int64_t y_step) {
    THEANO_JOINED
    enum { PER = BYTES / sizeof(REAL) };
    if (a_row == 1 && y_step == 1) {
        const int64_t most = n - n % 4;
        for (int64_t i = 0; i < m; i++)
            y[i] = beta == 0 ? 0 : beta * y[i];
        for (int64_t j = 0; j < most; j += 4) {
            const REAL *p = a + j * a_column, *q = p + a_column, *r = q + a_column, *s = r + a_column;
            const REAL e = alpha * x[j * x_step], f = alpha * x[(j + 1) * x_step];
            const REAL g = alpha * x[(j + 2) * x_step], h = alpha * x[(j + 3) * x_step];
            for (int64_t i = 0; i < m; i++)
                y[i] += (e * p[i] + f * q[i]) + (g * r[i] + h * s[i]);
        }
        for (int64_t j = most; j < n; j++) {
            const REAL *p = a + j * a_column, e = alpha * x[j * x_step];
            for (int64_t i = 0; i < m; i++)
                y[i] += e * p[i];
        }
        return;
    }
    for (int64_t i = 0; i < m; i += 4) {
        const int64_t rows = m - i < 4 ? m - i : 4, most = n - n % PER;
        const REAL *at[4];
        REAL lanes[4][PER] = {{0}};
        for (int r = 0; r < 4; r++)
            at[r] = a + (i + (r < rows ? r : 0)) * a_row;
#if defined(__GNUC__)
        typedef REAL vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
        vector sums[4];
        for (int r = 0; r < 4; r++)
            sums[r] = (vector){0};
        for (int64_t k = 0; k < most; k += PER)
            for (int r = 0; r < 4; r++)
                sums[r] += *(const vector *)(at[r] + k) * *(const vector *)(x + k);
        for (int r = 0; r < 4; r++)
            *(vector *)lanes[r] = sums[r];
#else
        for (int64_t k = 0; k < most; k += PER)
            for (int r = 0; r < 4; r++)
                for (int lane = 0; lane < PER; lane++)
                    lanes[r][lane] += at[r][k + lane] * x[k + lane];
#endif
        for (int64_t r = 0; r < rows; r++) {
            REAL total = 0, *const to = y + (i + r) * y_step;
            for (int64_t k = most; k < n; k++)
                total += at[r][k] * x[k];
            for (int lane = 0; lane < PER; lane++)
                total += lanes[r][lane];
            *to = beta == 0 ? alpha * total : alpha * total + beta * *to;
        }
    }
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
    if ((a_row == 1 && y_step == 1) || (a_column == 1 && x_step == 1)) {
#if defined(__GNUC__) && defined(__x86_64__) && !defined(THEANO_PORTABLE)
        if (__builtin_cpu_supports("avx512f")) {
            NAME(theano_lines_64)(m, n, alpha, a, a_row, a_column, x, x_step, beta, y, y_step);
            return;
        }
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
            NAME(theano_lines_32)(m, n, alpha, a, a_row, a_column, x, x_step, beta, y, y_step);
            return;
        }
#endif
        NAME(theano_lines_16)(m, n, alpha, a, a_row, a_column, x, x_step, beta, y, y_step);
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        const REAL product = alpha * NAME(theano_dot)(n, a + i * a_row, a_column, x, x_step);
        y[i * y_step] = beta == 0 ? product : product + beta * y[i * y_step];
    }
}

/* sums = a b for some rows of a, which begin at `starts`, and one or two vectors of columns of b. The sums stay in
 * registers. */
THEANO_FOR_BYTES
static void NAME(theano_tile_BYTES)(int64_t terms, const REAL *a, const int64_t *starts, int64_t a_step, const REAL *b,
                                    int64_t b_step, int one, REAL *sums) {
    THEANO_JOINED
    enum { ROWS = TILE_ROWS, PER = BYTES / sizeof(REAL) };
    const REAL *at[ROWS];
    for (int i = 0; i < ROWS; i++)
        at[i] = a + starts[i];
#if defined(__GNUC__)
    typedef REAL vector __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
    vector s[ROWS][2];
    for (int i = 0; i < ROWS; i++)
        s[i][0] = s[i][1] = (vector){0};
    if (one)
        for (int64_t k = 0; k < terms; k++, b += b_step) {
            const vector x = *(const vector *)b;
            for (int i = 0; i < ROWS; i++)
                s[i][0] += at[i][k * a_step] * x;
        }
    else
        for (int64_t k = 0; k < terms; k++, b += b_step) {
            const vector x = *(const vector *)b, y = *(const vector *)(b + PER);
            for (int i = 0; i < ROWS; i++) {
                const REAL factor = at[i][k * a_step];
                s[i][0] += factor * x;
                s[i][1] += factor * y;
            }
        }
    for (int i = 0; i < ROWS; i++) {
        *(vector *)(sums + 2 * i * PER) = s[i][0];
        *(vector *)(sums + (2 * i + 1) * PER) = s[i][1];
    }
#else
    for (int i = 0; i < ROWS * 2 * PER; i++)
        sums[i] = 0;
    for (int64_t k = 0; k < terms; k++, b += b_step)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < (one ? PER : 2 * PER); j++)
                sums[2 * i * PER + j] += at[i][k * a_step] * b[j];
#endif
}

/* Copy rows of a matrix, some at a time, so that what stands in one column of these follows each other. */
THEANO_FOR_BYTES
static void NAME(theano_pack_BYTES)(int64_t m, int64_t n, const REAL *a, int64_t a_row, int64_t a_column, REAL *room) {
    enum { ROWS = TILE_ROWS };
    for (; m > 0; m -= ROWS, a += ROWS * a_row, room += ROWS * n)
        if (m >= ROWS && a_row == 1)
            for (int64_t k = 0; k < n; k++)
                for (int r = 0; r < ROWS; r++)
                    room[k * ROWS + r] = a[k * a_column + r];
        else if (m >= ROWS && a_column == 1)
            for (int64_t k = 0; k < n; k++)
                for (int r = 0; r < ROWS; r++)
                    room[k * ROWS + r] = a[k + r * a_row];
        else
            for (int64_t k = 0; k < n; k++)
                for (int r = 0; r < ROWS; r++)
                    room[k * ROWS + r] = a[k * a_column + (r < m ? r * a_row : 0)];
}

/* c = alpha * a b + beta * c, by vectors of BYTES bytes. Columns of b are copied together, and so are rows of a, to
 * `room`, unless the elements of a row follow each other. */
THEANO_FOR_BYTES
static void NAME(theano_blocks_BYTES)(int64_t m, int64_t n, int64_t depth, REAL alpha, const REAL *a, int64_t a_row,
                                      int64_t a_column, const REAL *b, int64_t b_row, int64_t b_column, REAL beta,
                                      REAL *c, int64_t c_row, int64_t c_column, REAL *room) {
    THEANO_JOINED
    enum { ROWS = TILE_ROWS, PER = BYTES / sizeof(REAL), COLUMNS = 2 * PER, DEPTH = 256, MOST = 256 / ROWS * ROWS };
    REAL space[(DEPTH + ROWS) * COLUMNS + 64 / sizeof(REAL)], *const sums =
                                                                  space + (64 - (uintptr_t)space % 64) / sizeof(REAL);
    REAL *const panel = sums + ROWS * COLUMNS;
    const int64_t parts = (depth + DEPTH - 1) / DEPTH;
    const int copies = a_column != 1;
    int64_t starts[ROWS];
    for (int64_t part = 0; part < parts; part++, beta = 1) {
        const int64_t begin = depth * part / parts, terms = depth * (part + 1) / parts - begin;
        for (int64_t top = 0; top < m; top += MOST) {
            const int64_t height = m - top < MOST ? m - top : MOST;
            const REAL *left = a + top * a_row + begin * a_column;
            if (copies)
                NAME(theano_pack_BYTES)(height, terms, left, a_row, a_column, room);
            for (int64_t first = 0; first < n; first += COLUMNS) {
                const int64_t width = n - first < COLUMNS ? n - first : COLUMNS;
                const REAL *right = b + begin * b_row + first * b_column;
                const int direct = b_column == 1 && width == COLUMNS && height <= 2 * ROWS;
                if (!direct && b_column == 1 && width == COLUMNS)
                    for (int64_t k = 0; k < terms; k++)
                        for (int j = 0; j < COLUMNS; j++)
                            panel[k * COLUMNS + j] = right[k * b_row + j];
                else if (!direct)
                    for (int64_t k = 0; k < terms; k++)
                        for (int64_t j = 0; j < COLUMNS; j++)
                            panel[k * COLUMNS + j] = j < width ? right[k * b_row + j * b_column] : 0;
                for (int64_t i = 0; i < height; i += ROWS) {
                    const int64_t rows = height - i < ROWS ? height - i : ROWS;
                    REAL *to = c + (top + i) * c_row + first * c_column;
                    const REAL *from = sums;
                    for (int r = 0; r < ROWS; r++)
                        starts[r] = copies ? i * terms + r : (i + (r < rows ? r : 0)) * a_row;
                    NAME(theano_tile_BYTES)(terms, copies ? room : left, starts, copies ? ROWS : a_column,
                                            direct ? right : panel, direct ? b_row : COLUMNS, width <= PER, sums);
                    for (int64_t r = 0; r < rows; r++, to += c_row, from += COLUMNS) {
                        if (beta != 0 && c_column == 1)
                            for (int64_t j = 0; j < width; j++)
                                to[j] = alpha * from[j] + beta * to[j];
                        else if (beta != 0)
                            for (int64_t j = 0; j < width; j++)
                                to[j * c_column] = alpha * from[j] + beta * to[j * c_column];
                        else if (c_column != 1)
                            for (int64_t j = 0; j < width; j++)
                                to[j * c_column] = alpha * from[j];
                        else if (width < COLUMNS)
                            for (int64_t j = 0; j < width; j++)
                                to[j] = alpha * from[j];
                        else
                            for (int j = 0; j < COLUMNS; j++)
                                to[j] = alpha * from[j];
                    }
                }
            }
        }
    }
}

/* c = alpha * a b + beta * c; c is not read where beta is 0. `room` is for 257 rows of a of up to 256 elements, or as
 * many as there are, where its columns do not follow each other. */
static void NAME(theano_gemm)(int64_t m, int64_t n, int64_t depth, REAL alpha, const REAL *a, int64_t a_row,
                              int64_t a_column, const REAL *b, int64_t b_row, int64_t b_column, REAL beta, REAL *c,
                              int64_t c_row, int64_t c_column, REAL *room) {
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
    if (depth < 1) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                c[i * c_row + j * c_column] = beta == 0 ? 0 : beta * c[i * c_row + j * c_column];
        return;
    }
    if (depth == 1) {
        for (int64_t i = 0; i < m; i++, c += c_row) {
            const REAL factor = alpha * a[i * a_row];
            if (b_column == 1 && c_column == 1 && beta == 0)
                for (int64_t j = 0; j < n; j++)
                    c[j] = factor * b[j];
            else if (b_column == 1 && c_column == 1)
                for (int64_t j = 0; j < n; j++)
                    c[j] = factor * b[j] + beta * c[j];
            else
                for (int64_t j = 0; j < n; j++)
                    c[j * c_column] = factor * b[j * b_column] + (beta == 0 ? 0 : beta * c[j * c_column]);
        }
        return;
    }
    if (b_row == 1 && b_column != 1 && m * (depth + 2 * n) < n * depth) {
        /* It takes less to copy the columns of a: the transposed product is computed. */
        const REAL *const other = a;
        const int64_t lengths[3] = {m, a_row, a_column}, step = c_row;
        m = n, n = lengths[0];
        a = b, a_row = b_column, a_column = b_row;
        b = other, b_row = lengths[2], b_column = lengths[1];
        c_row = c_column, c_column = step;
    }
#if defined(__GNUC__) && defined(__x86_64__) && !defined(THEANO_PORTABLE)
    if (__builtin_cpu_supports("avx512f")) {
        NAME(theano_blocks_64)(m, n, depth, alpha, a, a_row, a_column, b, b_row, b_column, beta, c, c_row, c_column,
                               room);
        return;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        NAME(theano_blocks_32)(m, n, depth, alpha, a, a_row, a_column, b, b_row, b_column, beta, c, c_row, c_column,
                               room);
        return;
    }
#endif
    NAME(theano_blocks_16)(m, n, depth, alpha, a, a_row, a_column, b, b_row, b_column, beta, c, c_row, c_column, room);
}
