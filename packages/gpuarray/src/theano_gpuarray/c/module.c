/* The extension module `_device`, and what all of its types need. */
#include "interface/interface.h"

PyObject *DeviceError;
unsigned fork_era;

static void count_fork(void) { fork_era++; }

int raise_failure(Failure *failure) {
    const char *text = failure->text == NULL ? "the driver failed and gave no reason" : failure->text;
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (message != NULL)
        PyErr_SetObject(DeviceError, message);
    Py_XDECREF(message);
    failure_clear(failure);
    return -1;
}

int check_process(unsigned era) {
    if (era == fork_era)
        return 0;
    PyErr_SetString(DeviceError, "the device was opened before this process was forked, and cannot be used in it\n"
                                 "  Hint: open the device in the child process alone, or start processes with "
                                 "multiprocessing.get_context(\"spawn\")");
    return -1;
}

void mark_finished(ContextObject *c, long long number) {
    long long before = atomic_load(&c->finished);
    while (before < number && !atomic_compare_exchange_weak(&c->finished, &before, number))
        ;
}

static PyMethodDef functions[] = {{"open_driver", (PyCFunction)(void (*)(void))open_driver,
                                   METH_VARARGS | METH_KEYWORDS,
                                   "Open a driver: \"null\", \"opencl\" or \"cuda\"; libraries are given by paths."},
                                  {"export_array", export_array, METH_VARARGS, "Return a DLPack capsule of an array."},
                                  {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_device",
                                        .m_doc = "Opens drivers of devices when it is asked to.", .m_size = -1,
                                        .m_methods = functions};

/* The class is defined in Python, so that it is there without this module too. */
static PyObject *find_device_error(void) {
    PyObject *module = PyImport_ImportModule("theano_gpuarray._errors");
    PyObject *found = module == NULL ? NULL : PyObject_GetAttrString(module, "DeviceError");
    Py_XDECREF(module);
    return found;
}

PyMODINIT_FUNC PyInit__device(void) {
    static PyTypeObject *const types[] = {&DriverType, &ContextType,    &BufferType, &ModuleType,
                                          &KernelType, &LaunchListType, &ReplaysType};
    static int watches_forks;
    if (!watches_forks && pthread_atfork(NULL, NULL, count_fork) != 0)
        return PyErr_NoMemory();
    watches_forks = 1;
    if (DeviceError == NULL && (DeviceError = find_device_error()) == NULL)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddObjectRef(module, "DeviceError", DeviceError) < 0)
        Py_CLEAR(module);
    for (size_t i = 0; module != NULL && i < sizeof types / sizeof *types; i++)
        if (PyModule_AddType(module, types[i]) < 0)
            Py_CLEAR(module);
    if (module != NULL && interface_add(module) < 0)
        Py_CLEAR(module);
    return module;
}
