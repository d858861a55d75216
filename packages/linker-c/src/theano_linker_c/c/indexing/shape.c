/* Instructions on shapes: lengths, vectors of scalars, other shapes, filled arrays, arrays put together and taken
 * apart, checks of lengths. */
#include "machine/capture.h"

typedef struct {
    int type_num, ndim, ndim_out; /* of the array; of the result */
    int axis;
    signed char *flags; /* [ndim]: which dimensions are broadcast, or are checked */
} ShapePlan;

static void shape_free(void *plan) {
    ShapePlan *p = plan;
    PyMem_Free(p->flags);
    PyMem_Free(p);
}

static ShapePlan *shape_plan(Instruction *in, run_fn run) {
    ShapePlan *p = PyMem_Calloc(1, sizeof *p);
    if (p == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    in->plan = p;
    in->run = run;
    in->free = shape_free;
    return p;
}

static int refuse(const char *text) {
    PyErr_SetString(PyExc_ValueError, text);
    return -1;
}

/* ---- the length of one dimension */

static int length_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    PyObject *value = f->registers[in->inputs[0]];
    if (value == NULL || !PyArray_Check(value) || PyArray_NDIM((PyArrayObject *)value) <= p->axis) {
        gil_take();
        PyErr_Format(PyExc_TypeError, "an array with more than %d dimensions is expected here", p->axis);
        return RUN_RAISED;
    }
    npy_intp length = PyArray_DIMS((PyArrayObject *)value)[p->axis];
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], NPY_INT64, 0, NULL, 0);
    if (out == NULL)
        return RUN_RAISED;
    *(npy_int64 *)PyArray_DATA(out) = length;
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL) {
        PyArrayObject *kept = (PyArrayObject *)PyArray_NewCopy(out, NPY_CORDER);
        if (kept == NULL)
            return RUN_RAISED;
        capture_result(capture, f, in->outputs[0]);
        capture_operand(capture, 0, in->outputs[0]);
        capture_array(capture, 1, kept);
        capture_copy(capture, PyArray_BYTES(out), PyArray_BYTES(kept), sizeof length);
        Py_DECREF(kept);
    }
    return RUN_DONE;
}

/* Payload: (axis,). */
int length_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    ShapePlan *p = shape_plan(in, length_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "i", &p->axis))
        return -1;
    return p->axis < 0 || in->n_inputs != 1 || in->n_outputs != 1 ? refuse("length payload: no such axis") : 0;
}

/* Where a run is captured: what is done follows from the contents of inputs from `first` on. */
static void note_contents(const Machine *m, const Frame *f, const Instruction *in, int first) {
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    for (int i = first; capture != NULL && i < in->n_inputs; i++)
        capture_contents(capture, f, in->inputs[i]);
}

/* ---- a vector of scalars */

static int stack_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    npy_intp count = in->n_inputs;
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, 1, &count, 0);
    if (out == NULL)
        return RUN_RAISED;
    char *to = PyArray_BYTES(out);
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL) {
        capture_result(capture, f, in->outputs[0]);
        capture_operand(capture, 0, in->outputs[0]);
    }
    for (int i = 0; i < in->n_inputs; i++, to += PyArray_ITEMSIZE(out)) {
        PyArrayObject *scalar = operand(f, in->inputs[i], p->type_num, 0);
        if (scalar == NULL)
            return RUN_RAISED;
        if (capture != NULL) {
            capture_operand(capture, 1, in->inputs[i]);
            capture_copy(capture, to, PyArray_BYTES(scalar), PyArray_ITEMSIZE(out));
        }
        memcpy(to, PyArray_DATA(scalar), PyArray_ITEMSIZE(out));
    }
    return RUN_DONE;
}

/* Payload: (type,). */
int stack_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    ShapePlan *p = shape_plan(in, stack_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "i", &p->type_num))
        return -1;
    return in->n_outputs != 1 ? refuse("stack payload: one output is expected") : 0;
}

/* ---- the same elements in another shape: a view where the array is contiguous */

/* Lengths from a vector; one -1 is worked out. RUN_MISMATCH if the number of elements does not fit. */
static int wanted_shape(PyArrayObject *vector, npy_intp size, int ndim, npy_intp *shape) {
    int open = -1;
    npy_intp known = 1, step = PyArray_STRIDES(vector)[0];
    if (PyArray_DIMS(vector)[0] != ndim)
        return RUN_MISMATCH;
    for (int d = 0; d < ndim; d++) {
        shape[d] = (npy_intp) * (const npy_int64 *)(PyArray_BYTES(vector) + d * step);
        if (shape[d] == -1 && open < 0)
            open = d;
        else if (shape[d] < 0 || (shape[d] > 0 && known > NPY_MAX_INTP / shape[d]))
            return RUN_MISMATCH;
        else
            known *= shape[d];
    }
    if (open < 0)
        return known == size ? RUN_DONE : RUN_MISMATCH;
    if (known == 0 || size % known != 0)
        return RUN_MISMATCH;
    shape[open] = size / known;
    return RUN_DONE;
}

static int reshape_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    npy_intp shape[NPY_MAXDIMS];
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    PyArrayObject *vector = array == NULL ? NULL : operand(f, in->inputs[1], NPY_INT64, 1);
    if (vector == NULL)
        return RUN_RAISED;
    int status = wanted_shape(vector, PyArray_SIZE(array), p->ndim_out, shape);
    if (status != RUN_DONE)
        return status;
    note_contents(m, f, in, 1);
    if (!PyArray_IS_C_CONTIGUOUS(array)) {
        if (m->open != NULL && capturing(m, f) != NULL)
            capture_fail(m->open);
        PyArrayObject *copy = buffer_obtain(m, f, in->outputs[0], p->type_num, p->ndim_out, shape, 0);
        gil_take();
        PyArrayObject *moved = copy == NULL ? NULL : (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER);
        if (moved == NULL)
            return RUN_RAISED;
        memcpy(PyArray_DATA(copy), PyArray_DATA(moved), PyArray_NBYTES(moved));
        Py_DECREF(moved);
        return RUN_DONE;
    }
    PyArrayObject *view = view_make(m, f, in->outputs[0], array, p->ndim_out, shape, NULL, PyArray_BYTES(array));
    return view == NULL ? RUN_RAISED : RUN_DONE;
}

/* Payload: (type, ndim of the array, ndim of the result). */
int reshape_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    ShapePlan *p = shape_plan(in, reshape_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "iii", &p->type_num, &p->ndim, &p->ndim_out))
        return -1;
    return p->ndim_out < 0 || p->ndim_out > NPY_MAXDIMS || in->n_inputs != 2 || in->n_outputs != 1
               ? refuse("reshape payload: too many dimensions")
               : 0;
}

/* ---- a new array full of a value, which is broadcast to it */

static int full_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < p->ndim_out; d++) {
        PyArrayObject *length = operand(f, in->inputs[1 + d], NPY_INT64, 0);
        if (length == NULL)
            return RUN_RAISED;
        shape[d] = (npy_intp) * (const npy_int64 *)PyArray_DATA(length);
        if (shape[d] < 0)
            return RUN_MISMATCH;
    }
    PyArrayObject *value = operand(f, in->inputs[0], p->type_num, p->ndim);
    if (value == NULL)
        return RUN_RAISED;
    for (int d = 0; d < p->ndim; d++)
        if (!p->flags[d] && PyArray_DIMS(value)[d] != shape[p->ndim_out - p->ndim + d])
            return RUN_MISMATCH;
    /* The output may get the buffer of another register, never that of the value, which is still there. */
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, p->ndim_out, shape, 0);
    if (out == NULL)
        return RUN_RAISED;
    npy_intp item = PyArray_ITEMSIZE(out), bytes = PyArray_NBYTES(out);
    note_contents(m, f, in, 1);
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL) {
        char *data[] = {PyArray_BYTES(out), PyArray_BYTES(value)};
        int64_t strides[] = {item, 0};
        capture_result(capture, f, in->outputs[0]);
        capture_operand(capture, 0, in->outputs[0]);
        capture_operand(capture, 1, in->inputs[0]);
        if (PyArray_SIZE(value) == 1)
            capture_call(capture, CALL_ITEMS, NULL, PyArray_SIZE(out), 2, data, strides, item, NULL);
        else
            capture_fail(capture);
    }
    if (PyArray_SIZE(value) == 1) {
        const char *first = PyArray_BYTES(value);
        npy_intp k = 0;
        while (k < item && first[k] == 0)
            k++;
        char *to = PyArray_BYTES(out);
        if (k == item) {
            memset(to, 0, bytes);
            return RUN_DONE;
        }
        if (bytes > 0)
            memcpy(to, first, item);
        for (npy_intp done = item; done < bytes; done *= 2) /* what is filled fills as much again */
            memcpy(to + done, to, done < bytes - done ? done : bytes - done);
        return RUN_DONE;
    }
    gil_take();
    return bytes == 0 || PyArray_CopyInto(out, value) == 0 ? RUN_DONE : RUN_RAISED;
}

/* Payload: (type, ndim of the value, its dimensions that broadcast). */
int full_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *flags;
    (void)m;
    ShapePlan *p = shape_plan(in, full_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "iiO!", &p->type_num, &p->ndim, &PyTuple_Type, &flags))
        return -1;
    p->ndim_out = in->n_inputs - 1;
    if (p->ndim < 0 || p->ndim_out > NPY_MAXDIMS || p->ndim > p->ndim_out || in->n_outputs != 1 ||
        PyTuple_GET_SIZE(flags) != 1 || PyTuple_GET_SIZE(PyTuple_GET_ITEM(flags, 0)) != p->ndim)
        return refuse("full payload: dimensions do not fit");
    p->flags = parse_flags(flags, p->ndim);
    return p->flags == NULL ? -1 : 0;
}

/* ---- arrays one after the other along an axis */

/* Copy a part to its place: `outer` runs of `bytes`, `step` bytes apart in the result. */
static int put_part(PyArrayObject *part, char *to, npy_intp outer, npy_intp bytes, npy_intp step) {
    PyArrayObject *source = part;
    if (!PyArray_IS_C_CONTIGUOUS(part)) {
        gil_take();
        source = (PyArrayObject *)PyArray_NewCopy(part, NPY_CORDER);
        if (source == NULL)
            return RUN_RAISED;
    }
    const char *from = PyArray_BYTES(source);
    for (npy_intp i = 0; i < outer; i++)
        memcpy(to + i * step, from + i * bytes, bytes);
    if (source != part)
        Py_DECREF(source);
    return RUN_DONE;
}

static void note_part(Capture *capture, PyArrayObject *part, char *to, npy_intp outer, npy_intp bytes, npy_intp step) {
    if (!PyArray_IS_C_CONTIGUOUS(part) || bytes * outer > 4096)
        capture_fail(capture);
    else if (bytes > 0)
        for (npy_intp i = 0; i < outer; i++)
            capture_copy(capture, to + i * step, PyArray_BYTES(part) + i * bytes, bytes);
}

static int concatenate_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    npy_intp shape[NPY_MAXDIMS], outer = 1, inner = 1;
    for (int i = 1; i < in->n_inputs; i++) {
        PyArrayObject *part = operand(f, in->inputs[i], p->type_num, p->ndim);
        if (part == NULL)
            return RUN_RAISED;
        for (int d = 0; d < p->ndim; d++) {
            if (i == 1)
                shape[d] = PyArray_DIMS(part)[d];
            else if (d == p->axis)
                shape[d] += PyArray_DIMS(part)[d];
            else if (shape[d] != PyArray_DIMS(part)[d])
                return RUN_MISMATCH;
        }
    }
    PyArrayObject *out = buffer_obtain(m, f, in->outputs[0], p->type_num, p->ndim, shape, 0);
    if (out == NULL)
        return RUN_RAISED;
    for (int d = 0; d < p->ndim; d++)
        *(d < p->axis ? &outer : d > p->axis ? &inner : &(npy_intp){1}) *= shape[d];
    inner *= PyArray_ITEMSIZE(out);
    char *to = PyArray_BYTES(out);
    npy_intp step = inner * shape[p->axis];
    Capture *capture = m->open == NULL ? NULL : capturing(m, f);
    if (capture != NULL) {
        capture_result(capture, f, in->outputs[0]);
        capture_operand(capture, 0, in->outputs[0]);
    }
    for (int i = 1; i < in->n_inputs; i++) {
        PyArrayObject *part = (PyArrayObject *)f->registers[in->inputs[i]];
        npy_intp bytes = inner * PyArray_DIMS(part)[p->axis];
        if (capture != NULL) {
            capture_operand(capture, 1, in->inputs[i]);
            note_part(capture, part, to, outer, bytes, step);
        }
        if (put_part(part, to, outer, bytes, step) != RUN_DONE)
            return RUN_RAISED;
        to += bytes;
    }
    return RUN_DONE;
}

/* Payload: (type, ndim, axis); the first input is the axis again. */
int concatenate_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    ShapePlan *p = shape_plan(in, concatenate_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "iii", &p->type_num, &p->ndim, &p->axis))
        return -1;
    return p->axis < 0 || p->axis >= p->ndim || p->ndim > NPY_MAXDIMS || in->n_inputs < 2 || in->n_outputs != 1
               ? refuse("concatenate payload: no such axis")
               : 0;
}

/* ---- the array itself, with a check of some of its lengths */

static int specify_shape_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    PyObject *value = f->registers[in->inputs[0]];
    if (value == NULL || !PyArray_Check(value) || PyArray_NDIM((PyArrayObject *)value) != p->ndim) {
        PyErr_Format(PyExc_TypeError, "an array with %d dimensions is expected here", p->ndim);
        return RUN_RAISED;
    }
    const npy_intp *dims = PyArray_DIMS((PyArrayObject *)value);
    for (int d = 0, k = 1; d < p->ndim; d++) {
        if (!p->flags[d])
            continue;
        npy_int64 wanted = 1;
        if (in->n_inputs > 1) {
            PyArrayObject *length = operand(f, in->inputs[k++], NPY_INT64, 0);
            if (length == NULL)
                return RUN_RAISED;
            wanted = *(const npy_int64 *)PyArray_DATA(length);
        }
        if (dims[d] != wanted)
            return RUN_MISMATCH;
    }
    note_contents(m, f, in, 1);
    frame_set(f, in->outputs[0], Py_NewRef(value));
    return RUN_DONE;
}

/* Payload: (dimensions that are checked,). Further inputs are the lengths, in order; without any, the lengths are 1. */
int specify_shape_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *checked;
    (void)m;
    ShapePlan *p = shape_plan(in, specify_shape_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "O!", &PyTuple_Type, &checked))
        return -1;
    if (PyTuple_GET_SIZE(checked) != 1 || !PyTuple_Check(PyTuple_GET_ITEM(checked, 0)) || in->n_outputs != 1)
        return refuse("check payload: flags are expected");
    p->ndim = (int)PyTuple_GET_SIZE(PyTuple_GET_ITEM(checked, 0));
    p->flags = parse_flags(checked, p->ndim);
    if (p->flags == NULL)
        return -1;
    int count = 0;
    for (int d = 0; d < p->ndim; d++)
        count += p->flags[d];
    return in->n_inputs != 1 && in->n_inputs != 1 + count ? refuse("check payload: one length for each flag") : 0;
}

/* ---- parts of an array along an axis, as views */

static int split_run(Machine *m, Frame *f, const Instruction *in) {
    const ShapePlan *p = in->plan;
    npy_intp shape[NPY_MAXDIMS], total = 0;
    PyArrayObject *array = operand(f, in->inputs[0], p->type_num, p->ndim);
    PyArrayObject *lengths = array == NULL ? NULL : operand(f, in->inputs[2], NPY_INT64, 1);
    if (lengths == NULL)
        return RUN_RAISED;
    if (PyArray_DIMS(lengths)[0] != in->n_outputs)
        return RUN_MISMATCH;
    const char *at = PyArray_BYTES(lengths);
    npy_intp step = PyArray_STRIDES(lengths)[0], long_axis = PyArray_DIMS(array)[p->axis];
    for (int k = 0; k < in->n_outputs; k++) {
        npy_int64 length = *(const npy_int64 *)(at + k * step);
        if (length < 0 || length > long_axis - total)
            return RUN_MISMATCH;
        total += length;
    }
    if (total != long_axis)
        return RUN_MISMATCH;
    note_contents(m, f, in, 2);
    memcpy(shape, PyArray_DIMS(array), p->ndim * sizeof *shape);
    char *data = PyArray_BYTES(array);
    for (int k = 0; k < in->n_outputs; k++) {
        shape[p->axis] = (npy_intp) * (const npy_int64 *)(at + k * step);
        PyArray_Descr *descr = PyArray_DESCR(array);
        Py_INCREF(descr);
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, p->ndim, shape, PyArray_STRIDES(array), data,
                                              PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, NULL);
        if (view == NULL)
            return RUN_RAISED;
        if (PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(owner_of((PyObject *)array))) < 0) {
            Py_DECREF(view);
            return RUN_RAISED;
        }
        frame_set(f, in->outputs[k], view);
        data += shape[p->axis] * PyArray_STRIDES(array)[p->axis];
    }
    return RUN_DONE;
}

/* Payload: (type, ndim, axis); inputs are the array, the axis again, and the vector of lengths. */
int split_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    ShapePlan *p = shape_plan(in, split_run);
    if (p == NULL || !PyArg_ParseTuple(payload, "iii", &p->type_num, &p->ndim, &p->axis))
        return -1;
    return p->axis < 0 || p->axis >= p->ndim || p->ndim > NPY_MAXDIMS || in->n_inputs != 3
               ? refuse("split payload: no such axis")
               : 0;
}
