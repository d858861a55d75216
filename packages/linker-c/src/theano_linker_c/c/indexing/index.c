/* Indices of tensors: parsing of plans, and what they stand for on given arrays. */
#include "index.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Vectors of indices of at least this length are worked out in pieces of it, which stay in the fastest cache. */
#define LONG_VECTOR 2048

void region_free(Region *region) {
    PyMem_RawFree(region->offsets);
    region->offsets = NULL;
}

/* The shape of the indexed part; returns its number of dimensions, or -1 for more than NumPy has. */
int region_shape(const Region *region, npy_intp *shape) {
    int ndim = 0;
    if (region->n_plain + region->index_ndim > NPY_MAXDIMS)
        return -1;
    for (int d = 0; d < region->n_before; d++)
        shape[ndim++] = region->shape[d];
    for (int d = 0; d < region->index_ndim; d++)
        shape[ndim++] = region->index_shape[d];
    for (int d = region->n_before; d < region->n_plain; d++)
        shape[ndim++] = region->shape[d];
    return ndim;
}

static PyArrayObject *index_operand(Frame *f, const Instruction *in, const IndexPlan *p, int position) {
    return operand(f, in->inputs[position], p->types[position], p->ndims[position]);
}

/* One integer of any dtype; what does not fit into npy_intp is as far out as can be. */
static npy_intp read_integer(int type_num, const char *data) {
    switch (type_num) {
    case NPY_BYTE: return *(const npy_byte *)data;
    case NPY_UBYTE: return *(const npy_ubyte *)data;
    case NPY_SHORT: return *(const npy_short *)data;
    case NPY_USHORT: return *(const npy_ushort *)data;
    case NPY_INT: return *(const npy_int *)data;
    case NPY_UINT: return *(const npy_uint *)data;
    case NPY_LONG: return *(const npy_long *)data;
    case NPY_LONGLONG: return *(const npy_longlong *)data;
    default: {
        npy_ulonglong value = *(const npy_ulonglong *)data;
        return value > (npy_ulonglong)NPY_MAX_INTP ? NPY_MAX_INTP : (npy_intp)value;
    }
    }
}

static int number_get(Frame *f, const Instruction *in, const IndexPlan *p, const Number *number, npy_intp otherwise,
                      npy_intp *value) {
    *value = number->kind == NUMBER_CONSTANT ? number->value : otherwise;
    if (number->kind == NUMBER_INPUT) {
        PyArrayObject *array = index_operand(f, in, p, (int)number->value);
        if (array == NULL)
            return RUN_RAISED;
        *value = read_integer(p->types[number->value], PyArray_BYTES(array));
    }
    return RUN_DONE;
}

static int add_slice(Frame *f, const Instruction *in, const IndexPlan *p, const Entry *e, npy_intp length,
                     npy_intp stride, Region *region) {
    Py_ssize_t start, stop, step;
    int status = number_get(f, in, p, &e->step, 1, &step);
    if (status != RUN_DONE)
        return status;
    if (step == 0)
        return RUN_MISMATCH;
    if (step < -PY_SSIZE_T_MAX)
        step = -PY_SSIZE_T_MAX;
    if ((status = number_get(f, in, p, &e->start, step < 0 ? PY_SSIZE_T_MAX : 0, &start)) != RUN_DONE ||
        (status = number_get(f, in, p, &e->stop, step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX, &stop)) != RUN_DONE)
        return status;
    npy_intp n = PySlice_AdjustIndices(length, &start, &stop, step);
    if (n > 0)
        region->start += start * stride;
    region->shape[region->n_plain] = n;
    region->strides[region->n_plain++] = n > 1 ? step * stride : stride;
    return RUN_DONE;
}

static int add_number(Frame *f, const Instruction *in, const IndexPlan *p, const Entry *e, npy_intp length,
                      npy_intp stride, Region *region) {
    npy_intp value;
    int status = number_get(f, in, p, &e->start, 0, &value);
    if (status != RUN_DONE)
        return status;
    if (value < -length || value >= length)
        return RUN_MISMATCH;
    region->start += (value < 0 ? value + length : value) * stride;
    return RUN_DONE;
}

/* An array of the index: integers along one axis, or (`raw`) the offsets of a mask. */
typedef struct {
    const char *data;
    int type_num, ndim, raw;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    npy_uint64 broadcastable;
    npy_intp length, stride; /* of the axis */
    npy_intp *owned;
    PyObject *holder;
} Source;

static npy_intp count_true(PyArrayObject *mask) { return PyArray_CountNonzero(mask); }

static int mask_offsets(PyArrayObject *mask, const npy_intp *dims, const npy_intp *strides, Source *s) {
    int ndim = PyArray_NDIM(mask);
    for (int d = 0; d < ndim; d++)
        if (PyArray_DIMS(mask)[d] != dims[d])
            return RUN_MISMATCH;
    gil_take();
    npy_intp count = count_true(mask), size = PyArray_SIZE(mask), index[NPY_MAXDIMS] = {0}, offset = 0, found = 0;
    s->owned = PyMem_RawMalloc((count + 1) * sizeof(npy_intp));
    if (s->owned == NULL) {
        gil_take();
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    const char *data = PyArray_BYTES(mask);
    npy_intp inner = ndim ? dims[ndim - 1] : 1;
    npy_intp step = ndim ? PyArray_STRIDES(mask)[ndim - 1] : 0, stride = ndim ? strides[ndim - 1] : 0;
    for (npy_intp done = 0; done < size; done += inner) {
        for (npy_intp k = 0; k < inner; k++) { /* without a branch, which nobody could foresee */
            s->owned[found] = offset + k * stride;
            found += data[k * step] != 0 && found < count;
        }
        for (int d = ndim - 2; d >= 0; d--) {
            data += PyArray_STRIDES(mask)[d];
            offset += strides[d];
            if (++index[d] < dims[d])
                break;
            index[d] = 0;
            data -= dims[d] * PyArray_STRIDES(mask)[d];
            offset -= dims[d] * strides[d];
        }
    }
    s->data = (const char *)s->owned;
    s->raw = s->ndim = 1;
    s->shape[0] = found;
    s->strides[0] = sizeof(npy_intp);
    return RUN_DONE;
}

static int source_make(Frame *f, const Instruction *in, const IndexPlan *p, const Entry *e, const npy_intp *dims,
                       const npy_intp *strides, Source *s) {
    PyArrayObject *array = index_operand(f, in, p, e->position);
    if (array == NULL)
        return RUN_RAISED;
    s->broadcastable = e->broadcastable;
    if (e->mask)
        return mask_offsets(array, dims, strides, s);
    s->holder = (PyObject *)array;
    s->data = PyArray_BYTES(array);
    s->type_num = p->types[e->position];
    s->ndim = PyArray_NDIM(array);
    for (int d = 0; d < s->ndim; d++) {
        s->shape[d] = PyArray_DIMS(array)[d];
        s->strides[d] = PyArray_STRIDES(array)[d];
    }
    s->length = *dims;
    s->stride = *strides;
    return RUN_DONE;
}

/* Only dimensions that are known to have length 1 broadcast; the others must agree. */
static int common_index_shape(const Source *sources, int n, Region *region) {
    for (int d = 0; d < region->index_ndim; d++) {
        npy_intp length = -1;
        for (int i = 0; i < n; i++) {
            int own = d - region->index_ndim + sources[i].ndim;
            if (own < 0)
                continue;
            if (sources[i].broadcastable >> own & 1) {
                if (sources[i].shape[own] != 1)
                    return RUN_MISMATCH;
            } else if (length >= 0 && length != sources[i].shape[own]) {
                return RUN_MISMATCH;
            } else {
                length = sources[i].shape[own];
            }
        }
        region->index_shape[d] = length < 0 ? 1 : length;
        region->count *= region->index_shape[d];
    }
    return RUN_DONE;
}

#define ADD_SIGNED(type)                                                                                               \
    for (npy_intp i = 0; i < n; i++, data += step) {                                                                   \
        npy_intp v = *(const type *)data;                                                                              \
        v += v < 0 ? length : 0;                                                                                       \
        bad |= (npy_uintp)v >= (npy_uintp)length;                                                                      \
        out[i] = (fresh ? 0 : out[i]) + v * stride;                                                                    \
    }
#define ADD_UNSIGNED(type)                                                                                             \
    for (npy_intp i = 0; i < n; i++, data += step) {                                                                   \
        npy_uintp v = (npy_uintp) * (const type *)data;                                                                \
        bad |= v >= (npy_uintp)length;                                                                                 \
        out[i] = (fresh ? 0 : out[i]) + (npy_intp)v * stride;                                                          \
    }

/* Add what n indices of one source contribute, or write it if `fresh`; returns whether one is out of range. */
static inline __attribute__((always_inline)) int put_offsets(const Source *s, const char *data, npy_intp step,
                                                             npy_intp n, npy_intp *out, const int fresh) {
    npy_intp length = s->length, stride = s->stride;
    int bad = 0;
    if (s->raw) {
        for (npy_intp i = 0; i < n; i++, data += step)
            out[i] += *(const npy_intp *)data;
        return 0;
    }
    switch (s->type_num) {
    case NPY_BYTE: ADD_SIGNED(npy_byte) break;
    case NPY_SHORT: ADD_SIGNED(npy_short) break;
    case NPY_INT: ADD_SIGNED(npy_int) break;
    case NPY_LONG: ADD_SIGNED(npy_long) break;
    case NPY_LONGLONG: ADD_SIGNED(npy_longlong) break;
    case NPY_UBYTE: ADD_UNSIGNED(npy_ubyte) break;
    case NPY_USHORT: ADD_UNSIGNED(npy_ushort) break;
    case NPY_UINT: ADD_UNSIGNED(npy_uint) break;
    case NPY_ULONG: ADD_UNSIGNED(npy_ulong) break;
    case NPY_ULONGLONG: ADD_UNSIGNED(npy_ulonglong) break;
    default: bad = 1;
    }
    return bad;
}

static int add_offsets(const Source *s, const char *data, npy_intp step, npy_intp n, npy_intp *out) {
    return put_offsets(s, data, step, n, out, 0);
}

static int source_add(const Source *s, Region *region) {
    int ndim = region->index_ndim, bad = 0;
    npy_intp strides[NPY_MAXDIMS], index[NPY_MAXDIMS] = {0};
    for (int d = 0; d < ndim; d++) {
        int own = d - ndim + s->ndim;
        strides[d] = own < 0 || (s->broadcastable >> own & 1) ? 0 : s->strides[own];
    }
    npy_intp inner = ndim ? region->index_shape[ndim - 1] : 1, step = ndim ? strides[ndim - 1] : 0;
    const char *data = s->data;
    for (npy_intp done = 0; done < region->count; done += inner) {
        bad |= add_offsets(s, data, step, inner, region->offsets + done);
        for (int d = ndim - 2; d >= 0; d--) {
            data += strides[d];
            if (++index[d] < region->index_shape[d])
                break;
            index[d] = 0;
            data -= region->index_shape[d] * strides[d];
        }
    }
    return bad ? RUN_MISMATCH : RUN_DONE;
}

/* The offsets of some elements of a long vector of indices. RUN_MISMATCH if one is out of range. */
int region_piece(const Region *region, npy_intp begin, npy_intp n, npy_intp *offsets) {
    Source s = {.type_num = region->numbers_type, .length = region->length, .stride = region->stride};
    const char *data = region->numbers + begin * region->numbers_step;
    return put_offsets(&s, data, region->numbers_step, n, offsets, 1) ? RUN_MISMATCH : RUN_DONE;
}

/* Leave a long vector of indices as it is; with `checked`, look for what is out of range now. */
static int take_numbers(const Source *s, int checked, Region *region) {
    npy_intp offsets[LONG_VECTOR];
    region->numbers = s->data;
    region->holder = s->holder;
    region->numbers_type = s->type_num;
    region->numbers_step = s->strides[0];
    region->length = s->length;
    region->stride = s->stride;
    for (npy_intp begin = 0; checked && begin < region->count; begin += LONG_VECTOR) {
        npy_intp n = region->count - begin < LONG_VECTOR ? region->count - begin : LONG_VECTOR;
        if (region_piece(region, begin, n, offsets) != RUN_DONE)
            return RUN_MISMATCH;
    }
    return RUN_DONE;
}

static int sources_add(const Source *sources, int n, int checked, Region *region) {
    int status = common_index_shape(sources, n, region);
    if (status != RUN_DONE)
        return status;
    if (n == 1 && !sources->raw && sources->ndim == 1 && !sources->broadcastable && !region->n_before &&
        region->count >= LONG_VECTOR)
        return take_numbers(sources, checked, region);
    region->offsets = PyMem_RawCalloc(region->count + 1, sizeof(npy_intp));
    if (region->offsets == NULL) {
        gil_take();
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    for (int i = 0; i < n && status == RUN_DONE; i++)
        status = source_add(&sources[i], region);
    return status;
}

static int walk_entries(Frame *f, const Instruction *in, const IndexPlan *p, const npy_intp *dims,
                        const npy_intp *strides, Region *region, Source *sources, int *n_sources) {
    int axis = 0, status = RUN_DONE, seen = 0;
    for (int i = 0; i < p->n_entries && status == RUN_DONE; i++) {
        const Entry *e = &p->entries[i];
        if (e->kind == ENTRY_ARRAY || (e->kind == ENTRY_NUMBER && p->advanced))
            seen = 1;
        else if (p->adjacent && !seen && e->kind != ENTRY_NUMBER)
            region->n_before++;
        switch (e->kind) {
        case ENTRY_NEWAXIS:
            region->shape[region->n_plain] = 1;
            region->strides[region->n_plain++] = 0;
            break;
        case ENTRY_SLICE:
            status = add_slice(f, in, p, e, dims[axis], strides[axis], region);
            axis++;
            break;
        case ENTRY_NUMBER:
            status = add_number(f, in, p, e, dims[axis], strides[axis], region);
            axis++;
            break;
        default:
            status = source_make(f, in, p, e, dims + axis, strides + axis, &sources[*n_sources]);
            axis += e->mask ? p->ndims[e->position] : 1;
            (*n_sources)++;
        }
    }
    for (; axis < p->ndim; axis++) {
        region->shape[region->n_plain] = dims[axis];
        region->strides[region->n_plain++] = strides[axis];
    }
    return status;
}

/* What the plan stands for on an array of the given shape and strides. RUN_MISMATCH: the index does not fit. What is
 * out of range is found now if `checked`, else perhaps only while elements are moved. */
int region_resolve(Frame *f, const Instruction *in, const IndexPlan *p, const npy_intp *dims, const npy_intp *strides,
                   int checked, Region *region) {
    Source *sources = NULL;
    int n_sources = 0, status;
    region->start = 0;
    region->n_plain = region->n_before = 0;
    region->index_ndim = p->index_ndim;
    region->count = 1;
    region->offsets = NULL;
    region->numbers = NULL;
    region->holder = NULL;
    if (p->advanced && (sources = PyMem_RawCalloc(p->n_entries, sizeof *sources)) == NULL) {
        gil_take();
        PyErr_NoMemory();
        return RUN_RAISED;
    }
    status = walk_entries(f, in, p, dims, strides, region, sources, &n_sources);
    if (p->advanced && status == RUN_DONE)
        status = sources_add(sources, n_sources, checked, region);
    for (int i = 0; i < n_sources; i++)
        PyMem_RawFree(sources[i].owned);
    PyMem_RawFree(sources);
    if (status != RUN_DONE)
        region_free(region);
    return status;
}

static int parse_entries(IndexPlan *p, PyObject *rows, int n_inputs) {
    p->n_entries = (int)PyTuple_GET_SIZE(rows);
    p->entries = PyMem_Calloc(p->n_entries + 1, sizeof(Entry));
    if (p->entries == NULL)
        return -1;
    for (int i = 0; i < p->n_entries; i++) {
        Entry *e = &p->entries[i];
        unsigned long long broadcastable;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, i), "iinininipK", &e->kind, &e->start.kind, &e->start.value,
                              &e->stop.kind, &e->stop.value, &e->step.kind, &e->step.value, &e->position, &e->mask,
                              &broadcastable))
            return -1;
        e->broadcastable = broadcastable;
        const Number *numbers[] = {&e->start, &e->stop, &e->step};
        for (int k = 0; k < 3; k++)
            if (numbers[k]->kind == NUMBER_INPUT && (numbers[k]->value < 0 || numbers[k]->value >= n_inputs))
                e->kind = -1;
        if (e->kind < 0 || e->kind > ENTRY_NEWAXIS || e->position < 0 || e->position >= n_inputs) {
            PyErr_SetString(PyExc_ValueError, "index payload: entry out of range");
            return -1;
        }
    }
    return 0;
}

/* Whether what is indexed follows from shapes and from contents that can be looked at, and what is written goes into
 * memory of the machine's own. */
int index_captures(const Instruction *in) {
    const IndexPlan *p = in->plan;
    if (p->deferred || p->takes > 1)
        return 0;
    for (int i = 0; i < p->n_entries; i++)
        if (p->entries[i].kind == ENTRY_ARRAY && p->entries[i].mask)
            return 0;
    return 1;
}

/* Where a run is captured: the numbers of an index must be what they are. */
void index_note_numbers(const Machine *m, const Frame *f, const Instruction *in) {
    const IndexPlan *p = in->plan;
    Capture *c = m->open == NULL ? NULL : capturing(m, f);
    for (int i = 0; c != NULL && i < p->n_entries; i++) {
        const Number *numbers[] = {&p->entries[i].start, &p->entries[i].stop, &p->entries[i].step};
        for (int k = 0; k < 3; k++)
            if (numbers[k]->kind == NUMBER_INPUT)
                capture_contents(c, f, in->inputs[numbers[k]->value]);
    }
}

/* The index arrays whose contents may differ from call to call, as operands from `first` on. Returns how many. */
int index_note_arrays(Capture *c, const Frame *f, const Instruction *in, int first, char **data) {
    const IndexPlan *p = in->plan;
    int n = 0, is_fixed = 1;
    for (int i = 0; i < p->n_entries; i++)
        if (p->entries[i].kind == ENTRY_ARRAY)
            is_fixed &= c->m->is_fixed[in->inputs[p->entries[i].position]] != 0;
    for (int i = 0; i < p->n_entries && !is_fixed; i++)
        if (p->entries[i].kind == ENTRY_ARRAY && first + n < MOST_OPERANDS) {
            int reg = in->inputs[p->entries[i].position];
            capture_operand(c, first + n, reg);
            data[first + n++] = PyArray_BYTES((PyArrayObject *)f->registers[reg]);
        }
    return n;
}

/* The index arrays of an instruction as sources of offsets, for memory of the size that is returned. */
size_t index_sources(Frame *f, const Instruction *in, const npy_intp *dims, const npy_intp *strides, void *sources) {
    const IndexPlan *p = in->plan;
    Region scratch = {0};
    int n = 0;
    if (sources != NULL)
        walk_entries(f, in, p, dims, strides, &scratch, sources, &n);
    return (p->n_entries + 1) * sizeof(Source);
}

/* Work the offsets of a region out again for index arrays at other places. RUN_MISMATCH: one is out of range. */
int index_offsets_again(Region *region, void *sources, int n, char *const *data) {
    Source *s = sources;
    int status = RUN_DONE;
    memset(region->offsets, 0, region->count * sizeof(npy_intp));
    for (int k = 0; k < n && status == RUN_DONE; k++) {
        s[k].data = data[k];
        status = source_add(&s[k], region);
    }
    return status;
}

static void plan_free(void *plan) {
    IndexPlan *p = plan;
    PyMem_Free(p->entries);
    PyMem_Free(p->types);
    PyMem_Free(p->ndims);
    PyMem_Free(p);
}

/* Payload: (entries, types and numbers of dimensions of the inputs, advanced, adjacent, dimensions of the index arrays,
 * replace, takes, number of the update + 1 if the write may wait, else 0, bits of the dimensions along which the part
 * broadcasts). */
IndexPlan *index_plan_parse(Instruction *in, PyObject *payload) {
    PyObject *rows, *types, *ndims;
    unsigned long long broadcastable;
    int n_types, n_ndims, consumed = 0;
    IndexPlan *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    in->plan = p;
    in->free = plan_free;
    if (!PyArg_ParseTuple(payload, "O!O!O!ppipiiK", &PyTuple_Type, &rows, &PyTuple_Type, &types, &PyTuple_Type, &ndims,
                          &p->advanced, &p->adjacent, &p->index_ndim, &p->replace, &p->takes, &p->deferred,
                          &broadcastable))
        return NULL;
    p->part_broadcastable = broadcastable;
    p->types = parse_ints(types, &n_types);
    p->ndims = parse_ints(ndims, &n_ndims);
    if (p->types == NULL || p->ndims == NULL || parse_entries(p, rows, in->n_inputs) < 0)
        return NULL;
    if (n_types != in->n_inputs || n_ndims != in->n_inputs || n_types < 1 || p->index_ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "index payload: counts differ");
        return NULL;
    }
    p->type_num = p->types[0];
    p->ndim = p->ndims[0];
    for (int i = 0; i < p->n_entries; i++) {
        const Entry *e = &p->entries[i];
        consumed += e->kind == ENTRY_NEWAXIS ? 0 : e->kind == ENTRY_ARRAY && e->mask ? p->ndims[e->position] : 1;
    }
    if (consumed > p->ndim || p->n_entries > 2 * NPY_MAXDIMS - p->ndim) {
        PyErr_SetString(PyExc_ValueError, "index payload: too many entries");
        return NULL;
    }
    return p;
}
