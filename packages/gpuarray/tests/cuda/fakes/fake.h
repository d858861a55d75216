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

enum { MOST_NODES = 256, UNJOINED = 904 };

/* Some of the nodes of a graph. */
typedef struct {
    unsigned char has[MOST_NODES];
} Nodes;

/* One thing in a queue or a graph: `run` is called with its own data. */
typedef struct {
    void (*run)(void *data);
    void *data;
    size_t bytes; /* of the data */
    Nodes before; /* all that it runs after */
} Node;

typedef struct {
    Node *nodes;
    int count;
} Graph;

typedef struct {
    Graph *capturing; /* NULL: work is done at once */
    unsigned flags;
    int origin;   /* whether the capture began here */
    Nodes before; /* of the graph: all that what comes next runs after */
} Stream;

/* What was before it in the stream in which it was recorded, if that is captured. */
typedef struct {
    Graph *capturing;
    Nodes before;
} Event;

void fake_add(Nodes *to, const Nodes *from);

/* Do work now, or add it to the graph that is captured from the stream; `data` is copied. */
int fake_enqueue(Stream *stream, void (*run)(void *data), const void *data, size_t bytes);
/* Whether a context is current in this thread. */
int fake_has_context(void);

#endif
