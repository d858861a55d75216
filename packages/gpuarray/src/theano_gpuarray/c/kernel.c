/* Modules and kernels. */
#include "runtime.h"
#include <stdlib.h>
#include <string.h>

PyObject *module_load(ContextObject *c, PyObject *binary) {
    Py_buffer view;
    if (PyObject_GetBuffer(binary, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    ModuleObject *m = PyObject_New(ModuleObject, &ModuleType);
    Failure failure = {0};
    int result = -1;
    if (m != NULL) {
        m->context = (ContextObject *)Py_NewRef(c);
        m->module = NULL;
        Py_BEGIN_ALLOW_THREADS;
        result = c->table->load(c->context, view.buf, (size_t)view.len, &m->module, &failure);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&view);
    if (m != NULL && result < 0) {
        m->module = NULL;
        Py_CLEAR(m);
        raise_failure(&failure);
    }
    return (PyObject *)m;
}

static void module_dealloc(PyObject *self) {
    ModuleObject *m = (ModuleObject *)self;
    if (m->module != NULL && m->context->era == fork_era)
        m->context->table->unload(m->context->context, m->module);
    Py_DECREF(m->context);
    PyObject_Free(self);
}

static int check_parameters(const char *name, const char *parameters) {
    for (const char *p = parameters; *p != 0; p++)
        if (*p != 'P' && parameter_size(*p) == 0) {
            PyErr_Format(PyExc_ValueError,
                         "kernel %s: \"%c\" is no letter of a parameter; there are P, q, i, I, h, H, b, B, f, d", name,
                         *p);
            return -1;
        }
    return 0;
}

static PyObject *module_kernel(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "parameters", NULL};
    ModuleObject *m = (ModuleObject *)self;
    ContextObject *c = m->context;
    const char *name, *parameters;
    Failure failure = {0};
    int result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ss:kernel", names, &name, &parameters) ||
        check_process(c->era) < 0 || check_parameters(name, parameters) < 0)
        return NULL;
    KernelObject *k = PyObject_New(KernelObject, &KernelType);
    if (k == NULL)
        return NULL;
    k->module = (ModuleObject *)Py_NewRef(m);
    k->kernel = NULL;
    k->name = strdup(name);
    k->parameters = strdup(parameters);
    k->count = (int)strlen(parameters);
    if (k->name == NULL || k->parameters == NULL) {
        Py_DECREF(k);
        return PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS;
    result = c->table->kernel(c->context, m->module, name, &k->kernel, &k->max_local, &failure);
    Py_END_ALLOW_THREADS;
    if (result < 0) {
        k->kernel = NULL;
        Py_DECREF(k);
        raise_failure(&failure);
        return NULL;
    }
    return (PyObject *)k;
}

static void kernel_dealloc(PyObject *self) {
    KernelObject *k = (KernelObject *)self;
    ContextObject *c = k->module->context;
    if (k->kernel != NULL && c->era == fork_era)
        c->table->kernel_free(c->context, k->kernel);
    free(k->name);
    free(k->parameters);
    Py_DECREF(k->module);
    PyObject_Free(self);
}

static PyObject *kernel_text(PyObject *self, void *parameters) {
    const KernelObject *k = (KernelObject *)self;
    return PyUnicode_FromString(parameters == NULL ? k->name : k->parameters);
}

static PyObject *kernel_max_local(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLongLong(((KernelObject *)self)->max_local);
}

static PyMethodDef module_methods[] = {{"kernel", (PyCFunction)(void (*)(void))module_kernel,
                                        METH_VARARGS | METH_KEYWORDS, "Return a kernel, by its name."},
                                       {NULL, NULL, 0, NULL}};

static PyGetSetDef kernel_attributes[] = {
    {"name", kernel_text, NULL, "Name of the function.", NULL},
    {"parameters", kernel_text, NULL, "A letter for each parameter.", (void *)1},
    {"max_local", kernel_max_local, NULL, "Work-items of a work-group, at most.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject ModuleType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Module",
    .tp_doc = "Compiled code.",
    .tp_basicsize = sizeof(ModuleObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = module_dealloc,
    .tp_methods = module_methods,
};

PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.Kernel",
    .tp_doc = "A kernel function.",
    .tp_basicsize = sizeof(KernelObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = kernel_dealloc,
    .tp_getset = kernel_attributes,
};
