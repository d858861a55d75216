/* cuBLAS: equations with triangular matrices, and factors of stacks of small matrices.
 *
 * Matrices are as the library sees them, in the order of Fortran. The matrices of a stack may lie anywhere: a place has
 * their addresses, which a kernel has written there.
 *
 *   trsm: whether the matrix stands left of the unknowns, whether it is lower, whether it is transposed, n, how many
 *         unknowns each equation has, both leading dimensions; the matrix, the right-hand sides
 *   trsm_stack: the same and how many; addresses of the matrices, addresses of the right-hand sides
 *   getrf_stack: n, how many; addresses, pivots, info
 *   getrs_stack: n, right-hand sides, how many; addresses of the factors, pivots, addresses of the sides
 */
#include "others.h"
#include <limits.h>
#include <string.h>

enum { SIDE_LEFT = 0, SIDE_RIGHT = 1 };
enum { FILL_LOWER = 0, FILL_UPPER = 1 };
enum { OP_N = 0, OP_T = 1, DIAGONAL_IS_READ = 0 };
enum { LEFT, LOWER, TRANSPOSED, N, COLUMNS, LEADING_A, LEADING_X, STACK };

int blas_open(OtherLibraries *libraries, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND_IN(table, name, symbol)                                                                                   \
    if ((*(void **)&(table).name = library_function(handle, symbol, path, failure)) == NULL)                           \
        return -1;
#define FIND(name, symbol, parameters) FIND_IN(libraries->blas.of_float32, name, symbol)
    CUBLAS_ROUTINES(FIND, "S")
#undef FIND
#define FIND(name, symbol, parameters) FIND_IN(libraries->blas.of_float64, name, symbol)
    CUBLAS_ROUTINES(FIND, "D")
#undef FIND
#undef FIND_IN
    return 0;
}

static const CublasRoutines *routines_of(CudaContext *c, const Call *call) {
    const int full = strcmp(call->dtype, "float64") == 0;
    if (!c->state->others->has_blas || (!full && strcmp(call->dtype, "float32") != 0))
        return NULL;
    for (int k = 0; k < call->count; k++)
        if (call->numbers[k] < 0 || call->numbers[k] > INT_MAX)
            return NULL;
    if (!cublas_start(c))
        return NULL;
    return full ? &c->state->others->blas.of_float64 : &c->state->others->blas.of_float32;
}

int blas_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    (void)failure;
    *bytes = 0;
    return routines_of(c, call) != NULL;
}

static int substitute(const CudaContext *c, const CublasRoutines *r, const Call *call, int stack) {
    const float single = 1;
    const double full = 1;
    const void *one = strcmp(call->dtype, "float64") == 0 ? (const void *)&full : &single;
    const int64_t *number = call->numbers;
    const int left = number[LEFT] != 0, n = (int)number[N], columns = (int)number[COLUMNS];
    const int side = left ? SIDE_LEFT : SIDE_RIGHT, fill = number[LOWER] ? FILL_LOWER : FILL_UPPER;
    const int op = number[TRANSPOSED] ? OP_T : OP_N, rows = left ? n : columns, width = left ? columns : n;
    void *a = place_address(&call->places[0]), *x = place_address(&call->places[1]);
    const int lda = (int)number[LEADING_A], ldx = (int)number[LEADING_X];
    if (stack)
        return r->TrsmStack(c->blas, side, fill, op, DIAGONAL_IS_READ, rows, width, one, a, lda, x, ldx,
                            (int)number[STACK]);
    return r->Trsm(c->blas, side, fill, op, DIAGONAL_IS_READ, rows, width, one, a, lda, x, ldx);
}

static int compute(const CudaContext *c, const CublasRoutines *r, const Call *call) {
    void *at[3] = {NULL, NULL, NULL};
    const int n = (int)call->numbers[0];
    if (strcmp(call->name, "trsm") == 0 || strcmp(call->name, "trsm_stack") == 0)
        return substitute(c, r, call, call->name[4] != 0);
    for (int k = 0; k < 3; k++)
        at[k] = place_address(&call->places[k]);
    if (strcmp(call->name, "getrf_stack") == 0)
        return r->GetrfStack(c->blas, n, at[0], n, at[1], at[2], (int)call->numbers[1]);
    int wrong = 0; /* which argument is, on the host */
    int status = r->GetrsStack(c->blas, OP_T, n, (int)call->numbers[1], at[0], n, at[1], at[2], n, &wrong,
                               (int)call->numbers[2]);
    return status == 0 && wrong != 0 ? INT_MAX : status;
}

int blas_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const CublasRoutines *r = routines_of(c, call);
    if (r == NULL)
        return failure_set(failure, "cuBLAS has no %s for operands that it had one for before", call->name);
    int status = cublas_enter(c, stream);
    if (status == 0)
        status = compute(c, r, call);
    return status == 0 ? 0 : failure_set(failure, "%s of cuBLAS failed with status %d", call->name, status);
}
