/* Launches and products at once. */
#include "runtime.h"

/* Memory that a driver had promised may be missing at the launch alone: trim, and try once more. */
static int launch_now(ContextObject *c, const Launch *launch, Failure *failure) {
    pthread_mutex_lock(&c->lock);
    int result = c->table->launch(c->context, launch, failure);
    if (result < 0 && failure->out_of_memory) {
        Failure again = {0};
        pool_trim(&c->pool);
        result = c->table->launch(c->context, launch, &again);
        failure_clear(result == 0 ? failure : &again);
    }
    pthread_mutex_unlock(&c->lock);
    return result;
}

PyObject *context_launch(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"kernel", "groups", "local", "arguments", "shared", NULL};
    ContextObject *c = (ContextObject *)self;
    PyObject *kernel, *groups, *local, *arguments;
    Py_ssize_t shared = 0;
    Launch launch;
    Failure failure = {0};
    int result;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|n:launch", names, &kernel, &groups, &local, &arguments,
                                     &shared) ||
        check_process(c->era) < 0)
        return NULL;
    /* The caller could change a list while the GIL is let go, and deallocate what the launch uses. */
    arguments = PySequence_Tuple(arguments);
    if (arguments == NULL)
        return NULL;
    Resolver resolver = {.context = c};
    result = parse_launch(&launch, &resolver, kernel, groups, local, arguments, shared);
    if (result == 0 && !launch_is_empty(&launch)) {
        Py_BEGIN_ALLOW_THREADS;
        result = launch_now(c, &launch, &failure);
        Py_END_ALLOW_THREADS;
        note_work(c, arguments);
        if (result < 0)
            raise_failure(&failure);
        else
            atomic_fetch_add(&c->launches, 1);
    }
    PyMem_Free(launch.values);
    Py_DECREF(arguments);
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *context_product(PyObject *self, PyObject *args) {
    ContextObject *c = (ContextObject *)self;
    Product product;
    Failure failure = {0};
    int result;
    if (check_process(c->era) < 0)
        return NULL;
    Resolver resolver = {.context = c};
    if (parse_product(&product, &resolver, args) < 0)
        return NULL;
    if (c->table->product == NULL)
        Py_RETURN_FALSE;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&c->lock);
    result = c->table->product(c->context, &product, &failure);
    pthread_mutex_unlock(&c->lock);
    Py_END_ALLOW_THREADS;
    note_work(c, args);
    if (result < 0) {
        raise_failure(&failure);
        return NULL;
    }
    return PyBool_FromLong(result);
}
