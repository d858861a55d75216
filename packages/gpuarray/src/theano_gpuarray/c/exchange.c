/* Arrays that other libraries take: capsules of DLPack, whose structures are those of its version 1.0. */
#include "runtime.h"

typedef struct {
    void *data;
    struct {
        int32_t kind, number;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Managed {
    Tensor tensor;
    void *context;
    void (*deleter)(struct Managed *);
} Managed;

typedef struct Versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(struct Versioned *);
    uint64_t flags;
    Tensor tensor;
} Versioned;

#define COPIED 2

/* What a capsule points to: one of the structures, the array, and then its lengths and its strides. */
typedef struct {
    union {
        Managed plain;
        Versioned versioned;
    } managed;
    PyObject *owner;
    int64_t numbers[];
} Export;

/* Consumers call a deleter from any thread, with or without an exception under way, which stays. */
static void let_go(void *managed) {
    Export *export = managed;
    if (managed == NULL || !Py_IsInitialized()) /* what is not freed by then goes with the process */
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *error, *type, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    Py_DECREF(export->owner);
    PyMem_RawFree(export);
    PyErr_Restore(type, error, traceback);
    PyGILState_Release(state);
}

static void delete_plain(Managed *managed) { let_go(managed); }

static void delete_versioned(Versioned *managed) { let_go(managed); }

static const char *const names[] = {"dltensor", "dltensor_versioned"};

/* A consumer that takes the array over gives the capsule another name. */
static void destroy(PyObject *capsule) {
    for (int i = 0; i < 2; i++)
        if (PyCapsule_IsValid(capsule, names[i]))
            let_go(PyCapsule_GetPointer(capsule, names[i]));
}

static int read_numbers(PyObject *given, Py_ssize_t ndim, int64_t *place) {
    for (Py_ssize_t i = 0; i < ndim; i++)
        if ((place[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(given, i))) == -1 && PyErr_Occurred())
            return -1;
    return 0;
}

static PyObject *make_capsule(Export *export, const Tensor *tensor, int versioned, int copied) {
    if (versioned)
        export->managed.versioned = (Versioned){
            .version = {1, 0}, .deleter = delete_versioned, .flags = copied ? COPIED : 0, .tensor = *tensor};
    else
        export->managed.plain = (Managed){.deleter = delete_plain, .tensor = *tensor};
    return PyCapsule_New(export, names[versioned], destroy);
}

PyObject *export_array(PyObject *module, PyObject *args) {
    PyObject *owner, *shape, *steps;
    unsigned long long address, offset;
    int versioned, copied;
    Tensor tensor = {.dtype = {.lanes = 1}};
    (void)module;
    if (!PyArg_ParseTuple(args, "OKK(bb)O!O!(ii)pp:export_array", &owner, &address, &offset, &tensor.dtype.code,
                          &tensor.dtype.bits, &PyTuple_Type, &shape, &PyTuple_Type, &steps, &tensor.device.kind,
                          &tensor.device.number, &versioned, &copied))
        return NULL;
    Py_ssize_t ndim = PyTuple_GET_SIZE(shape);
    if (PyTuple_GET_SIZE(steps) != ndim || ndim > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "export_array: %zd lengths and %zd strides", ndim, PyTuple_GET_SIZE(steps));
        return NULL;
    }
    Export *export = PyMem_RawMalloc(sizeof(Export) + 2 * (size_t)ndim * sizeof(int64_t));
    if (export == NULL)
        return PyErr_NoMemory();
    tensor.data = (void *)(uintptr_t)address;
    tensor.byte_offset = offset;
    tensor.ndim = (int32_t)ndim;
    tensor.shape = export->numbers;
    tensor.strides = export->numbers + ndim;
    PyObject *capsule = NULL;
    if (read_numbers(shape, ndim, tensor.shape) == 0 && read_numbers(steps, ndim, tensor.strides) == 0) {
        export->owner = Py_NewRef(owner);
        capsule = make_capsule(export, &tensor, versioned, copied);
        if (capsule != NULL)
            return capsule;
        Py_DECREF(owner);
    }
    PyMem_RawFree(export);
    return NULL;
}
