/* The sum of two sparse matrices, given by their lines (lines.h). Zeros of the sum are not stored. */

typedef struct {
    ELEMENT *sums;     /* of each place */
    npy_int32 *places; /* met in this line, in the order of their first elements */
    char *met;
} NAME(Tally);

/* Add a line whose positions are in any order, or occur several times. Return how many elements the sum has. */
static npy_intp NAME(tally_line)(NAME(Tally) *tally, const NAME(Lines) *const *terms, npy_intp line, ELEMENT *data,
                                 npy_int32 *indices)
{
    npy_intp places = 0, stored = 0;
    for (int k = 0; k < 2; k++)
        for (npy_intp p = terms[k]->indptr[line]; p < terms[k]->indptr[line + 1]; p++) {
            const npy_int32 place = terms[k]->indices[p];
            if (!tally->met[place]) {
                tally->met[place] = 1;
                tally->sums[place] = 0;
                tally->places[places++] = place;
            }
            tally->sums[place] += terms[k]->data[p];
        }
    for (npy_intp k = 0; k < places; k++) {
        const npy_int32 place = tally->places[k];
        tally->met[place] = 0;
        indices[stored] = place;
        data[stored] = tally->sums[place];
        stored += tally->sums[place] != 0;
    }
    return stored;
}

/* Add a line whose positions grow. Return how many elements the sum has, or -1 if they do not grow. */
static npy_intp NAME(merge_line)(const NAME(Lines) *a, const NAME(Lines) *b, npy_intp line, ELEMENT *data,
                                 npy_int32 *indices)
{
    const npy_int32 *i = a->indices, *j = b->indices;
    npy_intp p = a->indptr[line], q = b->indptr[line], stored = 0;
    const npy_intp end_p = a->indptr[line + 1], end_q = b->indptr[line + 1];
    int falls = 0;
    for (npy_intp k = p + 1; k < end_p; k++)
        falls |= i[k] <= i[k - 1];
    for (npy_intp k = q + 1; k < end_q; k++)
        falls |= j[k] <= j[k - 1];
    if (falls)
        return -1;
    while (p < end_p && q < end_q) {
        /* Without branches: which of the two comes next cannot be foretold. */
        const int first = i[p] <= j[q], second = j[q] <= i[p];
        const ELEMENT sum = (first ? a->data[p] : 0) + (second ? b->data[q] : 0);
        indices[stored] = first ? i[p] : j[q];
        data[stored] = sum;
        stored += sum != 0;
        p += first;
        q += second;
    }
    for (; p < end_p; p++) {
        indices[stored] = i[p];
        data[stored] = a->data[p];
        stored += a->data[p] != 0;
    }
    for (; q < end_q; q++) {
        indices[stored] = j[q];
        data[stored] = b->data[q];
        stored += b->data[q] != 0;
    }
    return stored;
}

/* Add all lines; return the number of elements, or -1 where there is no memory. Needs no GIL. */
static npy_intp NAME(add_lines)(const NAME(Lines) *a, const NAME(Lines) *b, ELEMENT *data, npy_int32 *indices,
                                npy_int32 *indptr)
{
    NAME(Tally) tally = {NULL, NULL, NULL};
    const NAME(Lines) *const terms[2] = {a, b};
    npy_intp stored = 0;
    indptr[0] = 0;
    for (npy_intp line = 0; line < a->lines; line++) {
        npy_intp more = NAME(merge_line)(a, b, line, data + stored, indices + stored);
        if (more < 0 && tally.met == NULL) {
            tally.sums = (ELEMENT *)malloc((size_t)a->other * sizeof(ELEMENT));
            tally.places = (npy_int32 *)malloc((size_t)a->other * sizeof(npy_int32));
            tally.met = (char *)calloc((size_t)a->other, 1);
            if (tally.sums == NULL || tally.places == NULL || tally.met == NULL) {
                stored = -1;
                break;
            }
        }
        if (more < 0)
            more = NAME(tally_line)(&tally, terms, line, data + stored, indices + stored);
        stored += more;
        indptr[line + 1] = (npy_int32)stored;
    }
    free(tally.sums);
    free(tally.places);
    free(tally.met);
    return stored;
}

/* Cut a vector down to its first elements, in its own memory. */
static int NAME(shorten)(PyArrayObject *vector, npy_intp length)
{
    PyArray_Dims shape = {&length, 1};
    PyObject *done = PyArray_Resize(vector, &shape, 0, NPY_CORDER);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* The arrays of x + y. */
static int NAME(sum)(NAME(Lines) *x, NAME(Lines) *y, PyArrayObject **data, PyArrayObject **indices,
                     PyArrayObject **indptr)
{
    if (x->lines != y->lines || x->other != y->other) {
        PyErr_Format(PyExc_ValueError,
                     "AddSS: %lld lines of %lld and %lld lines of %lld: the shapes differ\n"
                     "  To mend: sparse matrices do not broadcast",
                     (long long)x->lines, (long long)x->other, (long long)y->lines, (long long)y->other);
        return -1;
    }
    npy_intp most = x->stored + y->stored, starts = x->lines + 1;
    if (most > NPY_MAX_INT32) {
        PyErr_SetString(PyExc_ValueError, "AddSS: the sum may have more elements than int32 can count\n"
                                          "  To mend: add parts of the matrices");
        return -1;
    }
    Py_CLEAR(*data);
    Py_CLEAR(*indices);
    *data = (PyArrayObject *)PyArray_EMPTY(1, &most, PyArray_TYPE(x->held[0]), 0);
    *indices = (PyArrayObject *)PyArray_EMPTY(1, &most, NPY_INT32, 0);
    *indptr = NAME(room)(*indptr, NPY_INT32, 1, &starts);
    if (*data == NULL || *indices == NULL || *indptr == NULL)
        return -1;
    NPY_BEGIN_THREADS_DEF;
    if (most > NAME(WORK_FOR_GIL))
        NPY_BEGIN_THREADS;
    const npy_intp stored =
        NAME(add_lines)(x, y, (ELEMENT *)PyArray_DATA(*data), (npy_int32 *)PyArray_DATA(*indices),
                        (npy_int32 *)PyArray_DATA(*indptr));
    NPY_END_THREADS;
    if (stored < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return NAME(shorten)(*data, stored) < 0 || NAME(shorten)(*indices, stored) < 0 ? -1 : 0;
}
