/* What the parts of batches know of each other; see batch.c. */
#ifndef THEANO_LINKER_C_BATCH_H
#define THEANO_LINKER_C_BATCH_H

#include "capture.h"

typedef struct {
    int type_num, ndim, fortran;
    npy_intp shape[NPY_MAXDIMS];
} Guess;

/* Arrays of results, and the list that held them, of calls whose results may be let go of by now. */
typedef struct {
    PyObject *list;    /* NULL: calls return the array itself, or what a hook makes */
    PyObject **arrays; /* of each output */
    npy_intp bytes;
} Served;

struct Batches {
    PyObject **views; /* of each register, or NULL; without a base while they are not in use */
    int *left;        /* registers that no instruction releases: the call itself empties them */
    int n_left;
    Guess *guesses;        /* at each output: what it was in the last call; a type of -1: not known */
    PyArrayObject **slots; /* of each register, borrowed */
    PyObject **headers;    /* of each input: the array through which a call sees its argument */
    size_t *at;            /* of each input: where its argument is noted among those of a call */
    size_t argument_bytes; /* of all arguments of a call */
    Served *served;
    int n_served, next_served, passed; /* of this batch: where to look next, and how many were found in use */
    int replaced;                      /* the one that was last let go of for want of room */
    npy_intp served_bytes;
    int serves; /* whether results of earlier calls may serve again: each output is a register of its own */
};

/* An argument of a call. After it: lengths, then strides; a number without dimensions is there itself. */
typedef struct {
    char *data;
    npy_intp layout[];
} Argument;

/* The batch at hand; owned, [calls][inputs] and so on. */
typedef struct {
    Machine *m;
    Frame *f;
    Py_ssize_t count;
    char *arguments;
    PyObject **cells, **results;
    int *served;       /* of each call: which results of an earlier one it writes into, or -1 */
    PyObject *regular; /* from an element to the tuple of its values; NULL: there are none that need it */
    PyObject *kept;    /* a list of what arguments lie in, beside the elements; or NULL */
} Calls;

/* batch_arguments.c */
int arguments_setup(Machine *m, Batches *b);
void arguments_free(const Machine *m, Batches *b);
PyObject *const *values_of(const Machine *m, PyObject **element, PyObject *regular, PyObject **made);
int rows_fit(const Machine *m, PyObject *elements);
void accept_elements(Calls *c, PyObject *elements, Py_ssize_t wanted);
int arguments_show(Calls *c, Py_ssize_t i);

/* batch_results.c */
int results_make(Calls *c);
PyObject *results_of(const Calls *c, Py_ssize_t i);

#endif
