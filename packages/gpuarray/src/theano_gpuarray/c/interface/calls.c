/* What is computed with elements: functions of the package `theano_gpuarray.c_interface` do it, in Python. */
#include "interface.h"

struct _GpuElemwise {
    PyObject *function;
    gpucontext *ctx;
    unsigned int count;
    int *types, *flags;
};

/* Call a function of the package with arguments as those of Py_BuildValue, which make a tuple. */
PyObject *call_python(const char *name, const char *format, ...) {
    va_list list;
    PyObject *module = PyImport_ImportModule("theano_gpuarray.c_interface");
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    va_start(list, format);
    PyObject *arguments = function == NULL ? NULL : Py_VaBuildValue(format, list);
    va_end(list);
    PyObject *result = arguments == NULL ? NULL : PyObject_CallObject(function, arguments);
    Py_XDECREF(arguments);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

PyObject *array_object(const GpuArray *a) {
    if (a->data == NULL)
        return PyErr_Format(PyExc_ValueError, "an array has no memory: it was cleared, or never made");
    PyObject *context = object_of_context(GpuArray_context(a));
    if (context == NULL)
        return NULL;
    return call_python("make_array", "(ONOiNNn)", (PyObject *)buffer_of(a->data), context, Py_None, a->typecode,
                       sizes_object(a->nd, a->dimensions), steps_object(a->nd, a->strides), (Py_ssize_t)a->offset);
}

/* 0, or -1 with an exception. */
static int finished(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Make an array of the GpuArray that a function gave. */
static int take_result(GpuArray *a, PyObject *result) {
    PyObject *described = result == NULL ? NULL : call_python("describe_array", "(O)", result);
    PyObject *five = described == NULL ? NULL : PyTuple_GetSlice(described, 0, 5);
    int failed = five == NULL ? -1 : array_from_tuple(a, five);
    Py_XDECREF(five);
    Py_XDECREF(described);
    Py_XDECREF(result);
    return failed;
}

static const char *order_name(ga_order order) { return order == GA_F_ORDER ? "F" : order == GA_C_ORDER ? "C" : "A"; }

int GpuArray_copy_from_host(GpuArray *a, gpucontext *ctx, void *buf, int typecode, unsigned int nd, const size_t *dims,
                            const ssize_t *strides) {
    PyObject *context = object_of_context(ctx);
    if (context == NULL)
        return settle(ctx, -1);
    return settle(ctx, take_result(a, call_python("from_host", "(NniNN)", context, (Py_ssize_t)(intptr_t)buf, typecode,
                                                  sizes_object(nd, dims), steps_object(nd, strides))));
}

int GpuArray_setarray(GpuArray *v, const GpuArray *a) {
    return settle(GpuArray_context(v), finished(call_python("set_array", "(NN)", array_object(v), array_object(a))));
}

int GpuArray_move(GpuArray *dst, const GpuArray *src) {
    return settle(GpuArray_context(dst),
                  finished(call_python("move_array", "(NN)", array_object(dst), array_object(src))));
}

int GpuArray_transfer(GpuArray *res, const GpuArray *a) { return GpuArray_move(res, a); }

int GpuArray_take1(GpuArray *r, const GpuArray *a, const GpuArray *i, int check_error) {
    return settle(GpuArray_context(a), finished(call_python("take_rows", "(NNNi)", array_object(r), array_object(a),
                                                            array_object(i), check_error)));
}

int GpuArray_reshape(GpuArray *res, const GpuArray *a, unsigned int nd, const size_t *newdims, ga_order ord,
                     int nocopy) {
    return settle(GpuArray_context(a),
                  take_result(res, call_python("reshape", "(NNsi)", array_object(a), sizes_object(nd, newdims),
                                               order_name(ord), nocopy)));
}

int GpuArray_copy(GpuArray *res, const GpuArray *a, ga_order order) {
    return settle(GpuArray_context(a),
                  take_result(res, call_python("copy_array", "(Ns)", array_object(a), order_name(order))));
}

int GpuArray_memset(GpuArray *a, int data) {
    return settle(GpuArray_context(a), finished(call_python("fill_bytes", "(Ni)", array_object(a), data & 0xff)));
}

int GpuArray_write(GpuArray *dst, const void *src, size_t src_sz) {
    PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)src, (Py_ssize_t)src_sz, PyBUF_READ);
    return settle(GpuArray_context(dst), finished(call_python("write_array", "(NN)", array_object(dst), view)));
}

int GpuArray_read(void *dst, size_t dst_sz, const GpuArray *src) {
    PyObject *view = PyMemoryView_FromMemory(dst, (Py_ssize_t)dst_sz, PyBUF_WRITE);
    return settle(GpuArray_context(src), finished(call_python("read_array", "(NN)", array_object(src), view)));
}

int GpuArray_concatenate(GpuArray *r, const GpuArray **as, size_t n, unsigned int axis, int restype) {
    gpucontext *ctx = n == 0 ? NULL : GpuArray_context(as[0]);
    PyObject *parts = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; parts != NULL && i < n; i++) {
        PyObject *part = array_object(as[i]);
        if (part == NULL)
            Py_CLEAR(parts);
        else
            PyTuple_SET_ITEM(parts, (Py_ssize_t)i, part);
    }
    if (parts == NULL)
        return settle(ctx, -1);
    return settle(ctx, take_result(r, call_python("concatenate", "(NIi)", parts, axis, restype)));
}

/* ---- products. Where a copy of the result would be needed they say so, since none is made for `nocopy`. */

int GpuArray_rgemm(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A, GpuArray *B, double beta,
                   GpuArray *C, int nocopy) {
    (void)nocopy;
    return settle(GpuArray_context(C),
                  finished(call_python("multiply", "(iidNNdN)", transA != cb_no_trans, transB != cb_no_trans, alpha,
                                       array_object(A), array_object(B), beta, array_object(C))));
}

int GpuArray_rgemmBatch_3d(cb_transpose transA, cb_transpose transB, double alpha, GpuArray *A, GpuArray *B,
                           double beta, GpuArray *C, int nocopy) {
    return GpuArray_rgemm(transA, transB, alpha, A, B, beta, C, nocopy);
}

int GpuArray_rgemv(cb_transpose transA, double alpha, GpuArray *A, GpuArray *X, double beta, GpuArray *Y, int nocopy) {
    return GpuArray_rgemm(transA, cb_no_trans, alpha, A, X, beta, Y, nocopy);
}

int GpuArray_rger(double alpha, GpuArray *X, GpuArray *Y, GpuArray *A, int nocopy) {
    return GpuArray_rgemm(cb_no_trans, cb_no_trans, alpha, X, Y, 1.0, A, nocopy);
}

int GpuArray_rdot(GpuArray *X, GpuArray *Y, GpuArray *Z, int nocopy) {
    return GpuArray_rgemm(cb_no_trans, cb_no_trans, 1.0, X, Y, 0.0, Z, nocopy);
}

int theano_correlate(int direction, PyGpuArrayObject *bottom, PyGpuArrayObject *weights, PyGpuArrayObject *top,
                     unsigned int nd, const size_t *numbers) {
    return finished(call_python("correlate", "(iNNNIN)", direction, array_object(&bottom->ga),
                                array_object(&weights->ga), array_object(&top->ga), nd,
                                sizes_object(4 * nd + 1, numbers)));
}

/* ---- expressions */

static PyObject *described_arguments(unsigned int n, const gpuelemwise_arg *args) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (unsigned int i = 0; tuple != NULL && i < n; i++) {
        PyObject *one = Py_BuildValue("(siiii)", args[i].name, args[i].typecode, (args[i].flags & GE_SCALAR) != 0,
                                      (args[i].flags & GE_READ) != 0, (args[i].flags & GE_WRITE) != 0);
        if (one == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, one);
    }
    return tuple;
}

GpuElemwise *GpuElemwise_new(gpucontext *ctx, const char *preamble, const char *expr, unsigned int n,
                             gpuelemwise_arg *args, unsigned int nd, int flags) {
    GpuElemwise *ge = calloc(1, sizeof *ge);
    PyObject *described = described_arguments(n, args), *context = object_of_context(ctx);
    (void)nd; /* a kernel is written for the number of dimensions of each call */
    (void)flags;
    if (ge != NULL && described != NULL && context != NULL) {
        *ge = (GpuElemwise){NULL, ctx, n, calloc(n + 1u, sizeof(int)), calloc(n + 1u, sizeof(int))};
        ge->function = call_python("Expression", "OssO", context, preamble == NULL ? "" : preamble, expr, described);
        for (unsigned int i = 0; ge->types != NULL && ge->flags != NULL && i < n; i++) {
            ge->types[i] = args[i].typecode;
            ge->flags[i] = args[i].flags;
        }
    }
    Py_XDECREF(described);
    Py_XDECREF(context);
    if (ge != NULL && ge->function != NULL && ge->types != NULL && ge->flags != NULL)
        return ge;
    settle(ctx, -1);
    GpuElemwise_free(ge);
    return NULL;
}

/* A number as Python has it; that of 16 bits by its bits. */
static PyObject *number_object(int typecode, const void *value) {
    const gpuarray_type *type = gpuarray_get_type(typecode);
    if (type == NULL)
        return PyErr_Format(PyExc_TypeError, "there is no dtype with the number %d", typecode);
    return PyBytes_FromStringAndSize(value, (Py_ssize_t)type->size);
}

int GpuElemwise_call(GpuElemwise *ge, void **args, int flags) {
    PyObject *arguments = PyTuple_New((Py_ssize_t)ge->count);
    for (unsigned int i = 0; arguments != NULL && i < ge->count; i++) {
        PyObject *one = ge->flags[i] & GE_SCALAR ? number_object(ge->types[i], args[i]) : array_object(args[i]);
        if (one == NULL)
            Py_CLEAR(arguments);
        else
            PyTuple_SET_ITEM(arguments, i, one);
    }
    if (arguments == NULL)
        return settle(ge->ctx, -1);
    PyObject *result = PyObject_CallFunction(ge->function, "Ni", arguments, (flags & GE_BROADCAST) != 0);
    return settle(ge->ctx, finished(result));
}

void GpuElemwise_free(GpuElemwise *ge) {
    if (ge == NULL)
        return;
    Py_XDECREF(ge->function);
    free(ge->types);
    free(ge->flags);
    free(ge);
}
