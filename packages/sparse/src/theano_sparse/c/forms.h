/* Other forms of a sparse matrix, given by its lines (lines.h): turned round, dense, its sums, its places. */

/* The same matrix with its places as lines. */
static int NAME(other_lines)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp other,
                             PyArrayObject **out_data, PyArrayObject **out_indices, PyArrayObject **out_indptr)
{
    NAME(Lines) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, other) == 0) {
        npy_intp stored = x.end - x.begin, starts = other + 1;
        *out_data = NAME(room)(*out_data, PyArray_TYPE(data), 1, &stored);
        *out_indices = NAME(room)(*out_indices, NPY_INT32, 1, &stored);
        *out_indptr = NAME(room)(*out_indptr, NPY_INT32, 1, &starts);
        if (*out_data != NULL && *out_indices != NULL && *out_indptr != NULL) {
            NPY_BEGIN_THREADS_DEF;
            if (stored + other > NAME(WORK_FOR_GIL))
                NPY_BEGIN_THREADS;
            memset(PyArray_DATA(*out_indices), 0, (size_t)stored * sizeof(npy_int32)); /* others read it unchecked */
            NAME(turn)(&x, (ELEMENT *)PyArray_DATA(*out_data), (npy_int32 *)PyArray_DATA(*out_indices),
                       (npy_int32 *)PyArray_DATA(*out_indptr));
            NPY_END_THREADS;
            found = 0;
        }
    }
    NAME(close)(&x);
    return found;
}

/* *out = z + x, where z may be NULL for zeros, and `inplace` says that its memory may be used. Elements that are stored
 * for one place add up. */
static int NAME(dense)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp other,
                       int rows_are_lines, PyArrayObject *z, int inplace, PyArrayObject **out)
{
    NAME(Lines) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, other) < 0)
        goto end;
    npy_intp shape[2] = {rows_are_lines ? x.lines : x.other, rows_are_lines ? x.other : x.lines};
    if (z != NULL && (PyArray_DIM(z, 0) != shape[0] || PyArray_DIM(z, 1) != shape[1])) {
        PyErr_Format(PyExc_ValueError,
                     "AddSD: the shapes (%lld, %lld) and (%lld, %lld) differ\n"
                     "  To mend: sparse matrices do not broadcast",
                     (long long)shape[0], (long long)shape[1], (long long)PyArray_DIM(z, 0),
                     (long long)PyArray_DIM(z, 1));
        goto end;
    }
    if (inplace) {
        Py_INCREF(z);
        Py_XDECREF(*out);
        *out = z;
    } else {
        *out = NAME(room)(*out, PyArray_TYPE(data), 2, shape);
        if (*out == NULL || (z != NULL && PyArray_CopyInto(*out, z) < 0))
            goto end;
    }
    char *to = PyArray_BYTES(*out);
    const npy_intp for_line = PyArray_STRIDE(*out, rows_are_lines ? 0 : 1);
    const npy_intp for_place = PyArray_STRIDE(*out, rows_are_lines ? 1 : 0);
    NPY_BEGIN_THREADS_DEF;
    if (x.stored + shape[0] * shape[1] > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    if (z == NULL)
        memset(to, 0, (size_t)(shape[0] * shape[1]) * sizeof(ELEMENT));
    for (npy_intp line = 0; line < x.lines; line++)
        for (npy_intp p = NAME(first)(&x, line), stop = NAME(last)(&x, line); p < stop; p++)
            *(ELEMENT *)(to + line * for_line + NAME(place)(x.indices, p, x.other) * for_place) += x.data[p];
    NPY_END_THREADS;
    found = 0;
end:
    NAME(close)(&x);
    return found;
}

/* The sum of each line, or of each place over all lines. */
static int NAME(sums)(PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr, npy_intp other,
                      int of_lines, PyArrayObject **out)
{
    NAME(Lines) x;
    int found = -1;
    if (NAME(open)(&x, data, indices, indptr, other) == 0) {
        npy_intp length = of_lines ? x.lines : x.other;
        *out = NAME(room)(*out, PyArray_TYPE(data), 1, &length);
        if (*out != NULL) {
            ELEMENT *to = (ELEMENT *)PyArray_DATA(*out);
            NPY_BEGIN_THREADS_DEF;
            if (x.stored + length > NAME(WORK_FOR_GIL))
                NPY_BEGIN_THREADS;
            if (of_lines) {
                for (npy_intp line = 0; line < x.lines; line++) {
                    double sum = 0;
                    for (npy_intp p = NAME(first)(&x, line), stop = NAME(last)(&x, line); p < stop; p++)
                        sum += x.data[p];
                    to[line] = (ELEMENT)sum;
                }
            } else {
                memset(to, 0, (size_t)length * sizeof(ELEMENT));
                for (npy_intp p = x.begin; p < x.end; p++)
                    to[NAME(place)(x.indices, p, x.other)] += x.data[p];
            }
            NPY_END_THREADS;
            found = 0;
        }
    }
    NAME(close)(&x);
    return found;
}
