/* Elements of a vector at the lines, or at the places, of what a sparse matrix stores. */

/* Return how many elements are spread; fewer than `stored` where the vector has none for the next one. */
static npy_intp NAME(spread_lines)(npy_intp stored, npy_intp length, const ELEMENT *from, const npy_int32 *indptr,
                                   npy_intp lines, ELEMENT *to)
{
    npy_intp p = 0;
    for (npy_intp line = 0; line < lines; line++) {
        const npy_intp stop = __atomic_load_n(indptr + line + 1, __ATOMIC_RELAXED);
        if (stop > stored || (p < stop && line >= length))
            return p;
        for (; p < stop; p++)
            to[p] = from[line];
    }
    return p;
}

static npy_intp NAME(spread_places)(npy_intp stored, npy_intp length, const ELEMENT *from, const npy_int32 *indices,
                                    ELEMENT *to)
{
    for (npy_intp p = 0; p < stored; p++) {
        /* Read once: another thread may write there. */
        const npy_uint32 index = (npy_uint32)__atomic_load_n(indices + p, __ATOMIC_RELAXED);
        if (index >= (npy_uint64)length)
            return p;
        to[p] = from[index];
    }
    return stored;
}

static int NAME(spread)(PyArrayObject *vector, PyArrayObject *indices, PyArrayObject *indptr, int of_lines,
                        PyArrayObject **out)
{
    npy_intp stored = PyArray_DIM(indices, 0), found = -1;
    const npy_intp length = PyArray_DIM(vector, 0);
    PyArrayObject *from = (PyArrayObject *)PyArray_GETCONTIGUOUS(vector);
    PyArrayObject *places = (PyArrayObject *)PyArray_GETCONTIGUOUS(of_lines ? indptr : indices);
    if (*out == NULL || PyArray_DIM(*out, 0) != stored || !PyArray_IS_C_CONTIGUOUS(*out)) {
        Py_XDECREF(*out);
        *out = (PyArrayObject *)PyArray_EMPTY(1, &stored, PyArray_TYPE(vector), 0);
    }
    if (from != NULL && places != NULL && *out != NULL) {
        const npy_int32 *numbers = (const npy_int32 *)PyArray_DATA(places);
        const ELEMENT *first = (const ELEMENT *)PyArray_DATA(from);
        ELEMENT *to = (ELEMENT *)PyArray_DATA(*out);
        found = of_lines ? NAME(spread_lines)(stored, length, first, numbers, PyArray_DIM(places, 0) - 1, to)
                         : NAME(spread_places)(stored, length, first, numbers, to);
        if (found < stored)
            PyErr_Format(PyExc_IndexError,
                         "element %lld of a sparse matrix has no element in a vector of %lld\n"
                         "  To mend: pass one element for each line of the matrix",
                         (long long)found, (long long)length);
    }
    Py_XDECREF(from);
    Py_XDECREF(places);
    return found == stored ? 0 : -1;
}
