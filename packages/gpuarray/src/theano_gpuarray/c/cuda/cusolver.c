/* cuSOLVER: factors of matrices, and solutions with them.
 *
 * Matrices are C-ordered and contiguous, and the library sees their transposes. So the lower factor of Cholesky is an
 * upper one there; a matrix of factors L and U is that of the transpose, with which equations are solved transposed;
 * and right-hand sides are rows. What is wrong with a matrix is written to an int32, as LAPACK does.
 *
 *   potrf: n; the matrix, the workspace, info
 *   getrf: n; the matrix, the workspace, pivots, info
 *   getrs: n, right-hand sides; the factors, pivots, the sides, info
 */
#include "others.h"
#include <limits.h>
#include <string.h>

enum { CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_OP_T = 1 };

int solver_open(OtherLibraries *libraries, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    CusolverFunctions *solver = &libraries->solver;
    if (handle == NULL)
        return -1;
#define FIND_IN(table, name, symbol)                                                                                   \
    if ((*(void **)&(table).name = library_function(handle, symbol, path, failure)) == NULL)                           \
        return -1;
#define FIND(name, symbol, parameters) FIND_IN(*solver, name, symbol)
    CUSOLVER_FUNCTIONS(FIND)
#undef FIND
#define FIND(name, symbol, parameters) FIND_IN(solver->of_float32, name, symbol)
    CUSOLVER_ROUTINES(FIND, "S")
#undef FIND
#define FIND(name, symbol, parameters) FIND_IN(solver->of_float64, name, symbol)
    CUSOLVER_ROUTINES(FIND, "D")
#undef FIND
#undef FIND_IN
    return 0;
}

static const CusolverRoutines *routines_of(CudaContext *c, const Call *call) {
    struct OtherHandles *own = c->others;
    CusolverFunctions *solver = &c->state->others->solver;
    const int full = strcmp(call->dtype, "float64") == 0;
    if (!c->state->others->has_solver || own->solver_failed || (!full && strcmp(call->dtype, "float32") != 0))
        return NULL;
    for (int k = 0; k < call->count; k++)
        if (call->numbers[k] < 1 || call->numbers[k] > INT_MAX)
            return NULL;
    if (own->solver == NULL && solver->Create(&own->solver) != 0) {
        own->solver = NULL;
        own->solver_failed = 1;
        return NULL;
    }
    return full ? &solver->of_float64 : &solver->of_float32;
}

/* Elements of the workspace. */
static int size_of(const CudaContext *c, const CusolverRoutines *r, const Call *call, int *size) {
    const int n = (int)call->numbers[0];
    *size = 0;
    if (strcmp(call->name, "potrf") == 0)
        return r->PotrfSize(c->others->solver, CUBLAS_FILL_MODE_UPPER, n, NULL, n, size);
    return strcmp(call->name, "getrf") == 0 ? r->GetrfSize(c->others->solver, n, n, NULL, n, size) : 0;
}

int solver_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    (void)failure;
    const CusolverRoutines *r = routines_of(c, call);
    int size = 0;
    if (r == NULL || size_of(c, r, call, &size) != 0)
        return 0;
    *bytes = (int64_t)size * (r == &c->state->others->solver.of_float64 ? 8 : 4);
    return 1;
}

static int compute(const CudaContext *c, const CusolverRoutines *r, const Call *call) {
    const cusolverHandle handle = c->others->solver;
    const int n = (int)call->numbers[0];
    void *at[MOST_PLACES];
    for (int k = 0; k < call->n_places; k++)
        at[k] = place_address(&call->places[k]);
    if (strcmp(call->name, "potrf") == 0) {
        int size, status = size_of(c, r, call, &size);
        return status != 0 ? status : r->Potrf(handle, CUBLAS_FILL_MODE_UPPER, n, at[0], n, at[1], size, at[2]);
    }
    if (strcmp(call->name, "getrf") == 0)
        return r->Getrf(handle, n, n, at[0], n, at[1], at[2], at[3]);
    return r->Getrs(handle, CUBLAS_OP_T, n, (int)call->numbers[1], at[0], n, at[1], at[2], n, at[3]);
}

int solver_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const CusolverRoutines *r = routines_of(c, call);
    if (r == NULL)
        return failure_set(failure, "cuSOLVER has no %s for operands that it had one for before", call->name);
    int status = c->state->others->solver.SetStream(c->others->solver, stream);
    if (status == 0)
        status = compute(c, r, call);
    return status == 0 ? 0 : failure_set(failure, "%s of cuSOLVER failed with status %d", call->name, status);
}

void solver_close(CudaContext *c) {
    if (c->others->solver != NULL)
        c->state->others->solver.Destroy(c->others->solver);
    c->others->solver = NULL;
}
