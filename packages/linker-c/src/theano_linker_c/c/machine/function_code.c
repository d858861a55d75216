/* Functions that are one C function for operands of certain shapes, as loops are. Now and then a call is timed, and
 * somebody is asked whether the function should be compiled; until there is code, and where it does not fit or finds an
 * error, the instructions run. */
#include "loop.h"

enum { MOST_CODES = 4, TRIALS = 4, CALLS_BETWEEN_LOOKS = 1024 };
/* Code that is slower than the instructions by more than noise is given up. */
#define SLOWER 1.05

typedef struct {
    code_fn fn;
    PyObject *forms, *held; /* owned: the forms of operands and results, as numbers; the code's memory */
    double machine_seconds, seconds;
    int trials;
} Code;

struct FunctionCodes {
    PyObject *ask; /* owned: takes the seconds of a call and its operands; returns after how many calls to ask again */
    int left;      /* calls until the next one that is timed; 0: none is */
    int n, used;   /* codes; the one that did the present call, or -1 */
    long long calls; /* done by codes */
    Code codes[MOST_CODES];
};

static PyObject *operand_of(const Machine *m, const Frame *f, int k) {
    return f->registers[k < m->n_inputs ? m->inputs[k].reg : m->cells[k - m->n_inputs].reg];
}

/* Arguments and shared variables. */
PyObject *codes_operands(const Machine *m, const Frame *f) {
    int n = m->n_inputs + m->n_cells;
    PyObject *operands = PyTuple_New(n);
    for (int k = 0; operands != NULL && k < n; k++) {
        PyObject *value = operand_of(m, f, k);
        PyTuple_SET_ITEM(operands, k, Py_NewRef(value == NULL ? Py_None : value));
    }
    return operands;
}

/* Whether the present call is timed. */
int codes_ask(const Machine *m) {
    return m->codes != NULL && m->profile == NULL && m->codes->left > 0 && --m->codes->left == 0;
}

static int run(Machine *m, Frame *f, const Code *code, PyArrayObject **arrays) {
    const int64_t *at = (const int64_t *)PyBytes_AS_STRING(code->forms);
    int n_given = (int)at[0], n_results = (int)at[1];
    const void *data[n_given + 1];
    void *into[n_results + 1];
    npy_intp shape[NPY_MAXDIMS];
    Form form;
    at += 2;
    for (int k = 0; k < n_given; k++) {
        PyObject *value = operand_of(m, f, k);
        at = form_read(at, &form);
        arrays[k] = value == NULL ? NULL : form_fitting(value, &form, 1);
        if (arrays[k] == NULL)
            return PyErr_Occurred() ? -1 : 0;
        data[k] = PyArray_DATA(arrays[k]);
    }
    for (int k = 0; k < n_results; k++) {
        at = form_read(at, &form);
        for (int d = 0; d < form.ndim; d++)
            shape[d] = form.shape[d];
        PyArrayObject *array = buffer_obtain(m, f, m->outputs[k], form.type_num, form.ndim, shape, 0);
        if (array == NULL)
            return -1;
        into[k] = PyArray_DATA(array);
    }
    Look look = {.pause = 1};
    int64_t done;
    int status = code->fn(1, data, NULL, into, &done, code_look, &look);
    if (look.state != NULL)
        PyEval_RestoreThread(look.state);
    return status < 0 ? -1 : status == 0;
}

/* Let code do a call. Returns 1 where it has; 0 where the instructions have to; -1 with an exception. */
int codes_run(Machine *m, Frame *f) {
    FunctionCodes *codes = m->codes;
    codes->used = -1;
    if (m->profile != NULL || m->retained != NULL || f != &m->frame)
        return 0;
    int n = m->n_inputs + m->n_cells, status = 0;
    PyArrayObject *arrays[n + 1];
    for (int c = 0; m->codes == codes && c < codes->n && status == 0; c++) {
        Code code = codes->codes[c];
        PyObject *held = Py_NewRef(code.held), *forms = Py_NewRef(code.forms);
        memset(arrays, 0, sizeof arrays);
        status = run(m, f, &code, arrays);
        for (int k = 0; k < n; k++)
            Py_XDECREF(arrays[k]);
        Py_DECREF(held);
        Py_DECREF(forms);
        if (status > 0 && m->codes == codes) {
            codes->used = c;
            codes->calls++;
        }
    }
    return status;
}

static void code_clear(Code *code) {
    Py_CLEAR(code->forms);
    Py_CLEAR(code->held);
}

/* The answer of `ask`, which may have taken the codes away. */
static void calls_left(Machine *m, int left) {
    if (m->codes != NULL)
        m->codes->left = left;
}

/* A call has been timed: that of code is compared with the instructions; `ask` takes note of others. */
void codes_sampled(Machine *m, double seconds, PyObject *operands) {
    FunctionCodes *codes = m->codes;
    if (codes->used >= 0 && codes->used < codes->n) {
        Code *code = &codes->codes[codes->used];
        code->seconds = code->trials == 0 || seconds < code->seconds ? seconds : code->seconds;
        codes->left = ++code->trials < TRIALS ? 1 : CALLS_BETWEEN_LOOKS;
        if (code->trials == TRIALS && code->seconds > SLOWER * code->machine_seconds) {
            Code dropped = *code;
            *code = codes->codes[--codes->n];
            code_clear(&dropped);
        }
        return;
    }
    PyObject *ask = Py_NewRef(codes->ask);
    PyObject *answer = PyObject_CallFunction(ask, "dO", seconds, operands);
    calls_left(m, answer == NULL ? 0 : (int)PyLong_AsLong(answer));
    if (answer == NULL || PyErr_Occurred())
        PyErr_WriteUnraisable(ask);
    Py_XDECREF(answer);
    Py_DECREF(ask);
}

int codes_traverse(Machine *m, visitproc visit, void *arg) {
    if (m->codes != NULL)
        Py_VISIT(m->codes->ask);
    return 0;
}

void codes_free(Machine *m) {
    FunctionCodes *codes = m->codes;
    m->codes = NULL;
    if (codes == NULL)
        return;
    for (int c = 0; c < codes->n; c++)
        code_clear(&codes->codes[c]);
    Py_XDECREF(codes->ask);
    PyMem_Free(codes);
}

/* Whether each result has a register of its own, which nothing else is in. */
static int has_own_results(const Machine *m) {
    for (int k = 0; k < m->n_outputs; k++) {
        int own = 0;
        for (int i = 0; i < m->n_instructions; i++)
            for (int j = 0; j < m->instructions[i].n_outputs; j++)
                own |= m->instructions[i].outputs[j] == m->outputs[k];
        for (int j = 0; j < k; j++)
            own &= m->outputs[j] != m->outputs[k];
        if (!own)
            return 0;
    }
    return 1;
}

/* Method `on_busy(ask, calls)`: after so many calls, one is timed, and `ask` called. */
PyObject *machine_on_busy(PyObject *self, PyObject *args) {
    Machine *m = (Machine *)self;
    PyObject *ask;
    int calls;
    if (!PyArg_ParseTuple(args, "Oi", &ask, &calls))
        return NULL;
    codes_free(m);
    if (m->n_updates > 0 || m->n_overwrite > 0)
        return Py_NewRef(Py_False);
    m->codes = PyMem_Calloc(1, sizeof *m->codes);
    if (m->codes == NULL)
        return PyErr_NoMemory();
    m->codes->ask = Py_NewRef(ask);
    m->codes->left = calls;
    m->codes->used = -1;
    return Py_NewRef(Py_True);
}

/* Method `add_code(address, forms, held, seconds)`: code that takes the arguments, then the shared variables, as
 * loop_code.py describes them, and how long a call takes without it. Returns whether it is taken. */
PyObject *machine_add_code(PyObject *self, PyObject *args) {
    Machine *m = (Machine *)self;
    unsigned long long address;
    PyObject *forms, *held;
    double seconds;
    if (!PyArg_ParseTuple(args, "KSOd", &address, &forms, &held, &seconds))
        return NULL;
    const int64_t *numbers = (const int64_t *)PyBytes_AS_STRING(forms);
    FunctionCodes *codes = m->codes;
    if (codes == NULL || codes->n == MOST_CODES || numbers[0] != m->n_inputs + m->n_cells ||
        numbers[1] != m->n_outputs || !has_own_results(m))
        Py_RETURN_FALSE;
    codes->codes[codes->n++] = (Code){.fn = (code_fn)(uintptr_t)address,
                                      .forms = Py_NewRef(forms),
                                      .held = Py_NewRef(held),
                                      .machine_seconds = seconds};
    Py_RETURN_TRUE;
}

/* Attribute `code_calls`: how many calls were done by code. */
PyObject *machine_code_calls(PyObject *self, void *unused) {
    const Machine *m = (Machine *)self;
    (void)unused;
    return PyLong_FromLongLong(m->codes == NULL ? 0 : m->codes->calls);
}
