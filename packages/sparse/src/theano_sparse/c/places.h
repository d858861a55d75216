/* The line of each stored element of a sparse matrix, from where its lines start. */

static int NAME(line_numbers)(PyArrayObject *indptr, npy_intp stored, PyArrayObject **out)
{
    const npy_intp lines = PyArray_DIM(indptr, 0) - 1, step = PyArray_STRIDE(indptr, 0);
    const char *start = PyArray_BYTES(indptr);
    npy_intp last = lines < 0 ? -1 : *(const npy_int32 *)start;
    int fits = last == 0 && *(const npy_int32 *)(start + lines * step) == stored;
    for (npy_intp line = 0; fits && line < lines; line++) {
        const npy_intp next = *(const npy_int32 *)(start + (line + 1) * step);
        fits = next >= last;
        last = next;
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not make a sparse matrix: its lines do not hold its elements\n"
                                          "  To mend: take them from csm_properties(x) of one matrix");
        return -1;
    }
    if (*out == NULL || PyArray_DIM(*out, 0) != stored || !PyArray_IS_C_CONTIGUOUS(*out)) {
        Py_XDECREF(*out);
        *out = (PyArrayObject *)PyArray_EMPTY(1, &stored, NPY_INT32, 0);
        if (*out == NULL)
            return -1;
    }
    npy_int32 *to = (npy_int32 *)PyArray_DATA(*out);
    npy_intp p = 0;
    for (npy_intp line = 0; line < lines; line++)
        /* Another thread may write there since it was looked at: nothing is written behind the end. */
        for (const npy_intp stop = *(const npy_int32 *)(start + (line + 1) * step); p < stop && p < stored; p++)
            to[p] = (npy_int32)line;
    for (; p < stored; p++)
        to[p] = (npy_int32)(lines - 1);
    return 0;
}
