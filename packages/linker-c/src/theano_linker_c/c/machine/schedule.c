/* Programs with lazy instructions: each instruction runs when something asks for it, and once at most.
 *
 * A lazy instruction may answer RUN_ASKS instead of computing: it then names registers that it wants first
 * (`frame->asked`). The producers of these registers run, and it is tried again. What nobody asks for does not run.
 *
 * Since instructions may run in another order than that of the list, or not at all, a register with several readers
 * dies when all of them have run; the counts of readers still to come are kept for each call.
 */
#include "runtime.h"

struct Schedule {
    int n_roots, *roots; /* instructions that every call needs, in order */
    int *starts, *needs; /* of instruction i: needs[starts[i]] to needs[starts[i + 1] - 1] have to run before it */
    int *producer;       /* register -> instruction that computes it, or -1 */
    int *readers;        /* register -> how many times it is read; 0: never freed by counting */
    size_t stack_length;
};

typedef struct {
    unsigned char *done; /* of each instruction */
    int *left;           /* of each register: readers still to come */
    int *stack;
    size_t height;
} Progress;

void schedule_free(Machine *m) {
    Schedule *s = m->schedule;
    if (s == NULL)
        return;
    PyMem_Free(s->roots);
    PyMem_Free(s->starts);
    PyMem_Free(s->needs);
    PyMem_Free(s->producer);
    PyMem_Free(s->readers);
    PyMem_Free(s);
    m->schedule = NULL;
}

static int in_range(const int *values, int count, int low, int high) {
    for (int i = 0; i < count; i++)
        if (values[i] < low || values[i] >= high) {
            PyErr_SetString(PyExc_ValueError, "schedule: number out of range");
            return 0;
        }
    return 1;
}

static int parse_needs(Machine *m, Schedule *s, PyObject *rows) {
    Py_ssize_t total = 0;
    if (PyTuple_GET_SIZE(rows) != m->n_instructions) {
        PyErr_SetString(PyExc_ValueError, "schedule: one row of needs for each instruction");
        return -1;
    }
    for (int i = 0; i < m->n_instructions; i++)
        total += PyTuple_GET_SIZE(PyTuple_GET_ITEM(rows, i)) + m->instructions[i].n_inputs;
    s->starts = PyMem_Calloc(m->n_instructions + 1, sizeof(int));
    s->needs = PyMem_Calloc(total + 1, sizeof(int));
    if (s->starts == NULL || s->needs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < m->n_instructions; i++) {
        int count, *row = parse_ints(PyTuple_GET_ITEM(rows, i), &count);
        /* Only earlier instructions: so no circle of instructions can wait for each other. */
        int fine = row != NULL && in_range(row, count, 0, i);
        if (fine)
            memcpy(s->needs + s->starts[i], row, count * sizeof(int));
        s->starts[i + 1] = s->starts[i] + count;
        PyMem_Free(row);
        if (!fine)
            return -1;
    }
    s->stack_length = (size_t)total + 2;
    return 0;
}

/* Method `set_schedule(roots, needs, readers)`. */
PyObject *machine_set_schedule(PyObject *self, PyObject *args) {
    Machine *m = (Machine *)self;
    PyObject *roots, *needs, *readers;
    int count;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyTuple_Type, &roots, &PyTuple_Type, &needs, &PyTuple_Type, &readers))
        return NULL;
    schedule_free(m);
    Schedule *s = PyMem_Calloc(1, sizeof *s);
    if (s == NULL)
        return PyErr_NoMemory();
    m->schedule = s;
    s->roots = parse_ints(roots, &s->n_roots);
    s->readers = parse_ints(readers, &count);
    s->producer = PyMem_Malloc((m->n_registers + 1) * sizeof(int));
    if (s->roots == NULL || s->readers == NULL || s->producer == NULL || parse_needs(m, s, needs) < 0 ||
        !in_range(s->roots, s->n_roots, 0, m->n_instructions))
        goto failed;
    if (count != m->n_registers) {
        PyErr_SetString(PyExc_ValueError, "schedule: one count of readers for each register");
        goto failed;
    }
    for (int r = 0; r < m->n_registers; r++)
        s->producer[r] = -1;
    for (int i = 0; i < m->n_instructions; i++)
        for (int k = 0; k < m->instructions[i].n_outputs; k++)
            s->producer[m->instructions[i].outputs[k]] = i;
    Py_RETURN_NONE;
failed:
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    schedule_free(m);
    return NULL;
}

static int push_missing(const Schedule *s, Progress *p, int i) {
    int pushed = 0;
    for (int k = s->starts[i]; k < s->starts[i + 1]; k++)
        if (!p->done[s->needs[k]]) {
            p->stack[p->height++] = s->needs[k];
            pushed = 1;
        }
    return pushed;
}

/* What a lazy instruction asked for. Returns 0 if all of it is there already, so that it would ask for ever. */
static int push_asked(const Schedule *s, Progress *p, const Instruction *in, const Frame *f) {
    int pushed = 0;
    for (int k = 0; k < f->n_asked; k++) {
        int position = s->producer[in->inputs[f->asked[k]]];
        if (position >= 0 && !p->done[position]) {
            p->stack[p->height++] = position;
            pushed = 1;
        }
    }
    return pushed;
}

static void release_after(const Machine *m, Frame *f, Progress *p, const Instruction *in) {
    const Schedule *s = m->schedule;
    if (m->retained != NULL) {
        for (int k = 0; k < in->n_release; k++)
            retain_instead_of_release(f, in, in->release[k]);
        return;
    }
    for (int k = 0; k < in->n_release; k++)
        frame_set(f, in->release[k], NULL);
    for (int k = 0; k < in->n_inputs; k++) {
        int reg = in->inputs[k];
        if (s->readers[reg] > 0 && --p->left[reg] == 0)
            frame_set(f, reg, NULL);
    }
}

static int run_wanted(Machine *m, Frame *f, Progress *p) {
    const Schedule *s = m->schedule;
    while (p->height > 0) {
        int i = p->stack[p->height - 1];
        const Instruction *in = &m->instructions[i];
        if (p->done[i]) {
            p->height--;
            continue;
        }
        if (push_missing(s, p, i))
            continue;
        int status = machine_step(m, f, i);
        if (status < 0)
            return -1;
        if (status == RUN_ASKS) {
            if (push_asked(s, p, in, f))
                continue;
            PyErr_SetString(PyExc_RuntimeError, "a lazy operation asks for inputs that have been computed already");
            machine_explain(m, f, i, RUN_RAISED);
            return -1;
        }
        p->done[i] = 1;
        p->height--;
        release_after(m, f, p, in);
    }
    return 0;
}

int schedule_execute(Machine *m, Frame *f) {
    const Schedule *s = m->schedule;
    size_t ints = (size_t)m->n_registers + s->stack_length + m->n_instructions;
    int *memory = PyMem_Malloc(ints * sizeof(int) + m->n_instructions + 1);
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Progress p = {(unsigned char *)(memory + ints), memory, memory + m->n_registers, 0};
    memset(p.done, 0, m->n_instructions + 1);
    memcpy(p.left, s->readers, m->n_registers * sizeof(int));
    int status = 0;
    for (int k = 0; status == 0 && k < s->n_roots; k++) {
        p.stack[p.height++] = s->roots[k];
        status = run_wanted(m, f, &p);
    }
    PyMem_Free(memory);
    return status;
}

/* Called while instructions are prepared: frames have room for the longest list of inputs that is asked for. */
int machine_need_asked(Machine *m, int count) {
    if (count > m->most_asked)
        m->most_asked = count;
    return 0;
}

/* Lazy instructions ------------------------------------------------------------------------------------------- */

static int ask_for(Frame *f, int input) {
    f->asked[f->n_asked++] = input;
    return RUN_ASKS;
}

/* One of several groups of inputs becomes the outputs; which one, an input without axes says. */
typedef struct {
    int condition, *chosen[2];
} Branch;

static void branch_free(void *plan) {
    Branch *b = plan;
    PyMem_Free(b->chosen[0]);
    PyMem_Free(b->chosen[1]);
    PyMem_Free(b);
}

static int branch_run(Machine *m, Frame *f, const Instruction *in) {
    const Branch *b = in->plan;
    (void)m;
    f->n_asked = 0;
    PyObject *condition = f->registers[in->inputs[b->condition]];
    if (condition == NULL)
        return ask_for(f, b->condition);
    int truth = PyObject_IsTrue(condition);
    if (truth < 0)
        return RUN_RAISED;
    const int *chosen = b->chosen[truth ? 0 : 1];
    for (int k = 0; k < in->n_outputs; k++)
        if (f->registers[in->inputs[chosen[k]]] == NULL)
            ask_for(f, chosen[k]);
    if (f->n_asked > 0)
        return RUN_ASKS;
    for (int k = 0; k < in->n_outputs; k++)
        frame_set(f, in->outputs[k], Py_NewRef(f->registers[in->inputs[chosen[k]]]));
    return RUN_DONE;
}

/* Payload: (number of the condition, inputs where it is true, inputs where it is false). */
int branch_prepare(Machine *m, Instruction *in, PyObject *payload) {
    PyObject *chosen[2];
    Branch *b = PyMem_Calloc(1, sizeof *b);
    if (b == NULL)
        return -1;
    in->plan = b;
    in->run = branch_run;
    in->free = branch_free;
    if (!PyArg_ParseTuple(payload, "iO!O!", &b->condition, &PyTuple_Type, &chosen[0], &PyTuple_Type, &chosen[1]) ||
        !in_range(&b->condition, 1, 0, in->n_inputs))
        return -1;
    for (int k = 0; k < 2; k++) {
        int count = 0;
        b->chosen[k] = parse_ints(chosen[k], &count);
        if (b->chosen[k] == NULL || !in_range(b->chosen[k], count, 0, in->n_inputs))
            return -1;
        if (count != in->n_outputs) {
            PyErr_SetString(PyExc_ValueError, "program: a branch has one input for each output");
            return -1;
        }
    }
    return machine_need_asked(m, in->n_inputs + 1);
}

static int asked_from_list(Frame *f, const Instruction *in, PyObject *wanted) {
    if (PyList_GET_SIZE(wanted) == 0 || PyList_GET_SIZE(wanted) > in->n_inputs) {
        PyErr_SetString(PyExc_ValueError, "a lazy operation asks for no input, or for more than it has");
        return RUN_RAISED;
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(wanted); k++) {
        long input = PyLong_AsLong(PyList_GET_ITEM(wanted, k));
        if (input == -1 && PyErr_Occurred())
            return RUN_RAISED;
        if (input < 0 || input >= in->n_inputs) {
            PyErr_SetString(PyExc_ValueError, "a lazy operation asks for an input that it does not have");
            return RUN_RAISED;
        }
        ask_for(f, (int)input);
    }
    return RUN_ASKS;
}

static int lazy_run(Machine *m, Frame *f, const Instruction *in) {
    (void)m;
    f->n_asked = 0;
    int status = RUN_RAISED;
    PyObject *values = frame_values(f, in), *known = PyList_New(in->n_inputs), *answer = NULL;
    if (values == NULL || known == NULL)
        goto done;
    for (int k = 0; k < in->n_inputs; k++)
        PyList_SET_ITEM(known, k, PyBool_FromLong(f->registers[in->inputs[k]] != NULL));
    answer = PyObject_CallFunctionObjArgs(in->plan, values, known, NULL);
    if (answer == NULL)
        goto done;
    status = PyList_CheckExact(answer) ? asked_from_list(f, in, answer) : frame_store(f, in, answer);
done:
    Py_XDECREF(values);
    Py_XDECREF(known);
    Py_XDECREF(answer);
    return status;
}

static void lazy_free(void *plan) { (void)plan; /* borrowed from `held` */ }

/* Payload: a callable from input values and flags that say which are known. It returns a list of the numbers of the
 * inputs that it wants, or a tuple of output values. */
int lazy_prepare(Machine *m, Instruction *in, PyObject *payload) {
    in->plan = payload;
    in->run = lazy_run;
    in->free = lazy_free;
    return machine_need_asked(m, in->n_inputs + 1);
}
