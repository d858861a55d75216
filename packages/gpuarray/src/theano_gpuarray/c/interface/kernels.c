/* Kernels. */
#include "interface.h"

struct _gpukernel {
    KernelObject *kernel;
    gpucontext *ctx;
    int references;
    unsigned int count;
    int *types;
    void **args; /* those of gpukernel_setarg */
};

#define USUAL_LOCAL 256

/* The letter of the runtime for a parameter; 0 where none is passed by value. */
static char letter_of(int typecode) {
    switch (typecode) {
    case GA_BUFFER: return 'P';
    case GA_BOOL:
    case GA_UBYTE: return 'B';
    case GA_BYTE: return 'b';
    case GA_SHORT: return 'h';
    case GA_USHORT:
    case GA_HALF: return 'H';
    case GA_INT: return 'i';
    case GA_UINT: return 'I';
    case GA_LONG:
    case GA_ULONG:
    case GA_SIZE:
    case GA_SSIZE: return 'q';
    case GA_FLOAT: return 'f';
    case GA_DOUBLE: return 'd';
    default: return 0;
    }
}

/* An argument as Python has it. What is unsigned and has 64 bits is passed with a sign. */
static PyObject *argument_object(int typecode, void *value) {
    switch (letter_of(typecode)) {
    case 'P':
        if (value == NULL)
            return PyErr_Format(PyExc_ValueError, "there is no memory where a kernel needs it");
        return Py_NewRef((PyObject *)buffer_of(value));
    case 'b': return PyLong_FromLong(*(int8_t *)value);
    case 'B': return PyLong_FromLong(*(uint8_t *)value);
    case 'h': return PyLong_FromLong(*(int16_t *)value);
    case 'H': return PyLong_FromLong(*(uint16_t *)value);
    case 'i': return PyLong_FromLong(*(int32_t *)value);
    case 'I': return PyLong_FromUnsignedLong(*(uint32_t *)value);
    case 'q': return PyLong_FromLongLong(*(int64_t *)value);
    case 'f': return PyFloat_FromDouble((double)*(float *)value);
    default: return PyFloat_FromDouble(*(double *)value);
    }
}

static PyObject *source_object(unsigned int count, const char **strings, const size_t *lengths) {
    PyObject *source = PyUnicode_FromString("");
    for (unsigned int i = 0; source != NULL && i < count; i++) {
        size_t length = lengths == NULL || lengths[i] == 0 ? strlen(strings[i]) : lengths[i];
        PyObject *piece = PyUnicode_DecodeUTF8(strings[i], (Py_ssize_t)length, NULL);
        if (piece == NULL) {
            Py_CLEAR(source);
            break;
        }
        PyUnicode_Append(&source, piece);
        Py_DECREF(piece);
    }
    return source;
}

static KernelObject *compile(gpucontext *ctx, PyObject *source, const char *name, unsigned int count,
                             const int *types) {
    char *letters = PyMem_Calloc(count + 1u, 1);
    PyObject *context = NULL, *made = NULL;
    if (letters == NULL)
        return (KernelObject *)PyErr_NoMemory();
    for (unsigned int i = 0; i < count; i++) {
        letters[i] = letter_of(types[i]);
        if (letters[i] == 0) {
            PyErr_Format(PyExc_TypeError,
                         "kernel %s: parameter %u has type number %d, which no device takes by value\n  Hint: pass "
                         "an array",
                         name, i, types[i]);
            PyMem_Free(letters);
            return NULL;
        }
    }
    context = object_of_context(ctx);
    if (context != NULL)
        made = call_python("compile_kernel", "OOss", context, source, name, letters);
    Py_XDECREF(context);
    PyMem_Free(letters);
    if (made != NULL && !Py_IS_TYPE(made, &KernelType)) {
        PyErr_SetString(PyExc_TypeError, "compile_kernel gives a kernel");
        Py_CLEAR(made);
    }
    return (KernelObject *)made;
}

static void keep_text(char **err_str, const char *text) {
    if (err_str != NULL)
        *err_str = strdup(text);
}

gpukernel *gpukernel_init(gpucontext *ctx, unsigned int count, const char **strings, const size_t *lengths,
                          const char *fname, unsigned int numargs, const int *typecodes, int flags, int *ret,
                          char **err_str) {
    (void)flags; /* a compiler refuses types that its device lacks */
    PyObject *source = source_object(count, strings, lengths);
    KernelObject *kernel = source == NULL ? NULL : compile(ctx, source, fname, numargs, typecodes);
    gpukernel *k = kernel == NULL ? NULL : calloc(1, sizeof *k);
    Py_XDECREF(source);
    if (k != NULL) {
        *k = (gpukernel){
            kernel, ctx, 1, numargs, calloc(numargs + 1u, sizeof(int)), calloc(numargs + 1u, sizeof(void *))};
        if (k->types == NULL || k->args == NULL) {
            gpukernel_release(k);
            k = NULL;
            kernel = NULL;
        } else if (numargs > 0)
            memcpy(k->types, typecodes, numargs * sizeof(int));
    } else
        Py_CLEAR(kernel);
    int code = GA_NO_ERROR;
    if (k == NULL) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        code = settle(ctx, -1);
        keep_text(err_str, gpucontext_error(ctx, code));
    }
    if (ret != NULL)
        *ret = code;
    return k;
}

void gpukernel_retain(gpukernel *k) { k->references++; }

void gpukernel_release(gpukernel *k) {
    if (k == NULL || --k->references > 0)
        return;
    Py_DECREF((PyObject *)k->kernel);
    free(k->types);
    free(k->args);
    free(k);
}

int gpukernel_setarg(gpukernel *k, unsigned int i, void *val) {
    if (i >= k->count)
        return refuse(k->ctx, GA_VALUE_ERROR, "the kernel has fewer parameters");
    k->args[i] = val;
    return GA_NO_ERROR;
}

static PyObject *arguments_object(const gpukernel *k, void **args) {
    PyObject *arguments = PyTuple_New((Py_ssize_t)k->count);
    for (unsigned int i = 0; arguments != NULL && i < k->count; i++) {
        PyObject *argument = argument_object(k->types[i], args[i]);
        if (argument == NULL)
            Py_CLEAR(arguments);
        else
            PyTuple_SET_ITEM(arguments, i, argument);
    }
    return arguments;
}

int gpukernel_call(gpukernel *k, unsigned int n, const size_t *gs, const size_t *ls, size_t shared, void **args) {
    PyObject *groups = sizes_object(n, gs), *local = sizes_object(n, ls), *result = NULL;
    PyObject *arguments = arguments_object(k, args == NULL ? k->args : args);
    if (groups != NULL && local != NULL && arguments != NULL)
        result = PyObject_CallMethod((PyObject *)k->ctx->native, "launch", "OOOOn", (PyObject *)k->kernel, groups,
                                     local, arguments, (Py_ssize_t)shared);
    Py_XDECREF(groups);
    Py_XDECREF(local);
    Py_XDECREF(arguments);
    Py_XDECREF(result);
    return settle(k->ctx, result == NULL ? -1 : 0);
}

int gpukernel_property(gpukernel *k, int id, void *res) {
    switch (id) {
    case GA_KERNEL_PROP_MAXLSIZE: *(size_t *)res = (size_t)k->kernel->max_local; return GA_NO_ERROR;
    case GA_KERNEL_PROP_PREFLSIZE:
        *(size_t *)res = (size_t)(k->ctx->native->properties.warp > 0 ? k->ctx->native->properties.warp : 1);
        return GA_NO_ERROR;
    case GA_KERNEL_PROP_NUMARGS: *(unsigned int *)res = k->count; return GA_NO_ERROR;
    case GA_KERNEL_PROP_TYPES: *(const int **)res = k->types; return GA_NO_ERROR;
    default: return refuse(k->ctx, GA_INVALID_ERROR, "there is no such property of kernels");
    }
}

gpucontext *gpukernel_context(gpukernel *k) { return k->ctx; }

int GpuKernel_init(GpuKernel *k, gpucontext *ctx, unsigned int count, const char **strs, const size_t *lens,
                   const char *name, unsigned int argcount, const int *types, int flags, char **err_str) {
    int code;
    k->k = gpukernel_init(ctx, count, strs, lens, name, argcount, types, flags, &code, err_str);
    k->args = k->k == NULL ? NULL : k->k->args;
    return code;
}

void GpuKernel_clear(GpuKernel *k) {
    gpukernel_release(k->k);
    k->k = NULL;
    k->args = NULL;
}

gpucontext *GpuKernel_context(GpuKernel *k) { return gpukernel_context(k->k); }

int GpuKernel_setarg(GpuKernel *k, unsigned int i, void *val) { return gpukernel_setarg(k->k, i, val); }

int GpuKernel_sched(GpuKernel *k, unsigned int n, const size_t *size, size_t *gs, size_t *ls) {
    gpucontext *ctx = k->k->ctx;
    size_t most = (size_t)k->k->kernel->max_local;
    if (n < 1 || n > 3)
        return refuse(ctx, GA_VALUE_ERROR, "a launch has one to three dimensions");
    if (most > USUAL_LOCAL || most == 0)
        most = USUAL_LOCAL;
    for (unsigned int d = 0; d < n; d++) {
        size_t limit = (size_t)ctx->native->properties.max_groups[d];
        ls[d] = d > 0 || size[d] == 0 ? 1 : size[d] < most ? size[d] : most;
        gs[d] = (size[d] + ls[d] - 1) / ls[d];
        gs[d] = gs[d] == 0 ? 1 : limit > 0 && gs[d] > limit ? limit : gs[d];
    }
    return GA_NO_ERROR;
}

int GpuKernel_call(GpuKernel *k, unsigned int n, const size_t *gs, const size_t *ls, size_t shared, void **args) {
    return k->k == NULL ? GA_INVALID_ERROR : gpukernel_call(k->k, n, gs, ls, shared, args);
}

const char *GpuKernel_error(const GpuKernel *k, int err) {
    return gpucontext_error(k->k == NULL ? NULL : k->k->ctx, err);
}
