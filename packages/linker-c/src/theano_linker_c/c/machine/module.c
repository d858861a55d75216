/* The extension module: the type Machine, and the settings of the thread pool. */
#define RUNTIME_IMPORTS_ARRAY
#include "runtime.h"
#include "convolution/convolution.h"
#include <structmember.h>

static PyObject *machine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Machine *m = (Machine *)type->tp_alloc(type, 0);
    if (m == NULL)
        return NULL;
    m->vectorcall = machine_vectorcall;
    if (machine_setup(m, args, kwargs) < 0)
        Py_CLEAR(m);
    return (PyObject *)m;
}

static int machine_traverse(PyObject *self, visitproc visit, void *arg) {
    Machine *m = (Machine *)self;
    Py_VISIT(m->on_irregular);
    Py_VISIT(m->on_input);
    Py_VISIT(m->on_result);
    Py_VISIT(m->on_error);
    Py_VISIT(m->finish);
    Py_VISIT(m->view);
    if (profile_traverse(m, visit, arg) != 0 || retained_traverse(m, visit, arg) != 0 ||
        locks_traverse(m, visit, arg) != 0 || codes_traverse(m, visit, arg) != 0)
        return -1;
    for (int i = 0; i < m->n_instructions; i++)
        Py_VISIT(m->instructions[i].held);
    for (int i = 0; i < m->n_cells; i++)
        Py_VISIT(m->cells[i].cell);
    for (int i = 0; i < m->n_updates; i++)
        Py_VISIT(m->updates[i].cell);
    return 0;
}

/* Every cycle goes through a hook: the rest is freed with the machine. */
static int machine_clear(PyObject *self) {
    Machine *m = (Machine *)self;
    Py_CLEAR(m->on_irregular);
    Py_CLEAR(m->on_input);
    Py_CLEAR(m->on_result);
    Py_CLEAR(m->on_error);
    Py_CLEAR(m->finish);
    Py_CLEAR(m->view);
    profile_free(m);
    codes_free(m);
    retained_drop(m);
    return 0;
}

static void machine_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    machine_clear(self);
    machine_free_parts((Machine *)self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *machine_drop_buffers(PyObject *self, PyObject *unused) {
    Machine *m = (Machine *)self;
    (void)unused;
    retained_drop(m);
    captures_drop(m);
    buffers_clear(m);
    batch_results_clear(m);
    if (m->view != NULL && m->view != Py_None)
        return PyObject_CallMethod(m->view, "clear", NULL);
    Py_RETURN_NONE;
}

static PyMethodDef machine_methods[] = {
    {"run", machine_run, METH_O, "Run on one value an input and return all outputs as a list."},
    {"run_batch", (PyCFunction)(void (*)(void))machine_run_batch, METH_FASTCALL,
     "Call once for each element of a list or array, without the GIL where possible."},
    {"run_loop", machine_run_loop, METH_VARARGS, "Run many times, states and rows of sequences being handed on in C."},
    {"run_loop_code", machine_run_loop_code, METH_VARARGS, "Do all steps of a loop by one function of C."},
    {"on_busy", machine_on_busy, METH_VARARGS, "Say who is told of a call that is timed, and after how many calls."},
    {"add_code", machine_add_code, METH_VARARGS, "Let calls with operands of some shapes be done by a function of C."},
    {"clear", machine_drop_buffers, METH_NOARGS, "Let go of memory kept for the next call."},
    {"captured", machine_captured, METH_NOARGS, "The runs of instructions whose kernel calls have been captured."},
    {"set_schedule", machine_set_schedule, METH_VARARGS, "Say what each instruction needs, so that lazy ones can ask."},
    {"retain_registers", machine_retain_registers, METH_O, "Say which registers stay after a call, to be looked at."},
    {"retained", machine_retained, METH_NOARGS, "The retained values, by register."},
    {"start_profile", machine_start_profile, METH_VARARGS, "Count calls and times from now on."},
    {"read_profile", machine_read_profile, METH_NOARGS, "What has been counted, or None."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef machine_members[] = {
    {"failed_instruction", T_PYSSIZET, offsetof(Machine, failed_instruction), READONLY,
     "Index of the instruction that failed last, or -1."},
    {"buffer_limit", T_PYSSIZET, offsetof(Machine, buffer_limit), 0, "Most bytes kept for the next call."},
    {"view", T_OBJECT, offsetof(Machine, view), 0, "Object that has the machine's further attributes, or None."},
    {"buffered_bytes", T_PYSSIZET, offsetof(Machine, buffered_bytes), READONLY, "Bytes kept now."},
    {NULL, 0, 0, 0, NULL}};

static PyObject *machine_get_nogil(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(machine_is_nogil((Machine *)self));
}

static PyGetSetDef machine_properties[] = {
    {"nogil", machine_get_nogil, NULL, "Whether batches of calls run without the GIL.", NULL},
    {"code_calls", machine_code_calls, NULL, "How many calls were done by code of the function's own.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* Attributes that the machine itself does not have are those of its view. */
static PyObject *machine_getattro(PyObject *self, PyObject *name) {
    Machine *m = (Machine *)self;
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value != NULL || m->view == NULL || m->view == Py_None || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr(m->view, name);
}

PyTypeObject MachineType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "theano_linker_c._runtime.Machine",
    .tp_doc = "Executes a program; calling it is calling the compiled function.",
    .tp_basicsize = sizeof(Machine),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = machine_new,
    .tp_dealloc = machine_dealloc,
    .tp_traverse = machine_traverse,
    .tp_clear = machine_clear,
    .tp_getattro = machine_getattro,
    .tp_vectorcall_offset = offsetof(Machine, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_methods = machine_methods,
    .tp_members = machine_members,
    .tp_getset = machine_properties,
};

static PyObject *set_threads(PyObject *module, PyObject *count) {
    (void)module;
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    threads_set((int)(value > 4096 ? 4096 : value));
    Py_RETURN_NONE;
}

static PyObject *set_capture_calls(PyObject *module, PyObject *count) {
    (void)module;
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    capture_calls = value < -1 ? -1 : value > 1000000 ? 1000000 : (int)value;
    Py_RETURN_NONE;
}

static PyObject *get_capture_calls(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLong(capture_calls);
}

static PyObject *get_threads(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyLong_FromLong(threads_get());
}

static PyObject *set_threshold(PyObject *module, PyObject *cycles) {
    (void)module;
    double value = PyFloat_AsDouble(cycles);
    if (value == -1.0 && PyErr_Occurred())
        return NULL;
    double before = work_for_threads;
    work_for_threads = value;
    return PyFloat_FromDouble(before);
}

static PyObject *set_vector_bytes(PyObject *module, PyObject *bytes) {
    (void)module;
    long value = PyLong_AsLong(bytes);
    if (value == -1 && PyErr_Occurred())
        return NULL;
    int before = most_vector_bytes;
    most_vector_bytes = value < 16 ? 16 : value > 64 ? 64 : (int)value;
    return PyLong_FromLong(before);
}

static PyMethodDef functions[] = {
    {"set_num_threads", set_threads, METH_O, "Set how many threads a kernel may use; 1 turns threads off."},
    {"set_capture_calls", set_capture_calls, METH_O,
     "Set how many calls of a machine run one by one before their kernel calls are captured; -1 turns that off."},
    {"get_capture_calls", get_capture_calls, METH_NOARGS, "How many calls run one by one before they are captured."},
    {"get_num_threads", get_threads, METH_NOARGS, "How many threads a kernel may use."},
    {"set_thread_threshold", set_threshold, METH_O,
     "Set from how many cycles of work threads are used; gives the old."},
    {"set_vector_bytes", set_vector_bytes, METH_O,
     "Set how long vectors of convolutions and pooling may be, 16 to 64 bytes; gives the old length."},
    {"arrays_alike", (PyCFunction)(void (*)(void))arrays_alike, METH_FASTCALL,
     "Whether arrays have the dtypes and dimensions that a tuple has."},
    {"code_files", code_files, METH_O,
     "Names, sizes and times of the files with code below a folder, as bytes, and when the last one was changed."},
    {"first_look", first_look, METH_NOARGS, "What notes all that `uncommon` has seen, for the next look."},
    {"uncommon", uncommon, METH_VARARGS,
     "What stands in modules, given as a dictionary of their contents by name, but is not made in them."},
    {"meet_nodes", meet_nodes, METH_VARARGS,
     "Enter the nodes of expressions into a dictionary; tell of leaves of a class."},
    {"sketch_rows", sketch_rows, METH_VARARGS, "What some nodes look like, as bytes."},
    {"graph_rows", graph_rows, METH_VARARGS, "Number the nodes of a graph for its structural hash."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_runtime", .m_doc = "Executes programs.",
                                        .m_size = -1, .m_methods = functions};

/* Add an object, whose reference is taken over; -1 with an exception, also where it is NULL. */
static int add_object(PyObject *module, const char *name, PyObject *value) {
    int status = value == NULL ? -1 : PyModule_AddObjectRef(module, name, value);
    Py_XDECREF(value);
    return status;
}

#if WITHOUT_GIL
PyMutex runtime_guard;
#endif

PyMODINIT_FUNC PyInit__runtime(void) {
    import_array();
    if (PyType_Ready(&MachineType) < 0 || PyType_Ready(&UpdateLockType) < 0 || PyType_Ready(&DonatedBufferType) < 0 ||
        threads_init() != 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddObjectRef(module, "Machine", (PyObject *)&MachineType) < 0 ||
                           PyModule_AddObjectRef(module, "UpdateLock", (PyObject *)&UpdateLockType) < 0))
        Py_CLEAR(module);
    if (module != NULL && (add_object(module, "SHARED_CODE", shared_code()) < 0 ||
                           add_object(module, "INSTRUCTIONS", instruction_names()) < 0))
        Py_CLEAR(module);
#if WITHOUT_GIL
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0)
        Py_CLEAR(module);
#endif
    return module;
}
