/* Which steps of a list may run side by side. */
#include "lists.h"

void free_lanes(Lanes *lanes) {
    PyMem_Free(lanes->numbers);
    PyMem_Free(lanes->begins);
    PyMem_Free(lanes->waits);
    PyMem_Free(lanes->signals);
    *lanes = (Lanes){0};
}

static int refuse_order(const char *why) {
    PyErr_Format(PyExc_ValueError, "the order of a list: %s", why);
    return -1;
}

static int allocate(Lanes *lanes, Py_ssize_t count, Py_ssize_t waits) {
    lanes->numbers = PyMem_Calloc((size_t)count + 1, sizeof(int));
    lanes->begins = PyMem_Calloc((size_t)count + 1, sizeof(int));
    lanes->waits = PyMem_Calloc((size_t)waits + 1, sizeof(int));
    lanes->signals = PyMem_Calloc((size_t)count + 1, 1);
    if (lanes->numbers != NULL && lanes->begins != NULL && lanes->waits != NULL && lanes->signals != NULL)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* Read the lane of a step, and the steps before it that it waits for. */
static int parse_lane(const LaunchList *l, Lanes *lanes, int i, PyObject *given) {
    PyObject *waits;
    int count = lanes->begins[i];
    if (!PyArg_Parse(given, "(iO!)", &lanes->numbers[i], &PyTuple_Type, &waits))
        return -1;
    if (lanes->numbers[i] < 0 || lanes->numbers[i] >= MOST_LANES)
        return refuse_order("there is no such lane");
    StepKind kind = l->list.steps[i].kind;
    if (lanes->numbers[i] > 0 && (kind == STEP_PRODUCT || kind == STEP_CONVOLUTION || kind == STEP_CALL))
        return refuse_order("what libraries compute is in lane 0, since it shares their workspace");
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(waits); k++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(waits, k));
        if (number == -1 && PyErr_Occurred())
            return -1;
        if (number < 0 || number >= i)
            return refuse_order("a step waits for steps before it");
        lanes->waits[count++] = (int)number;
        lanes->signals[number] = 1;
    }
    lanes->begins[i + 1] = count;
    return 0;
}

int parse_order(LaunchList *l, PyObject *order) {
    Py_ssize_t waits = 0, count = l->list.count;
    if (l->repeat.count > 0 || PyTuple_GET_SIZE(order) != count)
        return refuse_order("it says something of each step, and there is no long repeat");
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *given = PyTuple_GET_ITEM(order, i);
        if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 2 || !PyTuple_Check(PyTuple_GET_ITEM(given, 1)))
            return refuse_order("of each step there are its lane and a tuple of steps");
        waits += PyTuple_GET_SIZE(PyTuple_GET_ITEM(given, 1));
    }
    int result = allocate(&l->list.lanes, count, waits);
    for (int i = 0; result == 0 && i < l->list.count; i++)
        result = parse_lane(l, &l->list.lanes, i, PyTuple_GET_ITEM(order, i));
    return result;
}
