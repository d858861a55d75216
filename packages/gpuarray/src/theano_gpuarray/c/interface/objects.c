/* Contexts and arrays as objects of Python, for C code. Programs in Python have GpuContext and GpuArray instead. */
#include "interface.h"

static void context_dealloc(PyObject *self) {
    Py_XDECREF(((PyGpuContextObject *)self)->context);
    PyObject_Free(self);
}

static void array_dealloc(PyObject *self) {
    PyGpuArrayObject *a = (PyGpuArrayObject *)self;
    GpuArray_clear(&a->ga);
    Py_XDECREF(a->base);
    Py_XDECREF(a->origin);
    Py_XDECREF((PyObject *)a->context);
    PyObject_Free(self);
}

PyTypeObject InterfaceContextType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.InterfaceContext",
    .tp_doc = "A context, for C code of ops.",
    .tp_basicsize = sizeof(PyGpuContextObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = context_dealloc,
};

PyTypeObject InterfaceArrayType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.InterfaceArray",
    .tp_doc = "An array, for C code of ops.",
    .tp_basicsize = sizeof(PyGpuArrayObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = array_dealloc,
};

/* ---- to and from Python */

PyGpuContextObject *pygpu_context_from_object(PyObject *context) {
    gpucontext *ctx = context_of_object(context);
    PyGpuContextObject *made = ctx == NULL ? NULL : PyObject_New(PyGpuContextObject, &InterfaceContextType);
    if (made != NULL) {
        made->ctx = ctx;
        made->context = Py_NewRef(context);
    }
    return made;
}

static PyGpuContextObject *context_of_call(PyObject *context) {
    PyGpuContextObject *made = context == NULL ? NULL : pygpu_context_from_object(context);
    Py_XDECREF(context);
    return made;
}

PyGpuContextObject *pygpu_default_context(void) { return context_of_call(call_python("default_context", "()")); }

PyGpuContextObject *pygpu_init(PyObject *dev, void *props) {
    (void)props;
    return context_of_call(call_python("open_device", "(O)", dev));
}

/* An object of an array, whose reference to memory and tables go over to it, also where this fails. */
PyGpuArrayObject *object_of_array(GpuArray *a, PyGpuContextObject *context) {
    PyGpuArrayObject *made = PyObject_New(PyGpuArrayObject, &InterfaceArrayType);
    if (made == NULL) {
        GpuArray_clear(a);
        return NULL;
    }
    made->ga = *a;
    made->context = (PyGpuContextObject *)Py_NewRef((PyObject *)context);
    made->base = NULL;
    made->origin = NULL;
    return made;
}

/* The object of the result of a function of GpuArray. */
static PyGpuArrayObject *object_of_result(GpuArray *a, int code, PyGpuContextObject *context) {
    return raise_code(context->ctx, code) < 0 ? NULL : object_of_array(a, context);
}

PyGpuArrayObject *pygpu_from_object(PyObject *object, int typecode, int nd) {
    PyObject *described = call_python("describe_array", "(O)", object), *five = NULL;
    PyGpuArrayObject *made = NULL;
    PyGpuContextObject *context = NULL;
    GpuArray a;
    if (described != NULL && PyTuple_Size(described) == 6) {
        context = pygpu_context_from_object(PyTuple_GET_ITEM(described, 5));
        five = PyTuple_GetSlice(described, 0, 5);
    }
    if (context != NULL && five != NULL && array_from_tuple(&a, five) == 0)
        made = object_of_array(&a, context);
    Py_XDECREF(described);
    Py_XDECREF(five);
    Py_XDECREF((PyObject *)context);
    if (made == NULL)
        return NULL;
    made->origin = Py_NewRef(object);
    if ((typecode < 0 || made->ga.typecode == typecode) && (nd < 0 || made->ga.nd == (unsigned int)nd))
        return made;
    PyErr_Format(PyExc_TypeError,
                 "C code for an array of dtype number %d with %d dimensions got one of dtype number %d with %u",
                 typecode, nd, made->ga.typecode, made->ga.nd);
    Py_DECREF((PyObject *)made);
    return NULL;
}

PyObject *pygpu_as_object(PyGpuArrayObject *a) {
    const GpuArray *g = &a->ga;
    if (g->data == NULL)
        return PyErr_Format(PyExc_ValueError, "an array has no memory: it was cleared, or never made");
    return call_python("make_array", "(OOOiNNn)", (PyObject *)buffer_of(g->data), a->context->context,
                       a->origin == NULL ? Py_None : a->origin, g->typecode, sizes_object(g->nd, g->dimensions),
                       steps_object(g->nd, g->strides), (Py_ssize_t)g->offset);
}

PyObject *pygpu_as_ndarray(PyGpuArrayObject *a) {
    PyObject *object = pygpu_as_object(a);
    return object == NULL ? NULL : call_python("to_host", "(N)", object);
}

/* ---- making */

PyGpuArrayObject *pygpu_zeros(unsigned int nd, const size_t *dims, int typecode, ga_order order,
                              PyGpuContextObject *ctx, PyObject *cls) {
    GpuArray a;
    (void)cls;
    return array_allocate(&a, ctx->ctx, typecode, nd, dims, order, 1) < 0 ? NULL : object_of_array(&a, ctx);
}

PyGpuArrayObject *pygpu_empty(unsigned int nd, const size_t *dims, int typecode, ga_order order,
                              PyGpuContextObject *ctx, PyObject *cls) {
    GpuArray a;
    (void)cls;
    return array_allocate(&a, ctx->ctx, typecode, nd, dims, order, 0) < 0 ? NULL : object_of_array(&a, ctx);
}

PyGpuArrayObject *pygpu_fromhostdata(void *buf, int typecode, unsigned int nd, const size_t *dims,
                                     const ssize_t *strides, PyGpuContextObject *ctx, PyObject *cls) {
    GpuArray a;
    (void)cls;
    return object_of_result(&a, GpuArray_copy_from_host(&a, ctx->ctx, buf, typecode, nd, dims, strides), ctx);
}

PyGpuArrayObject *pygpu_fromgpudata(gpudata *buf, size_t offset, int typecode, unsigned int nd, const size_t *dims,
                                    const ssize_t *strides, PyGpuContextObject *ctx, int writable, PyObject *base,
                                    PyObject *cls) {
    GpuArray a;
    (void)cls;
    int code = GpuArray_fromdata(&a, buf, offset, typecode, nd, dims, strides, writable);
    PyGpuArrayObject *made = object_of_result(&a, code, ctx);
    if (made != NULL && base != NULL && base != Py_None)
        made->base = Py_NewRef(base);
    return made;
}

PyGpuArrayObject *pygpu_copy(PyGpuArrayObject *a, ga_order ord) {
    GpuArray made;
    return object_of_result(&made, GpuArray_copy(&made, &a->ga, ord), a->context);
}

PyGpuArrayObject *pygpu_empty_like(PyGpuArrayObject *a, ga_order ord, int typecode) {
    if (ord == GA_ANY_ORDER)
        ord = GpuArray_ISFORTRAN(&a->ga) ? GA_F_ORDER : GA_C_ORDER;
    return pygpu_empty(a->ga.nd, a->ga.dimensions, typecode < 0 ? a->ga.typecode : typecode, ord, a->context, Py_None);
}

PyGpuArrayObject *pygpu_view(PyGpuArrayObject *a, PyObject *cls) {
    GpuArray made;
    (void)cls;
    return object_of_result(&made, GpuArray_view(&made, &a->ga), a->context);
}

PyGpuArrayObject *pygpu_index(PyGpuArrayObject *a, const ssize_t *starts, const ssize_t *stops, const ssize_t *steps) {
    GpuArray made;
    return object_of_result(&made, GpuArray_index(&made, &a->ga, starts, stops, steps), a->context);
}

PyGpuArrayObject *pygpu_reshape(PyGpuArrayObject *a, unsigned int nd, const size_t *newdims, ga_order ord, int nocopy,
                                int compute_axis) {
    size_t known = 1, all = 1, dims[64];
    GpuArray made;
    if (nd > 64) {
        PyErr_SetString(PyExc_ValueError, "an array has at most 64 dimensions here");
        return NULL;
    }
    for (unsigned int d = 0; d < a->ga.nd; d++)
        all *= a->ga.dimensions[d];
    for (unsigned int d = 0; d < nd; d++) {
        dims[d] = newdims[d];
        known *= (int)d == compute_axis ? 1 : newdims[d];
    }
    if (compute_axis >= 0 && (unsigned int)compute_axis < nd)
        dims[compute_axis] = known == 0 ? 0 : all / known;
    return object_of_result(&made, GpuArray_reshape(&made, &a->ga, nd, dims, ord, nocopy), a->context);
}

PyGpuArrayObject *pygpu_transpose(PyGpuArrayObject *a, const unsigned int *newaxes) {
    GpuArray made;
    return object_of_result(&made, GpuArray_transpose(&made, &a->ga, newaxes), a->context);
}

PyGpuArrayObject *pygpu_concatenate(const GpuArray **a, size_t n, unsigned int axis, int restype, PyObject *cls,
                                    PyGpuContextObject *ctx) {
    GpuArray made;
    (void)cls;
    return object_of_result(&made, GpuArray_concatenate(&made, a, n, axis, restype), ctx);
}

/* ---- computing */

int pygpu_sync(PyGpuArrayObject *a) { return raise_code(a->context->ctx, GpuArray_sync(&a->ga)); }

int pygpu_move(PyGpuArrayObject *a, PyGpuArrayObject *src) {
    return raise_code(a->context->ctx, GpuArray_move(&a->ga, &src->ga));
}

int pygpu_transfer(PyGpuArrayObject *res, PyGpuArrayObject *a) { return pygpu_move(res, a); }

/* The array that gets a result: itself where it may be overwritten, else a copy; a new reference. */
static PyGpuArrayObject *target(PyGpuArrayObject *a, int overwrite) {
    return overwrite ? (PyGpuArrayObject *)Py_NewRef((PyObject *)a) : pygpu_copy(a, GA_ANY_ORDER);
}

static PyGpuArrayObject *computed(PyGpuArrayObject *result, int code) {
    if (raise_code(result->context->ctx, code) < 0)
        Py_CLEAR(result);
    return result;
}

PyGpuArrayObject *pygpu_blas_rgemm(cb_transpose transA, cb_transpose transB, double alpha, PyGpuArrayObject *A,
                                   PyGpuArrayObject *B, double beta, PyGpuArrayObject *C, int overwrite_c) {
    PyGpuArrayObject *z = target(C, overwrite_c);
    return z == NULL ? NULL : computed(z, GpuArray_rgemm(transA, transB, alpha, &A->ga, &B->ga, beta, &z->ga, 1));
}

PyGpuArrayObject *pygpu_blas_rgemv(cb_transpose transA, double alpha, PyGpuArrayObject *A, PyGpuArrayObject *X,
                                   double beta, PyGpuArrayObject *Y, int overwrite_y) {
    PyGpuArrayObject *z = target(Y, overwrite_y);
    return z == NULL ? NULL : computed(z, GpuArray_rgemv(transA, alpha, &A->ga, &X->ga, beta, &z->ga, 1));
}

PyGpuArrayObject *pygpu_blas_rger(double alpha, PyGpuArrayObject *X, PyGpuArrayObject *Y, PyGpuArrayObject *A,
                                  int overwrite_a) {
    PyGpuArrayObject *z = target(A, overwrite_a);
    return z == NULL ? NULL : computed(z, GpuArray_rger(alpha, &X->ga, &Y->ga, &z->ga, 1));
}
