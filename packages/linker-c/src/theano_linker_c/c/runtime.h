/* Types and functions that the files of the runtime share.
 *
 * A Machine executes a Program: a flat list of instructions over numbered registers. Registers hold strong references
 * to Python objects, nearly always arrays. A Frame is the set of registers of one call in progress; the first call in
 * progress uses the machine's own frame, nested and concurrent calls get frames of their own.
 *
 * Reference counts decide what may be overwritten. Besides the register, the machine's buffer store may hold one
 * reference to an array (`home` of the register says where); everything else counts as somebody who can see it.
 */
#ifndef THEANO_LINKER_C_RUNTIME_H
#define THEANO_LINKER_C_RUNTIME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL theano_linker_c_runtime_array_api
#ifndef RUNTIME_IMPORTS_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <stdint.h>

/* The exception that is set, taken out, and set again: the functions of Python 3.12. New references are returned and
 * taken over. */
#if PY_VERSION_HEX >= 0x030C0000
#define error_take PyErr_GetRaisedException
#define error_set PyErr_SetRaisedException
#else
static inline PyObject *error_take(void) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL && error != NULL)
        PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
}
static inline void error_set(PyObject *error) {
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
}
#endif

/* Builds of Python without the GIL. With THEANO_FREE_THREADING the module says that it does not need it; then what
 * the GIL protects otherwise is protected by the critical section of the machine, which is left and entered again
 * where the GIL would be, and by `guard_take` for what machines share. Other builds do nothing here. */
#if defined(Py_GIL_DISABLED) && defined(THEANO_FREE_THREADING)
#define WITHOUT_GIL 1
#define MACHINE_BEGIN(object) Py_BEGIN_CRITICAL_SECTION(object)
#define MACHINE_END() Py_END_CRITICAL_SECTION()
extern PyMutex runtime_guard;
static inline void guard_take(void) { PyMutex_Lock(&runtime_guard); }
static inline void guard_give(void) { PyMutex_Unlock(&runtime_guard); }
#else
#define WITHOUT_GIL 0
#define MACHINE_BEGIN(object) {
#define MACHINE_END() }
static inline void guard_take(void) {}
static inline void guard_give(void) {}
#endif

#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* What an instruction answers: done; it wants some of its inputs first (`asked` of the frame); a Python exception is
 * set; or the operands do not fit, and the shared Python checks compose the message (`on_error` is called without an
 * exception). */
enum { RUN_DONE = 0, RUN_ASKS = 1, RUN_RAISED = -1, RUN_MISMATCH = -2 };

/* Numbers of instructions, in their order in instructions.def. */
#define INSTRUCTION(name, shows, checked, nogil) CODE_##name,
enum {
#include "instructions.def"
    CODE_COUNT
};
#undef INSTRUCTION

typedef void (*elementwise_fn)(int64_t n, char *const *data, const int64_t *strides);
typedef void (*reduce_rows_fn)(int64_t n, char *const *data, const int64_t *strides, int64_t rows,
                               const int64_t *steps);

typedef struct Machine Machine;
typedef struct Frame Frame;
typedef struct Schedule Schedule;           /* schedule.c */
typedef struct Profile Profile;             /* profile.c */
typedef struct Retained Retained;           /* retained.c */
typedef struct Commit Commit;               /* commit.c */
typedef struct Batches Batches;             /* batch.c */
typedef struct UpdateLock UpdateLock;       /* locks.c */
typedef struct ResultCheck ResultCheck;     /* results.c */
typedef struct Capture Capture;             /* capture.c */
typedef struct FunctionCodes FunctionCodes; /* function_code.c */
extern int capture_calls;                   /* calls before a run is captured; -1: never */
typedef struct Instruction Instruction;
typedef int (*run_fn)(Machine *, Frame *, const Instruction *);

struct Instruction {
    int code;
    int n_inputs, n_outputs, n_release;
    int *inputs, *outputs, *release;
    run_fn run;
    void *plan;           /* owned; what `run` needs beyond the registers */
    void (*free)(void *); /* of the plan; NULL: plain PyMem_Free */
    PyObject *held;       /* with the payload in it; keeps alive what the plan points to */
    Py_ssize_t position;  /* in the program */
    ResultCheck *checks;  /* of each output; NULL where no code but the runtime's own makes results */
    Machine *machine;     /* borrowed: it owns the instruction */
};

typedef struct {
    int reg;
    int type_num; /* -1: no native check, every value goes through the hook */
    int ndim;
    int takes_float; /* a Python float is accepted for a 0-d array */
    int takes_int;   /* so are Python integers that the dtype holds exactly, and its NumPy scalars */
    int overwrite;   /* the caller permits that the array is overwritten */
    npy_intp *shape; /* -1 where not known ahead */
} InputCheck;

typedef struct {
    int reg;
    PyObject *cell; /* a list of one element */
} Cell;

struct Frame {
    PyObject **registers;
    int *home; /* index into the machine's buffer store that holds this register's array too, -1, or KEPT_VIEW */
    void *scratch;
    int *asked, n_asked;   /* inputs that a lazy instruction wants */
    PyArrayObject **slots; /* for each register, memory that its result is to be put into (borrowed) or NULL; or NULL */
    Commit *commits;       /* writes into shared storage that wait for the success of the call */
    int busy;
};

struct Machine {
    PyObject_HEAD vectorcallfunc vectorcall;
    int n_registers, n_inputs, n_cells, n_constants, n_instructions, n_outputs, n_updates;
    InputCheck *inputs;
    Cell *cells, *constants, *updates; /* of a constant, `cell` is the value itself */
    Instruction *instructions;
    int *outputs;
    int *variables, n_variables; /* registers that are no constants */
    int n_overwrite;             /* inputs that may be overwritten */
    int single;                  /* the call returns the one output itself, not a list */
    size_t scratch_bytes;
    Frame frame;
    PyObject **buffers;     /* one possible array a register, kept for the next call */
    npy_intp *buffer_bytes; /* their sizes when they were put there */
    npy_intp buffered_bytes, buffer_limit;
    /* Locks of the variables that the machine updates, or one of the machine's own for code that has state of its own,
     * in the order in which a call acquires them. */
    UpdateLock **locks;
    int n_locks;
    double thread_scale; /* threads are used from `thread_scale * work_for_threads` cycles on */
    PyObject *on_irregular, *on_input, *on_result, *on_error, *finish; /* Python hooks; `finish` may be NULL */
    Py_ssize_t failed_instruction;
    int most_asked;
    Schedule *schedule;      /* NULL: all instructions run, in their order */
    Profile *profile;        /* NULL: nothing is counted */
    Retained *retained;      /* NULL: nothing stays after a call */
    Capture **captures;      /* for each instruction that begins a run: what is known of it; NULL: none */
    Capture *open;           /* the one that is being made */
    int calls;               /* before runs are looked for */
    signed char *excluded;   /* for each instruction, whether it is in no run */
    int *slots, *released;   /* for each register: in the run that is captured; the instruction that releases it */
    signed char *is_fixed;   /* for each register: whether its contents are the same in all calls */
    npy_intp captured_bytes; /* of arrays that captures keep */
    int in_batch;            /* a batch runs, perhaps without the GIL: nobody else may use the memory */
    Batches *batches;        /* NULL: the machine runs no batches of calls */
    FunctionCodes *codes;    /* NULL: the machine is never one C function */
    PyObject *view;          /* attributes that the machine has beyond those in C; NULL: none */
};

extern PyTypeObject MachineType, UpdateLockType;

/* buffers.c */
PyArrayObject *buffer_get(Machine *m, int reg, int type_num, int ndim, const npy_intp *shape, int fortran, int *stored);
PyArrayObject *buffer_obtain(Machine *m, Frame *f, int reg, int type_num, int ndim, const npy_intp *shape, int fortran);
void buffers_swap(Machine *m, int a, int b);
int slot_offered(const Frame *f, int reg);
int is_fortran_only(PyArrayObject *array);
int slot_decides(const Machine *m, const Frame *f, int reg, int ndim);
int buffer_is_plain(PyArrayObject *array);
int buffer_serves(PyArrayObject *array, Py_ssize_t references, int type_num, int ndim, const npy_intp *shape,
                  int fortran);
int buffer_is_ours(const Machine *m, const Frame *f, int reg);
int buffer_reuse(Machine *m, Frame *f, int from, int to);
int buffer_reuse_or_order(Machine *m, Frame *f, int from, int to, int *fortran);
int capture_wants_fortran(const Machine *m, const Frame *f, int reg);
void buffer_retire(Machine *m, const Frame *f, int reg, PyObject *value);
PyObject *buffer_recall(Machine *m, int reg, int type_num, int ndim);
void buffer_offer(Machine *m, Frame *f, int reg);
void buffers_clear(Machine *m);
PyObject *in_native_form(PyObject *value);
PyArrayObject *operand(Frame *f, int reg, int type_num, int ndim);
void frame_set(Frame *f, int reg, PyObject *value);

/* donation.c */
extern PyTypeObject DonatedBufferType;
int is_donated(PyArrayObject *array);
int lies_in_donated(PyObject *value);
PyObject *donated_result(PyObject *value);
int donate_inputs(const Machine *m, Frame *f);
int undonate(Frame *f, int reg);

/* loop_nest.c: loops over broadcast operands */
typedef struct {
    int ndim, nops;
    npy_intp *shape;   /* [ndim], outermost first */
    npy_intp *strides; /* [ndim][nops], bytes */
    char **data;       /* [nops] */
} LoopNest;
void loop_nest_simplify(LoopNest *nest);
int loop_nest_run(const Machine *m, const LoopNest *nest, elementwise_fn fn, double cost);
npy_intp loop_nest_size(const LoopNest *nest);
int shape_fits(const npy_intp *shape, int ndim);

/* blocks.c */
PyObject *shared_code(void);

/* Plans of instructions: each parses its payload (a tuple made by a kernel in Python, or by
 * runtime/_native_machine.py) and returns 0, or -1 with an exception. */
#define INSTRUCTION(name, shows, checked, nogil) int name##_prepare(Machine *m, Instruction *in, PyObject *payload);
#include "instructions.def"
#undef INSTRUCTION
const int *elementwise_kernel(const Instruction *in, elementwise_fn *fn, double *cost);
int shows_operands(int code);
int is_nogil(int code);
PyObject *instruction_names(void);

/* parse.c: tuples of Python integers as C arrays (PyMem), NULL with an exception on failure */
int *parse_ints(PyObject *sequence, int *count);
npy_intp *parse_intps(PyObject *sequence, int *count);
signed char *parse_flags(PyObject *rows, int ndim);
void machine_need_scratch(Machine *m, size_t bytes);
int machine_setup(Machine *m, PyObject *args, PyObject *kwargs);
void machine_free_parts(Machine *m);
int frame_make(Machine *m, Frame *f);
void frame_free(Machine *m, Frame *f);
void frame_release_all(Machine *m, Frame *f);

/* commit.c */
struct Commit {
    Commit *next;
    int target;           /* number of the update whose new value the array becomes */
    int output;           /* a register that holds the array, or is empty again */
    PyArrayObject *array; /* owned: what is written into */
    void (*run)(Commit *);
    void (*free)(Commit *); /* of all but `array` */
};
PyObject *owner_of(PyObject *value);
void commit_add(Frame *f, Commit *c, int target, int output, PyArrayObject *array);
PyArrayObject *commits_settle(Frame *f, int reg);
int commits_run(const Machine *m, Frame *f);
void commits_drop(Frame *f);

/* capture.c */
void captures_setup(Machine *m);
int captures_apply(Machine *m, const Frame *f);
void captures_drop(Machine *m);
void captures_free(Machine *m);
PyObject *machine_captured(PyObject *self, PyObject *unused);
int capture_refuses(const Machine *m, const Frame *f, int reg);
int capture_holds(const Machine *m, const Frame *f, int reg);

/* function_code.c */
int codes_run(Machine *m, Frame *f);
PyObject *codes_operands(const Machine *m, const Frame *f);
void codes_sampled(Machine *m, double seconds, PyObject *operands);
int codes_traverse(Machine *m, visitproc visit, void *arg);
void codes_free(Machine *m);
int codes_ask(const Machine *m);
PyObject *machine_on_busy(PyObject *self, PyObject *args);
PyObject *machine_add_code(PyObject *self, PyObject *args);
PyObject *machine_code_calls(PyObject *self, void *unused);

/* execute.c */
int machine_execute(Machine *m, Frame *f);
int machine_execute_in_batch(Machine *m, Frame *f);
int machine_step(Machine *m, Frame *f, int position);
void machine_explain(Machine *m, Frame *f, int position, int status);
PyObject *frame_values(const Frame *f, const Instruction *in);
PyObject *frame_results(const Frame *f, const Instruction *in);
int frame_call(Frame *f, const Instruction *in, PyObject *function);

/* results.c */
int results_setup(Instruction *in, PyObject *rows);
void results_free(Instruction *in);
int result_store(Frame *f, const Instruction *in, int k, PyObject *value, int replaced);
int frame_store(Frame *f, const Instruction *in, PyObject *results);

/* schedule.c */
int schedule_execute(Machine *m, Frame *f);
void schedule_free(Machine *m);
int machine_need_asked(Machine *m, int count);
PyObject *machine_set_schedule(PyObject *self, PyObject *args);

/* retained.c */
void retained_drop(Machine *m);
void retained_store(Machine *m, const Frame *f);
void retained_free(Machine *m);
void retain_instead_of_release(Frame *f, const Instruction *in, int reg);
int retained_traverse(Machine *m, visitproc visit, void *arg);
PyObject *machine_retain_registers(PyObject *self, PyObject *registers);
PyObject *machine_retained(PyObject *self, PyObject *unused);

/* profile.c */
double profile_clock(void);
int profile_step(Machine *m, Frame *f, int position);
void profile_call(Machine *m, double begin, double run_seconds);
void profile_free(Machine *m);
int profile_traverse(Machine *m, visitproc visit, void *arg);
PyObject *machine_start_profile(PyObject *self, PyObject *args);
PyObject *machine_read_profile(PyObject *self, PyObject *unused);

/* call.c */
PyObject *machine_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);
PyObject *machine_run(PyObject *self, PyObject *values);
PyObject *call_with(Machine *m, PyObject *const *values, int raw);
int input_fits(const InputCheck *check, PyObject *value);
int number_accept(Machine *m, Frame *f, const InputCheck *check, PyObject *value, void *data);
int input_accept(Machine *m, Frame *f, int index, PyObject *value);
int cells_read(Machine *m, Frame *f);
int updates_store(Machine *m, Frame *f);
Frame *frame_begin(Machine *m, Frame *extra);
void frame_end(Machine *m, Frame *f, Frame *extra);

/* batch.c */
enum { KEPT_VIEW = -2 }; /* the register holds a view that serves again in the next call of a batch */
int machine_is_nogil(const Machine *m);
PyObject *machine_run_batch(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyArrayObject *view_make(Machine *m, Frame *f, int reg, PyArrayObject *array, int ndim, const npy_intp *shape,
                         const npy_intp *strides, char *data);
void view_leave(PyArrayObject *view);
void batches_free(Machine *m);
void batch_results_clear(Machine *m);
extern _Thread_local PyThreadState *gil_let_go; /* of a thread that runs instructions without the GIL, else NULL */
/* Have the GIL until the instruction at hand has ended. Python objects may be looked at without it, and references to
 * those that no other thread can see may be counted; nothing may be made, freed or raised. */
static inline void gil_take(void) {
    PyThreadState *state = gil_let_go;
    if (state != NULL) {
        gil_let_go = NULL;
        PyEval_RestoreThread(state);
    }
}
/* Around work that needs no GIL; it may be gone already. */
static inline PyThreadState *gil_release(void) { return gil_let_go == NULL ? PyEval_SaveThread() : NULL; }
static inline void gil_restore(PyThreadState *state) {
    if (state != NULL)
        PyEval_RestoreThread(state);
}

/* locks.c */
int locks_setup(Machine *m, PyObject *given, int own);
int locks_acquire(Machine *m);
void locks_release(Machine *m);
void locks_free(Machine *m);
int locks_traverse(Machine *m, visitproc visit, void *arg);

/* alike.c */
PyObject *arrays_alike(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* code_files.c */
PyObject *code_files(PyObject *module, PyObject *folder);

/* namespaces.c */
PyObject *first_look(PyObject *module, PyObject *none);
PyObject *uncommon(PyObject *module, PyObject *args);

/* graph_rows.c */
PyObject *graph_rows(PyObject *module, PyObject *args);

/* graph_survey.c */
PyObject *meet_nodes(PyObject *module, PyObject *args);
PyObject *sketch_rows(PyObject *module, PyObject *args);

/* loop.c */
PyObject *machine_run_loop(PyObject *self, PyObject *args);

/* loop_code.c */
PyObject *machine_run_loop_code(PyObject *self, PyObject *args);

/* threads.c */
typedef void (*range_fn)(void *context, int64_t begin, int64_t end);
int threads_get(void);
void threads_set(int count);
int threads_started(void);
extern int fork_era; /* how many forks lie between the first process and this one */
int run_long(range_fn fn, void *context, int64_t count, int64_t grain, double work, double threshold);
int threads_init(void);
void threads_run(range_fn fn, void *context, int64_t begin, int64_t end, int64_t grain);

/* blas_threads.c */
/* Multiplications from which OpenBLAS would use its own threads, and from which ours are worth waking up. */
#define WORK_TO_CONTROL 2e5
#define WORK_TO_SHARE 1e6
void blas_find_threads(uintptr_t address);
void lapack_find_threads(uintptr_t address);
int lapack_alone(void);
void lapack_many(void);
int blas_share(range_fn fn, void *context, int64_t count, int64_t grain);
void blas_after_fork(void);

/* fourier_plans.c */
void fourier_after_fork(void);

/* Rough cycles of work from which the GIL is let go, and from which the thread pool is used. */
#define WORK_FOR_GIL 200000.0
/* Rough cycles after which a long kernel looks whether a signal has come. */
#define WORK_FOR_SIGNALS 5e8
extern double work_for_threads;

#endif
