/* Products of a compressed sparse matrix (compressed.h) with dense rows that are contiguous. */

typedef ELEMENT NAME(lanes) __attribute__((vector_size(32), aligned(sizeof(ELEMENT)), may_alias));
enum { NAME(LANES) = 32 / sizeof(ELEMENT) };

typedef struct {
    const char *y; /* rows of the dense factor */
    npy_intp step; /* bytes between them */
    npy_intp columns;
    ELEMENT alpha;
} NAME(Factor);

/* Rows of the factor that are asked for before they are needed. */
enum { NAME(AHEAD) = 8 };

/* What is stored in one row of the sparse factor; `known` positions can be read from `indices` on. */
typedef struct {
    npy_intp nnz, known, n_minor;
    const ELEMENT *data;
    const npy_int32 *indices;
} NAME(Slice);

/* `n` vectors of a row from column k on: to = from + alpha * the sum of the factor's rows. The last vector begins at
 * column `last`, so that it may overlap the one before it: what that has written is left alone. n is a constant, so
 * that the sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(block)(const int n, npy_intp k, npy_intp last,
                                                              const NAME(Slice) * x, const NAME(Factor) * factor,
                                                              const ELEMENT *from, ELEMENT *to) {
    NAME(lanes) sums[8];
    for (int j = 0; j < n; j++)
        sums[j] = (NAME(lanes)){0};
    const char *y = factor->y + k * (npy_intp)sizeof(ELEMENT);
    const npy_intp back = (last - k) * (npy_intp)sizeof(ELEMENT);
    for (npy_intp p = 0; p < x->nnz; p++) {
        const ELEMENT scale = x->data[p];
        const char *row = y + NAME(minor_index)(x->indices, p, x->n_minor) * factor->step;
        if (p + NAME(AHEAD) < x->known) {
            const char *next = y + x->indices[p + NAME(AHEAD)] * factor->step; /* any address can be asked for */
            __builtin_prefetch(next);
            if (n > 2)
                __builtin_prefetch(next + 64);
        }
        for (int j = 0; j < n - 1; j++)
            sums[j] += scale * ((const NAME(lanes) *)row)[j];
        sums[n - 1] += scale * *(const NAME(lanes) *)(row + back);
    }
    NAME(lanes) *out = (NAME(lanes) *)(to + k);
    const NAME(lanes) *in = (const NAME(lanes) *)(from + k);
    for (int j = 0; j < n - 1; j++)
        out[j] = from == NULL ? factor->alpha * sums[j] : in[j] + factor->alpha * sums[j];
    for (npy_intp c = k + (n - 1) * NAME(LANES); c < last + NAME(LANES); c++) {
        const ELEMENT sum = factor->alpha * sums[n - 1][c - last];
        to[c] = from == NULL ? sum : from[c] + sum;
    }
}

/* A row of `n` columns, less than a vector. */
static inline __attribute__((always_inline)) void
NAME(few)(const int n, const NAME(Slice) * x, const NAME(Factor) * factor, const ELEMENT *from, ELEMENT *to) {
    ELEMENT sums[8] = {0};
    for (npy_intp p = 0; p < x->nnz; p++) {
        const ELEMENT *row = (const ELEMENT *)(factor->y + NAME(minor_index)(x->indices, p, x->n_minor) * factor->step);
        for (int k = 0; k < n; k++)
            sums[k] += x->data[p] * row[k];
    }
    for (int k = 0; k < n; k++)
        to[k] = from == NULL ? factor->alpha * sums[k] : from[k] + factor->alpha * sums[k];
}

static void NAME(short_row)(const NAME(Slice) * x, const NAME(Factor) * factor, const ELEMENT *from, ELEMENT *to) {
    switch (factor->columns) {
    case 1: NAME(few)(1, x, factor, from, to); break;
    case 2: NAME(few)(2, x, factor, from, to); break;
    case 3: NAME(few)(3, x, factor, from, to); break;
    case 4: NAME(few)(4, x, factor, from, to); break;
    case 5: NAME(few)(5, x, factor, from, to); break;
    case 6: NAME(few)(6, x, factor, from, to); break;
    case 7: NAME(few)(7, x, factor, from, to); break;
    }
}

/* One row of the product; `from` may be NULL for zeros, or `to` itself. */
static void NAME(row)(const NAME(Slice) * x, const NAME(Factor) * factor, const ELEMENT *from, ELEMENT *to) {
    if (factor->columns < NAME(LANES)) {
        NAME(short_row)(x, factor, from, to);
        return;
    }
    npy_intp k = 0;
    const npy_intp last = factor->columns - NAME(LANES);
    for (; k + 8 * NAME(LANES) <= factor->columns; k += 8 * NAME(LANES))
        NAME(block)(8, k, k + 7 * NAME(LANES), x, factor, from, to);
    switch ((factor->columns - k + NAME(LANES) - 1) / NAME(LANES)) {
    case 1: NAME(block)(1, k, last, x, factor, from, to); break;
    case 2: NAME(block)(2, k, last, x, factor, from, to); break;
    case 3: NAME(block)(3, k, last, x, factor, from, to); break;
    case 4: NAME(block)(4, k, last, x, factor, from, to); break;
    case 5: NAME(block)(5, k, last, x, factor, from, to); break;
    case 6: NAME(block)(6, k, last, x, factor, from, to); break;
    case 7: NAME(block)(7, k, last, x, factor, from, to); break;
    case 8: NAME(block)(8, k, last, x, factor, from, to); break;
    }
}

/* What x stores at index `major` of its major axis. */
static NAME(Slice) NAME(major_slice)(const NAME(Compressed) * x, npy_intp major) {
    const npy_intp start = NAME(first)(x, major);
    const NAME(Slice)
        found = {NAME(last)(x, major) - start, x->end - start, x->n_minor, x->data + start, x->indices + start};
    return found;
}

/* z = from + alpha x y for an x in csr; rows of `from` are `from_step` bytes apart. */
static void NAME(by_rows)(const NAME(Compressed) * x, const NAME(Factor) * factor, const char *from, npy_intp from_step,
                          ELEMENT *z) {
    for (npy_intp major = 0; major < x->n_major; major++) {
        const NAME(Slice) slice = NAME(major_slice)(x, major);
        const ELEMENT *before = from == NULL ? NULL : (const ELEMENT *)(from + major * from_step);
        ELEMENT *to = z + major * factor->columns;
        if (slice.nnz > 0 || before != to)
            NAME(row)(&slice, factor, before, to);
    }
}

/* z += alpha x y for an x whose major indices are the rows of y, and `n` columns: a constant where there are few. */
static inline __attribute__((always_inline)) void NAME(scatter)(const npy_intp n, const NAME(Compressed) * x,
                                                                const NAME(Factor) * factor, ELEMENT *z) {
    for (npy_intp major = 0; major < x->n_major; major++) {
        const ELEMENT *restrict row = (const ELEMENT *)(factor->y + major * factor->step);
        for (npy_intp p = NAME(first)(x, major), stop = NAME(last)(x, major); p < stop; p++) {
            const ELEMENT scale = factor->alpha * x->data[p];
            ELEMENT *restrict to = z + NAME(minor_index)(x->indices, p, x->n_minor) * n;
            npy_intp k = 0;
            for (; k + NAME(LANES) <= n; k += NAME(LANES))
                *(NAME(lanes) *)(to + k) += scale * *(const NAME(lanes) *)(row + k);
            for (; k < n; k++)
                to[k] += scale * row[k];
        }
    }
}

static void NAME(by_columns)(const NAME(Compressed) * x, const NAME(Factor) * factor, ELEMENT *z) {
    switch (factor->columns) {
    case 1: NAME(scatter)(1, x, factor, z); break;
    case 2: NAME(scatter)(2, x, factor, z); break;
    case 3: NAME(scatter)(3, x, factor, z); break;
    case 4: NAME(scatter)(4, x, factor, z); break;
    case 8: NAME(scatter)(8, x, factor, z); break;
    case 10: NAME(scatter)(10, x, factor, z); break;
    case 16: NAME(scatter)(16, x, factor, z); break;
    default: NAME(scatter)(factor->columns, x, factor, z); break;
    }
}

/* Bytes of a row of the result up to which it is read and written anywhere. */
enum { NAME(SHORT) = 160 };

/* z = from + alpha x y; `rows_are_major` tells csr from csc. -1 where there is no memory. Needs no GIL.
 *
 * Rows of z are summed one after the other, in registers. A csc matrix is converted to csr for that, which costs less
 * than reading and writing long rows of z anywhere. */
static int NAME(product)(const NAME(Compressed) * x, int rows_are_major, const NAME(Factor) * factor, const char *from,
                         npy_intp from_step, ELEMENT *z) {
    if (rows_are_major) {
        NAME(by_rows)(x, factor, from, from_step, z);
        return 0;
    }
    const size_t length = (size_t)factor->columns * sizeof(ELEMENT);
    if (length <= NAME(SHORT)) {
        if (from == NULL)
            memset(z, 0, (size_t)x->n_minor * length);
        else if (from != (const char *)z)
            for (npy_intp row = 0; row < x->n_minor; row++)
                memcpy((char *)z + row * length, from + row * from_step, length);
        NAME(by_columns)(x, factor, z);
        return 0;
    }
    NAME(Compressed) transposed;
    const int found = NAME(transposed)(x, &transposed);
    if (found == 0)
        NAME(by_rows)(&transposed, factor, from, from_step, z);
    NAME(discard)(&transposed);
    return found;
}

/* Return an array with rows in one piece each: the array itself, or a copy. */
static PyArrayObject *NAME(with_rows)(PyArrayObject *array) {
    if (PyArray_ISALIGNED(array) && (PyArray_STRIDE(array, 1) == sizeof(ELEMENT) || PyArray_DIM(array, 1) <= 1)) {
        Py_INCREF(array);
        return array;
    }
    return (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
}

/* Return 0 if a product of a sparse matrix of this shape and y fits (into z, if that is not NULL), else -1 with an
 * error. */
static int NAME(fits)(npy_intp rows, npy_intp inner, PyArrayObject *y, PyArrayObject *z) {
    if (PyArray_DIM(y, 0) != inner) {
        PyErr_Format(PyExc_ValueError,
                     "%lld columns of the sparse matrix meet %lld rows\n  Hint: transpose one of the two",
                     (long long)inner, (long long)PyArray_DIM(y, 0));
        return -1;
    }
    if (z != NULL && (PyArray_DIM(z, 0) != rows || PyArray_DIM(z, 1) != PyArray_DIM(y, 1))) {
        PyErr_Format(PyExc_ValueError,
                     "a product of shape (%lld, %lld) is added to (%lld, %lld)\n  Hint: correct the shape of z",
                     (long long)rows, (long long)PyArray_DIM(y, 1), (long long)PyArray_DIM(z, 0),
                     (long long)PyArray_DIM(z, 1));
        return -1;
    }
    return 0;
}
