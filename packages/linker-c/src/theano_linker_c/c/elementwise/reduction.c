/* Reductions: of each element some results are reduced along axes, and others may be kept, all in one pass over the
 * operands. Here is which axes are kept and reduced, the accumulators, and the order of the loops. */
#include "machine/capture.h"

/* Elements in a chunk of a long reduction at least, and chunks at most. */
#define CHUNK 32768
#define MOST_CHUNKS 64
/* Accumulators side by side that are worth a unit of their own: of cheap elements, and of others. */
#define COLUMNS 256
#define FEW_COLUMNS 64
#define EXPENSIVE 16.0
/* How many times the usual work it takes until a second thread is worth it for cheap elements: one that reads whole
 * rows is nearly as fast as two that read halves of them. */
#define WORK_FOR_CHUNKS 4

typedef struct {
    elementwise_fn inner; /* along a reduced axis */
    reduce_rows_fn outer; /* along a kept one, over the rows of a reduced one; NULL if all are reduced */
    int ndim, n_inputs, n_kept, n_reductions, needs_elements, reduced_ndim;
    int *types;     /* of inputs, kept results, reduced results */
    int *acc_types; /* [n_reductions] */
    int **donors;   /* for each kept result, the count and positions of the inputs whose memory it may reuse */
    signed char *broadcast, *is_reduced; /* [n_inputs][ndim], [ndim] */
    char (*seeds)[16];
    double cost;
    PyObject *joins; /* borrowed: for each reduction the NumPy ufunc that joins partial results, or None */
} Reduction;

typedef struct {
    const Reduction *r;
    const LoopNest *nest; /* axes: kept ones, reduced ones, then the one along which kernels run */
    int n_kept_axes, inner_is_reduced;
    /* One axis may be cut in chunks: a reduced one, each chunk with accumulators of its own, `acc_bytes` apart, or the
     * kept one along which kernels run. */
    int chunk_axis;
    npy_intp chunks, chunk;
    const npy_intp *acc_bytes; /* [n_reductions] */
    Capture *capture;          /* NULL: nothing is noted */
} Pass;

static int common_shape(const Reduction *r, PyArrayObject **arrays, npy_intp *shape) {
    for (int d = 0; d < r->ndim; d++) {
        npy_intp length = -1;
        for (int i = 0; i < r->n_inputs; i++) {
            npy_intp own = PyArray_DIMS(arrays[i])[d];
            int broadcastable = r->broadcast[i * r->ndim + d];
            if (broadcastable ? own != 1 : length >= 0 && own != length)
                return RUN_MISMATCH;
            if (!broadcastable)
                length = own;
        }
        shape[d] = length < 0 ? 1 : length;
    }
    return shape_fits(shape, r->ndim);
}

static void note_call(const Pass *pass, int64_t n, char *const *data, const int64_t *inner, int64_t rows,
                      const int64_t *steps) {
    const Reduction *r = pass->r;
    if (pass->inner_is_reduced)
        capture_call(pass->capture, CALL_ELEMENTS, (void *)r->inner, n, pass->nest->nops, data, inner, 0, NULL);
    else
        capture_call(pass->capture, CALL_ROWS, (void *)r->outer, n, pass->nest->nops, data, inner, rows, steps);
}

/* A unit is one position along kept axes, and one chunk. */
static void pass_units(void *context, int64_t begin, int64_t end) {
    const Pass *pass = context;
    const LoopNest *nest = pass->nest;
    int last = nest->ndim - 1, nops = nest->nops, first_acc = nops - pass->r->n_reductions;
    npy_intp index[NPY_MAXDIMS], length[NPY_MAXDIMS];
    char *data[nops];
    const int64_t *inner = (const int64_t *)(nest->strides + (npy_intp)last * nops);
    /* Where kernels run along a kept axis, the last reduced axis is theirs too: its steps lead from row to row. */
    int has_rows = !pass->inner_is_reduced && last > pass->n_kept_axes, first = last - has_rows;
    const int64_t *steps = (const int64_t *)(nest->strides + (npy_intp)first * nops);
    memcpy(length, nest->shape, sizeof(npy_intp) * nest->ndim);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t remainder = unit;
        memcpy(data, nest->data, nops * sizeof(char *));
        if (pass->chunks > 1) { /* divisions take longer than short rows */
            int64_t number = unit % pass->chunks;
            remainder = unit / pass->chunks;
            npy_intp start = number * pass->chunk, left = nest->shape[pass->chunk_axis] - start;
            length[pass->chunk_axis] = left < pass->chunk ? left : pass->chunk;
            for (int k = 0; k < nops; k++)
                data[k] += start * nest->strides[pass->chunk_axis * nops + k];
            for (int k = first_acc; k < nops; k++)
                data[k] += number * pass->acc_bytes[k - first_acc];
        }
        for (int d = pass->n_kept_axes - 1; d >= 0; d--) {
            npy_intp at = d == 0 ? remainder : remainder % nest->shape[d];
            remainder = d == 0 ? 0 : remainder / nest->shape[d];
            for (int k = 0; k < nops; k++)
                data[k] += at * nest->strides[d * nops + k];
        }
        memset(index, 0, sizeof(npy_intp) * (last + 1));
        for (;;) {
            if (pass->capture != NULL)
                note_call(pass, length[last], data, inner, has_rows ? length[first] : 1, steps);
            if (pass->inner_is_reduced)
                pass->r->inner(length[last], data, inner);
            else
                pass->r->outer(length[last], data, inner, has_rows ? length[first] : 1, steps);
            int d = first - 1;
            for (; d >= pass->n_kept_axes; d--) {
                const npy_intp *strides = nest->strides + d * nops;
                int more = ++index[d] < length[d];
                for (int k = 0; k < nops; k++)
                    data[k] += more ? strides[k] : -(length[d] - 1) * strides[k];
                if (more)
                    break;
                index[d] = 0;
            }
            if (d < pass->n_kept_axes)
                break;
        }
    }
}

static int pass_run(const Machine *m, const Pass *pass, int64_t units) {
    double work = loop_nest_size(pass->nest) * pass->r->cost;
    if (work < WORK_FOR_GIL) {
        if (pass->capture != NULL)
            pass->capture->work += work;
        pass_units((void *)pass, 0, units);
        return RUN_DONE;
    }
    if (pass->capture != NULL)
        capture_fail(pass->capture);
    int64_t share = units / (4 * threads_get());
    return run_long(pass_units, (void *)pass, units, share < 1 ? 1 : share, work, m->thread_scale * work_for_threads);
}

static void fill_seed(PyArrayObject *acc, const char *seed) {
    char *data = PyArray_BYTES(acc);
    size_t total = (size_t)PyArray_NBYTES(acc), done = (size_t)PyArray_ITEMSIZE(acc);
    if (total == 0)
        return;
    memcpy(data, seed, done);
    for (; done < total; done *= 2) /* what is filled fills as much again */
        memcpy(data + done, data, done < total - done ? done : total - done);
}

/* Accumulators for each chunk, joined in the order of the chunks. The cut depends on lengths alone, so that results
 * do not depend on the number of threads. */
static int pass_chunks(const Machine *m, Pass *pass, int64_t units, PyArrayObject **accs) {
    const Reduction *r = pass->r;
    int n = r->n_reductions, made = 0, first_acc = pass->nest->nops - n, status = RUN_RAISED;
    PyArrayObject *parts[n];
    npy_intp shape[NPY_MAXDIMS], bytes[n];
    gil_take();
    for (; made < n; made++) {
        shape[0] = pass->chunks;
        for (int d = 0; d < r->reduced_ndim; d++) /* of a 0-d array the lengths are NULL */
            shape[d + 1] = PyArray_DIMS(accs[made])[d];
        parts[made] = (PyArrayObject *)PyArray_SimpleNew(r->reduced_ndim + 1, shape, r->acc_types[made]);
        if (parts[made] == NULL)
            break;
        fill_seed(parts[made], r->seeds[made]);
        bytes[made] = PyArray_NBYTES(accs[made]);
        pass->nest->data[first_acc + made] = PyArray_BYTES(parts[made]);
    }
    pass->acc_bytes = bytes;
    if (made == n)
        status = pass_run(m, pass, units * pass->chunks);
    for (int k = 0; k < made; k++) {
        if (status == RUN_DONE) {
            PyObject *joined = PyObject_CallMethod(PyTuple_GET_ITEM(r->joins, k), "reduce", "OiOO", parts[k], 0,
                                                   PyArray_DESCR(accs[k]), accs[k]);
            status = joined == NULL ? RUN_RAISED : RUN_DONE;
            Py_XDECREF(joined);
        }
        Py_DECREF(parts[k]);
    }
    return status;
}

static int pass_nest(const Machine *m, const Reduction *r, const LoopNest *nest, int n_kept_axes, int inner_is_reduced,
                     PyArrayObject **accs, Capture *capture) {
    Pass pass = {r, nest, n_kept_axes, inner_is_reduced, n_kept_axes, 1, 0, NULL, capture};
    int64_t units = 1;
    for (int d = 0; d < n_kept_axes; d++)
        units *= nest->shape[d];
    npy_intp each = loop_nest_size(nest) / units, along = nest->shape[nest->ndim - 1], wanted;
    if (units >= 8 || each < 2 * CHUNK)
        return pass_run(m, &pass, units);
    if (capture != NULL)
        capture_fail(capture);
    pass.capture = NULL;
    int cheap = r->cost < EXPENSIVE, joined = r->reduced_ndim < NPY_MAXDIMS;
    npy_intp columns = cheap ? COLUMNS : FEW_COLUMNS, none[r->n_reductions];
    if (!inner_is_reduced && along >= 2 * columns) {
        /* Chunks of the accumulators are independent of each other. Of cheap elements each thread gets one: shorter
         * chunks of a row would end before memory has been fetched ahead. */
        npy_intp most = cheap ? threads_get() : MOST_CHUNKS;
        if (cheap && loop_nest_size(nest) * r->cost < WORK_FOR_CHUNKS * m->thread_scale * work_for_threads)
            most = 1;
        wanted = along / columns < most ? along / columns : most;
        pass.chunk_axis = nest->ndim - 1;
        pass.chunk = ((along + wanted - 1) / wanted + 63) / 64 * 64;
        pass.chunks = (along + pass.chunk - 1) / pass.chunk;
        memset(none, 0, sizeof none);
        pass.acc_bytes = none;
        return pass_run(m, &pass, units * pass.chunks);
    }
    for (int k = 0; k < r->n_reductions; k++)
        joined &= PyTuple_GET_ITEM(r->joins, k) != Py_None;
    if (joined && (inner_is_reduced || n_kept_axes < nest->ndim - 1)) {
        npy_intp length = nest->shape[n_kept_axes];
        wanted = each / CHUNK;
        wanted = wanted > MOST_CHUNKS ? MOST_CHUNKS : wanted > length ? length : wanted;
        pass.chunk = (length + wanted - 1) / wanted;
        pass.chunks = (length + pass.chunk - 1) / pass.chunk;
        if (pass.chunks > 1)
            return pass_chunks(m, &pass, units, accs);
    }
    return pass_run(m, &pass, units);
}

/* The axis along which kernels run: the one with the smallest steps, unless it is short and another is long. */
static int choose_inner(const LoopNest *nest, int n_full) {
    int best = 0;
    npy_intp least = -1;
    for (int d = 0; d < nest->ndim; d++) {
        npy_intp weight = 0;
        for (int k = 0; k < n_full; k++) {
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

/* Merge neighbours of one kind whose steps fit. */
static void merge_axes(LoopNest *nest, signed char *is_reduced) {
    int last = 0, nops = nest->nops;
    for (int d = 1; d < nest->ndim; d++) {
        int merge = is_reduced[last] == is_reduced[d];
        for (int k = 0; k < nops; k++)
            merge &= nest->strides[last * nops + k] == nest->strides[d * nops + k] * nest->shape[d];
        npy_intp length = merge ? nest->shape[last] * nest->shape[d] : nest->shape[d];
        last += !merge;
        memmove(nest->strides + last * nops, nest->strides + d * nops, nops * sizeof(npy_intp));
        nest->shape[last] = length;
        is_reduced[last] = is_reduced[d];
    }
    nest->ndim = last + 1;
}

/* Scratch: arrays[nops], data[nops], two sets of strides[max(ndim, 1)][nops]. */
static int pass_arrays(const Machine *m, const Reduction *r, PyArrayObject **arrays, PyArrayObject **accs,
                       npy_intp *shape, Capture *capture) {
    int n_full = r->n_inputs + r->n_kept, nops = n_full + r->n_reductions, out_axis = 0, n_kept_axes = 0;
    char **data = (char **)(arrays + nops);
    npy_intp *strides = (npy_intp *)(data + nops), other_shape[NPY_MAXDIMS];
    signed char is_reduced[NPY_MAXDIMS];
    LoopNest nest = {0, nops, shape, strides, data};
    LoopNest ordered = {0, nops, other_shape, strides + (r->ndim > 0 ? r->ndim : 1) * nops, data};
    for (int d = 0; d < r->ndim; d++) {
        npy_intp *row = strides + nest.ndim * nops;
        int axis = out_axis;
        out_axis += !r->is_reduced[d];
        if (shape[d] == 1)
            continue;
        for (int k = 0; k < n_full; k++)
            row[k] = k < r->n_inputs && r->broadcast[k * r->ndim + d] ? 0 : PyArray_STRIDES(arrays[k])[d];
        for (int k = 0; k < r->n_reductions; k++)
            row[n_full + k] = r->is_reduced[d] ? 0 : PyArray_STRIDES(accs[k])[axis];
        shape[nest.ndim] = shape[d];
        is_reduced[nest.ndim++] = r->is_reduced[d];
    }
    for (int k = 0; k < n_full; k++)
        data[k] = PyArray_BYTES(arrays[k]);
    for (int k = 0; k < r->n_reductions; k++)
        data[n_full + k] = PyArray_BYTES(accs[k]);
    if (nest.ndim == 0) {
        memset(strides, 0, nops * sizeof(npy_intp));
        if (capture != NULL)
            capture_call(capture, CALL_ELEMENTS, (void *)r->inner, 1, nops, data, NULL, 0, NULL);
        r->inner(1, data, (const int64_t *)strides);
        return RUN_DONE;
    }
    merge_axes(&nest, is_reduced);
    int inner = choose_inner(&nest, n_full);
    order_axes(&nest, &ordered, is_reduced, inner);
    for (int d = 0; d < nest.ndim; d++)
        n_kept_axes += d != inner && !is_reduced[d];
    return pass_nest(m, r, &ordered, n_kept_axes, is_reduced[inner], accs, capture);
}

/* Store accumulators in the dtype of the result. What is too large for a float becomes infinite in silence. */
static int store_result(PyArrayObject *out, PyArrayObject *acc) {
    if (PyArray_TYPE(acc) != NPY_DOUBLE || PyArray_TYPE(out) != NPY_FLOAT)
        return PyArray_CopyInto(out, acc) < 0 ? RUN_RAISED : RUN_DONE;
    const double *from = PyArray_DATA(acc);
    float *to = PyArray_DATA(out);
    for (npy_intp i = 0, count = PyArray_SIZE(out); i < count; i++)
        to[i] = (float)from[i];
    return RUN_DONE;
}

static PyArrayObject *kept_array(Machine *m, Frame *f, const Instruction *in, const Reduction *r,
                                 PyArrayObject **arrays, const npy_intp *shape, int k) {
    const int *donors = r->donors[k];
    int fortran = 0, reused = slot_decides(m, f, in->outputs[k], r->ndim) ? -1 : 0;
    for (int t = 1; t <= donors[0] && reused == 0; t++) {
        int position = donors[t], taken = 0;
        for (int other = 0; other < k; other++)
            taken |= arrays[r->n_inputs + other] == arrays[position];
        reused = taken ? 0 : buffer_reuse_or_order(m, f, in->inputs[position], in->outputs[k], &fortran);
        if (reused > 0)
            return arrays[position];
    }
    return buffer_obtain(m, f, in->outputs[k], r->types[r->n_inputs + k], r->ndim, shape, fortran);
}

/* Accumulators, seeded: the arrays of the results where the dtype is the same. All are owned; the count is returned. */
static int make_accumulators(Machine *m, Frame *f, const Instruction *in, const Reduction *r, const npy_intp *shape,
                             PyArrayObject **outs, PyArrayObject **accs) {
    for (int k = 0; k < r->n_reductions; k++) {
        int type = r->types[r->n_inputs + r->n_kept + k];
        outs[k] = buffer_obtain(m, f, in->outputs[r->n_kept + k], type, r->reduced_ndim, shape, 0);
        if (outs[k] == NULL)
            return k;
        if (r->acc_types[k] != type)
            gil_take();
        accs[k] = r->acc_types[k] == type
                      ? (PyArrayObject *)Py_NewRef((PyObject *)outs[k])
                      : (PyArrayObject *)PyArray_SimpleNew(r->reduced_ndim, (npy_intp *)shape, r->acc_types[k]);
        if (accs[k] == NULL)
            return k;
        fill_seed(accs[k], r->seeds[k]);
    }
    return r->n_reductions;
}

/* Say which arrays the operands are, and that the accumulators are seeded first. */
static void note_operands(Capture *c, Frame *f, const Instruction *in, const Reduction *r, PyArrayObject **outs,
                          PyArrayObject **accs) {
    int n_full = r->n_inputs + r->n_kept;
    for (int k = 0; k < in->n_outputs; k++)
        capture_result(c, f, in->outputs[k]);
    for (int k = 0; k < r->n_reductions; k++) {
        char *data = PyArray_BYTES(accs[k]);
        if (accs[k] == outs[k])
            capture_operand(c, 0, in->outputs[r->n_kept + k]);
        else
            capture_array(c, 0, accs[k]);
        capture_call(c, CALL_FILL, r->seeds[k], PyArray_NBYTES(accs[k]), 1, &data, NULL, PyArray_ITEMSIZE(accs[k]),
                     NULL);
    }
    for (int k = 0; k < n_full; k++)
        capture_operand(c, k, k < r->n_inputs ? in->inputs[k] : in->outputs[k - r->n_inputs]);
    for (int k = 0; k < r->n_reductions; k++) {
        if (accs[k] == outs[k])
            capture_operand(c, n_full + k, in->outputs[r->n_kept + k]);
        else
            capture_array(c, n_full + k, accs[k]);
    }
}

/* Say that an accumulator is stored in another dtype. */
static void note_store(Capture *c, int reg, PyArrayObject *out, PyArrayObject *acc) {
    char *data[] = {PyArray_BYTES(out), PyArray_BYTES(acc)};
    if (PyArray_TYPE(acc) != NPY_DOUBLE || PyArray_TYPE(out) != NPY_FLOAT) {
        capture_fail(c);
        return;
    }
    capture_operand(c, 0, reg);
    capture_array(c, 1, acc);
    capture_call(c, CALL_NARROW, NULL, PyArray_SIZE(out), 2, data, NULL, 0, NULL);
}

static int reduction_run(Machine *m, Frame *f, const Instruction *in) {
    const Reduction *r = in->plan;
    PyArrayObject **arrays = f->scratch, *outs[r->n_reductions], *accs[r->n_reductions];
    npy_intp shape[NPY_MAXDIMS], reduced[NPY_MAXDIMS], n_reduced = 1, n_positions = 1;
    int axis = 0, status;
    for (int i = 0; i < r->n_inputs; i++)
        if ((arrays[i] = operand(f, in->inputs[i], r->types[i], r->ndim)) == NULL)
            return RUN_RAISED;
    if ((status = common_shape(r, arrays, shape)) != RUN_DONE)
        return status;
    for (int d = 0; d < r->ndim; d++) {
        *(r->is_reduced[d] ? &n_reduced : &n_positions) *= shape[d];
        if (!r->is_reduced[d])
            reduced[axis++] = shape[d];
    }
    if (n_reduced == 0 && r->needs_elements)
        return RUN_MISMATCH;
    for (int k = 0; k < r->n_kept; k++)
        if ((arrays[r->n_inputs + k] = kept_array(m, f, in, r, arrays, shape, k)) == NULL)
            return RUN_RAISED;
    int made = make_accumulators(m, f, in, r, reduced, outs, accs);
    status = made < r->n_reductions ? RUN_RAISED : RUN_DONE;
    Capture *capture = m->open == NULL || status != RUN_DONE ? NULL : capturing(m, f);
    if (capture != NULL)
        note_operands(capture, f, in, r, outs, accs);
    if (status == RUN_DONE && n_reduced > 0 && n_positions > 0)
        status = pass_arrays(m, r, arrays, accs, shape, capture);
    for (int k = 0; k < made; k++) {
        if (capture != NULL && accs[k] != outs[k])
            note_store(capture, in->outputs[r->n_kept + k], outs[k], accs[k]);
        if (status == RUN_DONE && accs[k] != outs[k])
            status = store_result(outs[k], accs[k]);
        Py_DECREF(accs[k]);
    }
    return status;
}

static void reduction_free(void *plan) {
    Reduction *r = plan;
    if (r->donors != NULL)
        for (int k = 0; k < r->n_kept; k++)
            PyMem_Free(r->donors[k]);
    PyMem_Free(r->donors);
    PyMem_Free(r->types);
    PyMem_Free(r->acc_types);
    PyMem_Free(r->broadcast);
    PyMem_Free(r->is_reduced);
    PyMem_Free(r->seeds);
    PyMem_Free(r);
}

static int parse_donors(Reduction *r, PyObject *rows) {
    r->donors = PyMem_Calloc(r->n_kept + 1, sizeof(int *));
    if (r->donors == NULL)
        return -1;
    for (int k = 0; k < r->n_kept; k++) {
        int count, *positions = parse_ints(PyTuple_GET_ITEM(rows, k), &count);
        r->donors[k] = positions == NULL ? NULL : PyMem_Calloc(count + 1, sizeof(int));
        if (r->donors[k] != NULL) {
            r->donors[k][0] = count;
            memcpy(r->donors[k] + 1, positions, count * sizeof(int));
        }
        PyMem_Free(positions);
        if (r->donors[k] == NULL)
            return -1;
    }
    return 0;
}

static int parse_seeds(Reduction *r, PyObject *seeds) {
    r->seeds = PyMem_Calloc(r->n_reductions, sizeof *r->seeds);
    if (r->seeds == NULL)
        return -1;
    for (int k = 0; k < r->n_reductions; k++) {
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(seeds, k), &bytes, &size) < 0)
            return -1;
        memcpy(r->seeds[k], bytes, size < (Py_ssize_t)sizeof *r->seeds ? size : (Py_ssize_t)sizeof *r->seeds);
    }
    return 0;
}

/* Payload: (inner, outer or 0, ndim, types of inputs and results, dtypes of accumulators, seeds, ufuncs that join
 * partial results, broadcast rows, ((reduced flags,),), donors of each kept result, needs elements, cost). */
int reduction_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *types, *acc_types, *seeds, *rows, *is_reduced, *donors;
    unsigned long long inner, outer;
    int count;
    Reduction *r = PyMem_Calloc(1, sizeof *r);
    if (r == NULL)
        return -1;
    in->plan = r;
    in->run = reduction_run;
    in->free = reduction_free;
    if (!PyArg_ParseTuple(payload, "KKiO!O!O!O!O!O!O!pd", &inner, &outer, &r->ndim, &PyTuple_Type, &types,
                          &PyTuple_Type, &acc_types, &PyTuple_Type, &seeds, &PyTuple_Type, &r->joins, &PyTuple_Type,
                          &rows, &PyTuple_Type, &is_reduced, &PyTuple_Type, &donors, &r->needs_elements, &r->cost))
        return -1;
    r->inner = (elementwise_fn)(uintptr_t)inner;
    r->outer = (reduce_rows_fn)(uintptr_t)outer;
    r->n_inputs = in->n_inputs;
    r->n_reductions = (int)PyTuple_GET_SIZE(seeds);
    r->n_kept = in->n_outputs - r->n_reductions;
    if (r->ndim < 0 || r->ndim > NPY_MAXDIMS || r->n_reductions < 1 || r->n_kept < 0 ||
        PyTuple_GET_SIZE(types) != in->n_inputs + in->n_outputs || PyTuple_GET_SIZE(acc_types) != r->n_reductions ||
        PyTuple_GET_SIZE(r->joins) != r->n_reductions || PyTuple_GET_SIZE(donors) != r->n_kept) {
        r->n_kept = 0;
        PyErr_SetString(PyExc_ValueError, "reduction payload: counts differ");
        return -1;
    }
    r->types = parse_ints(types, &count);
    r->acc_types = parse_ints(acc_types, &count);
    r->broadcast = parse_flags(rows, r->ndim);
    r->is_reduced = parse_flags(is_reduced, r->ndim);
    if (r->types == NULL || r->acc_types == NULL || r->broadcast == NULL || r->is_reduced == NULL ||
        parse_donors(r, donors) < 0 || parse_seeds(r, seeds) < 0)
        return -1;
    for (int d = 0; d < r->ndim; d++)
        r->reduced_ndim += !r->is_reduced[d];
    size_t nops = (size_t)in->n_inputs + in->n_outputs;
    machine_need_scratch(m, nops * (2 + 2 * (r->ndim > 0 ? r->ndim : 1)) * sizeof(void *));
    return 0;
}
