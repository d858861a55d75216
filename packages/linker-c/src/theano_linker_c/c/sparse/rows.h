/* Those rows of a product of a sparse and a dense matrix in which the sparse one stores something (compressed.h,
 * products.h). */

static int NAME(some_rows)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp n_minor,
                           int rows_are_major, PyArrayObject *y, ELEMENT alpha, npy_intp wanted_rows,
                           npy_intp wanted_columns, PyArrayObject **rows, PyArrayObject **block) {
    NAME(Compressed) x, transposed;
    const NAME(Compressed) *by_row = &x;
    PyArrayObject *factor_rows = NULL;
    int found = -1;
    memset(&transposed, 0, sizeof transposed);
    if (NAME(open)(&x, data, indices, indptr, n_minor) < 0)
        goto end;
    if (NAME(fits)(rows_are_major ? x.n_major : n_minor, rows_are_major ? n_minor : x.n_major, y, NULL) < 0)
        goto end;
    const npy_intp made = rows_are_major ? x.n_major : n_minor;
    if (made != wanted_rows || PyArray_DIM(y, 1) != wanted_columns) {
        PyErr_Format(PyExc_ValueError,
                     "a product of shape (%lld, %lld) is added to (%lld, %lld)\n  Hint: correct the shape of z",
                     (long long)made, (long long)PyArray_DIM(y, 1), (long long)wanted_rows, (long long)wanted_columns);
        goto end;
    }
    factor_rows = NAME(with_rows)(y);
    if (factor_rows == NULL)
        goto end;
    if (!rows_are_major) {
        by_row = &transposed;
        if (NAME(transposed)(&x, &transposed) < 0) {
            PyErr_NoMemory();
            goto end;
        }
    }
    npy_intp count = 0;
    for (npy_intp major = 0; major < by_row->n_major; major++)
        count += NAME(last)(by_row, major) > NAME(first)(by_row, major);
    npy_intp shape[2] = {count, PyArray_DIM(y, 1)};
    *rows = NAME(obtain)(*rows, NPY_INT64, 1, shape);
    *block = NAME(obtain)(*block, PyArray_TYPE(y), 2, shape);
    if (*rows == NULL || *block == NULL)
        goto end;
    const NAME(Factor) factor = {PyArray_BYTES(factor_rows), PyArray_STRIDE(factor_rows, 0), shape[1], alpha};
    npy_int64 *number = (npy_int64 *)PyArray_DATA(*rows);
    ELEMENT *to = (ELEMENT *)PyArray_DATA(*block);
    NPY_BEGIN_THREADS_DEF;
    if (x.nnz * shape[1] > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    npy_intp known = 0;
    for (npy_intp major = 0; known < count && major < by_row->n_major; major++) {
        number[known] = major; /* without branches, which could not be predicted */
        known += NAME(last)(by_row, major) > NAME(first)(by_row, major);
    }
    for (; known < count; known++)
        number[known] = 0; /* another thread has emptied rows meanwhile */
    for (npy_intp k = 0; k < count; k++) {
        const NAME(Slice) slice = NAME(major_slice)(by_row, number[k]);
        NAME(row)(&slice, &factor, NULL, to + k * shape[1]);
    }
    NPY_END_THREADS;
    found = 0;
end:
    NAME(discard)(&transposed);
    Py_XDECREF(factor_rows);
    NAME(close)(&x);
    return found;
}
