/* Reductions: which axes are kept and reduced, accumulators, and the order of the loops. */
#include "runtime.h"

/* Elements in a chunk of a long reduction at least, and chunks at most. */
#define CHUNK 32768
#define MOST_CHUNKS 64
/* Accumulators side by side that are worth a unit of their own. */
#define COLUMNS 256
/* How many times the usual work it takes until a second thread is worth it there: one that reads whole rows is nearly as
 * fast as two that read halves of them. */
#define WORK_FOR_CHUNKS 4

typedef struct {
    reduce_fn inner;
    reduce_rows_fn outer;
    int ndim, n_inputs, acc_type, output_type, keepdims, has_identity, acc_size;
    int *types;
    signed char *broadcast, *is_reduced; /* [n_inputs][ndim], [ndim] */
    char seed[16];
    double cost;
    PyObject *join; /* borrowed: the NumPy ufunc that joins partial results, or None */
} Reduction;

static int gather_shape(const Reduction *r, Frame *f, const Instruction *in, PyArrayObject **arrays, npy_intp *shape) {
    for (int i = 0; i < r->n_inputs; i++)
        if ((arrays[i] = operand(f, in->inputs[i], r->types[i], r->ndim)) == NULL)
            return RUN_RAISED;
    for (int d = 0; d < r->ndim; d++) {
        npy_intp length = -1;
        for (int i = 0; i < r->n_inputs; i++) {
            npy_intp own = PyArray_DIMS(arrays[i])[d];
            if (r->broadcast[i * r->ndim + d] ? own != 1 : length >= 0 && own != length)
                return RUN_MISMATCH;
            if (!r->broadcast[i * r->ndim + d])
                length = own;
        }
        shape[d] = length < 0 ? 1 : length;
    }
    return shape_fits(shape, r->ndim);
}

static void fill_seed(PyArrayObject *acc, const Reduction *r) {
    char *data = PyArray_BYTES(acc);
    size_t total = (size_t)PyArray_NBYTES(acc), done = (size_t)r->acc_size;
    if (total == 0)
        return;
    memcpy(data, r->seed, done);
    for (; done < total; done *= 2) /* what is filled fills as much again */
        memcpy(data + done, data, done < total - done ? done : total - done);
}

typedef struct {
    const Reduction *r;
    const LoopNest *nest; /* inputs, then the accumulator; axes: [kept..., reduced..., inner] */
    int n_kept, inner_is_reduced;
    /* One axis may be cut in chunks: a reduced one, each chunk with accumulators of its own, `acc_bytes` apart, or the
     * kept one along which kernels run. */
    int chunk_axis;
    npy_intp chunks, chunk, acc_bytes;
} ReductionPass;

/* A unit is one kept position and one chunk; reduce everything for units begin..end. */
static void reduce_units(void *context, int64_t begin, int64_t end) {
    const ReductionPass *pass = context;
    const LoopNest *nest = pass->nest;
    int last = nest->ndim - 1, nops = nest->nops;
    npy_intp index[NPY_MAXDIMS], length[NPY_MAXDIMS];
    char *data[nops + 1];
    memcpy(length, nest->shape, sizeof(npy_intp) * nest->ndim);
    const int64_t *inner = (const int64_t *)(nest->strides + (npy_intp)last * nops);
    /* Where kernels run along a kept axis, the last reduced axis is theirs too: its steps lead from row to row. */
    int rows_axis = !pass->inner_is_reduced && last > pass->n_kept ? last - 1 : -1;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t remainder = unit / pass->chunks;
        npy_intp start = unit % pass->chunks * pass->chunk;
        memcpy(data, nest->data, nops * sizeof(char *));
        if (pass->chunks > 1) {
            npy_intp left = nest->shape[pass->chunk_axis] - start;
            length[pass->chunk_axis] = left < pass->chunk ? left : pass->chunk;
            for (int k = 0; k < nops; k++)
                data[k] += start * nest->strides[pass->chunk_axis * nops + k];
            data[nops - 1] += unit % pass->chunks * pass->acc_bytes;
        }
        for (int d = pass->n_kept - 1; d >= 0; d--) {
            npy_intp at = remainder % nest->shape[d];
            remainder /= nest->shape[d];
            for (int k = 0; k < nops; k++)
                data[k] += at * nest->strides[d * nops + k];
        }
        memset(index, 0, sizeof(npy_intp) * (last + 1));
        for (;;) {
            if (pass->inner_is_reduced)
                pass->r->inner(length[last], data, inner, data[nops - 1]);
            else
                pass->r->outer(length[last], data, inner, rows_axis < 0 ? 1 : length[rows_axis],
                               rows_axis < 0 ? inner : (const int64_t *)(nest->strides + (npy_intp)rows_axis * nops));
            int d = (rows_axis < 0 ? last : rows_axis) - 1;
            for (; d >= pass->n_kept; d--) {
                const npy_intp *strides = nest->strides + d * nops;
                int more = ++index[d] < length[d];
                for (int k = 0; k < nops; k++)
                    data[k] += more ? strides[k] : -(length[d] - 1) * strides[k];
                if (more)
                    break;
                index[d] = 0;
            }
            if (d < pass->n_kept)
                break;
        }
    }
}

/* Put kept axes first, then reduced ones, then the axis `inner`; `is_reduced` says which is which. Stable. */
static void order_axes(const LoopNest *from, LoopNest *to, const signed char *is_reduced, int inner) {
    to->ndim = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int d = 0; d < from->ndim; d++)
            if ((d == inner) == (pass == 2) && (pass == 2 || is_reduced[d] == pass)) {
                to->shape[to->ndim] = from->shape[d];
                memcpy(to->strides + to->ndim * from->nops, from->strides + d * from->nops,
                       from->nops * sizeof(npy_intp));
                to->ndim++;
            }
}

static int reduce_all(const Machine *m, const ReductionPass *pass, int64_t units) {
    double work = loop_nest_size(pass->nest) * pass->r->cost;
    if (work < WORK_FOR_GIL) {
        reduce_units((void *)pass, 0, units);
        return RUN_DONE;
    }
    int64_t share = units / (4 * threads_get());
    return run_long(reduce_units, (void *)pass, units, share < 1 ? 1 : share, work, m->thread_scale * work_for_threads);
}

/* Accumulators for each chunk, joined in the order of the chunks. The cut depends on lengths alone, so that results
 * do not depend on the number of threads. */
static int reduce_chunks(const Machine *m, ReductionPass *pass, int64_t units, PyArrayObject *acc) {
    npy_intp shape[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(acc);
    shape[0] = pass->chunks;
    for (int d = 0; d < ndim; d++)
        shape[d + 1] = PyArray_DIMS(acc)[d];
    PyArrayObject *parts = (PyArrayObject *)PyArray_SimpleNew(ndim + 1, shape, pass->r->acc_type);
    if (parts == NULL)
        return RUN_RAISED;
    fill_seed(parts, pass->r);
    pass->acc_bytes = PyArray_NBYTES(acc);
    pass->nest->data[pass->nest->nops - 1] = PyArray_BYTES(parts);
    PyObject *joined = NULL;
    if (reduce_all(m, pass, units * pass->chunks) == RUN_DONE)
        joined = PyObject_CallMethod(pass->r->join, "reduce", "OiOO", parts, 0, PyArray_DESCR(acc), acc);
    Py_DECREF(parts);
    Py_XDECREF(joined);
    return joined == NULL ? RUN_RAISED : RUN_DONE;
}

static int reduce_nest(const Machine *m, const Reduction *r, const LoopNest *nest, int n_kept, int inner_is_reduced, PyArrayObject *acc) {
    ReductionPass pass = {r, nest, n_kept, inner_is_reduced, n_kept, 1, 0, 0};
    int64_t units = 1;
    for (int d = 0; d < n_kept; d++)
        units *= nest->shape[d];
    npy_intp each = loop_nest_size(nest) / units;
    npy_intp along = nest->shape[nest->ndim - 1];
    if (units < 8 && each >= 2 * CHUNK && !inner_is_reduced && along >= 2 * COLUMNS) {
        /* Chunks of the accumulators are independent of each other. Each thread gets one: shorter chunks of a row
         * would end before memory has been fetched ahead. */
        npy_intp wanted = along / COLUMNS < threads_get() ? along / COLUMNS : threads_get();
        if (loop_nest_size(nest) * r->cost < WORK_FOR_CHUNKS * m->thread_scale * work_for_threads)
            wanted = 1;
        pass.chunk_axis = nest->ndim - 1;
        pass.chunk = ((along + wanted - 1) / wanted + 63) / 64 * 64;
        pass.chunks = (along + pass.chunk - 1) / pass.chunk;
        return reduce_all(m, &pass, units * pass.chunks);
    }
    int has_reduced = n_kept < nest->ndim - 1 || inner_is_reduced;
    if (units < 8 && each >= 2 * CHUNK && has_reduced && r->join != Py_None && PyArray_NDIM(acc) < NPY_MAXDIMS) {
        npy_intp length = nest->shape[n_kept], wanted = each / CHUNK;
        wanted = wanted > MOST_CHUNKS ? MOST_CHUNKS : wanted > length ? length : wanted;
        pass.chunk = (length + wanted - 1) / wanted;
        pass.chunks = (length + pass.chunk - 1) / pass.chunk;
        if (pass.chunks > 1)
            return reduce_chunks(m, &pass, units, acc);
    }
    return reduce_all(m, &pass, units);
}

/* The axis along which kernels run: the one with the smallest steps, unless it is short and another is long. */
static int choose_inner(const LoopNest *nest) {
    int best = 0;
    npy_intp least = -1;
    for (int d = 0; d < nest->ndim; d++) {
        npy_intp weight = 0;
        for (int k = 0; k < nest->nops - 1; k++) {
            npy_intp stride = nest->strides[d * nest->nops + k];
            weight += stride < 0 ? -stride : stride;
        }
        if (least < 0 || weight <= least) {
            least = weight;
            best = d;
        }
    }
    if (nest->shape[best] < 16)
        for (int d = 0; d < nest->ndim; d++)
            if (nest->shape[d] > 4 * nest->shape[best])
                best = d;
    return best;
}

/* Scratch: arrays[nops], data[nops], two sets of strides[max(ndim, 1)][nops]. */
static int fold_arrays(const Machine *m, const Reduction *r, PyArrayObject **arrays, PyArrayObject *acc, npy_intp *shape) {
    int nops = r->n_inputs + 1, count = 0, out_axis = 0, n_kept = 0;
    char **data = (char **)(arrays + nops);
    npy_intp *strides = (npy_intp *)(data + nops), other_shape[NPY_MAXDIMS];
    signed char is_reduced[NPY_MAXDIMS];
    for (int d = 0; d < r->ndim; d++) {
        npy_intp acc_stride = 0;
        if (!r->is_reduced[d])
            acc_stride = PyArray_STRIDES(acc)[out_axis];
        out_axis += !r->is_reduced[d] || r->keepdims;
        if (shape[d] == 1)
            continue;
        for (int i = 0; i < r->n_inputs; i++)
            strides[count * nops + i] = r->broadcast[i * r->ndim + d] ? 0 : PyArray_STRIDES(arrays[i])[d];
        strides[count * nops + r->n_inputs] = acc_stride;
        shape[count] = shape[d];
        is_reduced[count++] = r->is_reduced[d];
    }
    for (int i = 0; i < r->n_inputs; i++)
        data[i] = PyArray_BYTES(arrays[i]);
    data[r->n_inputs] = PyArray_BYTES(acc);
    if (count == 0) {
        memset(strides, 0, nops * sizeof(npy_intp));
        r->inner(1, data, (const int64_t *)strides, data[r->n_inputs]);
        return RUN_DONE;
    }
    LoopNest nest = {count, nops, shape, strides, data};
    LoopNest ordered = {0, nops, other_shape, strides + (r->ndim > 0 ? r->ndim : 1) * nops, data};
    int last = 0; /* merge neighbours of one kind */
    for (int d = 1; d < count; d++) {
        int merge = is_reduced[last] == is_reduced[d];
        for (int k = 0; k < nops; k++)
            merge &= strides[last * nops + k] == strides[d * nops + k] * shape[d];
        npy_intp length = merge ? shape[last] * shape[d] : shape[d];
        last += !merge;
        memmove(strides + last * nops, strides + d * nops, nops * sizeof(npy_intp));
        shape[last] = length;
        is_reduced[last] = is_reduced[d];
    }
    nest.ndim = last + 1;
    int inner = choose_inner(&nest);
    order_axes(&nest, &ordered, is_reduced, inner);
    for (int d = 0; d < nest.ndim; d++)
        n_kept += d != inner && !is_reduced[d];
    return reduce_nest(m, r, &ordered, n_kept, is_reduced[inner], acc);
}

/* Store accumulators in the dtype of the result. What is too large for a float becomes infinite in silence, as
 * everywhere else in compiled code; NumPy's cast would warn. */
static int store_result(PyArrayObject *out, PyArrayObject *acc) {
    if (PyArray_TYPE(acc) != NPY_DOUBLE || PyArray_TYPE(out) != NPY_FLOAT)
        return PyArray_CopyInto(out, acc) < 0 ? RUN_RAISED : RUN_DONE;
    const double *from = PyArray_DATA(acc);
    float *to = PyArray_DATA(out);
    for (npy_intp i = 0, count = PyArray_SIZE(out); i < count; i++)
        to[i] = (float)from[i];
    return RUN_DONE;
}

static int reduction_run(Machine *m, Frame *f, const Instruction *in) {
    const Reduction *r = in->plan;
    PyArrayObject **arrays = f->scratch;
    npy_intp shape[NPY_MAXDIMS], out_shape[NPY_MAXDIMS], n_reduced = 1, kept = 1;
    int out_ndim = 0, status = gather_shape(r, f, in, arrays, shape);
    if (status != RUN_DONE)
        return status;
    for (int d = 0; d < r->ndim; d++) {
        *(r->is_reduced[d] ? &n_reduced : &kept) *= shape[d];
        if (!r->is_reduced[d] || r->keepdims)
            out_shape[out_ndim++] = r->is_reduced[d] ? 1 : shape[d];
    }
    if (n_reduced == 0 && !r->has_identity)
        return RUN_MISMATCH;
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], r->output_type, out_ndim, out_shape, 0), *acc = out;
    if (out == NULL)
        return RUN_RAISED;
    if (r->acc_type != r->output_type)
        acc = (PyArrayObject *)PyArray_SimpleNew(out_ndim, out_shape, r->acc_type);
    if (acc == NULL)
        return RUN_RAISED;
    fill_seed(acc, r);
    if (n_reduced > 0 && kept > 0)
        status = fold_arrays(m, r, arrays, acc, shape);
    if (acc != out) {
        if (status == RUN_DONE)
            status = store_result(out, acc);
        Py_DECREF(acc);
    }
    return status;
}

static void reduction_free(void *plan) {
    Reduction *r = plan;
    PyMem_Free(r->types);
    PyMem_Free(r->broadcast);
    PyMem_Free(r->is_reduced);
    PyMem_Free(r);
}

/* Payload: (inner, outer, ndim, input types, broadcast rows, ((reduced flags,),), acc type, output type, seed bytes,
 * has identity, keepdims, cost, ufunc that joins partial results or None). */
int reduction_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *types, *rows, *is_reduced;
    unsigned long long inner, outer;
    const char *seed;
    Py_ssize_t size;
    int count;
    Reduction *r = PyMem_Calloc(1, sizeof *r);
    if (r == NULL)
        return -1;
    in->plan = r;
    in->run = reduction_run;
    in->free = reduction_free;
    if (!PyArg_ParseTuple(payload, "KKiO!O!O!iiy#ppdO", &inner, &outer, &r->ndim, &PyTuple_Type, &types, &PyTuple_Type,
                          &rows, &PyTuple_Type, &is_reduced, &r->acc_type, &r->output_type, &seed, &size, &r->has_identity,
                          &r->keepdims, &r->cost, &r->join))
        return -1;
    r->inner = (reduce_fn)(uintptr_t)inner;
    r->outer = (reduce_rows_fn)(uintptr_t)outer;
    r->n_inputs = in->n_inputs;
    r->acc_size = (int)size;
    if (size > (Py_ssize_t)sizeof r->seed || r->ndim < 0 || r->ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "reduction payload: seed or dimensions out of range");
        return -1;
    }
    memcpy(r->seed, seed, size);
    r->types = parse_ints(types, &count);
    r->broadcast = parse_flags(rows, r->ndim);
    r->is_reduced = parse_flags(is_reduced, r->ndim);
    machine_need_scratch(m, (size_t)(in->n_inputs + 1) * (2 + 2 * (r->ndim > 0 ? r->ndim : 1)) * sizeof(void *));
    return r->types == NULL || r->broadcast == NULL || r->is_reduced == NULL ? -1 : 0;
}
