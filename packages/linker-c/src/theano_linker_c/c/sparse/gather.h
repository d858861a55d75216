/* Gather elements of a vector by the major, or the minor, index of each stored element of a sparse matrix. */

/* Return how many elements were gathered; fewer than `nnz` where the next index lies outside the vector. */
static npy_intp NAME(gather_by_major)(npy_intp nnz, npy_intp length, const ELEMENT *from, const npy_int32 *indptr,
                                      npy_intp n_major, ELEMENT *to) {
    npy_intp p = 0;
    for (npy_intp major = 0; major < n_major; major++) {
        const npy_intp stop = __atomic_load_n(indptr + major + 1, __ATOMIC_RELAXED);
        if (stop > nnz || (p < stop && major >= length))
            return p;
        for (; p < stop; p++)
            to[p] = from[major];
    }
    return p;
}

static npy_intp NAME(gather_by_minor)(npy_intp nnz, npy_intp length, const ELEMENT *from, const npy_int32 *indices,
                                      ELEMENT *to) {
    for (npy_intp p = 0; p < nnz; p++) {
        /* Read once: another thread may write there. */
        const npy_uint32 index = (npy_uint32)__atomic_load_n(indices + p, __ATOMIC_RELAXED);
        if (index >= (npy_uint64)length)
            return p;
        to[p] = from[index];
    }
    return nnz;
}

static int NAME(gather)(PyArrayObject *vector, PyArrayObject *indices, PyArrayObject *indptr, int by_major,
                        PyArrayObject **out) {
    npy_intp nnz = PyArray_DIM(indices, 0), found = -1;
    const npy_intp length = PyArray_DIM(vector, 0);
    PyArrayObject *from = (PyArrayObject *)PyArray_GETCONTIGUOUS(vector);
    PyArrayObject *index_array = (PyArrayObject *)PyArray_GETCONTIGUOUS(by_major ? indptr : indices);
    if (*out == NULL || PyArray_DIM(*out, 0) != nnz || !PyArray_IS_C_CONTIGUOUS(*out)) {
        Py_XDECREF(*out);
        *out = (PyArrayObject *)PyArray_EMPTY(1, &nnz, PyArray_TYPE(vector), 0);
    }
    if (from != NULL && index_array != NULL && *out != NULL) {
        const npy_int32 *numbers = (const npy_int32 *)PyArray_DATA(index_array);
        const ELEMENT *first = (const ELEMENT *)PyArray_DATA(from);
        ELEMENT *to = (ELEMENT *)PyArray_DATA(*out);
        found = by_major ? NAME(gather_by_major)(nnz, length, first, numbers, PyArray_DIM(index_array, 0) - 1, to)
                         : NAME(gather_by_minor)(nnz, length, first, numbers, to);
        if (found < nnz)
            PyErr_Format(PyExc_IndexError,
                         "element %lld of a sparse matrix has no element in a vector of %lld\n"
                         "  Hint: pass one element for each row (or column) of the matrix",
                         (long long)found, (long long)length);
    }
    Py_XDECREF(from);
    Py_XDECREF(index_array);
    return found == nnz ? 0 : -1;
}
