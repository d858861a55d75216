/* The table of functions, in a capsule. */
#include "interface.h"

static gpuarray_table table = {.version = GPUARRAY_TABLE_VERSION,
                               .context_type = &InterfaceContextType,
                               .array_type = &InterfaceArrayType,
#define GPUARRAY_ENTRY(result, name, parameters, arguments) .name = name,
                               GPUARRAY_FUNCTIONS(GPUARRAY_ENTRY)
#undef GPUARRAY_ENTRY
};

int interface_add(PyObject *module) {
    if (PyModule_AddType(module, &InterfaceContextType) < 0 || PyModule_AddType(module, &InterfaceArrayType) < 0)
        return -1;
    PyObject *capsule = PyCapsule_New(&table, GPUARRAY_TABLE_NAME, NULL);
    if (capsule == NULL)
        return -1;
    int result = PyModule_AddObjectRef(module, "_C_API", capsule);
    Py_DECREF(capsule);
    return result;
}
