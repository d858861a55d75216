/* The types of the extension module: a Driver opens Contexts; these give Buffers and Modules, and Modules give Kernels.
 *
 * Each object holds those it came from, so a context is closed after all that belongs to it. What an object holds are
 * objects of this module; the owner of wrapped memory is the one exception, and the types leave the garbage collector
 * alone, for buffers are made often.
 *
 * The GIL is let go where a driver may wait, and `lock` of a context, never held while the GIL is waited for, is for
 * launches: they set arguments of a kernel and launch it.
 */
#ifndef THEANO_GPUARRAY_RUNTIME_H
#define THEANO_GPUARRAY_RUNTIME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "driver.h"
#include "pool.h"
#include <stdatomic.h>

typedef struct {
    PyObject ob_base;
    const DriverTable *table;
    void *state;
    int count;
    unsigned era;
} DriverObject;

typedef struct {
    PyObject ob_base;
    DriverObject *driver;
    const DriverTable *table;
    void *context;
    int index, lists;
    unsigned era;
    Properties properties;
    Pool pool;
    Staging staging;
    Reply reply;
    pthread_mutex_t lock;
    atomic_llong launches, writes, reads, copies, compilations;
    /* Numbers of the newest work that was put into the queue, and of the newest that is known to have ended. */
    atomic_llong submitted, finished;
    struct _gpucontext *interface; /* what C code of ops knows of it, or NULL; see interface/ */
} ContextObject;

typedef struct {
    PyObject ob_base;
    ContextObject *context;
    Block *block;    /* NULL: wrapped, or of no bytes */
    PyObject *owner; /* of wrapped memory */
    Address address;
    size_t bytes;
    atomic_llong used; /* number of the newest work that uses the buffer */
    atomic_int shared; /* whether work in streams of others may use it */
} BufferObject;

typedef struct {
    PyObject ob_base;
    ContextObject *context;
    void *module;
} ModuleObject;

typedef struct {
    PyObject ob_base;
    ModuleObject *module;
    void *kernel;
    char *name, *parameters;
    int count; /* of parameters */
    int64_t max_local;
} KernelObject;

extern PyTypeObject DriverType, ContextType, BufferType, ModuleType, KernelType, LaunchListType, ReplaysType;

/* The exception class of drivers. */
extern PyObject *DeviceError;
/* How many forks there have been on the way to this process. */
extern unsigned fork_era;

/* Raise what a driver said, and clear it. Always -1. */
int raise_failure(Failure *failure);
/* Raise DeviceError unless the context was opened in this very process. */
int check_process(unsigned era);
/* Number a piece of work, after it has been put into the queue: what waits for the queue asks first which number was
 * the newest, and knows afterwards that all up to it have ended. */
static inline long long submitted(ContextObject *c) { return atomic_fetch_add(&c->submitted, 1) + 1; }
/* Number a piece of work, and write it down in the buffers among its arguments. */
void note_work(ContextObject *c, PyObject *arguments);
/* Say that all work up to a number has ended. */
void mark_finished(ContextObject *c, long long number);

/* driver.c */
PyObject *open_driver(PyObject *module, PyObject *args, PyObject *kwargs);

/* interface/data.c: free what C code of ops knows of a context. */
void interface_free(struct _gpucontext *ctx);

/* context.c */
PyObject *context_open(DriverObject *driver, int index, const Options *options, int64_t preallocate);
int context_synchronize(ContextObject *c);
PyObject *properties_dict(const Properties *p);

/* buffer.c */
PyObject *buffer_allocate(ContextObject *c, Py_ssize_t bytes);
PyObject *buffer_wrap(ContextObject *c, Address address, Py_ssize_t bytes, PyObject *owner);
/* The buffer that an object is, of this context (NULL: of any); NULL with an exception. */
BufferObject *as_buffer(PyObject *object, const ContextObject *c, const char *what);
/* Raise unless a part lies within the buffer. */
int check_range(const BufferObject *b, Py_ssize_t offset, Py_ssize_t bytes, const char *what);
/* Copies within one buffer must not overlap: neither CUDA nor OpenCL says what they would do. */
int copy_overlaps(const Copy *copy);
int refuse_overlap(void);
/* Write what an object of the host has, by way of pinned memory; set bytes; wait and read into memory, or into an
 * object, which is checked to fit. Each raises where it fails. */
int buffer_stage(BufferObject *b, Py_ssize_t offset, const Py_buffer *view);
/* The same without a copy, where the driver reads sources: the caller keeps the object as it is until the queue has
 * been waited for. */
int buffer_stage_lent(BufferObject *b, Py_ssize_t offset, const Py_buffer *view);
int buffer_set(BufferObject *b, size_t offset, size_t bytes, int value);
int buffer_get(BufferObject *b, size_t offset, void *target, size_t bytes);
int buffer_fetch(BufferObject *b, Py_ssize_t offset, PyObject *target);

/* kernel.c */
PyObject *module_load(ContextObject *c, PyObject *binary);

/* arguments.c: launches, copies, fills and products as Python gives them, at once or as steps of a list. */

/* A place in a step of a list for the address of a buffer of the run at hand. */
typedef struct {
    Address *place;
    int number;
    Py_ssize_t least; /* bytes that the buffer must have */
} Patch;

typedef struct {
    ContextObject *context;
    int in_list; /* whether buffers are given by their numbers */
    int n_buffers;
    Patch *patches; /* of a list; grows */
    int n_patches;
} Resolver;

/* Read the arguments of `Context.launch`; the values are allocated by PyMem_Malloc. */
int parse_launch(Launch *launch, Resolver *r, PyObject *kernel, PyObject *groups, PyObject *local, PyObject *arguments,
                 Py_ssize_t shared);
/* Read a buffer, or the number of one, of which at least so many bytes are used. */
int parse_buffer(Resolver *r, PyObject *given, Py_ssize_t least, Address *place);
/* Note that the buffer of this number belongs to a place in a list. */
int parse_number(Resolver *r, long number, Py_ssize_t least, Address *place);
int parse_product(Product *product, Resolver *r, PyObject *args);
/* Read a convolution with its algorithm and places; all lengths are checked, and that the memory is there. */
int parse_convolution(Convolution *p, Resolver *r, PyObject *args);
/* Read an operation of another library: its name, dtype, a tuple of numbers, and places as (buffer, offset, bytes). */
int parse_call(Call *call, Resolver *r, PyObject *args);
/* Whether there is anything to launch. */
int launch_is_empty(const Launch *launch);

/* launches.c: run a list with a tuple of buffers. */
int list_replay(PyObject *list, PyObject *buffers);

/* launch.c */
PyObject *context_launch(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *context_product(PyObject *self, PyObject *args);

/* exchange.c */
PyObject *export_array(PyObject *module, PyObject *args);

/* convolution.c */
PyObject *context_plan(PyObject *self, PyObject *args);
PyObject *context_convolve(PyObject *self, PyObject *args);

/* call.c */
PyObject *context_workspace(PyObject *self, PyObject *args);
PyObject *context_call(PyObject *self, PyObject *args);

#endif
