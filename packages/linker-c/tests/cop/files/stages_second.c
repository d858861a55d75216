#section support_code
static int freed_scratch;
#section code
char *scratch;
scratch = (char *)malloc(64);
if (PyArray_DIMS(INPUT_0)[0] == 0) {
    PyErr_SetString(PyExc_ValueError, "empty");
    FAIL;
}
Py_XDECREF(OUTPUT_0);
OUTPUT_0 = PyTuple_Pack(1, PARAMS);
Py_XDECREF(OUTPUT_1);
OUTPUT_1 = PyLong_FromLong(APPLY_SPECIFIC(applies) + ++count + 100000 * freed_scratch + OFFSET);
#section code_cleanup
free(scratch);
freed_scratch++;
#section cleanup_code_struct
Py_XDECREF(parameter);
