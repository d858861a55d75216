/* A stand-in for the libraries of CUDA, for tests where no GPU is: memory of its devices is memory of the host, kernels
 * are compiled for the processor, and each call is written down and can be made to fail. */
#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Write a call down; the error that it has been told to fail with, or 0. */
int fake_call(const char *name);
#define FAKE(name)                                                                                                     \
    do {                                                                                                               \
        int fake_status_ = fake_call(name);                                                                            \
        if (fake_status_ != 0)                                                                                         \
            return fake_status_;                                                                                       \
    } while (0)

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_UNJOINED = 904,
    UPDATE_FAILED = 910
};

/* Bytes before the library in compiled code: what it is for, and in the last 8 how many follow. */
enum { HEADER = 64 };

typedef struct Op Op;
typedef struct Capture Capture;

/* One thing in a graph: `run` is called with its own data, behind the nodes whose numbers are given. */
typedef struct {
    void (*run)(void *data);
    void *data;
    size_t bytes; /* of the data */
    int *after, n_after;
} Node;

typedef struct {
    Node *nodes;
    int count;
} Graph;

typedef struct Stream {
    unsigned flags;
    Op **after; /* what the next work of the stream runs behind */
    int n_after;
    Capture *capturing;  /* NULL: work goes into the queue */
    int *nodes, n_nodes; /* what the next node of the capture runs behind */
    const void *context; /* in which it was made */
    struct Stream *next;
} Stream;

/* Put work into the queue of a stream, or into the graph that is captured from it; `data` is copied. It runs when
 * somebody waits for it, or before. */
int fake_enqueue(Stream *stream, void (*run)(void *data), const void *data, size_t bytes);
/* Whether a context is current in this thread; which one, or NULL. */
int fake_has_context(void);
const void *fake_context(void);

/* Everything below is for the parts of the driver. */

/* The default stream, for a stream that is NULL. */
Stream *fake_stream(Stream *stream);
/* Run all that a stream has been given, and return what has failed. */
int fake_finish(Stream *stream);
/* Refuse a call that may not be made while the thread captures, and end the capture. */
int fake_in_capture(void);
#define NOT_IN_CAPTURE                                                                                                 \
    if (fake_in_capture())                                                                                             \
    return CAPTURE_UNSUPPORTED
#define NEEDS_CONTEXT                                                                                                  \
    if (!fake_has_context())                                                                                           \
    return INVALID_CONTEXT
/* Say what is wrong with work that runs; who waits for it gets the status. */
void fake_wrong(int status, const char *text, ...) __attribute__((format(printf, 2, 3)));
/* A number below `bound`, from the seed in THEANO_FAKE_SEED; without a seed it is 0, and all goes in order. */
unsigned fake_choice(unsigned bound);
int fake_is_seeded(void);
/* Whether some bytes are memory of a device that has not been freed. */
int fake_is_device(uintptr_t address, size_t bytes);
/* Whether an address is in memory that cuMemHostAlloc gave. */
int fake_is_pinned(uintptr_t address);
/* Look at the bytes around all memory of devices. */
void fake_check_memory(void);
void fake_lock(void);
void fake_unlock(void);

/* Of cuBLAS. */
typedef struct {
    Stream *stream;
    size_t workspace;
    int on_device, mode;
} BlasHandle;

/* Of cuSOLVER. */
typedef struct {
    Stream *stream;
} Solver;

/* Elements of float32 (0) and float64 (1). */
static inline double get(const void *base, int type, long long i) {
    return type == 1 ? ((const double *)base)[i] : ((const float *)base)[i];
}

static inline void put(void *base, int type, long long i, double value) {
    if (type == 1)
        ((double *)base)[i] = value;
    else
        ((float *)base)[i] = (float)value;
}

#endif
