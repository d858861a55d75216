/* The product of a sparse and a dense matrix, maybe added to a dense one (compressed.h, products.h). */

/* *out = z + alpha x y, where z may be NULL, and `inplace` says that its memory may be used. Return -1 with an
 * error. */
static int NAME(dot)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp n_minor,
                     int rows_are_major, PyArrayObject *y, ELEMENT alpha, PyArrayObject *z, int inplace,
                     PyArrayObject **out) {
    NAME(Compressed) x;
    PyArrayObject *factor_rows = NULL, *from = NULL;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, n_minor) < 0)
        goto end;
    const npy_intp rows = rows_are_major ? x.n_major : x.n_minor, inner = rows_are_major ? x.n_minor : x.n_major;
    if (NAME(fits)(rows, inner, y, z) < 0)
        goto end;
    npy_intp shape[2] = {rows, PyArray_DIM(y, 1)};
    factor_rows = NAME(with_rows)(y);
    if (factor_rows == NULL)
        goto end;
    if (z != NULL) {
        from = NAME(with_rows)(z);
        if (from == NULL)
            goto end;
    }
    if (from != NULL && PyArray_IS_C_CONTIGUOUS(from) && (from != z || (inplace && PyArray_ISWRITEABLE(z)))) {
        Py_INCREF(from);
        Py_XDECREF(*out);
        *out = from;
    } else {
        *out = NAME(obtain)(*out, PyArray_TYPE(y), 2, shape);
        if (*out == NULL)
            goto end;
    }
    const NAME(Factor) factor = {PyArray_BYTES(factor_rows), PyArray_STRIDE(factor_rows, 0), shape[1], alpha};
    const char *start = from == NULL ? NULL : PyArray_BYTES(from);
    const npy_intp step = from == NULL ? 0 : PyArray_STRIDE(from, 0);
    NPY_BEGIN_THREADS_DEF;
    if ((x.nnz + rows) * shape[1] > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    found = NAME(product)(&x, rows_are_major, &factor, start, step, (ELEMENT *)PyArray_DATA(*out));
    NPY_END_THREADS;
    if (found < 0)
        PyErr_NoMemory();
end:
    Py_XDECREF(factor_rows);
    Py_XDECREF(from);
    NAME(close)(&x);
    return found;
}
