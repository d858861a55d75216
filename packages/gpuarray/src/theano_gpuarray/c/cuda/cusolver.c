/* cuSOLVER: factors of matrices, solutions with them, eigenvalues and singular values.
 *
  * Matrices are contiguous, and the library sees them in the order of Fortran: C-ordered ones are transposed
 * there. So the lower factor of Cholesky is an upper one; a matrix of factors L and U is that of the transpose, with
 * which equations are solved transposed; and right-hand sides are rows. What is wrong with a matrix is written to an
 * int32, as LAPACK does.
 *
 *   potrf: n; the matrix, the workspace, info
 *   potrf_stack: n, how many; addresses of the matrices, info
 *   getrf: n; the matrix, the workspace, pivots, info
 *   getrs: n, right-hand sides; the factors, pivots, the sides, info
 *   geqrf: rows, columns; the matrix, factors of the reflections, the workspace, info
 *   orgqr: rows, columns, reflections; the matrix, factors of the reflections, the workspace, info
 *   syevd: n, the upper triangle (1) or the lower one (0); the matrix, eigenvalues, the workspace, info
 *   syevj: n, which triangle, how many; the same, of a stack
 *   gesvd: rows, columns (not more), no vectors (0), as many as columns (1) or all (2);
 *          the matrix, singular values, u, vt, the workspace, info
 *   gesvdj: rows, columns, whether there are vectors, how many; the matrices, values, u, v, the workspace, info
 */
#include "others.h"
#include <limits.h>
#include <string.h>

enum { CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_OP_T = 1 };
enum { EIG_MODE_NOVECTOR = 0, EIG_MODE_VECTOR = 1 };
/* Lengths up to which there are singular values of stacks. */
#define MOST_OF_STACK 32

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

/* Whether numbers are lengths that the library takes; others may be 0. */
static int are_lengths(const Call *call) {
    for (int k = 0; k < call->count; k++) {
        const int is_mode =
            (k == 1 && strncmp(call->name, "syev", 4) == 0) || (k == 2 && strncmp(call->name, "gesvd", 5) == 0);
        if (call->numbers[k] < !is_mode || call->numbers[k] > INT_MAX)
            return 0;
    }
    return 1;
}

static const CusolverRoutines *routines_of(CudaContext *c, const Call *call) {
    struct OtherHandles *own = c->others;
    CusolverFunctions *solver = &c->state->others->solver;
    const int full = strcmp(call->dtype, "float64") == 0;
    if (!c->state->others->has_solver || own->solver_failed || (!full && strcmp(call->dtype, "float32") != 0))
        return NULL;
    if (!are_lengths(call))
        return NULL;
    if (own->solver == NULL && solver->Create(&own->solver) != 0) {
        own->solver = NULL;
        own->solver_failed = 1;
        return NULL;
    }
    return full ? &solver->of_float64 : &solver->of_float32;
}

/* The settings of Jacobi's method, which are those of the library, made when they are used first. */
static int settings(cusolverJacobi *kept, int (*create)(cusolverJacobi *)) {
    int status = *kept == NULL ? create(kept) : 0;
    if (status != 0)
        *kept = NULL;
    return status;
}

static int is(const Call *call, const char *name) { return strcmp(call->name, name) == 0; }

/* Elements of the workspace. */
static int size_of(const CudaContext *c, const CusolverRoutines *r, const Call *call, int *size) {
    const cusolverHandle h = c->others->solver;
    const CusolverFunctions *solver = &c->state->others->solver;
    const int n = (int)call->numbers[0], second = (int)call->numbers[1], third = (int)call->numbers[2];
    *size = 0;
    if (is(call, "potrf"))
        return r->PotrfSize(h, CUBLAS_FILL_MODE_UPPER, n, NULL, n, size);
    if (is(call, "getrf"))
        return r->GetrfSize(h, n, n, NULL, n, size);
    if (is(call, "geqrf"))
        return r->GeqrfSize(h, n, second, NULL, n, size);
    if (is(call, "orgqr"))
        return r->OrgqrSize(h, n, second, third, NULL, n, NULL, size);
    if (is(call, "syevd"))
        return r->SyevdSize(h, EIG_MODE_VECTOR, second, n, NULL, n, NULL, size);
    if (is(call, "gesvd"))
        return n < second ? -1 : r->GesvdSize(h, n, second, size);
    if (is(call, "syevj")) {
        int status = settings(&c->others->syevj, solver->CreateSyevj);
        return status != 0 ? status
                           : r->SyevjSize(h, EIG_MODE_VECTOR, second, n, NULL, n, NULL, size, c->others->syevj, third);
    }
    if (is(call, "gesvdj")) {
        int status =
            n > MOST_OF_STACK || second > MOST_OF_STACK ? -1 : settings(&c->others->gesvdj, solver->CreateGesvdj);
        return status != 0 ? status
                           : r->GesvdjSize(h, third ? EIG_MODE_VECTOR : EIG_MODE_NOVECTOR, n, second, NULL, n, NULL,
                                           NULL, n, NULL, second, size, c->others->gesvdj, (int)call->numbers[3]);
    }
    return 0;
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

/* Factors and solutions. */
static int factor(const CudaContext *c, const CusolverRoutines *r, const Call *call, void *const *at, int size) {
    const cusolverHandle h = c->others->solver;
    const int n = (int)call->numbers[0], second = (int)call->numbers[1], third = (int)call->numbers[2];
    if (is(call, "potrf"))
        return r->Potrf(h, CUBLAS_FILL_MODE_UPPER, n, at[0], n, at[1], size, at[2]);
    if (is(call, "potrf_stack"))
        return r->PotrfStack(h, CUBLAS_FILL_MODE_UPPER, n, at[0], n, at[1], second);
    if (is(call, "getrf"))
        return r->Getrf(h, n, n, at[0], n, at[1], at[2], at[3]);
    if (is(call, "getrs"))
        return r->Getrs(h, CUBLAS_OP_T, n, second, at[0], n, at[1], at[2], n, at[3]);
    if (is(call, "geqrf"))
        return r->Geqrf(h, n, second, at[0], n, at[1], at[2], size, at[3]);
    return r->Orgqr(h, n, second, third, at[0], n, at[1], at[2], size, at[3]);
}

/* Eigenvalues and singular values. */
static int decompose(const CudaContext *c, const CusolverRoutines *r, const Call *call, void *const *at, int size) {
    const cusolverHandle h = c->others->solver;
    const int n = (int)call->numbers[0], second = (int)call->numbers[1], third = (int)call->numbers[2];
    if (is(call, "syevd"))
        return r->Syevd(h, EIG_MODE_VECTOR, second, n, at[0], n, at[1], at[2], size, at[3]);
    if (is(call, "syevj"))
        return r->Syevj(h, EIG_MODE_VECTOR, second, n, at[0], n, at[1], at[2], size, at[3], c->others->syevj, third);
    if (is(call, "gesvd")) {
        const signed char job = "NSA"[third > 2 ? 0 : third];
        return r->Gesvd(h, job, job, n, second, at[0], n, at[1], at[2], n, at[3], second, at[4], size, NULL, at[5]);
    }
    return r->Gesvdj(h, third ? EIG_MODE_VECTOR : EIG_MODE_NOVECTOR, n, second, at[0], n, at[1], at[2], n, at[3],
                     second, at[4], size, at[5], c->others->gesvdj, (int)call->numbers[3]);
}

static int compute(const CudaContext *c, const CusolverRoutines *r, const Call *call) {
    void *at[MOST_PLACES] = {NULL};
    int size = 0, status = size_of(c, r, call, &size);
    for (int k = 0; k < call->n_places; k++)
        at[k] = place_address(&call->places[k]);
    if (status != 0)
        return status;
    const int is_factor = strncmp(call->name, "syev", 4) != 0 && strncmp(call->name, "gesv", 4) != 0;
    return is_factor ? factor(c, r, call, at, size) : decompose(c, r, call, at, size);
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
    const CusolverFunctions *solver = &c->state->others->solver;
    struct OtherHandles *own = c->others;
    if (own->syevj != NULL)
        solver->DestroySyevj(own->syevj);
    if (own->gesvdj != NULL)
        solver->DestroyGesvdj(own->gesvdj);
    if (own->solver != NULL)
        solver->Destroy(own->solver);
    own->syevj = own->gesvdj = NULL;
    own->solver = NULL;
}
