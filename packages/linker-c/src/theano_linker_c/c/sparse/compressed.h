/* The arrays of a compressed sparse matrix. Its major axis is that of the rows in csr and of the columns in csc, its
 * minor axis the other one.
 *
 * Around this text stand `ELEMENT`, the C type of what is stored, and `NAME(f)`, which makes names those of the type.
 * The arrays come from anywhere, so they are checked before anything is read through them. Another thread may write
 * into the arrays meanwhile: what was right may be wrong when it is read again. So each position and each start is read
 * once where it is used, by `minor_index`, `first` and `last`, which give no number outside what was found at the
 * beginning. What comes out is then of no use, but no memory of others is touched. */

/* Work, in elements that are read, above which other threads may run meanwhile. */
enum { NAME(WORK_FOR_GIL) = 20000 };

typedef struct {
    npy_intp n_major, n_minor, nnz; /* lengths of the two axes, and the number of stored elements */
    npy_intp begin, end;            /* the elements that indptr covers, when it was looked at */
    const ELEMENT *data;
    const npy_int32 *indices, *indptr;
    PyArrayObject *held[3]; /* what the pointers point into */
} NAME(Compressed);

/* The minor index of element p: below n_minor, where there is an element at all. */
static inline __attribute__((always_inline)) npy_intp NAME(minor_index)(const npy_int32 *indices, npy_intp p,
                                                                        npy_intp n_minor) {
    const npy_uint32 index = (npy_uint32)__atomic_load_n(indices + p, __ATOMIC_RELAXED);
    return index < (npy_uint64)n_minor ? (npy_intp)index : 0;
}

/* Where a major slice starts; where it ends is where the next one starts. */
static inline npy_intp NAME(first)(const NAME(Compressed) * x, npy_intp major) {
    const npy_intp start = __atomic_load_n(x->indptr + major, __ATOMIC_RELAXED);
    return start < x->begin ? x->begin : start > x->end ? x->end : start;
}

static inline npy_intp NAME(last)(const NAME(Compressed) * x, npy_intp major) { return NAME(first)(x, major + 1); }

static void NAME(close)(NAME(Compressed) * x) {
    for (int k = 0; k < 3; k++)
        Py_CLEAR(x->held[k]);
}

static const char *NAME(fault)(NAME(Compressed) * x) {
    if (x->n_major < 0)
        return "indptr points outside the stored elements";
    x->begin = __atomic_load_n(x->indptr, __ATOMIC_RELAXED);
    x->end = __atomic_load_n(x->indptr + x->n_major, __ATOMIC_RELAXED);
    if (x->begin < 0 || x->end > x->nnz)
        return "indptr points outside the stored elements";
    int falls = x->end < x->begin;
    for (npy_intp major = 0; major < x->n_major; major++)
        falls |= x->indptr[major + 1] < x->indptr[major];
    if (falls)
        return "indptr decreases";
    npy_uint32 last = 0;
    for (npy_intp p = x->begin; p < x->end; p++) {
        const npy_uint32 index = (npy_uint32)x->indices[p];
        last = index > last ? index : last;
    }
    if (x->end > x->begin && last >= (npy_uint64)x->n_minor)
        return "an index lies outside the matrix";
    return NULL;
}

/* Check three arrays and take them as a compressed matrix; -1 with an error where they make none. Call `close` in any
 * case. */
static int NAME(open)(NAME(Compressed) * x, PyArrayObject *data, PyArrayObject *indices, PyArrayObject *indptr,
                      npy_intp n_minor) {
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
    x->n_major = PyArray_DIM(indptr, 0) - 1;
    x->n_minor = n_minor;
    x->nnz = PyArray_DIM(data, 0);
    const char *fault = PyArray_DIM(indices, 0) == x->nnz ? NAME(fault)(x) : "it has not as many indices as elements";
    if (fault == NULL)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "the arrays do not make a sparse matrix: %s\n"
                 "  Hint: take them from csm_properties(x) of one matrix",
                 fault);
    return -1;
}

/* Write the same matrix compressed along its other axis: a csr matrix from a csc one, or the reverse. `indptr` has
 * n_minor + 1 entries. The indices in each new slice grow; elements of one position stay in their order. Where the
 * arrays change meanwhile, some of it is not written. Needs no GIL. */
static void NAME(transpose)(const NAME(Compressed) * x, ELEMENT *data, npy_int32 *indices, npy_int32 *indptr) {
    const npy_int32 *from = x->indices;
    const ELEMENT *values = x->data;
    const npy_intp n_minor = x->n_minor;
    const npy_int32 nnz = (npy_int32)(x->end - x->begin);
    memset(indptr, 0, (size_t)(n_minor + 1) * sizeof *indptr);
    for (npy_intp p = x->begin; p < x->end; p++)
        indptr[NAME(minor_index)(from, p, n_minor)]++;
    npy_int32 start = 0;
    for (npy_intp major = 0; major <= n_minor; major++) {
        const npy_int32 here = indptr[major];
        indptr[major] = start;
        start += here;
    }
    for (npy_intp major = 0; major < x->n_major; major++)
        for (npy_intp p = NAME(first)(x, major), stop = NAME(last)(x, major); p < stop; p++) {
            npy_int32 *next = indptr + NAME(minor_index)(from, p, n_minor);
            const npy_int32 to = *next;
            if (to >= nnz)
                continue;
            *next = to + 1;
            indices[to] = (npy_int32)major;
            data[to] = values[p];
        }
    /* Each start has become that of the next major slice. */
    start = 0;
    for (npy_intp major = 0; major < n_minor; major++) {
        const npy_int32 stop = indptr[major];
        indptr[major] = start;
        start = stop > start ? stop : start;
    }
    indptr[n_minor] = nnz;
}

/* Transpose into new memory, which `discard` frees; -1 where there is none, and no error is set. Needs no GIL.
 *
 * The memory is one piece: allocators give several large ones back to the system, and then each call gets fresh
 * pages. */
static int NAME(transposed)(const NAME(Compressed) * x, NAME(Compressed) * to) {
    const size_t nnz = (size_t)(x->end - x->begin);
    const size_t positions = nnz + (size_t)x->n_minor + 1;
    char *memory = (char *)malloc(nnz * sizeof(ELEMENT) + positions * sizeof(npy_int32));
    memset(to, 0, sizeof *to);
    if (memory == NULL)
        return -1;
    ELEMENT *data = (ELEMENT *)memory;
    npy_int32 *indices = (npy_int32 *)(memory + nnz * sizeof(ELEMENT)), *indptr = indices + nnz;
    to->n_major = x->n_minor;
    to->n_minor = x->n_major;
    to->nnz = to->end = (npy_intp)nnz;
    to->data = data;
    to->indices = indices;
    to->indptr = indptr;
    NAME(transpose)(x, data, indices, indptr);
    return 0;
}

static void NAME(discard)(NAME(Compressed) * x) { free((void *)x->data); }

/* Return an array of the type and lengths that are wanted: the one of the last call if it fits, or a new one. */
static PyArrayObject *NAME(obtain)(PyArrayObject *last, int type, int ndim, npy_intp *shape) {
    int fits = last != NULL && PyArray_TYPE(last) == type && PyArray_NDIM(last) == ndim &&
               PyArray_IS_C_CONTIGUOUS(last) && PyArray_ISWRITEABLE(last);
    for (int k = 0; fits && k < ndim; k++)
        fits = PyArray_DIM(last, k) == shape[k];
    if (fits)
        return last;
    Py_XDECREF(last);
    return (PyArrayObject *)PyArray_EMPTY(ndim, shape, type, 0);
}
