/* Contexts, memory, and facts about dtypes. */
#include "interface.h"

static const gpuarray_type types[] = {
    {"ga_bool", 1, 1, GA_BOOL},
    {"ga_byte", 1, 1, GA_BYTE},
    {"ga_ubyte", 1, 1, GA_UBYTE},
    {"ga_short", 2, 2, GA_SHORT},
    {"ga_ushort", 2, 2, GA_USHORT},
    {"ga_int", 4, 4, GA_INT},
    {"ga_uint", 4, 4, GA_UINT},
    {"ga_long", 8, 8, GA_LONG},
    {"ga_ulong", 8, 8, GA_ULONG},
    {"ga_float", 4, 4, GA_FLOAT},
    {"ga_double", 8, 8, GA_DOUBLE},
    {"ga_cfloat", 8, 4, GA_CFLOAT},
    {"ga_cdouble", 16, 8, GA_CDOUBLE},
    {"ga_half", 2, 2, GA_HALF},
    {"ga_size", sizeof(size_t), 8, GA_SIZE},
    {"ga_ssize", sizeof(ssize_t), 8, GA_SSIZE},
};

const gpuarray_type *gpuarray_get_type(int typecode) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].typecode == typecode)
            return &types[i];
    return NULL;
}

size_t gpuarray_get_elsize(int typecode) {
    const gpuarray_type *found = gpuarray_get_type(typecode);
    return found == NULL ? (size_t)-1 : found->size;
}

gpucontext *context_of_object(PyObject *context) {
    PyObject *native = PyObject_GetAttrString(context, "native");
    gpucontext *found = NULL;
    if (native == NULL || !Py_IS_TYPE(native, &ContextType)) {
        PyErr_Format(PyExc_TypeError,
                     "%.80s is no context of a device\n  Hint: pass get_context(name), or the attribute `context` "
                     "of a GpuArrayType",
                     Py_TYPE(context)->tp_name);
        Py_XDECREF(native);
        return NULL;
    }
    ContextObject *c = (ContextObject *)native;
    if (c->interface == NULL && (c->interface = calloc(1, sizeof *c->interface)) == NULL)
        PyErr_NoMemory();
    found = c->interface;
    if (found != NULL && found->weak == NULL) {
        found->native = c;
        found->weak = PyWeakref_NewRef(context, NULL);
        if (found->weak == NULL)
            found = NULL;
    }
    Py_DECREF(native);
    return found;
}

void interface_free(gpucontext *ctx) {
    if (ctx != NULL)
        Py_XDECREF(ctx->weak);
    free(ctx);
}

PyObject *object_of_context(gpucontext *ctx) {
    /* A call of a weak reference gives a new reference in each version of Python. */
    PyObject *found = PyObject_CallNoArgs(ctx->weak);
    if (found != Py_None)
        return found;
    Py_DECREF(found);
    PyErr_SetString(DeviceError, "the context of an array was given up\n  Hint: keep a reference to its GpuContext");
    return NULL;
}

gpucontext *gpudata_context(gpudata *b) { return buffer_of(b)->context->interface; }

static int copy_text(void *res, size_t room, const char *text) {
    PyOS_snprintf(res, room, "%s", text);
    return GA_NO_ERROR;
}

static int put_size(void *res, int64_t value) {
    *(size_t *)res = (size_t)value;
    return GA_NO_ERROR;
}

static int free_memory(gpucontext *ctx, void *res) {
    PyObject *context = object_of_context(ctx);
    PyObject *found = context == NULL ? NULL : PyObject_GetAttrString(context, "free_gmem");
    Py_XDECREF(context);
    if (found == NULL)
        return settle(ctx, -1);
    *(size_t *)res = PyLong_AsSize_t(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? settle(ctx, -1) : GA_NO_ERROR;
}

int gpucontext_property(gpucontext *ctx, int id, void *res) {
    const Properties *p = &ctx->native->properties;
    switch (id) {
    case GA_CTX_PROP_DEVNAME: return copy_text(res, 256, p->name);
    case GA_CTX_PROP_UNIQUE_ID: return copy_text(res, 16, p->place);
    case GA_CTX_PROP_BIN_ID: *(const char **)res = p->arch; return GA_NO_ERROR;
    case GA_CTX_PROP_NUMPROCS: *(unsigned int *)res = (unsigned int)p->units; return GA_NO_ERROR;
    case GA_CTX_PROP_NATIVE_FLOAT16: *(int *)res = p->halves; return GA_NO_ERROR;
    case GA_CTX_PROP_LMEMSIZE: return put_size(res, p->local_memory);
    case GA_CTX_PROP_TOTAL_GMEM: return put_size(res, p->memory);
    case GA_CTX_PROP_LARGEST_MEMBLOCK: return put_size(res, p->max_buffer);
    case GA_CTX_PROP_MAXLSIZE: return put_size(res, p->max_local);
    case GA_CTX_PROP_FREE_GMEM: return free_memory(ctx, res);
    default: break;
    }
    if (id >= GA_CTX_PROP_MAXGSIZE0 && id <= GA_CTX_PROP_MAXGSIZE2)
        return put_size(res, p->max_groups[id - GA_CTX_PROP_MAXGSIZE0]);
    if (id >= GA_CTX_PROP_MAXLSIZE0 && id <= GA_CTX_PROP_MAXLSIZE2)
        return put_size(res, p->max_locals[id - GA_CTX_PROP_MAXLSIZE0]);
    return refuse(ctx, GA_INVALID_ERROR, "there is no such property of contexts");
}

gpudata *gpudata_alloc(gpucontext *ctx, size_t sz, void *data, int flags, int *ret) {
    int code = GA_NO_ERROR;
    PyObject *made = NULL;
    if (check_process(ctx->native->era) == 0)
        made = buffer_allocate(ctx->native, (Py_ssize_t)sz);
    if (made == NULL)
        code = settle(ctx, -1);
    else if (flags & GA_BUFFER_INIT) {
        code = gpudata_write(data_of(made), 0, data, sz);
        if (code != GA_NO_ERROR)
            Py_CLEAR(made);
    }
    if (ret != NULL)
        *ret = code;
    return made == NULL ? NULL : data_of(made);
}

void gpudata_retain(gpudata *b) { Py_INCREF((PyObject *)buffer_of(b)); }

void gpudata_release(gpudata *b) {
    if (b != NULL)
        Py_DECREF((PyObject *)buffer_of(b));
}

int gpudata_share(gpudata *a, gpudata *b, int *ret) {
    if (ret != NULL)
        *ret = GA_NO_ERROR;
    return a != NULL && a == b;
}

/* What a method of a buffer returned, as a number of error.h. */
static int done(gpudata *b, PyObject *result) {
    int code = settle(gpudata_context(b), result == NULL ? -1 : 0);
    Py_XDECREF(result);
    return code;
}

int gpudata_move(gpudata *dst, size_t dstoff, gpudata *src, size_t srcoff, size_t sz) {
    return done(dst, PyObject_CallMethod((PyObject *)buffer_of(dst), "copy", "nOnn", (Py_ssize_t)dstoff,
                                         (PyObject *)buffer_of(src), (Py_ssize_t)srcoff, (Py_ssize_t)sz));
}

int gpudata_read(void *dst, gpudata *src, size_t srcoff, size_t sz) {
    PyObject *view = PyMemoryView_FromMemory(dst, (Py_ssize_t)sz, PyBUF_WRITE);
    if (view == NULL)
        return settle(gpudata_context(src), -1);
    return done(src, PyObject_CallMethod((PyObject *)buffer_of(src), "read", "nN", (Py_ssize_t)srcoff, view));
}

int gpudata_write(gpudata *dst, size_t dstoff, const void *src, size_t sz) {
    PyObject *view = PyMemoryView_FromMemory((char *)(uintptr_t)src, (Py_ssize_t)sz, PyBUF_READ);
    if (view == NULL)
        return settle(gpudata_context(dst), -1);
    return done(dst, PyObject_CallMethod((PyObject *)buffer_of(dst), "write", "nN", (Py_ssize_t)dstoff, view));
}

int gpudata_memset(gpudata *dst, size_t dstoff, int data) {
    BufferObject *b = buffer_of(dst);
    return done(dst, PyObject_CallMethod((PyObject *)b, "fill", "nni", (Py_ssize_t)dstoff,
                                         (Py_ssize_t)b->bytes - (Py_ssize_t)dstoff, data & 0xff));
}

int gpudata_sync(gpudata *b) {
    ContextObject *c = buffer_of(b)->context;
    return settle(gpudata_context(b), check_process(c->era) < 0 ? -1 : context_synchronize(c));
}

int gpudata_property(gpudata *buf, int id, void *res) {
    const BufferObject *b = buffer_of(buf);
    if (id == GA_BUFFER_PROP_SIZE)
        return put_size(res, (int64_t)b->bytes);
    if (id != GA_BUFFER_PROP_REFCNT)
        return refuse(gpudata_context(buf), GA_INVALID_ERROR, "there is no such property of memory");
    *(unsigned int *)res = (unsigned int)Py_REFCNT((PyObject *)(uintptr_t)b);
    return GA_NO_ERROR;
}

/* ---- what libraries of CUDA ask for. A failure leaves the exception set, which ends the op. */

static void call_native(gpucontext *ctx, const char *method) {
    PyObject *result = PyObject_CallMethod((PyObject *)ctx->native, method, NULL);
    Py_XDECREF(result);
}

void cuda_enter(gpucontext *ctx) { call_native(ctx, "push"); }

void cuda_exit(gpucontext *ctx) { call_native(ctx, "pop"); }

void *cuda_get_stream(gpucontext *ctx) {
    uintptr_t handle = 0, queue = 0;
    ctx->native->table->handles(ctx->native->context, &handle, &queue);
    return (void *)queue;
}

size_t cuda_get_sz(gpudata *b) { return buffer_of(b)->bytes; }

int cuda_wait(gpudata *b, int flags) {
    (void)b;
    (void)flags;
    return GA_NO_ERROR; /* all work of a context is in one queue */
}

int cuda_record(gpudata *b, int flags) { return cuda_wait(b, flags); }

void *gpuarray_get_extension(const char *name) {
    static const struct {
        const char *name;
        void (*function)(void);
    } known[] = {
        {"cuda_enter", (void (*)(void))cuda_enter},
        {"cuda_exit", (void (*)(void))cuda_exit},
        {"cuda_get_stream", (void (*)(void))cuda_get_stream},
        {"cuda_get_sz", (void (*)(void))cuda_get_sz},
        {"cuda_wait", (void (*)(void))cuda_wait},
        {"cuda_record", (void (*)(void))cuda_record},
    };
    void *found = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            memcpy(&found, &known[i].function, sizeof found);
    return found;
}
