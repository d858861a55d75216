/* What launches.c and repeats.c share: lists of launches, and the steps in them that are run again and again. */
#ifndef THEANO_GPUARRAY_LISTS_H
#define THEANO_GPUARRAY_LISTS_H

#include "runtime.h"

/* A number of a step that is another one in each round: `linear` is added from round to round, and in every second one
 * `alternating`. Numbers of a launch are told by the position among its arguments; else they are offsets. */
typedef struct {
    int step, place;
    int64_t linear, alternating;
} Move;

/* Steps that run `count` times. */
typedef struct {
    int begin, end;
    long long count;
    Move *moves;
    int n_moves;
} Repeat;

typedef struct {
    PyObject ob_base;
    ContextObject *context;
    PyObject *kernels; /* a list: the kernels that steps launch */
    List list;
    Patch *patches;
    int n_patches, n_buffers;
    size_t *least; /* bytes that each buffer must have */
    /* Numbers of buffers that must not be the same memory, since a copy from one to the other would overlap. */
    int (*apart)[2], n_apart;
    Repeat repeat;      /* where it has too many rounds to be written down; else its count is 0 */
    long long releases; /* of the pool, at the last run */
    long long launches; /* in one run */
} LaunchList;

/* Steps of a list that are written down one by one, at most; what is repeated more often is run in a loop. */
enum { MOST_STEPS = 4096 };

/* lanes.c */
/* Read which steps of a list may run side by side: of each step its lane and the steps that it waits for. */
int parse_order(LaunchList *l, PyObject *order);
void free_lanes(Lanes *lanes);

/* launches.c */
int parse_step(LaunchList *l, Resolver *r, PyObject *given);
void free_step(const Step *step);
int run_step(const ContextObject *c, const Step *step, Failure *failure);
/* Note that two buffers must not be the same memory if the copy, whose offsets are set, would overlap then. */
int keep_apart(LaunchList *l, const int numbers[2], const Copy *copy);

/* repeats.c */
/* For how many steps an item of a list needs room, at most; -1 with an exception. */
Py_ssize_t count_steps(PyObject *item);
int is_repeat(PyObject *item);
int parse_repeat(LaunchList *l, Resolver *r, PyObject *item);
/* Run the rounds of `l->repeat`; its steps have the numbers of the first round before and afterwards. */
int run_rounds(LaunchList *l, Failure *failure);

#endif
