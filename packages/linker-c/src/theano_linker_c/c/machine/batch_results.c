/* Results of a batch of calls: their arrays are made before the calls, as far as shapes can be guessed. Those of
 * earlier calls serve again once nobody has them any more, together with the lists in which they were returned. */
#include "batch.h"

/* Results of so many calls, and so many bytes of them, wait for being let go of. A batch passes over so many that are
 * in use. */
#define MOST_SERVED 2048
#define MOST_SERVED_BYTES (4 << 20)
#define MOST_PASSED 512

static void served_drop(const Machine *m, Served *s) {
    m->batches->served_bytes -= s->bytes;
    s->bytes = 0;
    Py_CLEAR(s->list);
    for (int k = 0; s->arrays != NULL && k < m->n_outputs; k++)
        Py_CLEAR(s->arrays[k]);
}

/* Let go of all results of earlier calls. */
void batch_results_clear(Machine *m) {
    Batches *b = m->batches;
    if (b == NULL || m->in_batch)
        return;
    for (int e = 0; e < b->n_served; e++) {
        served_drop(m, &b->served[e]);
        PyMem_Free(b->served[e].arrays);
    }
    PyMem_Free(b->served);
    b->served = NULL;
    b->n_served = b->next_served = b->replaced = 0;
}

static PyObject *array_make(const Guess *g) {
    return PyArray_New(&PyArray_Type, g->ndim, g->shape, g->type_num, NULL, NULL, 0, g->fortran, NULL);
}

/* Whether calls return a list of their outputs as it is. */
static int returns_list(const Machine *m) { return !m->single && m->finish == NULL; }

/* Whether the results have been let go of. */
static int served_is_free(const Machine *m, const Served *s) {
    const Py_ssize_t references = s->list == NULL ? 1 : 2;
    if (s->list != NULL && (Py_REFCNT(s->list) != 1 || PyList_GET_SIZE(s->list) != m->n_outputs))
        return 0;
    for (int k = 0; k < m->n_outputs; k++) {
        const Guess *g = &m->batches->guesses[k];
        if (s->arrays[k] == NULL || (s->list != NULL && PyList_GET_ITEM(s->list, k) != s->arrays[k]))
            return 0;
        if (!buffer_serves((PyArrayObject *)s->arrays[k], references, g->type_num, g->ndim, g->shape, g->fortran))
            return 0;
    }
    return 1;
}

static int served_fill(const Machine *m, Served *s, npy_intp bytes) {
    for (int k = 0; k < m->n_outputs; k++)
        if ((s->arrays[k] = array_make(&m->batches->guesses[k])) == NULL)
            goto failed;
    if (returns_list(m)) {
        if ((s->list = PyList_New(m->n_outputs)) == NULL)
            goto failed;
        for (int k = 0; k < m->n_outputs; k++)
            PyList_SET_ITEM(s->list, k, Py_NewRef(s->arrays[k]));
    }
    s->bytes = bytes;
    m->batches->served_bytes += bytes;
    return 0;
failed:
    served_drop(m, s);
    return -1;
}

static npy_intp bytes_of_results(const Machine *m) {
    npy_intp total = 0;
    for (int k = 0; k < m->n_outputs; k++) {
        const Guess *g = &m->batches->guesses[k];
        PyArray_Descr *descr = PyArray_DescrFromType(g->type_num);
        total += PyArray_MultiplyList(g->shape, g->ndim) * (descr == NULL ? 1 : PyDataType_ELSIZE(descr));
        Py_XDECREF(descr);
    }
    return total;
}

/* One more place for results; NULL without an exception where there is no room. */
static Served *served_add(const Machine *m) {
    Batches *b = m->batches;
    if (b->served == NULL)
        b->served = PyMem_Calloc(MOST_SERVED, sizeof *b->served);
    if (b->served == NULL || b->n_served == MOST_SERVED)
        return NULL;
    Served *s = &b->served[b->n_served];
    s->arrays = PyMem_Calloc(m->n_outputs + 1, sizeof *s->arrays);
    if (s->arrays != NULL)
        b->n_served++;
    return s->arrays == NULL ? NULL : s;
}

/* Find results that are free, the first ones first: they are likelier in the caches than those that have been free for
 * longer. Returns -1 where there are none. */
static int served_find(const Machine *m) {
    Batches *b = m->batches;
    while (b->next_served < b->n_served && b->passed < MOST_PASSED) {
        int e = b->next_served++;
        if (served_is_free(m, &b->served[e]))
            return e;
        b->passed++;
    }
    return -1;
}

/* Find results that are free, or make some that will serve again. Returns -1 where there is no room for them, -2 with
 * an exception. */
static int served_take(const Machine *m, npy_intp bytes) {
    Batches *b = m->batches;
    const npy_intp limit = m->buffer_limit < MOST_SERVED_BYTES ? m->buffer_limit : MOST_SERVED_BYTES;
    int e = served_find(m);
    if (e >= 0)
        return e;
    Served *s = bytes <= limit - b->served_bytes ? served_add(m) : NULL;
    if (s != NULL) {
        b->next_served = b->n_served;
    } else if (b->n_served > 0) {
        b->replaced = b->replaced + 1 < b->n_served ? b->replaced + 1 : 0;
        s = &b->served[b->replaced];
        served_drop(m, s);
    }
    if (s == NULL || bytes > limit - b->served_bytes)
        return -1;
    return served_fill(m, s, bytes) < 0 ? -2 : (int)(s - b->served);
}

/* Make the arrays of one call, those of registers that are several outputs once. */
static int results_of_call(const Calls *c, PyObject **results) {
    const Machine *m = c->m;
    for (int k = 0; k < m->n_outputs; k++) {
        const Guess *g = &m->batches->guesses[k];
        int same = 0;
        while (same < k && m->outputs[same] != m->outputs[k])
            same++;
        if (g->type_num < 0)
            continue;
        results[k] = same < k ? Py_XNewRef(results[same]) : array_make(g);
        if (results[k] == NULL && same == k)
            return -1;
    }
    return 0;
}

/* Make the arrays of the results, as far as their shapes can be guessed. */
int results_make(Calls *c) {
    const Machine *m = c->m;
    Batches *b = m->batches;
    int serves = b->serves;
    b->next_served = b->passed = 0;
    for (int k = 0; k < m->n_outputs; k++)
        serves &= b->guesses[k].type_num >= 0;
    const npy_intp bytes = serves ? bytes_of_results(m) : 0;
    for (Py_ssize_t i = 0; i < c->count; i++) {
        int e = c->served[i] = serves ? served_take(m, bytes) : -1;
        if (e == -2 || (e == -1 && results_of_call(c, c->results + i * m->n_outputs) < 0))
            return -1;
        for (int k = 0; e >= 0 && k < m->n_outputs; k++)
            c->results[i * m->n_outputs + k] = Py_NewRef(b->served[e].arrays[k]);
    }
    return 0;
}

/* The results of a call in the form in which it returns them. */
PyObject *results_of(const Calls *c, Py_ssize_t i) {
    const Machine *m = c->m;
    PyObject **found = c->results + i * m->n_outputs;
    if (m->single && m->finish == NULL)
        return Py_NewRef(found[0]);
    if (c->served[i] >= 0 && returns_list(m)) {
        const Served *s = &m->batches->served[c->served[i]];
        int k = 0;
        while (k < m->n_outputs && s->arrays[k] == found[k])
            k++;
        if (k == m->n_outputs && s->list != NULL)
            return Py_NewRef(s->list);
    }
    PyObject *outputs = PyList_New(m->n_outputs);
    for (int k = 0; outputs != NULL && k < m->n_outputs; k++)
        PyList_SET_ITEM(outputs, k, Py_NewRef(found[k]));
    if (outputs != NULL && m->finish != NULL)
        Py_SETREF(outputs, PyObject_CallOneArg(m->finish, outputs));
    return outputs;
}
