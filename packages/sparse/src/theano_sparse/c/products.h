/* Products of a sparse matrix, given by its lines (lines.h), with dense rows that lie in one piece each. */

typedef ELEMENT NAME(lanes) __attribute__((vector_size(32), aligned(sizeof(ELEMENT)), may_alias));
enum { NAME(LANES) = 32 / sizeof(ELEMENT) };

typedef struct {
    const char *y;       /* rows of the dense factor */
    npy_intp step;       /* bytes between them */
    npy_intp columns;
    ELEMENT alpha;
} NAME(Factor);

/* `n` vectors of a row from column k on: to = from + alpha * the sum of the factor's rows. n is a constant, so that the
 * sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(block)(const int n, npy_intp k, npy_intp stored,
                                                              const ELEMENT *data, const npy_int32 *indices,
                                                              const NAME(Factor) *factor, const ELEMENT *from,
                                                              ELEMENT *to)
{
    NAME(lanes) sums[8];
    for (int j = 0; j < n; j++)
        sums[j] = (NAME(lanes)){0};
    const char *y = factor->y + k * (npy_intp)sizeof(ELEMENT);
    for (npy_intp p = 0; p < stored; p++) {
        const ELEMENT scale = data[p];
        const NAME(lanes) *row = (const NAME(lanes) *)(y + indices[p] * factor->step);
        for (int j = 0; j < n; j++)
            sums[j] += scale * row[j];
    }
    NAME(lanes) *out = (NAME(lanes) *)(to + k);
    const NAME(lanes) *in = (const NAME(lanes) *)(from + k);
    for (int j = 0; j < n; j++)
        out[j] = from == NULL ? factor->alpha * sums[j] : in[j] + factor->alpha * sums[j];
}

/* One row of the product; `from` may be NULL for zeros, or `to` itself. */
static void NAME(row)(npy_intp stored, const ELEMENT *data, const npy_int32 *indices, const NAME(Factor) *factor,
                      const ELEMENT *from, ELEMENT *to)
{
    npy_intp k = 0;
    for (; k + 8 * NAME(LANES) <= factor->columns; k += 8 * NAME(LANES))
        NAME(block)(8, k, stored, data, indices, factor, from, to);
    if (k + 4 * NAME(LANES) <= factor->columns) {
        NAME(block)(4, k, stored, data, indices, factor, from, to);
        k += 4 * NAME(LANES);
    }
    for (; k + NAME(LANES) <= factor->columns; k += NAME(LANES))
        NAME(block)(1, k, stored, data, indices, factor, from, to);
    for (; k < factor->columns; k++) {
        ELEMENT sum = 0;
        for (npy_intp p = 0; p < stored; p++)
            sum += data[p] * ((const ELEMENT *)(factor->y + indices[p] * factor->step))[k];
        to[k] = from == NULL ? factor->alpha * sum : from[k] + factor->alpha * sum;
    }
}

/* z = from + alpha x y for an x whose lines are the rows of z; rows of `from` are `from_step` bytes apart. */
static void NAME(by_rows)(const NAME(Lines) *x, const NAME(Factor) *factor, const char *from, npy_intp from_step,
                          ELEMENT *z)
{
    for (npy_intp line = 0; line < x->lines; line++) {
        const npy_intp start = x->indptr[line], stored = x->indptr[line + 1] - start;
        const ELEMENT *before = from == NULL ? NULL : (const ELEMENT *)(from + line * from_step);
        ELEMENT *to = z + line * factor->columns;
        if (stored == 0 && before == to)
            continue;
        NAME(row)(stored, x->data + start, x->indices + start, factor, before, to);
    }
}

/* z += alpha x y for an x whose lines are the rows of y. */
static void NAME(by_columns)(const NAME(Lines) *x, const NAME(Factor) *factor, ELEMENT *z)
{
    for (npy_intp line = 0; line < x->lines; line++) {
        const ELEMENT *restrict row = (const ELEMENT *)(factor->y + line * factor->step);
        for (npy_intp p = x->indptr[line]; p < x->indptr[line + 1]; p++) {
            const ELEMENT scale = factor->alpha * x->data[p];
            ELEMENT *restrict to = z + x->indices[p] * factor->columns;
            for (npy_intp k = 0; k < factor->columns; k++)
                to[k] += scale * row[k];
        }
    }
}

/* z = from + alpha x y; `rows_are_lines` tells csr from csc. -1 where there is no memory. Needs no GIL.
 *
 * Rows of z are summed one after the other, in registers. A csc matrix is turned for that, which costs less than
 * reading and writing rows of z anywhere, unless they are short. */
static int NAME(product)(const NAME(Lines) *x, int rows_are_lines, const NAME(Factor) *factor, const char *from,
                         npy_intp from_step, ELEMENT *z)
{
    if (rows_are_lines) {
        NAME(by_rows)(x, factor, from, from_step, z);
        return 0;
    }
    const size_t length = (size_t)factor->columns * sizeof(ELEMENT);
    if (factor->columns < NAME(LANES)) {
        if (from == NULL)
            memset(z, 0, (size_t)x->other * length);
        else if (from != (const char *)z)
            for (npy_intp row = 0; row < x->other; row++)
                memcpy((char *)z + row * length, from + row * from_step, length);
        NAME(by_columns)(x, factor, z);
        return 0;
    }
    NAME(Lines) turned;
    const int found = NAME(turned)(x, &turned);
    if (found == 0)
        NAME(by_rows)(&turned, factor, from, from_step, z);
    NAME(discard)(&turned);
    return found;
}

/* Return an array with rows in one piece each: the array itself, or a copy. */
static PyArrayObject *NAME(with_rows)(PyArrayObject *array)
{
    if (PyArray_ISALIGNED(array) && (PyArray_STRIDE(array, 1) == sizeof(ELEMENT) || PyArray_DIM(array, 1) <= 1)) {
        Py_INCREF(array);
        return array;
    }
    return (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
}

/* Return 0 if a product of a sparse matrix of this shape and y fits (into z, if that is not NULL), else -1 with an
 * error. */
static int NAME(fits)(npy_intp rows, npy_intp inner, PyArrayObject *y, PyArrayObject *z)
{
    if (PyArray_DIM(y, 0) != inner) {
        PyErr_Format(PyExc_ValueError,
                     "%lld columns of the sparse matrix meet %lld rows\n  To mend: transpose one of the two",
                     (long long)inner, (long long)PyArray_DIM(y, 0));
        return -1;
    }
    if (z != NULL && (PyArray_DIM(z, 0) != rows || PyArray_DIM(z, 1) != PyArray_DIM(y, 1))) {
        PyErr_Format(PyExc_ValueError,
                     "a product of shape (%lld, %lld) is added to (%lld, %lld)\n  To mend: mend the shape of z",
                     (long long)rows, (long long)PyArray_DIM(y, 1), (long long)PyArray_DIM(z, 0),
                     (long long)PyArray_DIM(z, 1));
        return -1;
    }
    return 0;
}
