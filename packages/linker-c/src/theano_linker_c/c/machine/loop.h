/* What the files about loops (programs that run many times in one call) share. */
#ifndef THEANO_LINKER_C_REPEAT_H
#define THEANO_LINKER_C_REPEAT_H

#include "runtime.h"

/* Same numbers as `ResultKind` in _repetition.py. */
enum { STACK = 0, SUM = 1, LAST = 2 };

typedef struct {
    int kind, reg, known; /* whether all its values must have `shape` */
    int ndim;
    npy_intp shape[NPY_MAXDIMS];
    PyArrayObject *stack;    /* owned */
    PyArrayObject *views[2]; /* owned: of rows; a state is read in one while the next is written in the other */
    PyArrayObject *slot;     /* borrowed: the one for the run at hand */
    PyObject *value;         /* owned: the sum, or the newest value */
    PyArrayObject *spare;    /* owned: the second array of a state, where kernels are called directly */
} Result;

typedef struct {
    Machine *m;
    Frame *f;
    Py_ssize_t runs, run, row; /* how many, which one, and which row of the sequences it reads */
    int rows, states, until, backwards, n_results;
    int movable; /* no foreign code sees the arrays, so that the pointers of our own views may be moved */
    PyObject *given, *raise_mismatch; /* borrowed */
    PyArrayObject **views;            /* of the sequences */
    PyObject **fixed, **state;        /* owned: of each input; arguments as the program takes them, and states */
    int *home;                        /* of each state */
    Result *results;
    PyArrayObject **slots;
    double looked, yielded; /* when the clock was read last, and when other threads were let run */
    int pause, waited;
    uintptr_t whole; /* address of code for all steps, or 0 */
} Loop;

/* While code works: when the clock was read last, and after how many steps it is read again. */
typedef struct {
    PyThreadState *state; /* NULL while this thread has the GIL */
    double looked, signals;
    int64_t pause;
    int started;
} Look;

typedef int64_t (*look_fn)(void *context);
typedef int (*code_fn)(int64_t steps, const void *const *given, const int64_t *strides, void *const *results,
                       int64_t *done, look_fn look, void *context);

/* One operand or result of code, as a row of numbers describes it. */
typedef struct {
    int moves; /* whether it has a row for each step */
    int type_num, ndim;
    const int64_t *shape; /* of a row */
} Form;

/* loop.c */
void loop_yield(Loop *r);

/* loop_code.c */
int64_t code_look(void *context);
const int64_t *form_read(const int64_t *at, Form *form);
PyArrayObject *form_fitting(PyObject *value, const Form *form, Py_ssize_t steps);

/* loop_kernel.c */
int loop_kernel(Loop *r);

#endif
