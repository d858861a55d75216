/* Turns: what makes calls of several threads that update one variable come one after the other.
 *
 * Each updated storage has one, whichever functions update it; a function takes the turns of all that it updates before
 * it begins, in the order of their numbers, and hands them back when it has ended, with an error too. A thread that has
 * a turn may take it again. All under the GIL, so that taking a free turn is two assignments.
 *
 * The order alone does not rule out that two threads wait for each other, since code that an op runs may call functions
 * with turns of their own. Threads that wait are listed; one whose waiting would close a circle raises instead.
 */
#include "runtime.h"
#include <structmember.h>
#include <time.h>

struct Turns {
    PyObject_HEAD
    PyObject *storage; /* the list whose updates these are; keeps its address from being used again. Or NULL */
    PyObject *weak_references;
    unsigned long long number; /* in the order in which they were made */
    unsigned long owner;
    int depth, era;
};

typedef struct Waiting Waiting;
struct Waiting {
    unsigned long thread;
    const Turns *wanted;
    Waiting *next;
};
static Waiting *waiting; /* all threads that wait; the entries lie on their stacks */
static int waiting_era;

#define FIRST_PAUSE 20
#define LONGEST_PAUSE 2000

static int is_taken(Turns *t, unsigned long self) {
    if (t->era != fork_era) { /* whoever had it in the parent does not exist here */
        t->era = fork_era;
        t->depth = 0;
    }
    return t->depth > 0 && t->owner != self;
}

/* Whether the owner of what is wanted waits, perhaps through others, for the thread itself. */
static int is_circle(const Turns *wanted, unsigned long self) {
    for (int steps = 0; steps < 10000; steps++) {
        const Waiting *w = waiting;
        while (w != NULL && w->thread != wanted->owner)
            w = w->next;
        if (w == NULL || w->wanted->depth == 0)
            return 0;
        wanted = w->wanted;
        if (wanted->owner == self)
            return 1;
    }
    return 0;
}

static void stop_waiting(Waiting *entry) {
    for (Waiting **at = &waiting; *at != NULL; at = &(*at)->next)
        if (*at == entry) {
            *at = entry->next;
            return;
        }
}

static int wait_for(Turns *t, unsigned long self) {
    if (waiting_era != fork_era)
        waiting = NULL;
    waiting_era = fork_era;
    Waiting entry = {self, t, waiting};
    long pause = FIRST_PAUSE;
    int status = 0;
    waiting = &entry;
    while (status == 0 && is_taken(t, self)) {
        if (is_circle(t, self)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "functions of two threads wait for each other: each updates a shared variable and, while "
                            "it runs, calls a function that updates the other's\n"
                            "  To mend: let operations not call functions that update shared variables.");
            status = -1;
            break;
        }
        struct timespec time = {0, pause * 1000};
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&time, NULL);
        Py_END_ALLOW_THREADS;
        status = PyErr_CheckSignals();
        pause = pause * 2 > LONGEST_PAUSE ? LONGEST_PAUSE : pause * 2;
    }
    stop_waiting(&entry);
    return status;
}

/* Returns -1 with an exception: of a signal handler, or since threads would wait for each other. */
static int take(Turns *t, unsigned long self) {
    if (is_taken(t, self) && wait_for(t, self) < 0)
        return -1;
    t->owner = self;
    t->depth++;
    return 0;
}

/* Wait until no other thread is in a call that would disturb this one. Ends without a system call where none is. */
int turns_take(Machine *m) {
    unsigned long self = PyThread_get_thread_ident();
    for (int k = 0; k < m->n_turns; k++)
        if (take(m->turns[k], self) < 0) {
            while (k-- > 0)
                m->turns[k]->depth--;
            return -1;
        }
    return 0;
}

void turns_hand_back(Machine *m) {
    for (int k = m->n_turns; k-- > 0;)
        m->turns[k]->depth--;
}

static PyObject *make(PyTypeObject *type, PyObject *storage) {
    static unsigned long long made;
    Turns *t = (Turns *)type->tp_alloc(type, 0);
    if (t == NULL)
        return NULL;
    t->storage = Py_XNewRef(storage);
    t->number = made++;
    t->era = fork_era;
    return (PyObject *)t;
}

/* Take over the turns of what a machine updates, and one of its own where its code has storage of its own. */
int turns_setup(Machine *m, PyObject *given, int own) {
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    m->turns = PyMem_Calloc(count + 1, sizeof *m->turns);
    if (m->turns == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        Turns *t = (Turns *)PyTuple_GET_ITEM(given, i);
        if (!Py_IS_TYPE((PyObject *)t, &TurnsType)) {
            PyErr_SetString(PyExc_TypeError, "program: what orders updates is no Turns");
            return -1;
        }
        int k = m->n_turns++;
        for (; k > 0 && m->turns[k - 1]->number > t->number; k--)
            m->turns[k] = m->turns[k - 1];
        m->turns[k] = (Turns *)Py_NewRef((PyObject *)t);
    }
    if (count == 0 && own) {
        m->turns[0] = (Turns *)make(&TurnsType, NULL);
        m->n_turns = m->turns[0] != NULL;
    }
    return m->n_turns < own ? -1 : 0;
}

void turns_free(Machine *m) {
    for (int k = 0; k < m->n_turns; k++)
        Py_CLEAR(m->turns[k]);
    PyMem_Free(m->turns);
}

int turns_traverse(Machine *m, visitproc visit, void *arg) {
    for (int k = 0; k < m->n_turns; k++)
        Py_VISIT(m->turns[k]);
    return 0;
}

static PyObject *turns_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *storage = NULL;
    (void)kwargs;
    return PyArg_ParseTuple(args, "|O", &storage) ? make(type, storage) : NULL;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((Turns *)self)->storage);
    return 0;
}

static int clear(PyObject *self) {
    Py_CLEAR(((Turns *)self)->storage);
    return 0;
}

static void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (((Turns *)self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *enter(PyObject *self, PyObject *unused) {
    (void)unused;
    if (take((Turns *)self, PyThread_get_thread_ident()) < 0)
        return NULL;
    return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *unused) {
    Turns *t = (Turns *)self;
    (void)unused;
    if (t->depth > 0 && t->owner == PyThread_get_thread_ident())
        t->depth--;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, "Wait for the turn."},
                                {"__exit__", leave, METH_VARARGS, "Hand the turn back."},
                                {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"number", T_ULONGLONG, offsetof(Turns, number), READONLY, "Those with lower numbers are taken first."},
    {NULL, 0, 0, 0, NULL}};

PyTypeObject TurnsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_linker_c._runtime.Turns",
    .tp_doc = "Lets one thread in at a time; one that is in may enter again. After a fork the child finds nobody in.",
    .tp_basicsize = sizeof(Turns),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = turns_new,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_weaklistoffset = offsetof(Turns, weak_references),
    .tp_methods = methods,
    .tp_members = members,
};
