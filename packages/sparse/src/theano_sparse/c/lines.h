/* The arrays of a sparse matrix, line by line: rows of csr, columns of csc.
 *
 * Around this text stand `ELEMENT`, the C type of what is stored, and `NAME(f)`, which makes names the node's own. What
 * the arrays hold comes from anywhere, so it is looked at before anything is read through it. Another thread may write
 * into the arrays meanwhile: what was right may be wrong when it is read again. So each position and each start is read
 * once where it is used, by `place`, `first` and `last`, which give no number outside what was found at the beginning.
 * What comes out is then of no use, but no memory of others is touched. */

/* Work, in elements that are read, above which other threads may run meanwhile. */
enum { NAME(WORK_FOR_GIL) = 20000 };

typedef struct {
    npy_intp lines, other, stored; /* lines, places in a line, elements in all */
    npy_intp begin, end;           /* the elements that lie in lines, when it was looked at */
    const ELEMENT *data;
    const npy_int32 *indices, *indptr;
    PyArrayObject *held[3]; /* what the pointers point into */
} NAME(Lines);

/* Element p's place in its line: below x->other, where there is an element at all. */
static inline __attribute__((always_inline)) npy_intp NAME(place)(const npy_int32 *indices, npy_intp p, npy_intp other)
{
    const npy_uint32 index = (npy_uint32)__atomic_load_n(indices + p, __ATOMIC_RELAXED);
    return index < (npy_uint64)other ? (npy_intp)index : 0;
}

/* Where a line starts; where it ends is where the next one starts. */
static inline npy_intp NAME(first)(const NAME(Lines) *x, npy_intp line)
{
    const npy_intp start = __atomic_load_n(x->indptr + line, __ATOMIC_RELAXED);
    return start < x->begin ? x->begin : start > x->end ? x->end : start;
}

static inline npy_intp NAME(last)(const NAME(Lines) *x, npy_intp line)
{
    return NAME(first)(x, line + 1);
}

static void NAME(close)(NAME(Lines) *x)
{
    for (int k = 0; k < 3; k++)
        Py_CLEAR(x->held[k]);
}

static const char *NAME(fault)(NAME(Lines) *x)
{
    if (x->lines < 0)
        return "the starts of its lines lie outside its elements";
    x->begin = __atomic_load_n(x->indptr, __ATOMIC_RELAXED);
    x->end = __atomic_load_n(x->indptr + x->lines, __ATOMIC_RELAXED);
    if (x->begin < 0 || x->end > x->stored)
        return "the starts of its lines lie outside its elements";
    int falls = x->end < x->begin;
    for (npy_intp line = 0; line < x->lines; line++)
        falls |= x->indptr[line + 1] < x->indptr[line];
    if (falls)
        return "the starts of its lines do not grow";
    npy_uint32 last = 0;
    for (npy_intp p = x->begin; p < x->end; p++) {
        const npy_uint32 index = (npy_uint32)x->indices[p];
        last = index > last ? index : last;
    }
    if (x->end > x->begin && last >= (npy_uint64)x->other)
        return "a position lies outside the matrix";
    return NULL;
}

/* Look at three arrays as at the lines of a matrix; -1 with an error where they are none. `close` in any case. */
static int NAME(open)(NAME(Lines) *x, PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr,
                      npy_intp other)
{
    PyArrayObject *const given[3] = {data, indices, indptr};
    memset(x, 0, sizeof *x);
    for (int k = 0; k < 3; k++) {
        x->held[k] = (PyArrayObject *)PyArray_GETCONTIGUOUS(given[k]);
        if (x->held[k] == NULL)
            return -1;
    }
    x->data = (const ELEMENT *)PyArray_DATA(x->held[0]);
    x->indices = (const npy_int32 *)PyArray_DATA(x->held[1]);
    x->indptr = (const npy_int32 *)PyArray_DATA(x->held[2]);
    x->lines = PyArray_DIM(indptr, 0) - 1;
    x->other = other;
    x->stored = PyArray_DIM(data, 0);
    const char *fault =
        PyArray_DIM(indices, 0) == x->stored ? NAME(fault)(x) : "it has not as many positions as elements";
    if (fault == NULL)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "the arrays do not make a sparse matrix: %s\n"
                 "  To mend: take them from csm_properties(x) of one matrix",
                 fault);
    return -1;
}

/* Write the same matrix with its places as lines: a csr matrix from a csc one, or the reverse. `indptr` has other + 1
 * entries. The positions in each new line grow; elements of one place stay in their order. Where the arrays change
 * meanwhile, some of it is not written. Needs no GIL. */
static void NAME(turn)(const NAME(Lines) *x, ELEMENT *data, npy_int32 *indices, npy_int32 *indptr)
{
    const npy_int32 *from = x->indices;
    const ELEMENT *values = x->data;
    const npy_intp other = x->other;
    const npy_int32 room = (npy_int32)(x->end - x->begin);
    memset(indptr, 0, (size_t)(other + 1) * sizeof *indptr);
    for (npy_intp p = x->begin; p < x->end; p++)
        indptr[NAME(place)(from, p, other)]++;
    npy_int32 start = 0;
    for (npy_intp line = 0; line <= other; line++) {
        const npy_int32 here = indptr[line];
        indptr[line] = start;
        start += here;
    }
    for (npy_intp line = 0; line < x->lines; line++)
        for (npy_intp p = NAME(first)(x, line), stop = NAME(last)(x, line); p < stop; p++) {
            npy_int32 *next = indptr + NAME(place)(from, p, other);
            const npy_int32 to = *next;
            if (to >= room)
                continue;
            *next = to + 1;
            indices[to] = (npy_int32)line;
            data[to] = values[p];
        }
    /* Each start has become the start of the next line. */
    start = 0;
    for (npy_intp line = 0; line < other; line++) {
        const npy_int32 stop = indptr[line];
        indptr[line] = start;
        start = stop > start ? stop : start;
    }
    indptr[other] = room;
}

/* Turn a matrix in memory of its own: -1 where there is none, and no error is set. `discard` frees it. No GIL.
 *
 * The memory is one piece: allocators give several large ones back to the system, and then each call takes fresh pages. */
static int NAME(turned)(const NAME(Lines) *x, NAME(Lines) *to)
{
    const size_t stored = (size_t)(x->end - x->begin);
    const size_t positions = stored + (size_t)x->other + 1;
    char *memory = (char *)malloc(stored * sizeof(ELEMENT) + positions * sizeof(npy_int32));
    memset(to, 0, sizeof *to);
    if (memory == NULL)
        return -1;
    ELEMENT *data = (ELEMENT *)memory;
    npy_int32 *indices = (npy_int32 *)(memory + stored * sizeof(ELEMENT)), *indptr = indices + stored;
    to->lines = x->other;
    to->other = x->lines;
    to->stored = to->end = (npy_intp)stored;
    to->data = data;
    to->indices = indices;
    to->indptr = indptr;
    NAME(turn)(x, data, indices, indptr);
    return 0;
}

static void NAME(discard)(NAME(Lines) *x)
{
    free((void *)x->data);
}

/* Return an array of the type and lengths that are wanted: the one of the last call if it fits, or a new one. */
static PyArrayObject *NAME(room)(PyArrayObject *last, int type, int ndim, npy_intp *shape)
{
    int fits = last != NULL && PyArray_TYPE(last) == type && PyArray_NDIM(last) == ndim &&
               PyArray_IS_C_CONTIGUOUS(last) && PyArray_ISWRITEABLE(last);
    for (int k = 0; fits && k < ndim; k++)
        fits = PyArray_DIM(last, k) == shape[k];
    if (fits)
        return last;
    Py_XDECREF(last);
    return (PyArrayObject *)PyArray_EMPTY(ndim, shape, type, 0);
}
