// Comments may stand before the first section.
#section support_code
static int loads;
#section init_code
loads++;
#section support_code_apply
static int APPLY_SPECIFIC(applies) = 100 * ITEMSIZE_INPUT_0;
#section init_code_apply
APPLY_SPECIFIC(applies) += loads;
#section support_code_struct
long count;
PyObject *parameter;
#section init_code_struct
count = 1000;
parameter = PARAMS;
if (PARAMS == Py_None) {
    PyErr_SetString(PyExc_ValueError, "None is no parameter");
    FAIL
}
Py_INCREF(parameter);
