/* The major index of each stored element of a sparse matrix, from indptr. */

static int major_indices(PyArrayObject *indptr, npy_intp nnz, PyArrayObject **out) {
    const npy_intp n_major = PyArray_DIM(indptr, 0) - 1, step = PyArray_STRIDE(indptr, 0);
    const char *start = PyArray_BYTES(indptr);
    npy_intp last = n_major < 0 ? -1 : *(const npy_int32 *)start;
    int fits = last == 0 && *(const npy_int32 *)(start + n_major * step) == nnz;
    for (npy_intp major = 0; fits && major < n_major; major++) {
        const npy_intp next = *(const npy_int32 *)(start + (major + 1) * step);
        fits = next >= last;
        last = next;
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not make a sparse matrix: indptr does not cover its elements\n"
                                          "  Hint: take them from csm_properties(x) of one matrix");
        return -1;
    }
    if (*out == NULL || PyArray_DIM(*out, 0) != nnz || !PyArray_IS_C_CONTIGUOUS(*out)) {
        Py_XDECREF(*out);
        *out = (PyArrayObject *)PyArray_EMPTY(1, &nnz, NPY_INT32, 0);
        if (*out == NULL)
            return -1;
    }
    npy_int32 *to = (npy_int32 *)PyArray_DATA(*out);
    npy_intp p = 0;
    for (npy_intp major = 0; major < n_major; major++)
        /* Another thread may write there since it was looked at: nothing is written behind the end. */
        for (const npy_intp stop = *(const npy_int32 *)(start + (major + 1) * step); p < stop && p < nnz; p++)
            to[p] = (npy_int32)major;
    for (; p < nnz; p++)
        to[p] = (npy_int32)(n_major - 1);
    return 0;
}

/* The major index of each element, and its minor one, which is the operand itself; `flag` says whether rows are
 * major. */
static int sparse_major_indices(SparseCall *c) {
    int major = !c->flag, minor = c->flag;
    if (major_indices(c->in[1], PyArray_DIM(c->in[0], 0), &c->out[major]) < 0)
        return -1;
    Py_XSETREF(c->out[minor], (PyArrayObject *)Py_NewRef((PyObject *)c->in[0]));
    return 0;
}
