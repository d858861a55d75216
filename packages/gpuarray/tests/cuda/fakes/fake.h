/* A stand-in for the libraries of CUDA, for tests where no GPU is: memory of its devices is memory of the host, each
 * call is written down and can be made to fail, and two kernels are known. */
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

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, NOT_FOUND = 500, UPDATE_FAILED = 910 };

/* One thing in a queue or a graph: `run` is called with its own data. */
typedef struct {
    void (*run)(void *data);
    void *data;
    size_t bytes; /* of the data */
} Node;

typedef struct {
    Node *nodes;
    int count;
} Graph;

typedef struct {
    Graph *capturing; /* NULL: work is done at once */
    unsigned flags;
} Stream;

/* Do work now, or add it to the graph that is captured from the stream; `data` is copied. */
int fake_enqueue(Stream *stream, void (*run)(void *data), const void *data, size_t bytes);
/* Whether a context is current in this thread. */
int fake_has_context(void);

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
