/* Locks that serialise the calls of several threads that update one shared variable.
 *
 * Each updated storage has one reentrant lock, whichever functions update it. A function acquires the locks of all
 * storages that it updates before it begins, in the order of their numbers, and releases them when it ends, with an
 * error too. The GIL protects the locks themselves, so acquiring a free lock is two assignments.
 *
 * The order alone does not rule out a deadlock, since the code of an op may call functions with locks of their own.
 * Waiting threads are listed; a thread whose waiting would close a cycle raises an error instead.
 */
#include "runtime.h"
#include <structmember.h>
#include <time.h>

struct UpdateLock {
    PyObject ob_base;
    /* The list whose updates the lock serialises, kept so that its address is not used again; or NULL. */
    PyObject *storage;
    PyObject *weak_references;
    unsigned long long number; /* in the order in which they were made */
    unsigned long owner;
    int depth, era;
};

typedef struct Waiting Waiting;
struct Waiting {
    unsigned long thread;
    const UpdateLock *wanted;
    Waiting *next;
};
static Waiting *waiting; /* all threads that wait; the entries lie on their stacks */
static int waiting_era;

#define FIRST_PAUSE 20
#define LONGEST_PAUSE 2000

static int is_held(UpdateLock *t, unsigned long self) {
    if (t->era != fork_era) { /* the thread that held it exists in the parent process alone */
        t->era = fork_era;
        t->depth = 0;
    }
    return t->depth > 0 && t->owner != self;
}

/* Whether the owner of the wanted lock waits, directly or through others, for this thread: a deadlock. */
static int is_circle(const UpdateLock *wanted, unsigned long self) {
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

static int wait_for(UpdateLock *t, unsigned long self) {
    if (waiting_era != fork_era)
        waiting = NULL;
    waiting_era = fork_era;
    Waiting entry = {self, t, waiting};
    long pause = FIRST_PAUSE;
    int status = 0;
    waiting = &entry;
    while (status == 0 && is_held(t, self)) {
        if (is_circle(t, self)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "functions of two threads wait for each other: each updates a shared variable and, while "
                            "it runs, calls a function that updates the other's\n"
                            "  Hint: let operations not call functions that update shared variables.");
            status = -1;
            break;
        }
        struct timespec time = {0, pause * 1000};
        guard_give();
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&time, NULL);
        Py_END_ALLOW_THREADS;
        status = PyErr_CheckSignals();
        guard_take();
        pause = pause * 2 > LONGEST_PAUSE ? LONGEST_PAUSE : pause * 2;
    }
    stop_waiting(&entry);
    return status;
}

/* Returns -1 with an exception: of a signal handler, or for a deadlock. Called with the guard. */
static int acquire(UpdateLock *t, unsigned long self) {
    if (is_held(t, self) && wait_for(t, self) < 0)
        return -1;
    t->owner = self;
    t->depth++;
    return 0;
}

/* Acquire all locks of a machine. There is no system call unless another thread holds one. */
int locks_acquire(Machine *m) {
    unsigned long self = PyThread_get_thread_ident();
    int k = 0;
    guard_take();
    while (k < m->n_locks && acquire(m->locks[k], self) == 0)
        k++;
    int acquired = k == m->n_locks;
    while (!acquired && k-- > 0)
        m->locks[k]->depth--;
    guard_give();
    return acquired ? 0 : -1;
}

void locks_release(Machine *m) {
    if (m->n_locks == 0)
        return;
    guard_take();
    for (int k = m->n_locks; k-- > 0;)
        m->locks[k]->depth--;
    guard_give();
}

static PyObject *make(PyTypeObject *type, PyObject *storage) {
    static unsigned long long made;
    UpdateLock *t = (UpdateLock *)type->tp_alloc(type, 0);
    if (t == NULL)
        return NULL;
    t->storage = Py_XNewRef(storage);
    guard_take();
    t->number = made++;
    guard_give();
    t->era = fork_era;
    return (PyObject *)t;
}

/* Set the locks of the storages that a machine updates, or a lock of its own where its code has state of its own. */
int locks_setup(Machine *m, PyObject *given, int own) {
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    m->locks = PyMem_Calloc(count + 1, sizeof *m->locks);
    if (m->locks == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        UpdateLock *t = (UpdateLock *)PyTuple_GET_ITEM(given, i);
        if (!Py_IS_TYPE((PyObject *)t, &UpdateLockType)) {
            PyErr_SetString(PyExc_TypeError, "program: what orders updates is no UpdateLock");
            return -1;
        }
        int k = m->n_locks++;
        for (; k > 0 && m->locks[k - 1]->number > t->number; k--)
            m->locks[k] = m->locks[k - 1];
        m->locks[k] = (UpdateLock *)Py_NewRef((PyObject *)t);
    }
    if (count == 0 && own) {
        m->locks[0] = (UpdateLock *)make(&UpdateLockType, NULL);
        m->n_locks = m->locks[0] != NULL;
    }
    return m->n_locks < own ? -1 : 0;
}

void locks_free(Machine *m) {
    for (int k = 0; k < m->n_locks; k++)
        Py_CLEAR(m->locks[k]);
    PyMem_Free(m->locks);
}

int locks_traverse(Machine *m, visitproc visit, void *arg) {
    for (int k = 0; k < m->n_locks; k++)
        Py_VISIT(m->locks[k]);
    return 0;
}

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *storage = NULL;
    (void)kwargs;
    return PyArg_ParseTuple(args, "|O", &storage) ? make(type, storage) : NULL;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(((UpdateLock *)self)->storage);
    return 0;
}

static int clear(PyObject *self) {
    Py_CLEAR(((UpdateLock *)self)->storage);
    return 0;
}

static void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (((UpdateLock *)self)->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *enter(PyObject *self, PyObject *unused) {
    (void)unused;
    guard_take();
    int status = acquire((UpdateLock *)self, PyThread_get_thread_ident());
    guard_give();
    return status < 0 ? NULL : Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *unused) {
    UpdateLock *t = (UpdateLock *)self;
    (void)unused;
    guard_take();
    if (t->depth > 0 && t->owner == PyThread_get_thread_ident())
        t->depth--;
    guard_give();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, "Acquire the lock."},
                                {"__exit__", leave, METH_VARARGS, "Release the lock."},
                                {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"number", T_ULONGLONG, offsetof(UpdateLock, number), READONLY, "Locks with lower numbers are acquired first."},
    {NULL, 0, 0, 0, NULL}};

PyTypeObject UpdateLockType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_linker_c._runtime.UpdateLock",
    .tp_doc = "A reentrant lock, which is free in the child after a fork.",
    .tp_basicsize = sizeof(UpdateLock),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = lock_new,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_weaklistoffset = offsetof(UpdateLock, weak_references),
    .tp_methods = methods,
    .tp_members = members,
};
