/* Instructions for ``x[index]``: what the files of indexing share.
 *
 * A Plan says how the dimensions of a tensor are indexed, as far as that is known when the program is made. When the
 * instruction runs, `region_resolve` makes a Region of it: a start, the dimensions that slices and new axes give (the
 * plain ones), and a list of byte offsets, one for each element of the index arrays broadcast against each other.
 */
#ifndef THEANO_LINKER_C_INDEX_H
#define THEANO_LINKER_C_INDEX_H

#include "machine/capture.h"

enum { ENTRY_SLICE = 0, ENTRY_NUMBER = 1, ENTRY_ARRAY = 2, ENTRY_NEWAXIS = 3 };
enum { NUMBER_ABSENT = 0, NUMBER_CONSTANT = 1, NUMBER_INPUT = 2 };

typedef struct {
    int kind;
    npy_intp value; /* the number, or the input that gives it */
} Number;

typedef struct {
    int kind;
    Number start, stop, step; /* a number is in `start` */
    int position, mask;       /* of an array: the input, and whether it holds truth values */
    npy_uint64 broadcastable; /* bits of the dimensions of an array that are known to have length 1 */
} Entry;

typedef struct {
    int n_entries, ndim, type_num;
    Entry *entries;
    int *types, *ndims; /* of all inputs */
    int advanced, adjacent, index_ndim;
    /* of writes */
    int replace;
    int deferred; /* the number of the update, counted from 1, for which the write may wait; or 0 */
    int takes;    /* 1: the first input may be written into where it is ours; 2: it is, whoever else has it */
    npy_uint64 part_broadcastable;
} IndexPlan;

typedef struct {
    npy_intp start;
    int n_plain, n_before;
    npy_intp shape[2 * NPY_MAXDIMS], strides[2 * NPY_MAXDIMS]; /* of the plain dimensions */
    int index_ndim;
    npy_intp index_shape[NPY_MAXDIMS];
    npy_intp count;      /* of the index arrays' elements; 1 where there are none */
    npy_intp *offsets;   /* [count], owned; NULL where there are no arrays, or where they are worked out in pieces: */
    const char *numbers; /* a long vector of indices for one axis, or NULL */
    PyObject *holder;    /* borrowed; the array that holds them */
    int numbers_type;
    npy_intp numbers_step, length, stride; /* of the vector in bytes; of the axis */
} Region;

int region_resolve(Frame *f, const Instruction *in, const IndexPlan *p, const npy_intp *dims, const npy_intp *strides,
                   int checked, Region *region);
int region_piece(const Region *region, npy_intp begin, npy_intp n, npy_intp *offsets);
void region_free(Region *region);
int region_shape(const Region *region, npy_intp *shape);
IndexPlan *index_plan_parse(Instruction *in, PyObject *payload);

/* What captures keep of an index. */
void index_note_numbers(const Machine *m, const Frame *f, const Instruction *in);
int index_note_arrays(Capture *c, const Frame *f, const Instruction *in, int first, char **data);
size_t index_sources(Frame *f, const Instruction *in, const npy_intp *dims, const npy_intp *strides, void *sources);
int index_offsets_again(Region *region, void *sources, int n, char *const *data);

/* index_move.c */
typedef struct {
    const Region *region;
    char *data;                                           /* of the indexed array */
    char *part;                                           /* of the other side */
    npy_intp part_strides[2 * NPY_MAXDIMS + NPY_MAXDIMS]; /* one for each dimension of the part */
    npy_intp itemsize;
    int type_num;
    enum { MOVE_OUT, MOVE_IN, MOVE_ADD } what;
} Move;
int move_run(const Machine *m, const Move *move);
int can_add(int type_num);

#endif
