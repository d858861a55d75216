/* Those rows of a product of a sparse and a dense matrix in which the sparse one stores something (lines.h, products.h). */

static int NAME(some_rows)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp other,
                           int rows_are_lines, PyArrayObject *y, ELEMENT alpha, npy_intp wanted_rows,
                           npy_intp wanted_columns, PyArrayObject **rows, PyArrayObject **block)
{
    NAME(Lines) x, turned;
    const NAME(Lines) *by_row = &x;
    PyArrayObject *factor_rows = NULL;
    int found = -1;
    memset(&turned, 0, sizeof turned);
    if (NAME(open)(&x, data, indices, indptr, other) < 0)
        goto end;
    if (NAME(fits)(rows_are_lines ? x.lines : other, rows_are_lines ? other : x.lines, y, NULL) < 0)
        goto end;
    const npy_intp made = rows_are_lines ? x.lines : other;
    if (made != wanted_rows || PyArray_DIM(y, 1) != wanted_columns) {
        PyErr_Format(PyExc_ValueError,
                     "a product of shape (%lld, %lld) is added to (%lld, %lld)\n  To mend: mend the shape of z",
                     (long long)made, (long long)PyArray_DIM(y, 1), (long long)wanted_rows, (long long)wanted_columns);
        goto end;
    }
    factor_rows = NAME(with_rows)(y);
    if (factor_rows == NULL)
        goto end;
    if (!rows_are_lines) {
        by_row = &turned;
        if (NAME(turned)(&x, &turned) < 0) {
            PyErr_NoMemory();
            goto end;
        }
    }
    npy_intp count = 0;
    for (npy_intp line = 0; line < by_row->lines; line++)
        count += NAME(last)(by_row, line) > NAME(first)(by_row, line);
    npy_intp shape[2] = {count, PyArray_DIM(y, 1)};
    *rows = NAME(room)(*rows, NPY_INT64, 1, shape);
    *block = NAME(room)(*block, PyArray_TYPE(y), 2, shape);
    if (*rows == NULL || *block == NULL)
        goto end;
    const NAME(Factor) factor = {PyArray_BYTES(factor_rows), PyArray_STRIDE(factor_rows, 0), shape[1], alpha};
    npy_int64 *number = (npy_int64 *)PyArray_DATA(*rows);
    ELEMENT *to = (ELEMENT *)PyArray_DATA(*block);
    NPY_BEGIN_THREADS_DEF;
    if (x.stored * shape[1] > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    npy_intp known = 0;
    for (npy_intp line = 0; known < count && line < by_row->lines; line++) {
        number[known] = line; /* without branches: which lines store something cannot be foretold */
        known += NAME(last)(by_row, line) > NAME(first)(by_row, line);
    }
    for (; known < count; known++)
        number[known] = 0; /* another thread has emptied lines meanwhile */
    for (npy_intp k = 0; k < count; k++) {
        const NAME(Stored) stored = NAME(line)(by_row, number[k]);
        NAME(row)(&stored, &factor, NULL, to + k * shape[1]);
    }
    NPY_END_THREADS;
    found = 0;
end:
    NAME(discard)(&turned);
    Py_XDECREF(factor_rows);
    NAME(close)(&x);
    return found;
}
