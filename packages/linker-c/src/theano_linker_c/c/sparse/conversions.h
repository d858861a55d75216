/* Conversions of a compressed sparse matrix (compressed.h): to the other format, to a dense matrix, to sums. */

/* The same matrix compressed along its other axis. */
static int NAME(change_compression)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr,
                                    npy_intp n_minor, PyArrayObject **out_data, PyArrayObject **out_indices,
                                    PyArrayObject **out_indptr) {
    NAME(Compressed) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, n_minor) == 0) {
        npy_intp nnz = x.end - x.begin, starts = n_minor + 1;
        *out_data = NAME(obtain)(*out_data, PyArray_TYPE(data), 1, &nnz);
        *out_indices = NAME(obtain)(*out_indices, NPY_INT32, 1, &nnz);
        *out_indptr = NAME(obtain)(*out_indptr, NPY_INT32, 1, &starts);
        if (*out_data != NULL && *out_indices != NULL && *out_indptr != NULL) {
            NPY_BEGIN_THREADS_DEF;
            if (nnz + n_minor > NAME(WORK_FOR_GIL))
                NPY_BEGIN_THREADS;
            memset(PyArray_DATA(*out_indices), 0, (size_t)nnz * sizeof(npy_int32)); /* others read it unchecked */
            NAME(transpose)(&x, (ELEMENT *)PyArray_DATA(*out_data), (npy_int32 *)PyArray_DATA(*out_indices),
                            (npy_int32 *)PyArray_DATA(*out_indptr));
            NPY_END_THREADS;
            found = 0;
        }
    }
    NAME(close)(&x);
    return found;
}

/* *out = z + x, where z may be NULL for zeros, and `inplace` says that its memory may be used. Elements stored for one
 * position add up. */
static int NAME(dense)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp n_minor,
                       int rows_are_major, PyArrayObject *z, int inplace, PyArrayObject **out) {
    NAME(Compressed) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, n_minor) < 0)
        goto end;
    npy_intp shape[2] = {rows_are_major ? x.n_major : x.n_minor, rows_are_major ? x.n_minor : x.n_major};
    if (z != NULL && (PyArray_DIM(z, 0) != shape[0] || PyArray_DIM(z, 1) != shape[1])) {
        PyErr_Format(PyExc_ValueError,
                     "AddSD: the shapes (%lld, %lld) and (%lld, %lld) differ\n"
                     "  Hint: sparse matrices do not broadcast",
                     (long long)shape[0], (long long)shape[1], (long long)PyArray_DIM(z, 0),
                     (long long)PyArray_DIM(z, 1));
        goto end;
    }
    if (inplace) {
        Py_INCREF(z);
        Py_XDECREF(*out);
        *out = z;
    } else {
        *out = NAME(obtain)(*out, PyArray_TYPE(data), 2, shape);
        if (*out == NULL || (z != NULL && PyArray_CopyInto(*out, z) < 0))
            goto end;
    }
    char *to = PyArray_BYTES(*out);
    const npy_intp major_stride = PyArray_STRIDE(*out, rows_are_major ? 0 : 1);
    const npy_intp minor_stride = PyArray_STRIDE(*out, rows_are_major ? 1 : 0);
    NPY_BEGIN_THREADS_DEF;
    if (x.nnz + shape[0] * shape[1] > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    if (z == NULL)
        memset(to, 0, (size_t)(shape[0] * shape[1]) * sizeof(ELEMENT));
    for (npy_intp major = 0; major < x.n_major; major++)
        for (npy_intp p = NAME(first)(&x, major), stop = NAME(last)(&x, major); p < stop; p++)
            *(ELEMENT *)(to + major * major_stride + NAME(minor_index)(x.indices, p, x.n_minor) * minor_stride) +=
                x.data[p];
    NPY_END_THREADS;
    found = 0;
end:
    NAME(close)(&x);
    return found;
}

/* Sums along the minor axis (by_major), or along the major axis. */
static int NAME(sums)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp n_minor,
                      int by_major, PyArrayObject **out) {
    NAME(Compressed) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, n_minor) == 0) {
        npy_intp length = by_major ? x.n_major : x.n_minor;
        *out = NAME(obtain)(*out, PyArray_TYPE(data), 1, &length);
        if (*out != NULL) {
            ELEMENT *to = (ELEMENT *)PyArray_DATA(*out);
            NPY_BEGIN_THREADS_DEF;
            if (x.nnz + length > NAME(WORK_FOR_GIL))
                NPY_BEGIN_THREADS;
            if (by_major) {
                for (npy_intp major = 0; major < x.n_major; major++) {
                    double sum = 0;
                    for (npy_intp p = NAME(first)(&x, major), stop = NAME(last)(&x, major); p < stop; p++)
                        sum += x.data[p];
                    to[major] = (ELEMENT)sum;
                }
            } else {
                memset(to, 0, (size_t)length * sizeof(ELEMENT));
                for (npy_intp p = x.begin; p < x.end; p++)
                    to[NAME(minor_index)(x.indices, p, x.n_minor)] += x.data[p];
            }
            NPY_END_THREADS;
            found = 0;
        }
    }
    NAME(close)(&x);
    return found;
}
