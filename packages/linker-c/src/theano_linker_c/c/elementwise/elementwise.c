/* Elementwise instructions: shapes, output memory, and the loop nest that the kernel runs in. */
#include "machine/capture.h"

typedef struct {
    elementwise_fn fn;
    int ndim, n_inputs, n_outputs;
    int *types;             /* of inputs, then outputs */
    signed char *broadcast; /* [n_inputs][ndim] */
    int all_full;           /* no input is broadcast along any axis */
    double cost;
    int **donors; /* for each output, the count and positions of the inputs whose memory it may reuse; one that is
                   * named twice is overwritten, whoever else has it */
} Elementwise;

static void elementwise_free_donors(Elementwise *e) {
    if (e->donors != NULL)
        for (int k = 0; k < e->n_outputs; k++)
            PyMem_Free(e->donors[k]);
}

/* Put the arrays of the operands into `arrays`, which lies in the frame's scratch memory. */
static int collect(Frame *f, const Instruction *in, const Elementwise *e, PyArrayObject **arrays) {
    for (int i = 0; i < e->n_inputs; i++) {
        arrays[i] = operand(f, in->inputs[i], e->types[i], e->ndim);
        if (arrays[i] == NULL)
            return RUN_RAISED;
    }
    return RUN_DONE;
}

/* The common shape. An axis that an input does not broadcast along has one length in all such inputs. */
static int common_shape(const Elementwise *e, PyArrayObject **arrays, npy_intp *shape) {
    for (int d = 0; d < e->ndim; d++) {
        npy_intp length = -1;
        for (int i = 0; i < e->n_inputs; i++) {
            npy_intp own = PyArray_DIMS(arrays[i])[d];
            if (e->broadcast[i * e->ndim + d]) {
                if (own != 1)
                    return RUN_MISMATCH;
            } else if (length != own) {
                if (length >= 0)
                    return RUN_MISMATCH;
                length = own;
            }
        }
        shape[d] = length < 0 ? 1 : length;
    }
    return shape_fits(shape, e->ndim);
}

/* Whether inputs that have all axes lie in Fortran order and none in C order only. */
static int prefers_fortran(const Elementwise *e, PyArrayObject **arrays) {
    int found = 0;
    if (e->ndim < 2)
        return 0;
    for (int i = 0; i < e->n_inputs; i++) {
        int is_broadcast = 0;
        for (int d = 0; d < e->ndim; d++)
            is_broadcast |= e->broadcast[i * e->ndim + d];
        if (is_broadcast)
            continue;
        int flags = PyArray_FLAGS(arrays[i]);
        if (!(flags & NPY_ARRAY_F_CONTIGUOUS) || (flags & NPY_ARRAY_C_CONTIGUOUS))
            return 0;
        found = 1;
    }
    return found;
}

static PyArrayObject *output_array(Machine *m, Frame *f, const Instruction *in, const Elementwise *e,
                                   PyArrayObject **arrays, const npy_intp *shape, int k, int fortran) {
    const int *donors = e->donors[k];
    if (donors[0] > 1 && donors[1] == donors[2] && f->commits == NULL && PyArray_ISBEHAVED(arrays[donors[1]])) {
        frame_set(f, in->outputs[k], Py_NewRef((PyObject *)arrays[donors[1]]));
        return arrays[donors[1]];
    }
    int reused = 0;
    if (slot_decides(m, f, in->outputs[k], e->ndim))
        fortran = 0, reused = -1;
    for (int t = 1; t <= donors[0] && reused == 0; t++) {
        int position = donors[t], reg = in->inputs[position], taken = 0;
        for (int other = 0; other < k; other++)
            taken |= arrays[e->n_inputs + other] == arrays[position];
        reused = taken ? 0 : buffer_reuse_or_order(m, f, reg, in->outputs[k], &fortran);
        if (reused > 0)
            return arrays[position];
    }
    return buffer_obtain(m, f, in->outputs[k], e->types[e->n_inputs + k], e->ndim, shape, fortran);
}

static int same_order(PyArrayObject **arrays, int count) {
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
    for (int i = 0; i < count; i++)
        flags &= PyArray_FLAGS(arrays[i]);
    return flags != 0;
}

/* Scratch: arrays[nops], data[nops], strides[max(ndim, 1)][nops]. */
static int elementwise_run(Machine *m, Frame *f, const Instruction *in) {
    const Elementwise *e = in->plan;
    int nops = e->n_inputs + e->n_outputs, status;
    PyArrayObject **arrays = f->scratch;
    char **data = (char **)(arrays + nops);
    npy_intp *strides = (npy_intp *)(data + nops);
    npy_intp shape[NPY_MAXDIMS];
    if ((status = collect(f, in, e, arrays)) != RUN_DONE || (status = common_shape(e, arrays, shape)) != RUN_DONE)
        return status;
    int fortran = prefers_fortran(e, arrays);
    for (int k = 0; k < e->n_outputs; k++) {
        arrays[e->n_inputs + k] = output_array(m, f, in, e, arrays, shape, k, fortran);
        if (arrays[e->n_inputs + k] == NULL)
            return RUN_RAISED;
    }
    for (int k = 0; k < nops; k++)
        data[k] = PyArray_BYTES(arrays[k]);
    LoopNest nest = {e->ndim, nops, shape, strides, data};
    npy_intp size = loop_nest_size(&nest);
    if (size == 0)
        return RUN_DONE;
    if (e->ndim > 0 && e->all_full && same_order(arrays, nops)) {
        nest.ndim = 1;
        shape[0] = size;
        for (int k = 0; k < nops; k++)
            strides[k] = PyArray_ITEMSIZE(arrays[k]);
    } else {
        for (int k = 0; k < nops; k++)
            for (int d = 0; d < e->ndim; d++) {
                int is_broadcast = k < e->n_inputs && e->broadcast[k * e->ndim + d];
                strides[d * nops + k] = is_broadcast ? 0 : PyArray_STRIDES(arrays[k])[d];
            }
        loop_nest_simplify(&nest);
    }
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL) {
        for (int k = 0; k < nops; k++)
            capture_operand(capture, k, k < e->n_inputs ? in->inputs[k] : in->outputs[k - e->n_inputs]);
        for (int k = 0; k < e->n_outputs; k++)
            capture_result(capture, f, in->outputs[k]);
        capture_nest(capture, &nest, e->fn, e->cost);
    }
    return loop_nest_run(m, &nest, e->fn, e->cost);
}

/* An array that is overwritten whoever has it may be another one in each call. */
int elementwise_captures(const Instruction *in) {
    const Elementwise *e = in->plan;
    for (int k = 0; k < e->n_outputs; k++)
        if (e->donors[k][0] > 1 && e->donors[k][1] == e->donors[k][2])
            return 0;
    return 1;
}

/* The kernel of an instruction and the types of its operands, for those who call it themselves. */
const int *elementwise_kernel(const Instruction *in, elementwise_fn *fn, double *cost) {
    const Elementwise *e = in->plan;
    *fn = e->fn;
    *cost = e->cost;
    return e->types;
}

static void elementwise_free(void *plan) {
    Elementwise *e = plan;
    elementwise_free_donors(e);
    PyMem_Free(e->donors);
    PyMem_Free(e->types);
    PyMem_Free(e->broadcast);
    PyMem_Free(e);
}

static int parse_donors(Elementwise *e, PyObject *rows) {
    e->donors = PyMem_Calloc(e->n_outputs + 1, sizeof(int *));
    if (e->donors == NULL)
        return -1;
    for (int k = 0; k < e->n_outputs; k++) {
        int count, *positions = parse_ints(PyTuple_GET_ITEM(rows, k), &count);
        if (positions == NULL)
            return -1;
        e->donors[k] = PyMem_Calloc(count + 1, sizeof(int));
        if (e->donors[k] != NULL) {
            e->donors[k][0] = count;
            memcpy(e->donors[k] + 1, positions, count * sizeof(int));
        }
        PyMem_Free(positions);
        if (e->donors[k] == NULL)
            return -1;
    }
    return 0;
}

/* Payload: (address, ndim, types of inputs and outputs, broadcast rows, cost, donors of each output). */
int elementwise_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *types, *rows, *donors;
    unsigned long long address;
    Elementwise *e = PyMem_Calloc(1, sizeof *e);
    if (e == NULL)
        return -1;
    in->plan = e;
    in->run = elementwise_run;
    in->free = elementwise_free;
    e->n_inputs = in->n_inputs;
    e->n_outputs = in->n_outputs;
    if (!PyArg_ParseTuple(payload, "KiO!O!dO!", &address, &e->ndim, &PyTuple_Type, &types, &PyTuple_Type, &rows,
                          &e->cost, &PyTuple_Type, &donors))
        return -1;
    e->fn = (elementwise_fn)(uintptr_t)address;
    int count;
    e->types = parse_ints(types, &count);
    if (e->types == NULL)
        return -1;
    if (count != in->n_inputs + in->n_outputs || PyTuple_GET_SIZE(rows) != in->n_inputs ||
        PyTuple_GET_SIZE(donors) != in->n_outputs || e->ndim < 0 || e->ndim > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "elementwise payload: counts differ");
        return -1;
    }
    e->broadcast = parse_flags(rows, e->ndim);
    if (e->broadcast == NULL || parse_donors(e, donors) < 0)
        return -1;
    e->all_full = 1;
    for (int k = 0; k < in->n_inputs * e->ndim; k++)
        e->all_full &= !e->broadcast[k];
    machine_need_scratch(m, (size_t)count * (2 + (e->ndim > 0 ? e->ndim : 1)) * sizeof(void *));
    return 0;
}
