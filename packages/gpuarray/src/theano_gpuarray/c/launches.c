/* Lists of launches, copies, fills, products and convolutions that are replayed with other buffers. */
#include "lists.h"

int keep_apart(LaunchList *l, const int numbers[2], const Copy *copy) {
    const Copy same = {1, 1, copy->offset, copy->source_offset, copy->bytes};
    if (!copy_overlaps(&same))
        return 0;
    if (numbers[0] == numbers[1])
        return refuse_overlap();
    l->apart[l->n_apart][0] = numbers[0];
    l->apart[l->n_apart++][1] = numbers[1];
    return 0;
}

static int parse_copy(LaunchList *l, Resolver *r, PyObject *step, Copy *copy) {
    PyObject *target, *source;
    const char *kind;
    Py_ssize_t offset, source_offset, bytes;
    if (!PyArg_ParseTuple(step, "sOnOnn:copy", &kind, &target, &offset, &source, &source_offset, &bytes))
        return -1;
    if (offset < 0 || source_offset < 0 || bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "copy: offsets and lengths are not negative");
        return -1;
    }
    *copy = (Copy){0, 0, (size_t)offset, (size_t)source_offset, (size_t)bytes};
    if (parse_buffer(r, target, offset + bytes, &copy->target) < 0 ||
        parse_buffer(r, source, source_offset + bytes, &copy->source) < 0)
        return -1;
    const int numbers[] = {r->patches[r->n_patches - 2].number, r->patches[r->n_patches - 1].number};
    return keep_apart(l, numbers, copy);
}

static int parse_fill(Resolver *r, PyObject *step, Fill *fill) {
    PyObject *target;
    const char *kind;
    Py_ssize_t offset, bytes;
    unsigned char value;
    if (!PyArg_ParseTuple(step, "sOnnb:fill", &kind, &target, &offset, &bytes, &value))
        return -1;
    if (offset < 0 || bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "fill: offsets and lengths are not negative");
        return -1;
    }
    *fill = (Fill){0, (size_t)offset, (size_t)bytes, value};
    return parse_buffer(r, target, offset + bytes, &fill->target);
}

static int parse_launch_step(LaunchList *l, Resolver *r, PyObject *step, Launch *launch) {
    const char *kind;
    PyObject *kernel, *groups, *local, *arguments;
    Py_ssize_t shared = 0;
    if (!PyArg_ParseTuple(step, "sOOOO|n:launch", &kind, &kernel, &groups, &local, &arguments, &shared))
        return -1;
    l->launches++;
    return parse_launch(launch, r, kernel, groups, local, arguments, shared) < 0 ? -1
                                                                                 : PyList_Append(l->kernels, kernel);
}

static int parse_product_step(Resolver *r, PyObject *step, Product *product) {
    if (r->context->table->product == NULL) {
        PyErr_Format(PyExc_ValueError, "the driver %s has no products by a library", r->context->table->name);
        return -1;
    }
    PyObject *rest = PyTuple_GetSlice(step, 1, PyTuple_GET_SIZE(step));
    int result = rest == NULL ? -1 : parse_product(product, r, rest);
    Py_XDECREF(rest);
    return result;
}

static int parse_convolution_step(Resolver *r, PyObject *given, Step *step) {
    step->convolution = PyMem_Calloc(1, sizeof *step->convolution);
    if (step->convolution == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (r->context->table->convolve == NULL) {
        PyErr_Format(PyExc_ValueError, "the driver %s has no convolutions by a library", r->context->table->name);
        return -1;
    }
    PyObject *rest = PyTuple_GetSlice(given, 1, PyTuple_GET_SIZE(given));
    int result = rest == NULL ? -1 : parse_convolution(step->convolution, r, rest);
    Py_XDECREF(rest);
    return result;
}

static int parse_call_step(Resolver *r, PyObject *given, Step *step) {
    step->call = PyMem_Calloc(1, sizeof *step->call);
    if (step->call == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (r->context->table->call == NULL) {
        PyErr_Format(PyExc_ValueError, "the driver %s has no operations of libraries", r->context->table->name);
        return -1;
    }
    PyObject *rest = PyTuple_GetSlice(given, 1, PyTuple_GET_SIZE(given));
    int result = rest == NULL ? -1 : parse_call(step->call, r, rest);
    Py_XDECREF(rest);
    return result;
}

/* A launch without work-groups is left out. */
int parse_step(LaunchList *l, Resolver *r, PyObject *given) {
    const char *kind =
        PyTuple_Check(given) && PyTuple_GET_SIZE(given) > 0 && PyUnicode_Check(PyTuple_GET_ITEM(given, 0))
            ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(given, 0))
            : "";
    Step *step = &l->list.steps[l->list.count];
    int patches = r->n_patches, result = -1;
    if (kind == NULL)
        return -1;
    if (strcmp(kind, "launch") == 0) {
        step->kind = STEP_LAUNCH;
        l->list.count++; /* from here on its values are freed with the list */
        result = parse_launch_step(l, r, given, &step->launch);
        if (result == 0 && launch_is_empty(&step->launch)) {
            PyMem_Free(step->launch.values);
            r->n_patches = patches;
            l->list.count--;
            l->launches--;
        }
        return result;
    }
    if (strcmp(kind, "copy") == 0) {
        step->kind = STEP_COPY;
        result = parse_copy(l, r, given, &step->copy);
    } else if (strcmp(kind, "fill") == 0) {
        step->kind = STEP_FILL;
        result = parse_fill(r, given, &step->fill);
    } else if (strcmp(kind, "product") == 0) {
        step->kind = STEP_PRODUCT;
        result = parse_product_step(r, given, &step->product);
    } else if (strcmp(kind, "convolution") == 0) {
        step->kind = STEP_CONVOLUTION;
        l->list.count++; /* from here on it is freed with the list */
        return parse_convolution_step(r, given, step);
    } else if (strcmp(kind, "call") == 0) {
        step->kind = STEP_CALL;
        l->list.count++; /* from here on it is freed with the list */
        return parse_call_step(r, given, step);
    } else
        PyErr_Format(PyExc_ValueError, "%R is no step: there are launch, copy, fill, product, convolution and call",
                     given);
    l->list.count += result == 0;
    return result;
}

static Py_ssize_t count_all(PyObject *items) {
    Py_ssize_t total = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        Py_ssize_t found = count_steps(PyTuple_GET_ITEM(items, i));
        if (found < 0)
            return -1;
        total += found;
    }
    return total;
}

static int parse_steps(LaunchList *l, PyObject *steps) {
    PyObject *items = PySequence_Tuple(steps);
    if (items == NULL)
        return -1;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    Resolver r = {.context = l->context, .in_list = 1, .n_buffers = l->n_buffers};
    int result = 0;
    Py_ssize_t room = count_all(items);
    l->kernels = PyList_New(0);
    l->list.steps = room < 0 ? NULL : PyMem_Calloc((size_t)room + 1, sizeof(Step));
    l->least = PyMem_Calloc((size_t)l->n_buffers + 1, sizeof(size_t));
    l->apart = room < 0 ? NULL : PyMem_Calloc((size_t)room + 1, sizeof *l->apart);
    if (l->kernels == NULL || l->list.steps == NULL || l->least == NULL || l->apart == NULL) {
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        result = -1;
    }
    for (Py_ssize_t i = 0; result == 0 && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        result = is_repeat(item) ? parse_repeat(l, &r, item) : parse_step(l, &r, item);
    }
    Py_DECREF(items);
    l->patches = r.patches;
    l->n_patches = r.n_patches;
    for (int i = 0; result == 0 && i < r.n_patches; i++)
        if ((size_t)r.patches[i].least > l->least[r.patches[i].number])
            l->least[r.patches[i].number] = (size_t)r.patches[i].least;
    return result;
}

static PyObject *list_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"context", "steps", "n_buffers", "order", NULL};
    ContextObject *c;
    PyObject *steps, *order = NULL;
    int n_buffers;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!Oi|O!:LaunchList", names, &ContextType, &c, &steps, &n_buffers,
                                     &PyTuple_Type, &order) ||
        check_process(c->era) < 0)
        return NULL;
    if (n_buffers < 0)
        return PyErr_Format(PyExc_ValueError, "a list cannot have %d buffers", n_buffers);
    LaunchList *l = (LaunchList *)type->tp_alloc(type, 0);
    if (l == NULL)
        return NULL;
    l->context = (ContextObject *)Py_NewRef(c);
    l->n_buffers = n_buffers;
    l->list.stale = 1;
    if (parse_steps(l, steps) < 0 || (order != NULL && PyTuple_GET_SIZE(order) > 0 && parse_order(l, order) < 0))
        Py_CLEAR(l);
    return (PyObject *)l;
}

void free_step(const Step *step) {
    switch (step->kind) {
    case STEP_LAUNCH: PyMem_Free(step->launch.values); break;
    case STEP_CONVOLUTION: PyMem_Free(step->convolution); break;
    case STEP_CALL: PyMem_Free(step->call); break;
    default: break;
    }
}

static void list_dealloc(PyObject *self) {
    LaunchList *l = (LaunchList *)self;
    ContextObject *c = l->context;
    if (l->list.driver != NULL && c->era == fork_era && c->table->list_free != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        pthread_mutex_lock(&c->lock);
        c->table->list_free(c->context, &l->list);
        pthread_mutex_unlock(&c->lock);
        Py_END_ALLOW_THREADS;
    }
    for (int i = 0; i < l->list.count; i++)
        free_step(&l->list.steps[i]);
    PyMem_Free(l->list.steps);
    free_lanes(&l->list.lanes);
    PyMem_Free(l->patches);
    PyMem_Free(l->least);
    PyMem_Free(l->apart);
    PyMem_Free(l->repeat.moves);
    Py_XDECREF(l->kernels);
    Py_DECREF(c);
    Py_TYPE(self)->tp_free(self);
}

/* Read the addresses of a run. Returns whether there is wrapped memory among them, or -1. */
static int read_buffers(const LaunchList *l, PyObject *buffers, Address *addresses) {
    int wrapped = 0;
    if (PyTuple_GET_SIZE(buffers) != l->n_buffers) {
        PyErr_Format(PyExc_ValueError, "the list has %d buffers, not %zd", l->n_buffers, PyTuple_GET_SIZE(buffers));
        return -1;
    }
    for (int i = 0; i < l->n_buffers; i++) {
        Resolver r = {.context = l->context};
        PyObject *given = PyTuple_GET_ITEM(buffers, i);
        if (parse_buffer(&r, given, (Py_ssize_t)l->least[i], &addresses[i]) < 0)
            return -1;
        wrapped |= ((BufferObject *)given)->owner != NULL;
    }
    for (int i = 0; i < l->n_apart; i++)
        if (addresses[l->apart[i][0]] == addresses[l->apart[i][1]])
            return refuse_overlap();
    return wrapped;
}

/* Put the addresses of a run into the steps. */
static void bind(LaunchList *l, const Address *addresses, int wrapped) {
    pthread_mutex_lock(&l->context->pool.lock);
    long long releases = l->context->pool.releases;
    pthread_mutex_unlock(&l->context->pool.lock);
    l->list.stale |= wrapped || releases != l->releases;
    l->list.moved = 0;
    l->releases = releases;
    for (int i = 0; i < l->n_patches; i++) {
        Address address = addresses[l->patches[i].number];
        l->list.moved |= *l->patches[i].place != address;
        *l->patches[i].place = address;
    }
}

int run_step(const ContextObject *c, const Step *step, Failure *failure) {
    switch (step->kind) {
    case STEP_LAUNCH: return c->table->launch(c->context, &step->launch, failure);
    case STEP_COPY: return step->copy.bytes == 0 ? 0 : c->table->copy(c->context, &step->copy, failure);
    case STEP_FILL: return step->fill.bytes == 0 ? 0 : c->table->fill(c->context, &step->fill, failure);
    case STEP_CONVOLUTION: return c->table->convolve(c->context, step->convolution, failure);
    case STEP_CALL: return c->table->call(c->context, step->call, failure);
    default: break;
    }
    int done = c->table->product(c->context, &step->product, failure);
    return done == 0  ? failure_set(failure, "the library has no product of %s", step->product.dtype)
           : done < 0 ? -1
                      : 0;
}

static int replay(LaunchList *l, Failure *failure) {
    const ContextObject *c = l->context;
    int result = 0;
    if (c->table->replay != NULL && l->repeat.count == 0)
        result = c->table->replay(c->context, &l->list, failure);
    else
        for (int i = 0; result == 0 && i < l->list.count; i++) {
            if (l->repeat.count == 0 || i != l->repeat.begin)
                result = run_step(c, &l->list.steps[i], failure);
            else {
                result = run_rounds(l, failure);
                i = l->repeat.end - 1;
            }
        }
    l->list.stale = result < 0; /* it is not known what has been told to the driver before it failed */
    return result;
}

int list_replay(PyObject *self, PyObject *buffers) {
    LaunchList *l = (LaunchList *)self;
    ContextObject *c = l->context;
    Failure failure = {0};
    int result = 0;
    Address fixed[64], *addresses = l->n_buffers <= 64 ? fixed : PyMem_Malloc((size_t)l->n_buffers * sizeof *addresses);
    int wrapped = addresses == NULL ? -1 : read_buffers(l, buffers, addresses);
    if (addresses == NULL)
        PyErr_NoMemory();
    if (wrapped >= 0) {
        Py_BEGIN_ALLOW_THREADS;
        pthread_mutex_lock(&c->lock);
        bind(l, addresses, wrapped);
        result = replay(l, &failure);
        pthread_mutex_unlock(&c->lock);
        Py_END_ALLOW_THREADS;
        note_work(c, buffers);
        if (result < 0)
            raise_failure(&failure);
        else
            atomic_fetch_add(&c->launches, l->launches);
    }
    if (addresses != fixed)
        PyMem_Free(addresses);
    return wrapped < 0 || result < 0 ? -1 : 0;
}

static PyObject *list_run(PyObject *self, PyObject *given) {
    LaunchList *l = (LaunchList *)self;
    PyObject *buffers = check_process(l->context->era) < 0 ? NULL : PySequence_Tuple(given);
    if (buffers == NULL)
        return NULL;
    int result = list_replay(self, buffers);
    Py_DECREF(buffers);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {{"run", list_run, METH_O, "Put all steps into the queue, in order, without the GIL."},
                                {NULL, NULL, 0, NULL}};

PyTypeObject LaunchListType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_gpuarray._device.LaunchList",
    .tp_doc = "Launches, copies and fills that are replayed with other buffers.",
    .tp_basicsize = sizeof(LaunchList),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = list_new,
    .tp_dealloc = list_dealloc,
    .tp_methods = methods,
};
