/* Tasks on the arrays of compressed sparse matrices: the instruction. */
#include "sparse.h"

/* What is wanted of an operand or a result: elements are of the type of the plan. */
enum { ELEMENTS = -1, POSITIONS = -2 };

typedef struct {
    int type_num, ndim;
} Wanted;

typedef struct {
    int least, most; /* operands */
    int n_out;
    Wanted in[SPARSE_OPERANDS], out[SPARSE_RESULTS];
} Task;

#define VECTOR_ {ELEMENTS, 1}
#define MATRIX_ {ELEMENTS, 2}
#define NUMBER_ {ELEMENTS, 0}
#define INDICES_ {NPY_INT32, 1}
#define LENGTH_ {NPY_INT64, 0}
#define COMPRESSED_ VECTOR_, INDICES_, INDICES_, LENGTH_

static const Task tasks[SPARSE_TASKS] = {
    {5, 5, 1, {COMPRESSED_, MATRIX_}, {MATRIX_}},
    {7, 7, 1, {NUMBER_, COMPRESSED_, MATRIX_, MATRIX_}, {MATRIX_}},
    {8, 8, 2, {NUMBER_, COMPRESSED_, MATRIX_, LENGTH_, LENGTH_}, {{NPY_INT64, 1}, MATRIX_}},
    {4, 4, 3, {COMPRESSED_}, {VECTOR_, INDICES_, INDICES_}},
    {4, 5, 1, {COMPRESSED_, MATRIX_}, {MATRIX_}},
    {4, 4, 1, {COMPRESSED_}, {VECTOR_}},
    {3, 3, 1, {VECTOR_, INDICES_, INDICES_}, {VECTOR_}},
    {4, 4, 1, {MATRIX_, MATRIX_, {POSITIONS, 1}, {POSITIONS, 1}}, {VECTOR_}},
    {2, 2, 2, {INDICES_, INDICES_}, {INDICES_, INDICES_}},
};

typedef struct {
    const Task *task;
    sparse_fn run;
    int number, type_num, flag, inplace;
} Plan;

/* The number in an operand of any number of dimensions has been checked by the node: it has one element. */
static PyArrayObject *taken(Frame *f, const Plan *plan, int reg, const Wanted *wanted) {
    PyObject *value = f->registers[reg];
    if (wanted->type_num == POSITIONS) {
        int type = value != NULL && PyArray_Check(value) && PyArray_TYPE((PyArrayObject *)value) == NPY_INT32 ? NPY_INT32 : NPY_INT64;
        return operand(f, reg, type, wanted->ndim);
    }
    int type = wanted->type_num == ELEMENTS ? plan->type_num : wanted->type_num, ndim = wanted->ndim;
    if (ndim == 0 && value != NULL && PyArray_Check(value) && PyArray_SIZE((PyArrayObject *)value) == 1)
        ndim = PyArray_NDIM((PyArrayObject *)value);
    return operand(f, reg, type, ndim);
}

/* Put a result into its register; what no operand is stays for the next call. */
static void store(Machine *m, Frame *f, const Instruction *in, const SparseCall *c, int k) {
    PyArrayObject *value = c->out[k];
    int given = 0;
    for (int i = 0; i < c->n_in; i++)
        given |= c->in[i] == value;
    frame_set(f, in->outputs[k], (PyObject *)value);
    if (!given)
        buffer_offer(m, f, in->outputs[k]);
}

static int sparse_run(Machine *m, Frame *f, const Instruction *in) {
    const Plan *plan = in->plan;
    SparseCall c = {.n_in = in->n_inputs, .flag = plan->flag, .inplace = plan->inplace && f->commits == NULL};
    for (int i = 0; i < in->n_inputs; i++)
        if ((c.in[i] = taken(f, plan, in->inputs[i], &plan->task->in[i])) == NULL)
            return RUN_RAISED;
    for (int k = 0; k < in->n_outputs; k++) {
        const Wanted *wanted = &plan->task->out[k];
        int type = wanted->type_num == ELEMENTS ? plan->type_num : wanted->type_num;
        c.out[k] = (PyArrayObject *)buffer_recall(m, in->outputs[k], type, wanted->ndim);
    }
    int status = plan->run(&c);
    for (int k = 0; k < in->n_outputs; k++)
        if (status == 0)
            store(m, f, in, &c, k);
        else
            Py_XDECREF(c.out[k]);
    return status == 0 ? RUN_DONE : RUN_RAISED;
}

/* Payload: (task, type of the elements, flag, whether the last operand is overwritten). */
int sparse_prepare(Machine *m, Instruction *in, PyObject *payload) {
    (void)m;
    Plan *plan = PyMem_Calloc(1, sizeof *plan);
    if (plan == NULL)
        return -1;
    in->plan = plan;
    in->run = sparse_run;
    if (!PyArg_ParseTuple(payload, "iipp", &plan->number, &plan->type_num, &plan->flag, &plan->inplace))
        return -1;
    if (plan->number < 0 || plan->number >= SPARSE_TASKS ||
        (plan->type_num != NPY_FLOAT32 && plan->type_num != NPY_FLOAT64)) {
        PyErr_SetString(PyExc_ValueError, "sparse payload: unknown task or type");
        return -1;
    }
    plan->task = &tasks[plan->number];
    plan->run = sparse_kernels(plan->type_num == NPY_FLOAT64)->run[plan->number];
    if (in->n_inputs < plan->task->least || in->n_inputs > plan->task->most || in->n_outputs != plan->task->n_out) {
        PyErr_SetString(PyExc_ValueError, "sparse payload: the task has another number of operands");
        return -1;
    }
    return 0;
}
