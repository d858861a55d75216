/* Elements of the product of two dense matrices at given positions. Positions are int32 or int64. */

static inline ELEMENT NAME(inner)(npy_intp n, const ELEMENT *a, const ELEMENT *b) {
    enum { WIDTH = 32 / sizeof(ELEMENT) };
    NAME(lanes) sums[4] = {{0}, {0}, {0}, {0}};
    npy_intp k = 0;
    for (; k + 4 * WIDTH <= n; k += 4 * WIDTH)
        for (int j = 0; j < 4; j++)
            sums[j] += *(const NAME(lanes) *)(a + k + j * WIDTH) * *(const NAME(lanes) *)(b + k + j * WIDTH);
    for (; k + WIDTH <= n; k += WIDTH)
        sums[0] += *(const NAME(lanes) *)(a + k) * *(const NAME(lanes) *)(b + k);
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    ELEMENT sum = 0;
    for (int j = 0; j < WIDTH; j++)
        sum += sums[0][j];
    for (; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* Return a matrix with rows in one piece each: the matrix itself, or a copy; `transposed` says of its transpose. */
static PyArrayObject *NAME(rows_of)(PyArrayObject *matrix, int transposed) {
    PyArrayObject *rows = matrix;
    if (transposed)
        rows = (PyArrayObject *)PyArray_Transpose(matrix, NULL);
    else
        Py_INCREF(rows);
    if (rows == NULL ||
        (PyArray_ISALIGNED(rows) && (PyArray_STRIDE(rows, 1) == sizeof(ELEMENT) || PyArray_DIM(rows, 1) <= 1)))
        return rows;
    PyArrayObject *copy = (PyArrayObject *)PyArray_NewCopy(rows, NPY_CORDER);
    Py_DECREF(rows);
    return copy;
}

static inline npy_intp NAME(position)(const char *from, int wide) {
    return wide ? (npy_intp) * (const volatile npy_int64 *)from : (npy_intp) * (const volatile npy_int32 *)from;
}

static int NAME(sample)(PyArrayObject *x, PyArrayObject *y, PyArrayObject *rows, PyArrayObject *columns,
                        PyArrayObject **out) {
    npy_intp count = PyArray_DIM(rows, 0), inner = PyArray_DIM(x, 1);
    if (inner != PyArray_DIM(y, 0) || count != PyArray_DIM(columns, 0)) {
        PyErr_Format(PyExc_ValueError,
                     "SampledProduct: %lld columns meet %lld rows, at %lld rows and %lld columns\n"
                     "  Hint: transpose one of the two, or pass as many rows as columns",
                     (long long)inner, (long long)PyArray_DIM(y, 0), (long long)count,
                     (long long)PyArray_DIM(columns, 0));
        return -1;
    }
    PyArrayObject *a = NAME(rows_of)(x, 0), *b = NAME(rows_of)(y, 1);
    npy_intp outside = -1;
    if (*out == NULL || PyArray_DIM(*out, 0) != count || !PyArray_IS_C_CONTIGUOUS(*out)) {
        Py_XDECREF(*out);
        *out = (PyArrayObject *)PyArray_EMPTY(1, &count, PyArray_TYPE(x), 0);
    }
    if (a == NULL || b == NULL || *out == NULL) {
        Py_XDECREF(a);
        Py_XDECREF(b);
        return -1;
    }
    const npy_intp m = PyArray_DIM(a, 0), n = PyArray_DIM(b, 0);
    const npy_intp step_a = PyArray_STRIDE(a, 0), step_b = PyArray_STRIDE(b, 0);
    const int wide_rows = PyArray_TYPE(rows) == NPY_INT64, wide_columns = PyArray_TYPE(columns) == NPY_INT64;
    const npy_intp step_row = PyArray_STRIDE(rows, 0), step_column = PyArray_STRIDE(columns, 0);
    const char *row = PyArray_BYTES(rows), *column = PyArray_BYTES(columns);
    const char *from_a = PyArray_BYTES(a), *from_b = PyArray_BYTES(b);
    ELEMENT *to = (ELEMENT *)PyArray_DATA(*out);
    NPY_BEGIN_THREADS_DEF;
    if (count * inner > 20000)
        NPY_BEGIN_THREADS;
    for (npy_intp p = 0; p < count; p++) {
        /* Each is read once: another thread may write there. */
        npy_intp i = NAME(position)(row + p * step_row, wide_rows);
        npy_intp j = NAME(position)(column + p * step_column, wide_columns);
        i += i < 0 ? m : 0;
        j += j < 0 ? n : 0;
        if (i < 0 || i >= m || j < 0 || j >= n) {
            outside = p;
            break;
        }
        to[p] = NAME(inner)(inner, (const ELEMENT *)(from_a + i * step_a), (const ELEMENT *)(from_b + j * step_b));
    }
    NPY_END_THREADS;
    Py_DECREF(a);
    Py_DECREF(b);
    if (outside < 0)
        return 0;
    PyErr_Format(PyExc_IndexError,
                 "SampledProduct: position %lld lies outside the product of %lld x %lld\n"
                 "  Hint: take the places from a matrix of that shape",
                 (long long)outside, (long long)m, (long long)n);
    return -1;
}
