#section support_code_apply
int APPLY_SPECIFIC(scale)(PyArrayObject *x, PyArrayObject *missing, PyArrayObject **z, PyArrayObject **none,
                          PARAMS_TYPE *params)
{
    DTYPE_PARAM_factor factor = params->factor;
    if (missing != NULL || none != NULL) {
        PyErr_SetString(PyExc_ValueError, "what is missing is NULL");
        return -1;
    }
    if (factor == 0)
        return 5;
    Py_XDECREF(*z);
    *z = (PyArrayObject *)PyArray_NewCopy(x, NPY_CORDER);
    if (*z == NULL)
        return 1;
    for (npy_intp i = 0; i < PyArray_SIZE(*z); i++)
        ((npy_float64 *)PyArray_DATA(*z))[i] *= params->mode == TWICE ? 2 * factor : factor;
    return 0;
}
