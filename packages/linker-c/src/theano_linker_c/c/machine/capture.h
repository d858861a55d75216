/* Capture and replay: the calls of kernels that a run of instructions makes are noted once, and made again.
 *
 * A run is a sequence of instructions whose calls follow from the shapes and strides of what they read: loops over
 * elements, reductions, views, lengths. While it is captured, the instructions are carried out one by one, each
 * call of a kernel is noted with its pointers and strides, and arrays that are needed inside of the run only stay
 * alive, so that their addresses hold. Later calls with operands of the same shapes and strides replay the kernel
 * calls, without arrays of Python and without looking at shapes. Operands from outside of the run, and results that
 * leave it, are slots, whose pointers are put into the calls first. Contents that say what is done, such as lengths
 * and bounds of slices, are guarded: a replay compares them with what they were. Where anything differs, the
 * instructions run one by one: a replay writes only into memory of its own, so that it can be given up at any call.
 * An instruction that cannot be captured, or whose guards fail again and again, parts its run in two.
 */
#ifndef THEANO_LINKER_C_CAPTURE_H
#define THEANO_LINKER_C_CAPTURE_H

#include "../runtime.h"

enum { MOST_OPERANDS = 64, MOST_DIMENSIONS = 8 };
enum { CAPTURE_EMPTY, CAPTURE_OPEN, CAPTURE_READY };

/* A kernel along elements; one along rows; memory filled with an item; bytes copied; items copied with steps; doubles
 * stored as floats; a function of the instruction, with what it needs; a guard: bytes that must be what they were. */
enum { CALL_ELEMENTS, CALL_ROWS, CALL_FILL, CALL_COPY, CALL_ITEMS, CALL_OTHER, CALL_NARROW, CALL_GUARD };

/* Returns whether the operands fit what has been captured. */
typedef int (*captured_fn)(void *what, char *const *data);

/* Followed by the pointers of the operands, their strides, and of CALL_ROWS the steps from row to row. */
typedef struct {
    int kind, nops, columns;
    int position;    /* of the instruction */
    int64_t n, rows; /* elements or bytes; rows, or bytes of an item */
    void *fn;        /* the kernel; of CALL_FILL, the item; of CALL_GUARD, the bytes */
    void *what;      /* of CALL_OTHER; the capture keeps it */
} Call;

typedef struct {
    size_t at; /* of a pointer among the bytes of the calls */
    int slot;
    npy_intp offset;
} Patch;

typedef struct {
    int reg, type_num, ndim;
    npy_intp dims[MOST_DIMENSIONS], strides[MOST_DIMENSIONS];
} CapturedInput;

typedef struct {
    int reg, type_num, ndim, fortran;
    npy_intp dims[MOST_DIMENSIONS];
} CapturedResult;

/* Why the contents of a register are the same in all calls: it is a constant; they follow from shapes. */
enum { FIXED_BY_SHAPES = 1, FIXED_BY_CONSTANT = 2 };

struct Capture {
    Machine *m;     /* while it is made */
    int begin, end; /* instructions */
    int state, calls, misses, made;
    int stale;               /* to be forgotten, once the call that uses it has ended */
    double work;             /* rough cycles of all calls */
    CapturedInput *sources;  /* slots from 0 on */
    CapturedResult *results; /* slots after those of the sources */
    int n_sources, n_results;
    int *dying, n_dying; /* registers from outside that nobody reads after the run */
    char **bases;        /* of each slot: the pointer that has been put into the calls */
    PyObject **held;     /* arrays that stay alive, by their addresses */
    int n_held, room_held;
    npy_intp held_bytes, *total_bytes; /* of this capture; of all captures of the machine */
    char *bytes;                       /* the calls */
    size_t used, room;
    Patch *patches; /* by slot */
    int n_patches, room_patches;
    /* of the present instruction */
    int operands[MOST_OPERANDS];  /* their slots */
    int position, of_instruction; /* which; calls so far */
    int failed, n_failed;         /* it cannot be captured; how many instructions cannot */
    int skips, is_leaving;        /* it computes the same in all calls; a result leaves the run */
};

/* What instructions tell while they are captured. */
Capture *capturing(const Machine *m, const Frame *f);
void capture_operand(Capture *c, int k, int reg);
void capture_array(Capture *c, int k, PyArrayObject *array);
void capture_result(Capture *c, const Frame *f, int reg);
void capture_contents(Capture *c, const Frame *f, int reg);
void capture_call(Capture *c, int kind, void *fn, int64_t n, int nops, char *const *data, const int64_t *strides,
                  int64_t rows, const int64_t *steps);
void *capture_keep(Capture *c, size_t size);
void capture_other(Capture *c, captured_fn fn, void *what, int nops, char *const *data);
void capture_copy(Capture *c, char *to, char *from, npy_intp bytes);
void capture_nest(Capture *c, const LoopNest *nest, elementwise_fn fn, double cost);
void capture_fail(Capture *c);

/* capture.c */
void capture_open(Machine *m, Frame *f, Capture *c);
void captures_after(Machine *m, Frame *f, int position);
void captures_abandon(Machine *m);
void capture_reset(Capture *c);

/* capture_runs.c */
void captures_split(Machine *m, Capture *c);
int capture_learn(Machine *m, const Capture *c, CapturedInput *sources, int *dying, int *n_dying);
void capture_forget(Machine *m, const Capture *c);

/* capture_replay.c */
int captures_enter(Machine *m, Frame *f, int position);

/* Whether the calls of an instruction follow from shapes, and from contents that a guard can look at. */
int elementwise_captures(const Instruction *in);
int product_captures(const Instruction *in);
int index_captures(const Instruction *in);
int is_view(int code);

#endif
