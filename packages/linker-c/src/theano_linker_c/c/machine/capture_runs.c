/* Capture: which instructions of a machine make up runs; see capture.h. */
#include "capture.h"
#include <limits.h>

int is_view(int code) {
    return code == CODE_transpose || code == CODE_index_view || code == CODE_reshape || code == CODE_split ||
           code == CODE_specify_shape;
}

/* Whether what an instruction does follows from the shapes of its operands, and from contents that can be guarded. */
static int may_capture(const Machine *m, int position) {
    const Instruction *in = &m->instructions[position];
    if (m->excluded[position])
        return 0;
    switch (in->code) {
    case CODE_elementwise: return elementwise_captures(in);
    case CODE_reduction:
    case CODE_argmax:
    case CODE_transpose:
    case CODE_length:
    case CODE_stack:
    case CODE_concatenate:
    case CODE_reshape:
    case CODE_full:
    case CODE_specify_shape:
    case CODE_split: return 1;
    case CODE_product: return product_captures(in);
    case CODE_index_view:
    case CODE_index_read:
    case CODE_index_write: return index_captures(in);
    }
    return 0;
}

/* The end of the longest run that begins here: a view does not leave a run, since calls have no arrays for it. */
static int run_end(const Machine *m, int begin, int limit) {
    int last = -1, end = begin, found = begin; /* `last`: until when views are read */
    for (; end < limit && may_capture(m, end); end++) {
        const Instruction *in = &m->instructions[end];
        for (int k = 0; is_view(in->code) && k < in->n_outputs; k++)
            if (m->released[in->outputs[k]] > last)
                last = m->released[in->outputs[k]];
        if (last < end + 1)
            found = end + 1;
    }
    return found;
}

static int has_work(const Machine *m, int begin, int end) {
    for (int i = begin; i < end; i++)
        if (!is_view(m->instructions[i].code) && m->instructions[i].code != CODE_length)
            return 1;
    return 0;
}

static void capture_free(Capture *c) {
    capture_reset(c);
    PyMem_Free(c->sources);
    PyMem_Free(c->results);
    PyMem_Free(c->dying);
    PyMem_Free(c->bases);
    PyMem_Free(c);
}

/* ---- what is known of registers while a run is looked at, or captured */

enum { UNSEEN = -2, INSIDE = -1 };

static void forget(Machine *m, int reg) {
    m->slots[reg] = m->is_fixed[reg] == FIXED_BY_CONSTANT ? INSIDE : UNSEEN;
    if (m->is_fixed[reg] != FIXED_BY_CONSTANT)
        m->is_fixed[reg] = 0;
}

/* Forget what has been noted of the registers of a run. */
void capture_forget(Machine *m, const Capture *c) {
    for (int i = c->begin; i < c->end; i++) {
        const Instruction *in = &m->instructions[i];
        for (int k = 0; k < in->n_inputs; k++)
            forget(m, in->inputs[k]);
        for (int k = 0; k < in->n_outputs; k++)
            forget(m, in->outputs[k]);
    }
}

/* Note which registers of a run are slots, and which have contents that follow from shapes and constants. Returns how
 * many come from outside; `dying` gets those of them that nobody reads after the run. */
int capture_learn(Machine *m, const Capture *c, CapturedInput *sources, int *dying, int *n_dying) {
    int n = 0;
    for (int i = c->begin; i < c->end; i++) {
        const Instruction *in = &m->instructions[i];
        int follows = 1;
        for (int k = 0; k < in->n_inputs; k++) {
            if (m->slots[in->inputs[k]] == UNSEEN) {
                sources[n].reg = in->inputs[k];
                m->slots[in->inputs[k]] = n++;
            }
            follows &= m->is_fixed[in->inputs[k]] != 0;
        }
        for (int k = 0; k < in->n_outputs; k++) {
            m->slots[in->outputs[k]] = INSIDE;
            m->is_fixed[in->outputs[k]] = in->code == CODE_length || follows;
        }
        for (int k = 0; dying != NULL && k < in->n_release; k++)
            if (m->slots[in->release[k]] >= 0)
                dying[(*n_dying)++] = in->release[k];
    }
    for (int k = 0; k < c->n_results; k++)
        m->slots[c->results[k].reg] = n + k;
    return n;
}

static Capture *capture_new(Machine *m, int begin, int end) {
    size_t n_inputs = 1, n_outputs = 1, n_release = 1;
    for (int i = begin; i < end; i++) {
        n_inputs += m->instructions[i].n_inputs;
        n_outputs += m->instructions[i].n_outputs;
        n_release += m->instructions[i].n_release;
    }
    Capture *c = PyMem_Calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->begin = begin;
    c->end = end;
    c->total_bytes = &m->captured_bytes;
    c->sources = PyMem_Calloc(n_inputs, sizeof *c->sources);
    c->results = PyMem_Calloc(n_outputs, sizeof *c->results);
    c->dying = PyMem_Calloc(n_release, sizeof *c->dying);
    if (c->sources != NULL && c->results != NULL && c->dying != NULL) {
        c->n_sources = capture_learn(m, c, c->sources, c->dying, &c->n_dying);
        for (int i = begin; i < end; i++)
            for (int k = 0; k < m->instructions[i].n_outputs; k++)
                if (m->released[m->instructions[i].outputs[k]] >= end)
                    c->results[c->n_results++].reg = m->instructions[i].outputs[k];
        capture_forget(m, c);
        c->bases = PyMem_Calloc(c->n_sources + c->n_results + 1, sizeof *c->bases);
    }
    if (c->bases == NULL) {
        capture_free(c);
        return NULL;
    }
    return c;
}

/* Find the runs among some instructions. Without memory for one, its instructions run one by one. */
static void find_runs(Machine *m, int begin, int limit) {
    while (begin < limit) {
        int end = run_end(m, begin, limit);
        if (end > begin && has_work(m, begin, end))
            m->captures[begin] = capture_new(m, begin, end);
        begin = end > begin ? end : begin + 1;
    }
}

static void tables_free(Machine *m) {
    PyMem_Free(m->captures);
    PyMem_Free(m->excluded);
    PyMem_Free(m->slots);
    PyMem_Free(m->is_fixed);
    PyMem_Free(m->released);
    m->captures = NULL;
    m->excluded = NULL;
    m->slots = m->released = NULL;
    m->is_fixed = NULL;
}

/* Find the runs of a machine. */
void captures_setup(Machine *m) {
    int n = m->n_instructions, registers = m->n_registers;
    m->captures = PyMem_Calloc(n + 1, sizeof *m->captures);
    m->excluded = PyMem_Calloc(n + 1, sizeof *m->excluded);
    m->slots = PyMem_Calloc(registers + 1, sizeof *m->slots);
    m->released = PyMem_Calloc(registers + 1, sizeof *m->released);
    m->is_fixed = PyMem_Calloc(registers + 1, sizeof *m->is_fixed);
    if (m->captures == NULL || m->excluded == NULL || m->slots == NULL || m->released == NULL || m->is_fixed == NULL) {
        tables_free(m);
        return;
    }
    for (int r = 0; r < registers; r++)
        m->released[r] = INT_MAX;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m->instructions[i].n_release; k++)
            m->released[m->instructions[i].release[k]] = i;
    for (int k = 0; k < m->n_constants; k++)
        m->is_fixed[m->constants[k].reg] = FIXED_BY_CONSTANT;
    for (int r = 0; r < registers; r++)
        forget(m, r);
    find_runs(m, 0, n);
}

/* Part a run where instructions have been excluded. The capture is freed. */
void captures_split(Machine *m, Capture *c) {
    int begin = c->begin, end = c->end;
    m->captures[begin] = NULL;
    capture_free(c);
    find_runs(m, begin, end);
}

/* Forget what has been captured; runs can be captured again. */
void captures_drop(Machine *m) {
    for (int i = 0; m->captures != NULL && i < m->n_instructions; i++) {
        if (m->captures[i] != NULL && m->frame.busy)
            m->captures[i]->stale = 1;
        else if (m->captures[i] != NULL)
            capture_reset(m->captures[i]);
    }
}

void captures_free(Machine *m) {
    m->open = NULL;
    for (int i = 0; m->captures != NULL && i < m->n_instructions; i++)
        if (m->captures[i] != NULL)
            capture_free(m->captures[i]);
    tables_free(m);
}

/* The runs that are replayed, as pairs of positions of instructions: from the first to before the second. */
PyObject *machine_captured(PyObject *self, PyObject *unused) {
    const Machine *m = (Machine *)self;
    PyObject *runs = PyList_New(0);
    (void)unused;
    for (int i = 0; runs != NULL && m->captures != NULL && i < m->n_instructions; i++) {
        const Capture *c = m->captures[i];
        if (c == NULL || c->state != CAPTURE_READY || c->stale)
            continue;
        PyObject *run = Py_BuildValue("(ii)", c->begin, c->end);
        if (run == NULL || PyList_Append(runs, run) < 0)
            Py_CLEAR(runs);
        Py_XDECREF(run);
    }
    return runs;
}
