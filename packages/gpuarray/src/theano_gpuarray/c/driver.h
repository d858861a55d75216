/* What a driver of devices offers: one table of functions for CUDA, for OpenCL, and for the null driver of tests.
 *
 * No function of a driver needs the GIL, and none touches Python. Functions that can fail return 0, or -1 with a text
 * in the Failure. All work of a context goes into one queue, in order: what is enqueued later sees what was enqueued
 * before. Several threads may call at once, except that `launch`, `product`, `plan`, `convolve`, `workspace`,
 * `call`, `replay` and `list_free` of one context are called by one thread at a time. No function is called after a
 * fork in the child, except `open` of the null one.
 */
#ifndef THEANO_GPUARRAY_DRIVER_H
#define THEANO_GPUARRAY_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *text;        /* owned; NULL: nothing has failed */
    int out_of_memory; /* whether memory of the device is what is missing */
} Failure;

/* Set the text, once: later calls keep the first one. Always -1, so that `return failure_set(...)` can be written. */
int failure_set(Failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
void failure_clear(Failure *failure);

/* Paths of libraries by what they are for: "cuda", "nvrtc", "cublas", "cublaslt", "cudnn", "cufft",
 * "cusolver", "opencl". */
typedef struct {
    const char *role, *path;
} Library;
typedef struct {
    const Library *items;
    int count;
} Libraries;

/* The path of a library, or NULL where none was given. */
const char *library_path(const Libraries *libraries, const char *role);
/* dlopen; NULL with a failure that names the library. The handle is never closed: drivers have threads of their own. */
void *library_open(const char *path, Failure *failure);
/* dlsym; NULL with a failure that names the function and the library, unless `failure` is NULL. */
void *library_function(void *handle, const char *name, const char *path, Failure *failure);

/* A CUdeviceptr or a cl_mem; 0 is memory of no bytes. */
typedef uintptr_t Address;

typedef struct {
    char name[256], vendor[128], version[256];
    char place[32];             /* on the bus, as "0000:07:00.0"; empty where nothing tells */
    char arch[64];              /* what code is compiled for, such as "sm_90"; empty where nothing tells */
    int platform, number;       /* OpenCL: which platform, and which device of it; else 0 and the index */
    int64_t max_local;          /* work-items of a work-group, at most */
    int64_t max_locals[3];      /* the same along each dimension */
    int64_t max_groups[3];      /* work-groups of a launch along each dimension, at most */
    int64_t local_memory;       /* bytes of a work-group */
    int64_t memory, max_buffer; /* bytes of the device, and of one buffer */
    int64_t units, warp;
    int doubles, halves, long_atomics, cpu;
} Properties;

typedef struct {
    int single_stream; /* whether copies go into the same queue as launches */
    int blocking;      /* whether threads that wait for the device sleep, rather than ask again and again */
} Options;

/* An argument of a launch. Its kind is the letter of the kernel's parameter: numbers of 8 and 16 bits (b, B, h, H) are
 * the low bytes of `i`, the first ones on all systems that there are drivers for. */
typedef union {
    Address P;
    int64_t q;
    int32_t i;
    uint32_t I;
    float f;
    double d;
} Value;

/* Bytes of a number with this letter; 0 for a letter that there is not, and for a pointer. */
size_t parameter_size(char letter);

typedef struct {
    void *kernel;           /* what `kernel` of the driver gave */
    const char *name;       /* of the kernel */
    const char *parameters; /* a letter for each value */
    int count;              /* of values */
    int dimensions;         /* 1 to 3 */
    size_t groups[3], local[3];
    size_t shared; /* bytes of local memory that the launch adds. OpenCL: the kernel has one more, __local parameter */
    Value *values;
} Launch;

typedef struct {
    Address target, source;
    size_t offset, source_offset, bytes;
} Copy;

typedef struct {
    Address target;
    size_t offset, bytes;
    int value; /* of each byte, 0 to 255 */
} Fill;

/* z = alpha * a @ b + beta * z, for a batch of C-ordered matrices; offsets, leading dimensions and strides in elements.
 */
typedef struct {
    Address address;
    int64_t offset, leading, stride;
} Matrix;
typedef struct {
    double value;
    Address address; /* where not 0, the factor is this element of device memory rather than `value` */
    int64_t offset;
} Factor;
typedef struct {
    char dtype[16]; /* "float32", ...; "tf32": of float32, whose factors may be rounded to 11 bits */
    int transpose_a, transpose_b;
    int64_t m, n, k, batch;
    Factor alpha, beta;
    Matrix a, b, z;
} Product;

/* A convolution or one of its gradients, of C-ordered arrays; libraries take these lengths. */
typedef enum { CONVOLUTION_FORWARD, CONVOLUTION_DATA, CONVOLUTION_FILTER } ConvolutionTask;
enum { MOST_AXES = 3, MOST_LENGTHS = MOST_AXES + 2 };
typedef struct {
    Address address;
    size_t offset, bytes;
} Place;
typedef struct {
    ConvolutionTask task; /* the result is `top`, `image` or `filter` */
    char dtype[16];       /* "float16", "float32", "float64" */
    char precision[16];   /* of sums: one of these, or "tf32" */
    int axes;             /* along which filters slide, 2 or 3 */
    int images[MOST_LENGTHS], filters[MOST_LENGTHS], top_lengths[MOST_LENGTHS];
    int zeros[MOST_AXES], strides[MOST_AXES], dilations[MOST_AXES];
    int groups, flipped; /* whether filters are flipped */
    int algorithm;       /* by the number that the library has for it */
    Place image, filter, top, workspace;
} Convolution;

/* How an algorithm is chosen: it is named, or the library guesses, or tries all. */
typedef enum { CHOICE_FIXED, CHOICE_GUESS, CHOICE_TIME } ChoiceKind;
typedef struct {
    ChoiceKind kind;
    int deterministic;  /* whether algorithms that do not always give the same are left out */
    size_t most_memory; /* bytes of the workspace */
} Choice;

/* An operation of another library on arrays. What its numbers and places are is said where the driver computes it. */
enum { MOST_NUMBERS = 24, MOST_PLACES = 16 };
typedef struct {
    char name[16], dtype[16];
    int count, n_places;
    int64_t numbers[MOST_NUMBERS];
    Place places[MOST_PLACES];
} Call;

typedef enum { STEP_LAUNCH, STEP_COPY, STEP_FILL, STEP_PRODUCT, STEP_CONVOLUTION, STEP_CALL } StepKind;
typedef struct {
    StepKind kind;
    union {
        Launch launch;
        Copy copy;
        Fill fill;
        Product product;
        Convolution *convolution; /* owned */
        Call *call;               /* owned */
    };
} Step;

/* Which steps may run side by side. Steps of one lane run in order; for steps of other lanes a step waits only where it
 * is told to. */
enum { MOST_LANES = 4 };
typedef struct {
    int *numbers;           /* the lane of each step; what libraries compute is in lane 0. NULL: all run in order */
    int *begins, *waits;    /* step i waits for those from waits[begins[i]] up to waits[begins[i + 1]] */
    unsigned char *signals; /* whether another step waits for this one */
} Lanes;

/* Steps that are replayed; the addresses in them are those of the run at hand. */
typedef struct {
    Step *steps;
    int count;
    Lanes lanes;
    int stale;    /* whether an address may mean other memory than at the last run, though it is the same number */
    int moved;    /* whether an address differs from the last run */
    void *driver; /* what a driver keeps with the list, NULL at first; freed by its `list_free` */
} List;

/* What the null driver was asked to do. The texts and values of a launch are freed by who takes the record out. */
typedef struct {
    const char *what; /* "launch", "copy", "fill", "write" or "read" */
    Launch launch;
    size_t bytes;
    int value;
} Record;

typedef struct {
    const char *name;

    /* Open the libraries. `state` is what the other functions get; it lives as long as the process. */
    int (*open)(const Libraries *libraries, void **state, Failure *failure);
    int (*count)(void *state, int *count, Failure *failure);
    int (*properties)(void *state, int index, Properties *properties, Failure *failure);
    /* The version of a library by its role; 0 where it was not given, or cannot be used, which `why` then says. NULL:
     * there are no libraries that have one. */
    int64_t (*version)(void *state, const char *role, const char **why);

    int (*context_open)(void *state, int index, const Options *options, void **context, Failure *failure);
    /* Wait for the queue, and free all that belongs to the context. */
    void (*context_close)(void *context);
    /* The CUcontext or cl_context, and the CUstream or cl_command_queue. */
    void (*handles)(void *context, uintptr_t *handle, uintptr_t *queue);
    /* Wait until the queue is empty; errors of work that was enqueued before may be told here. */
    int (*synchronize)(void *context, Failure *failure);
    /* Make the context current in the thread and undo that; NULL where there is no such thing. */
    int (*push)(void *context, Failure *failure);
    int (*pop)(void *context, Failure *failure);

    /* `bytes` is not 0. Sets out_of_memory where that is the reason. */
    int (*allocate)(void *context, size_t bytes, Address *address, Failure *failure);
    /* A part of memory, to be freed before it; offsets are multiples of 4096. */
    int (*slice)(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure);
    /* Free what `allocate` or `slice` gave; work that is in the queue may still use it. */
    void (*release)(void *context, Address address, int is_slice);

    /* Memory of the host that the device reads fast. `handle` is the driver's. */
    int (*host_allocate)(void *context, size_t bytes, void **memory, void **handle, Failure *failure);
    void (*host_release)(void *context, void *memory, void *handle);
    /* A mark in the queue, and waiting for it; `mark_wait` frees the mark, also where it fails. */
    int (*mark)(void *context, void **mark, Failure *failure);
    int (*mark_wait)(void *context, void *mark, Failure *failure);

    /* From and to the host; `write` that does not block leaves `source` as it is until a later mark. `read` blocks. */
    int (*write)(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
                 Failure *failure);
    int (*read)(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure);
    /* Between buffers of the context, which do not overlap; not blocking. */
    int (*copy)(void *context, const Copy *copy, Failure *failure);
    int (*fill)(void *context, const Fill *fill, Failure *failure);
    /* Put a copy from memory of another context of the same driver into the queue of `context`, after all that is in
     * the queue of the other one, whose later work waits for the copy; NULL: it goes through the host. */
    int (*copy_from)(void *context, void *other, const Copy *copy, Failure *failure);

    /* Let a stream of somebody else wait for all that is in the queue; and wait for all work of the device, whoever
     * gave it. NULL: there are no streams of others. */
    int (*share)(void *context, uintptr_t stream, Failure *failure);
    int (*settle)(void *context, Failure *failure);

    /* Compile; `binary` is allocated by malloc. The failure has the log, with the text's own line numbers. */
    int (*compile)(void *context, const char *text, const char *options, unsigned char **binary, size_t *bytes,
                   Failure *failure);
    int (*load)(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure);
    /* Also while launches of its kernels are in the queue. */
    void (*unload)(void *context, void *module);
    int (*kernel)(void *context, void *module, const char *name, void **kernel, int64_t *max_local, Failure *failure);
    void (*kernel_free)(void *context, void *kernel);

    /* Sizes are positive and within the limits of the device. */
    int (*launch)(void *context, const Launch *launch, Failure *failure);
    /* By a library: 1 done, 0 there is none for these operands, -1 failed. NULL: there is never one. */
    int (*product)(void *context, const Product *product, Failure *failure);
    /* Choose the algorithm of a convolution, whose places are not looked at, and set it and the bytes of its workspace:
     * 1 done, 0 the library has none for these operands, -1 failed. NULL: there is never one. */
    int (*plan)(void *context, Convolution *convolution, const Choice *choice, Failure *failure);
    /* By the algorithm that was chosen. */
    int (*convolve)(void *context, const Convolution *convolution, Failure *failure);
    /* Find out how many bytes an operation works in, beside its operands: 1 there is one, 0 the library has none, or is
     * not there, -1 failed. Places are not looked at. NULL: there is never one. */
    int (*workspace)(void *context, const Call *call, int64_t *bytes, Failure *failure);
    int (*call)(void *context, const Call *call, Failure *failure);
    /* Enqueue all steps; NULL: they are enqueued one by one, by the functions above. */
    int (*replay)(void *context, List *list, Failure *failure);
    void (*list_free)(void *context, List *list);

    /* Whether a write that does not block reads its source without a copy of it in memory of the host. CUDA copies what
     * is not pinned, and may wait before it does. */
    int reads_sources;

    /* The null driver: take out the oldest thing that it was asked to do; 0 where there is none. NULL for others. */
    int (*recorded)(void *context, Record *record);
} DriverTable;

extern const DriverTable null_driver, opencl_driver, cuda_driver;

#endif
