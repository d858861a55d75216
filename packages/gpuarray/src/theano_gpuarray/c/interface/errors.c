/* Failures: numbers and texts for C code, exceptions for Python. */
#include "interface.h"

static const char *const texts[] = {
    "No error",
    "Out of memory",
    "Value out of range",
    "Unknown device error",
    "Invalid value or state",
    "Unsupported operation",
    "System error",
    "Could not execute helper program",
    "Device does not support operation",
    "Writing to read-only memory",
    "Reading from write-only memory",
    "BLAS failure",
    "Unaligned access",
    "A copy is needed, and was not allowed",
    "No device",
    "Other error",
    "Collective call failed",
    "Array too large",
    "Library could not be loaded",
};
#define TEXTS ((int)(sizeof texts / sizeof *texts))

const char *gpuarray_error_str(int err) { return err >= 0 && err < TEXTS ? texts[err] : "Unknown error"; }

const char *gpucontext_error(gpucontext *ctx, int err) {
    return ctx != NULL && err != GA_NO_ERROR && ctx->code == err && ctx->message[0] != 0 ? ctx->message
                                                                                         : gpuarray_error_str(err);
}

int refuse(gpucontext *ctx, int code, const char *text) {
    if (ctx != NULL) {
        ctx->code = code;
        PyOS_snprintf(ctx->message, sizeof ctx->message, "%s", text);
    }
    return code;
}

static int code_of_exception(void) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError))
        return GA_MEMORY_ERROR;
    if (PyErr_ExceptionMatches(PyExc_BufferError))
        return GA_COPY_ERROR;
    if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_IndexError) ||
        PyErr_ExceptionMatches(PyExc_OverflowError))
        return GA_VALUE_ERROR;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        return GA_INVALID_ERROR;
    if (PyErr_ExceptionMatches(PyExc_NotImplementedError))
        return GA_UNSUPPORTED_ERROR;
    return PyErr_ExceptionMatches(DeviceError) ? GA_IMPL_ERROR : GA_MISC_ERROR;
}

int settle(gpucontext *ctx, int result) {
    PyObject *type, *error, *traceback;
    if (result >= 0)
        return GA_NO_ERROR;
    int code = code_of_exception();
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    PyObject *text = error == NULL ? NULL : PyObject_Str(error);
    const char *message = text == NULL ? NULL : PyUnicode_AsUTF8(text);
    refuse(ctx, code, message == NULL ? gpuarray_error_str(code) : message);
    PyErr_Clear(); /* of an exception without a text */
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return code;
}

int raise_code(gpucontext *ctx, int code) {
    PyObject *kind = DeviceError;
    if (code == GA_NO_ERROR)
        return 0;
    if (code == GA_MEMORY_ERROR)
        kind = PyExc_MemoryError;
    else if (code == GA_VALUE_ERROR || code == GA_COPY_ERROR)
        kind = PyExc_ValueError;
    else if (code == GA_INVALID_ERROR)
        kind = PyExc_TypeError;
    PyErr_SetString(kind, gpucontext_error(ctx, code));
    return -1;
}
