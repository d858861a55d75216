/* Elements of which some results are kept and others folded along axes: one pass over the operands for all of them. */
#include "runtime.h"

/* Elements in a chunk of a long fold at least, and chunks at most. */
#define CHUNK 32768
#define MOST_CHUNKS 64
/* Accumulators side by side that are worth a unit of their own: of cheap elements, and of others. */
#define COLUMNS 256
#define FEW_COLUMNS 64
#define EXPENSIVE 16.0

typedef struct {
    elementwise_fn inner, outer; /* along a folded axis; along one that stays, NULL if all are folded */
    int ndim, n_inputs, n_kept, n_folds, needs_elements, reduced_ndim;
    int *types;     /* of inputs, kept results, folded results */
    int *acc_types; /* [n_folds] */
    int **takers;   /* for each kept result, the count and positions of the inputs whose memory it may take over */
    signed char *broadcast, *folded; /* [n_inputs][ndim], [ndim] */
    char (*seeds)[16];
    double cost;
    PyObject *joins; /* borrowed: the NumPy ufunc that joins partial results of each fold */
} Folds;

typedef struct {
    const Folds *r;
    const Nest *nest; /* axes: those that stay, folded ones, then the one along which kernels run */
    int n_outside, inner_is_folded;
    /* One axis may be cut in chunks: a folded one, each chunk with accumulators of its own, `acc_bytes` apart, or the
     * axis that stays along which kernels run. */
    int chunk_axis;
    npy_intp chunks, chunk;
    const npy_intp *acc_bytes; /* [n_folds] */
} Pass;

static int common_shape(const Folds *r, PyArrayObject **arrays, npy_intp *shape) {
    for (int d = 0; d < r->ndim; d++) {
        npy_intp length = -1;
        for (int i = 0; i < r->n_inputs; i++) {
            npy_intp own = PyArray_DIMS(arrays[i])[d];
            int stretches = r->broadcast[i * r->ndim + d];
            if (stretches ? own != 1 : length >= 0 && own != length)
                return RUN_MISFIT;
            if (!stretches)
                length = own;
        }
        shape[d] = length < 0 ? 1 : length;
    }
    return shape_fits(shape, r->ndim);
}

/* A unit is one position along the axes that stay, and one chunk. */
static void pass_units(void *context, int64_t begin, int64_t end) {
    const Pass *pass = context;
    const Nest *nest = pass->nest;
    int last = nest->ndim - 1, nops = nest->nops, first_acc = nops - pass->r->n_folds;
    npy_intp index[NPY_MAXDIMS], length[NPY_MAXDIMS];
    char *data[nops];
    elementwise_fn fn = pass->inner_is_folded ? pass->r->inner : pass->r->outer;
    const int64_t *inner = (const int64_t *)(nest->strides + (npy_intp)last * nops);
    memcpy(length, nest->shape, sizeof(npy_intp) * nest->ndim);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t rest = unit / pass->chunks, number = unit % pass->chunks;
        memcpy(data, nest->data, nops * sizeof(char *));
        if (pass->chunks > 1) {
            npy_intp start = number * pass->chunk, left = nest->shape[pass->chunk_axis] - start;
            length[pass->chunk_axis] = left < pass->chunk ? left : pass->chunk;
            for (int k = 0; k < nops; k++)
                data[k] += start * nest->strides[pass->chunk_axis * nops + k];
            for (int k = first_acc; k < nops; k++)
                data[k] += number * pass->acc_bytes[k - first_acc];
        }
        for (int d = pass->n_outside - 1; d >= 0; d--) {
            npy_intp at = rest % nest->shape[d];
            rest /= nest->shape[d];
            for (int k = 0; k < nops; k++)
                data[k] += at * nest->strides[d * nops + k];
        }
        memset(index, 0, sizeof(npy_intp) * (last + 1));
        for (;;) {
            fn(length[last], data, inner);
            int d = last - 1;
            for (; d >= pass->n_outside; d--) {
                const npy_intp *strides = nest->strides + d * nops;
                int more = ++index[d] < length[d];
                for (int k = 0; k < nops; k++)
                    data[k] += more ? strides[k] : -(length[d] - 1) * strides[k];
                if (more)
                    break;
                index[d] = 0;
            }
            if (d < pass->n_outside)
                break;
        }
    }
}

static int pass_run(const Machine *m, const Pass *pass, int64_t units) {
    double work = nest_size(pass->nest) * pass->r->cost;
    if (work < WORK_FOR_GIL) {
        pass_units((void *)pass, 0, units);
        return RUN_DONE;
    }
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
    const Folds *r = pass->r;
    int n = r->n_folds, made = 0, first_acc = pass->nest->nops - n, status = RUN_RAISED;
    PyArrayObject *parts[n];
    npy_intp shape[NPY_MAXDIMS], bytes[n];
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

static int pass_nest(const Machine *m, const Folds *r, const Nest *nest, int n_outside, int inner_is_folded,
                     PyArrayObject **accs) {
    Pass pass = {r, nest, n_outside, inner_is_folded, n_outside, 1, 0, NULL};
    int64_t units = 1;
    for (int d = 0; d < n_outside; d++)
        units *= nest->shape[d];
    npy_intp each = nest_size(nest) / units, along = nest->shape[nest->ndim - 1], wanted;
    npy_intp columns = r->cost < EXPENSIVE ? COLUMNS : FEW_COLUMNS;
    if (units >= 8 || each < 2 * CHUNK)
        return pass_run(m, &pass, units);
    if (!inner_is_folded && along >= 2 * columns) { /* stretches of the accumulators are independent of each other */
        pass.chunk_axis = nest->ndim - 1;
        wanted = along / columns < MOST_CHUNKS ? along / columns : MOST_CHUNKS;
        pass.chunk = (along + wanted - 1) / wanted;
        pass.chunks = (along + pass.chunk - 1) / pass.chunk;
        npy_intp none[r->n_folds];
        memset(none, 0, sizeof none);
        pass.acc_bytes = none;
        return pass_run(m, &pass, units * pass.chunks);
    }
    if (n_outside == nest->ndim - 1 && !inner_is_folded)
        return pass_run(m, &pass, units);
    npy_intp length = nest->shape[n_outside];
    wanted = each / CHUNK;
    wanted = wanted > MOST_CHUNKS ? MOST_CHUNKS : wanted > length ? length : wanted;
    pass.chunk = (length + wanted - 1) / wanted;
    pass.chunks = (length + pass.chunk - 1) / pass.chunk;
    return pass.chunks > 1 && r->reduced_ndim < NPY_MAXDIMS ? pass_chunks(m, &pass, units, accs)
                                                            : pass_run(m, &pass, units);
}

/* The axis along which kernels run: the one with the smallest steps, unless it is short and another is long. */
static int choose_inner(const Nest *nest, int n_full) {
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

/* Put axes that stay first, then folded ones, then the axis `inner`; `folded` says which is which. Stable. */
static void order_axes(const Nest *from, Nest *to, const signed char *folded, int inner) {
    to->ndim = 0;
    for (int pass = 0; pass < 3; pass++)
        for (int d = 0; d < from->ndim; d++)
            if ((d == inner) == (pass == 2) && (pass == 2 || folded[d] == pass)) {
                to->shape[to->ndim] = from->shape[d];
                memcpy(to->strides + to->ndim * from->nops, from->strides + d * from->nops,
                       from->nops * sizeof(npy_intp));
                to->ndim++;
            }
}

/* Merge neighbours of one kind whose steps fit. */
static void merge_axes(Nest *nest, signed char *folded) {
    int last = 0, nops = nest->nops;
    for (int d = 1; d < nest->ndim; d++) {
        int merge = folded[last] == folded[d];
        for (int k = 0; k < nops; k++)
            merge &= nest->strides[last * nops + k] == nest->strides[d * nops + k] * nest->shape[d];
        npy_intp length = merge ? nest->shape[last] * nest->shape[d] : nest->shape[d];
        last += !merge;
        memmove(nest->strides + last * nops, nest->strides + d * nops, nops * sizeof(npy_intp));
        nest->shape[last] = length;
        folded[last] = folded[d];
    }
    nest->ndim = last + 1;
}

/* Scratch: arrays[nops], data[nops], two sets of strides[max(ndim, 1)][nops]. */
static int pass_arrays(const Machine *m, const Folds *r, PyArrayObject **arrays, PyArrayObject **accs,
                       npy_intp *shape) {
    int n_full = r->n_inputs + r->n_kept, nops = n_full + r->n_folds, out_axis = 0, n_outside = 0;
    char **data = (char **)(arrays + nops);
    npy_intp *strides = (npy_intp *)(data + nops), other_shape[NPY_MAXDIMS];
    signed char folded[NPY_MAXDIMS];
    Nest nest = {0, nops, shape, strides, data};
    Nest ordered = {0, nops, other_shape, strides + (r->ndim > 0 ? r->ndim : 1) * nops, data};
    for (int d = 0; d < r->ndim; d++) {
        npy_intp *row = strides + nest.ndim * nops;
        int axis = out_axis;
        out_axis += !r->folded[d];
        if (shape[d] == 1)
            continue;
        for (int k = 0; k < n_full; k++)
            row[k] = k < r->n_inputs && r->broadcast[k * r->ndim + d] ? 0 : PyArray_STRIDES(arrays[k])[d];
        for (int k = 0; k < r->n_folds; k++)
            row[n_full + k] = r->folded[d] ? 0 : PyArray_STRIDES(accs[k])[axis];
        shape[nest.ndim] = shape[d];
        folded[nest.ndim++] = r->folded[d];
    }
    for (int k = 0; k < n_full; k++)
        data[k] = PyArray_BYTES(arrays[k]);
    for (int k = 0; k < r->n_folds; k++)
        data[n_full + k] = PyArray_BYTES(accs[k]);
    if (nest.ndim == 0) {
        memset(strides, 0, nops * sizeof(npy_intp));
        r->inner(1, data, (const int64_t *)strides);
        return RUN_DONE;
    }
    merge_axes(&nest, folded);
    int inner = choose_inner(&nest, n_full);
    order_axes(&nest, &ordered, folded, inner);
    for (int d = 0; d < nest.ndim; d++)
        n_outside += d != inner && !folded[d];
    return pass_nest(m, r, &ordered, n_outside, folded[inner], accs);
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

static PyArrayObject *kept_array(Machine *m, Frame *f, const Instruction *in, const Folds *r, PyArrayObject **arrays,
                                 const npy_intp *shape, int k) {
    const int *takers = r->takers[k];
    for (int t = 1; t <= takers[0] && !slot_offered(f, in->outputs[k]); t++) {
        int position = takers[t], taken = 0;
        for (int other = 0; other < k; other++)
            taken |= arrays[r->n_inputs + other] == arrays[position];
        if (!taken && buffer_take_over(m, f, in->inputs[position], in->outputs[k]))
            return arrays[position];
    }
    return buffer_obtain(m, f, in->outputs[k], r->types[r->n_inputs + k], r->ndim, shape, 0);
}

/* Accumulators, seeded: the arrays of the results where the dtype is the same. All are owned; the count is returned. */
static int make_accumulators(Machine *m, Frame *f, const Instruction *in, const Folds *r, const npy_intp *shape,
                             PyArrayObject **outs, PyArrayObject **accs) {
    for (int k = 0; k < r->n_folds; k++) {
        int type = r->types[r->n_inputs + r->n_kept + k];
        outs[k] = buffer_obtain(m, f, in->outputs[r->n_kept + k], type, r->reduced_ndim, shape, 0);
        if (outs[k] == NULL)
            return k;
        accs[k] = r->acc_types[k] == type
                      ? (PyArrayObject *)Py_NewRef((PyObject *)outs[k])
                      : (PyArrayObject *)PyArray_SimpleNew(r->reduced_ndim, (npy_intp *)shape, r->acc_types[k]);
        if (accs[k] == NULL)
            return k;
        fill_seed(accs[k], r->seeds[k]);
    }
    return r->n_folds;
}

static int folds_run(Machine *m, Frame *f, const Instruction *in) {
    const Folds *r = in->plan;
    PyArrayObject **arrays = f->scratch, *outs[r->n_folds], *accs[r->n_folds];
    npy_intp shape[NPY_MAXDIMS], reduced[NPY_MAXDIMS], folded = 1, rest = 1;
    int axis = 0, status;
    for (int i = 0; i < r->n_inputs; i++)
        if ((arrays[i] = operand(f, in->inputs[i], r->types[i], r->ndim)) == NULL)
            return RUN_RAISED;
    if ((status = common_shape(r, arrays, shape)) != RUN_DONE)
        return status;
    for (int d = 0; d < r->ndim; d++) {
        *(r->folded[d] ? &folded : &rest) *= shape[d];
        if (!r->folded[d])
            reduced[axis++] = shape[d];
    }
    if (folded == 0 && r->needs_elements)
        return RUN_MISFIT;
    for (int k = 0; k < r->n_kept; k++)
        if ((arrays[r->n_inputs + k] = kept_array(m, f, in, r, arrays, shape, k)) == NULL)
            return RUN_RAISED;
    int made = make_accumulators(m, f, in, r, reduced, outs, accs);
    status = made < r->n_folds ? RUN_RAISED : RUN_DONE;
    if (status == RUN_DONE && folded > 0 && rest > 0)
        status = pass_arrays(m, r, arrays, accs, shape);
    for (int k = 0; k < made; k++) {
        if (status == RUN_DONE && accs[k] != outs[k])
            status = store_result(outs[k], accs[k]);
        Py_DECREF(accs[k]);
    }
    return status;
}

static void folds_free(void *plan) {
    Folds *r = plan;
    if (r->takers != NULL)
        for (int k = 0; k < r->n_kept; k++)
            PyMem_Free(r->takers[k]);
    PyMem_Free(r->takers);
    PyMem_Free(r->types);
    PyMem_Free(r->acc_types);
    PyMem_Free(r->broadcast);
    PyMem_Free(r->folded);
    PyMem_Free(r->seeds);
    PyMem_Free(r);
}

static int parse_takers(Folds *r, PyObject *rows) {
    r->takers = PyMem_Calloc(r->n_kept + 1, sizeof(int *));
    if (r->takers == NULL)
        return -1;
    for (int k = 0; k < r->n_kept; k++) {
        int count, *positions = parse_ints(PyTuple_GET_ITEM(rows, k), &count);
        r->takers[k] = positions == NULL ? NULL : PyMem_Calloc(count + 1, sizeof(int));
        if (r->takers[k] != NULL) {
            r->takers[k][0] = count;
            memcpy(r->takers[k] + 1, positions, count * sizeof(int));
        }
        PyMem_Free(positions);
        if (r->takers[k] == NULL)
            return -1;
    }
    return 0;
}

static int parse_seeds(Folds *r, PyObject *seeds) {
    r->seeds = PyMem_Calloc(r->n_folds, sizeof *r->seeds);
    if (r->seeds == NULL)
        return -1;
    for (int k = 0; k < r->n_folds; k++) {
        char *bytes;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(seeds, k), &bytes, &size) < 0)
            return -1;
        memcpy(r->seeds[k], bytes, size < (Py_ssize_t)sizeof *r->seeds ? size : (Py_ssize_t)sizeof *r->seeds);
    }
    return 0;
}

/* Payload: (inner, outer or 0, ndim, types of inputs and results, dtypes of accumulators, seeds, ufuncs that join partial
 * results, broadcast rows, ((folded flags,),), takers of each kept result, needs elements, cost). */
int folds_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *types, *acc_types, *seeds, *rows, *folded, *takers;
    unsigned long long inner, outer;
    int count;
    Folds *r = PyMem_Calloc(1, sizeof *r);
    if (r == NULL)
        return -1;
    in->plan = r;
    in->run = folds_run;
    in->free = folds_free;
    if (!PyArg_ParseTuple(payload, "KKiO!O!O!O!O!O!O!pd", &inner, &outer, &r->ndim, &PyTuple_Type, &types,
                          &PyTuple_Type, &acc_types, &PyTuple_Type, &seeds, &PyTuple_Type, &r->joins, &PyTuple_Type,
                          &rows, &PyTuple_Type, &folded, &PyTuple_Type, &takers, &r->needs_elements, &r->cost))
        return -1;
    r->inner = (elementwise_fn)(uintptr_t)inner;
    r->outer = (elementwise_fn)(uintptr_t)outer;
    r->n_inputs = in->n_inputs;
    r->n_folds = (int)PyTuple_GET_SIZE(seeds);
    r->n_kept = in->n_outputs - r->n_folds;
    if (r->ndim < 0 || r->ndim > NPY_MAXDIMS || r->n_folds < 1 || r->n_kept < 0 ||
        PyTuple_GET_SIZE(types) != in->n_inputs + in->n_outputs || PyTuple_GET_SIZE(acc_types) != r->n_folds ||
        PyTuple_GET_SIZE(r->joins) != r->n_folds || PyTuple_GET_SIZE(takers) != r->n_kept) {
        r->n_kept = 0;
        PyErr_SetString(PyExc_ValueError, "payload of folds: counts differ");
        return -1;
    }
    r->types = parse_ints(types, &count);
    r->acc_types = parse_ints(acc_types, &count);
    r->broadcast = parse_flags(rows, r->ndim);
    r->folded = parse_flags(folded, r->ndim);
    if (r->types == NULL || r->acc_types == NULL || r->broadcast == NULL || r->folded == NULL ||
        parse_takers(r, takers) < 0 || parse_seeds(r, seeds) < 0)
        return -1;
    for (int d = 0; d < r->ndim; d++)
        r->reduced_ndim += !r->folded[d];
    size_t nops = (size_t)in->n_inputs + in->n_outputs;
    machine_need_scratch(m, nops * (2 + 2 * (r->ndim > 0 ? r->ndim : 1)) * sizeof(void *));
    return 0;
}
