/* From the Python description of a program to the C structures of a machine, and back to nothing. */
#include "runtime.h"

int *parse_ints(PyObject *sequence, int *count) {
    *count = (int)PyTuple_GET_SIZE(sequence);
    int *values = PyMem_Calloc(*count + 1, sizeof(int));
    for (int i = 0; values != NULL && i < *count; i++) {
        values[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(sequence, i));
        if (values[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    return values == NULL ? (PyErr_NoMemory(), NULL) : values;
}

npy_intp *parse_intps(PyObject *sequence, int *count) {
    *count = (int)PyTuple_GET_SIZE(sequence);
    npy_intp *values = PyMem_Calloc(*count + 1, sizeof(npy_intp));
    for (int i = 0; values != NULL && i < *count; i++) {
        values[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sequence, i));
        if (values[i] == -1 && PyErr_Occurred()) {
            PyMem_Free(values);
            return NULL;
        }
    }
    return values == NULL ? (PyErr_NoMemory(), NULL) : values;
}

signed char *parse_flags(PyObject *rows, int ndim) {
    Py_ssize_t count = PyTuple_GET_SIZE(rows);
    signed char *flags = PyMem_Calloc(count * ndim + 1, 1);
    for (Py_ssize_t i = 0; flags != NULL && i < count; i++)
        for (int d = 0; d < ndim; d++)
            flags[i * ndim + d] = PyTuple_GET_ITEM(PyTuple_GET_ITEM(rows, i), d) == Py_True;
    return flags == NULL ? (PyErr_NoMemory(), NULL) : flags;
}

void machine_need_scratch(Machine *m, size_t bytes) {
    if (bytes > m->scratch_bytes)
        m->scratch_bytes = bytes;
}

static int valid_registers(const Machine *m, const int *registers, int count) {
    for (int i = 0; i < count; i++)
        if (registers[i] < 0 || registers[i] >= m->n_registers) {
            PyErr_SetString(PyExc_ValueError, "program: register out of range");
            return 0;
        }
    return 1;
}

typedef struct {
    const char *name;
    int (*prepare)(Machine *, Instruction *, PyObject *);
    int shows, checked, nogil;
} InstructionKind;

#define INSTRUCTION(name, shows, checked, nogil) {#name, name##_prepare, shows, checked, nogil},
static const InstructionKind kinds[CODE_COUNT] = {
#include "instructions.def"
};
#undef INSTRUCTION

/* Whether an instruction may show arrays to code outside of this runtime. */
int shows_operands(int code) { return kinds[code].shows; }

/* Whether an instruction may be run without the GIL. */
int is_nogil(int code) { return kinds[code].nogil; }

/* Name -> (number, whether results are looked at), for Python. */
PyObject *instruction_names(void) {
    PyObject *names = PyDict_New();
    for (int code = 0; names != NULL && code < CODE_COUNT; code++) {
        PyObject *entry = Py_BuildValue("(iO)", code, kinds[code].checked ? Py_True : Py_False);
        if (entry == NULL || PyDict_SetItemString(names, kinds[code].name, entry) < 0)
            Py_CLEAR(names);
        Py_XDECREF(entry);
    }
    return names;
}

static int setup_instruction(Machine *m, Instruction *in, PyObject *item) {
    PyObject *inputs, *outputs, *release, *payload, *checks, *code;
    if (!PyArg_ParseTuple(item, "iO!O!O!OOO", &in->code, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs, &PyTuple_Type,
                          &release, &payload, &checks, &code))
        return -1;
    in->inputs = parse_ints(inputs, &in->n_inputs);
    in->outputs = parse_ints(outputs, &in->n_outputs);
    in->release = parse_ints(release, &in->n_release);
    if (in->inputs == NULL || in->outputs == NULL || in->release == NULL ||
        !valid_registers(m, in->inputs, in->n_inputs) || !valid_registers(m, in->outputs, in->n_outputs) ||
        !valid_registers(m, in->release, in->n_release))
        return -1;
    if (in->code < 0 || in->code >= CODE_COUNT) {
        PyErr_SetString(PyExc_ValueError, "program: unknown code");
        return -1;
    }
    in->held = Py_NewRef(item); /* the last of it is the machine code whose addresses are in the payload */
    in->position = in - m->instructions;
    in->machine = m;
    if (checks != Py_None && results_setup(in, checks) < 0)
        return -1;
    return kinds[in->code].prepare(m, in, payload);
}

static int setup_input(Machine *m, InputCheck *check, PyObject *item) {
    PyObject *shape;
    if (!PyArg_ParseTuple(item, "iipppO!", &check->reg, &check->type_num, &check->takes_float, &check->takes_int,
                          &check->overwrite, &PyTuple_Type, &shape))
        return -1;
    check->shape = parse_intps(shape, &check->ndim);
    return check->shape == NULL || !valid_registers(m, &check->reg, 1) ? -1 : 0;
}

static int setup_cells(Machine *m, Cell **cells, int *count, PyObject *items, int lists) {
    *cells = PyMem_Calloc(PyTuple_GET_SIZE(items) + 1, sizeof(Cell));
    if (*cells == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        Cell *cell = *cells + i;
        PyObject *value;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "iO", &cell->reg, &value) ||
            !valid_registers(m, &cell->reg, 1))
            return -1;
        if (lists && !PyList_CheckExact(value)) {
            PyErr_SetString(PyExc_TypeError, "program: a cell is not a list");
            return -1;
        }
        cell->cell = lists ? Py_NewRef(value) : in_native_form(Py_NewRef(value));
        if (cell->cell == NULL)
            return -1;
        *count = (int)i + 1;
    }
    return 0;
}

/* Note which registers are no constants. */
static int setup_variables(Machine *m) {
    signed char *is_constant = PyMem_Calloc(m->n_registers + 1, 1);
    m->variables = PyMem_Calloc(m->n_registers + 1, sizeof *m->variables);
    if (is_constant != NULL && m->variables != NULL) {
        for (int k = 0; k < m->n_constants; k++)
            is_constant[m->constants[k].reg] = 1;
        for (int r = 0; r < m->n_registers; r++)
            if (!is_constant[r])
                m->variables[m->n_variables++] = r;
    }
    PyMem_Free(is_constant);
    return is_constant == NULL || m->variables == NULL ? -1 : 0;
}

static int setup_parts(Machine *m, PyObject *inputs, PyObject *instructions, PyObject *outputs) {
    m->inputs = PyMem_Calloc(PyTuple_GET_SIZE(inputs) + 1, sizeof(InputCheck));
    m->instructions = PyMem_Calloc(PyTuple_GET_SIZE(instructions) + 1, sizeof(Instruction));
    if (m->inputs == NULL || m->instructions == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
        m->n_inputs = (int)i + 1;
        if (setup_input(m, &m->inputs[i], PyTuple_GET_ITEM(inputs, i)) < 0)
            return -1;
        m->n_overwrite += m->inputs[i].overwrite;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(instructions); i++) {
        m->n_instructions = (int)i + 1;
        if (setup_instruction(m, &m->instructions[i], PyTuple_GET_ITEM(instructions, i)) < 0)
            return -1;
    }
    m->outputs = parse_ints(outputs, &m->n_outputs);
    if (m->outputs == NULL || !valid_registers(m, m->outputs, m->n_outputs))
        return -1;
    m->buffers = PyMem_Calloc(m->n_registers + 1, sizeof(PyObject *));
    m->buffer_bytes = PyMem_Calloc(m->n_registers + 1, sizeof(npy_intp));
    return m->buffers == NULL || m->buffer_bytes == NULL || setup_variables(m) < 0 ? -1 : frame_make(m, &m->frame);
}

/* Whether an instruction runs code with storage of its own, so that calls disturb each other. */
static int has_storage(const Machine *m) {
    for (int i = 0; i < m->n_instructions; i++)
        if (m->instructions[i].code == CODE_thunk)
            return 1;
    return 0;
}

int machine_setup(Machine *m, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"n_registers", "inputs",   "cells",  "constants",    "instructions",
                            "outputs",     "updates",  "single", "on_irregular", "on_input",
                            "on_result",   "on_error", "finish", "buffer_limit", "thread_scale",
                            "locks",       NULL};
    PyObject *inputs, *cells, *constants, *instructions, *outputs, *updates, *finish, *locks;
    PyObject *irregular, *input, *result, *error;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$iO!O!O!O!O!O!pOOOOOndO!", names, &m->n_registers, &PyTuple_Type,
                                     &inputs, &PyTuple_Type, &cells, &PyTuple_Type, &constants, &PyTuple_Type,
                                     &instructions, &PyTuple_Type, &outputs, &PyTuple_Type, &updates, &m->single,
                                     &irregular, &input, &result, &error, &finish, &m->buffer_limit, &m->thread_scale,
                                     &PyTuple_Type, &locks))
        return -1;
    m->on_irregular = Py_NewRef(irregular);
    m->on_input = Py_NewRef(input);
    m->on_result = Py_NewRef(result);
    m->on_error = Py_NewRef(error);
    m->finish = finish == Py_None ? NULL : Py_NewRef(finish);
    m->failed_instruction = -1;
    m->view = NULL;
    if (setup_cells(m, &m->cells, &m->n_cells, cells, 1) < 0 ||
        setup_cells(m, &m->constants, &m->n_constants, constants, 0) < 0 ||
        setup_cells(m, &m->updates, &m->n_updates, updates, 1) < 0 ||
        setup_parts(m, inputs, instructions, outputs) < 0 || locks_setup(m, locks, has_storage(m)) < 0) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return -1;
    }
    m->single = m->single && m->n_outputs == 1;
    return 0;
}

int frame_make(Machine *m, Frame *f) {
    f->registers = PyMem_Calloc(m->n_registers + 1, sizeof(PyObject *));
    f->home = PyMem_Calloc(m->n_registers + 1, sizeof(int));
    f->scratch = PyMem_Malloc(m->scratch_bytes + 1);
    f->asked = PyMem_Calloc(m->most_asked + 1, sizeof(int));
    f->commits = NULL;
    f->slots = NULL;
    f->busy = 0;
    if (f->registers == NULL || f->home == NULL || f->scratch == NULL || f->asked == NULL) {
        frame_free(m, f);
        PyErr_NoMemory();
        return -1;
    }
    for (int r = 0; r < m->n_registers; r++)
        f->home[r] = -1;
    for (int k = 0; k < m->n_constants; k++)
        frame_set(f, m->constants[k].reg, Py_NewRef(m->constants[k].cell));
    return 0;
}

/* Empty all registers but those of constants; one that an instruction has converted is restored. */
void frame_release_all(Machine *m, Frame *f) {
    commits_drop(f);
    for (int k = 0; k < m->n_variables; k++)
        if (f->registers[m->variables[k]] != NULL)
            frame_set(f, m->variables[k], NULL);
    for (int k = 0; k < m->n_constants; k++)
        if (f->registers[m->constants[k].reg] != m->constants[k].cell)
            frame_set(f, m->constants[k].reg, Py_NewRef(m->constants[k].cell));
}

void frame_free(Machine *m, Frame *f) {
    for (int r = 0; f->registers != NULL && r < m->n_registers; r++)
        Py_CLEAR(f->registers[r]);
    PyMem_Free(f->registers);
    PyMem_Free(f->home);
    PyMem_Free(f->scratch);
    PyMem_Free(f->asked);
    memset(f, 0, sizeof *f);
}

static void free_cells(Cell *cells, int count) {
    for (int i = 0; i < count; i++)
        Py_CLEAR(cells[i].cell);
    PyMem_Free(cells);
}

void machine_free_parts(Machine *m) {
    frame_free(m, &m->frame);
    batches_free(m);
    schedule_free(m);
    profile_free(m);
    retained_free(m);
    captures_free(m);
    buffers_clear(m);
    PyMem_Free(m->buffers);
    PyMem_Free(m->buffer_bytes);
    for (int i = 0; i < m->n_instructions; i++) {
        Instruction *in = &m->instructions[i];
        if (in->plan != NULL)
            (in->free != NULL ? in->free : PyMem_Free)(in->plan);
        PyMem_Free(in->inputs);
        PyMem_Free(in->outputs);
        PyMem_Free(in->release);
        Py_CLEAR(in->held);
        results_free(in);
    }
    for (int i = 0; i < m->n_inputs; i++)
        PyMem_Free(m->inputs[i].shape);
    PyMem_Free(m->instructions);
    PyMem_Free(m->inputs);
    PyMem_Free(m->outputs);
    PyMem_Free(m->variables);
    free_cells(m->cells, m->n_cells);
    free_cells(m->constants, m->n_constants);
    free_cells(m->updates, m->n_updates);
    locks_free(m);
}
