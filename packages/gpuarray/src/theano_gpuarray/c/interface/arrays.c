/* Arrays: where their elements lie. What computes with elements is in calls.c. */
#include "interface.h"

PyObject *sizes_object(unsigned int nd, const size_t *sizes) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)nd);
    for (unsigned int d = 0; tuple != NULL && d < nd; d++) {
        PyObject *size = PyLong_FromSize_t(sizes[d]);
        if (size == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, d, size);
    }
    return tuple;
}

PyObject *steps_object(unsigned int nd, const ssize_t *steps) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)nd);
    for (unsigned int d = 0; tuple != NULL && d < nd; d++) {
        PyObject *step = PyLong_FromSsize_t((Py_ssize_t)steps[d]);
        if (step == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, d, step);
    }
    return tuple;
}

/* ---- flags */

/* Whether elements lie one behind the other, when dimensions are walked from the last or from the first one. */
static int is_contiguous(const GpuArray *a, int from_last) {
    size_t wanted = gpuarray_get_elsize(a->typecode);
    for (unsigned int d = 0; d < a->nd; d++)
        if (a->dimensions[d] == 0)
            return 1;
    for (unsigned int i = 0; i < a->nd; i++) {
        unsigned int d = from_last ? a->nd - 1 - i : i;
        if (a->dimensions[d] != 1 && a->strides[d] != (ssize_t)wanted)
            return 0;
        wanted *= a->dimensions[d];
    }
    return 1;
}

int GpuArray_is_c_contiguous(const GpuArray *a) { return is_contiguous(a, 1); }

int GpuArray_is_f_contiguous(const GpuArray *a) { return is_contiguous(a, 0); }

int GpuArray_is_aligned(const GpuArray *a) {
    const gpuarray_type *type = gpuarray_get_type(a->typecode);
    ssize_t align = type == NULL ? 1 : (ssize_t)type->align;
    if ((ssize_t)a->offset % align != 0)
        return 0;
    for (unsigned int d = 0; d < a->nd; d++)
        if (a->strides[d] % align != 0)
            return 0;
    return 1;
}

void GpuArray_fix_flags(GpuArray *a) {
    a->flags &= ~(GA_C_CONTIGUOUS | GA_F_CONTIGUOUS | GA_ALIGNED);
    a->flags |= GpuArray_is_c_contiguous(a) ? GA_C_CONTIGUOUS : 0;
    a->flags |= GpuArray_is_f_contiguous(a) ? GA_F_CONTIGUOUS : 0;
    a->flags |= GpuArray_is_aligned(a) ? GA_ALIGNED : 0;
}

/* ---- making and clearing */

void GpuArray_clear(GpuArray *a) {
    gpudata_release(a->data);
    free(a->dimensions);
    free(a->strides);
    memset(a, 0, sizeof *a);
}

/* Room for the tables of an array that has none; it is cleared where there is no memory. */
static int make_tables(GpuArray *a, unsigned int nd) {
    memset(a, 0, sizeof *a);
    a->dimensions = calloc(nd + 1u, sizeof *a->dimensions);
    a->strides = calloc(nd + 1u, sizeof *a->strides);
    a->nd = nd;
    if (a->dimensions != NULL && a->strides != NULL)
        return 0;
    GpuArray_clear(a);
    PyErr_NoMemory();
    return -1;
}

int array_make(GpuArray *a, gpudata *data, size_t offset, int typecode, unsigned int nd, const size_t *dims,
               const ssize_t *strides) {
    if (make_tables(a, nd) < 0)
        return -1;
    memcpy(a->dimensions, dims, nd * sizeof *dims);
    memcpy(a->strides, strides, nd * sizeof *strides);
    gpudata_retain(data);
    a->data = data;
    a->offset = offset;
    a->typecode = typecode;
    a->flags = GA_WRITEABLE;
    GpuArray_fix_flags(a);
    return 0;
}

/* Set strides of elements that lie one behind the other; the number of bytes, or -1 where it is too large. */
static Py_ssize_t pack(const size_t *dims, unsigned int nd, size_t element, ga_order order, ssize_t *strides) {
    size_t bytes = element;
    for (unsigned int i = 0; i < nd; i++) {
        unsigned int d = order == GA_F_ORDER ? i : nd - 1 - i;
        strides[d] = (ssize_t)bytes;
        if (__builtin_mul_overflow(bytes, dims[d], &bytes) || bytes > (size_t)PY_SSIZE_T_MAX)
            return -1;
    }
    return (Py_ssize_t)bytes;
}

int array_allocate(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd, const size_t *dims, ga_order order,
                   int zero) {
    const gpuarray_type *type = gpuarray_get_type(typecode);
    int code = GA_NO_ERROR;
    if (type == NULL || typecode >= GA_SIZE) {
        memset(a, 0, sizeof *a);
        PyErr_Format(PyExc_TypeError, "there is no dtype with the number %d", typecode);
        return -1;
    }
    if (make_tables(a, nd) < 0)
        return -1;
    memcpy(a->dimensions, dims, nd * sizeof *dims);
    Py_ssize_t bytes = pack(dims, nd, type->size, order, a->strides);
    if (bytes < 0)
        PyErr_SetString(PyExc_ValueError, "the array is too large: its bytes cannot be counted");
    else if (check_process(ctx->native->era) == 0) {
        PyObject *buffer = buffer_allocate(ctx->native, bytes);
        a->data = buffer == NULL ? NULL : data_of(buffer);
    }
    if (a->data != NULL && zero && bytes > 0)
        code = gpudata_memset(a->data, 0, 0);
    if (a->data == NULL || code != GA_NO_ERROR) {
        GpuArray_clear(a);
        return code == GA_NO_ERROR ? -1 : raise_code(ctx, code);
    }
    a->typecode = typecode;
    a->flags = GA_WRITEABLE;
    GpuArray_fix_flags(a);
    return 0;
}

int array_from_tuple(GpuArray *a, PyObject *described) {
    PyObject *buffer, *shape, *strides;
    Py_ssize_t offset;
    int typecode;
    memset(a, 0, sizeof *a);
    if (!PyArg_ParseTuple(described, "O!iO!O!n", &BufferType, &buffer, &typecode, &PyTuple_Type, &shape, &PyTuple_Type,
                          &strides, &offset))
        return -1;
    if (make_tables(a, (unsigned int)PyTuple_GET_SIZE(shape)) < 0)
        return -1;
    for (unsigned int d = 0; d < a->nd && (Py_ssize_t)d < PyTuple_GET_SIZE(strides); d++) {
        a->dimensions[d] = PyLong_AsSize_t(PyTuple_GET_ITEM(shape, d));
        a->strides[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, d));
    }
    if (PyErr_Occurred()) {
        GpuArray_clear(a);
        return -1;
    }
    a->data = data_of(Py_NewRef(buffer));
    a->offset = (size_t)offset;
    a->typecode = typecode;
    a->flags = GA_WRITEABLE;
    GpuArray_fix_flags(a);
    return 0;
}

int GpuArray_empty(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd, const size_t *dims, ga_order ord) {
    return settle(ctx, array_allocate(a, ctx, typecode, nd, dims, ord, 0));
}

int GpuArray_zeros(GpuArray *a, gpucontext *ctx, int typecode, unsigned int nd, const size_t *dims, ga_order ord) {
    return settle(ctx, array_allocate(a, ctx, typecode, nd, dims, ord, 1));
}

int GpuArray_fromdata(GpuArray *a, gpudata *data, size_t offset, int typecode, unsigned int nd, const size_t *dims,
                      const ssize_t *strides, int writeable) {
    int code = settle(gpudata_context(data), array_make(a, data, offset, typecode, nd, dims, strides));
    if (code == GA_NO_ERROR && !writeable)
        a->flags &= ~GA_WRITEABLE;
    return code;
}

int GpuArray_view(GpuArray *v, const GpuArray *a) {
    int code =
        settle(GpuArray_context(a), array_make(v, a->data, a->offset, a->typecode, a->nd, a->dimensions, a->strides));
    if (code == GA_NO_ERROR)
        v->flags = a->flags;
    return code;
}

int GpuArray_share(const GpuArray *a, const GpuArray *b) { return a->data != NULL && a->data == b->data; }

gpucontext *GpuArray_context(const GpuArray *a) { return gpudata_context(a->data); }

const char *GpuArray_error(const GpuArray *a, int err) {
    return gpucontext_error(a->data == NULL ? NULL : GpuArray_context(a), err);
}

int GpuArray_sync(GpuArray *a) { return gpudata_sync(a->data); }

/* ---- views */

/* How many elements a slice takes; -1 where it reaches out of the dimension. A step of 0 takes the one at `start`. */
static ssize_t slice_length(size_t length, ssize_t start, ssize_t stop, ssize_t step) {
    ssize_t n = (ssize_t)length;
    if (step == 0)
        return start >= 0 && start < n ? 1 : -1;
    if (step > 0 ? stop <= start : stop >= start)
        return 0;
    if (start < 0 || start >= n || stop > n || stop < -1)
        return -1;
    ssize_t span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
    return (span - 1) / stride + 1;
}

int GpuArray_index_inplace(GpuArray *a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps) {
    unsigned int kept = 0;
    for (unsigned int d = 0; d < a->nd; d++)
        if (slice_length(a->dimensions[d], starts[d], stops[d], steps[d]) < 0)
            return refuse(GpuArray_context(a), GA_VALUE_ERROR, "an index is out of bounds");
    for (unsigned int d = 0; d < a->nd; d++) {
        ssize_t length = slice_length(a->dimensions[d], starts[d], stops[d], steps[d]);
        if (length > 0)
            a->offset += (size_t)(starts[d] * a->strides[d]);
        if (steps[d] == 0)
            continue;
        a->dimensions[kept] = (size_t)length;
        a->strides[kept++] = a->strides[d] * steps[d];
    }
    a->nd = kept;
    GpuArray_fix_flags(a);
    return GA_NO_ERROR;
}

int GpuArray_index(GpuArray *r, const GpuArray *a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps) {
    int code = GpuArray_view(r, a);
    if (code == GA_NO_ERROR && (code = GpuArray_index_inplace(r, starts, stops, steps)) != GA_NO_ERROR)
        GpuArray_clear(r);
    return code;
}

int GpuArray_transpose(GpuArray *res, const GpuArray *a, const unsigned int *new_axes) {
    int code = GpuArray_view(res, a);
    for (unsigned int d = 0; code == GA_NO_ERROR && d < a->nd; d++) {
        unsigned int axis = new_axes == NULL ? a->nd - 1 - d : new_axes[d];
        for (unsigned int e = 0; e < d && new_axes != NULL; e++)
            axis = new_axes[e] == axis ? a->nd : axis;
        if (axis >= a->nd) {
            GpuArray_clear(res);
            return refuse(GpuArray_context(a), GA_VALUE_ERROR, "an axis is out of bounds, or occurs twice");
        }
        res->dimensions[d] = a->dimensions[axis];
        res->strides[d] = a->strides[axis];
    }
    if (code == GA_NO_ERROR)
        GpuArray_fix_flags(res);
    return code;
}

/* Put a new array in the place of one. */
static int replace(GpuArray *a, GpuArray *made, int code) {
    if (code == GA_NO_ERROR) {
        GpuArray_clear(a);
        *a = *made;
    }
    return code;
}

int GpuArray_transpose_inplace(GpuArray *a, const unsigned int *new_axes) {
    GpuArray made = {0};
    int code = GpuArray_transpose(&made, a, new_axes);
    return replace(a, &made, code);
}

int GpuArray_reshape_inplace(GpuArray *a, unsigned int nd, const size_t *newdims, ga_order ord) {
    GpuArray made = {0};
    int code = GpuArray_reshape(&made, a, nd, newdims, ord, 1);
    return replace(a, &made, code);
}

int GpuArray_split(GpuArray **rs, const GpuArray *a, size_t n, size_t *p, unsigned int axis) {
    size_t made = 0, begin = 0;
    int code = GA_NO_ERROR;
    if (axis >= a->nd)
        return refuse(GpuArray_context(a), GA_VALUE_ERROR, "there is no such axis");
    for (; made <= n && code == GA_NO_ERROR; made++) {
        size_t end = made < n ? p[made] : a->dimensions[axis];
        if (end < begin || end > a->dimensions[axis]) {
            code = refuse(GpuArray_context(a), GA_VALUE_ERROR, "positions of a split do not rise");
            break;
        }
        code = GpuArray_view(rs[made], a);
        if (code != GA_NO_ERROR)
            break;
        rs[made]->dimensions[axis] = end - begin;
        rs[made]->offset += (size_t)((ssize_t)begin * a->strides[axis]);
        GpuArray_fix_flags(rs[made]);
        begin = end;
    }
    while (code != GA_NO_ERROR && made > 0)
        GpuArray_clear(rs[--made]);
    return code;
}
