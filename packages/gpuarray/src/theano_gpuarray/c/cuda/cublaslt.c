/* cuBLASLt: a product of matrices, and what follows it for each element: a row that is added, and an activation; or the
 * sums of a factor along the inner length, which is the gradient by such a row; or the gradient of an activation.
 *
 * Numbers are whether a and b are transposed, m, n, k, the leading dimensions of a, b and z, the epilogue, whether
 * factors of float32 may be rounded to TF32, the bits of two float64 that the product and z are multiplied with, and
 * what has to become of NaN by the larger one of it and 0: it is not documented, so the library is tried once. Places
 * are a, b, z, the row, the workspace, and the argument of what is differentiated.
 *
 * Matrices are C-ordered, and the library gets their transposes, as cuBLAS does: the row is then a column, which is
 * what it adds, and its first factor is b. Algorithms are chosen by the heuristic of the library, once for the same
 * numbers; it is promised that addresses are multiples of 16 bytes, which those of memory that somebody else owns may
 * not be: then it is asked once more.
 */
#include "others.h"
#include <string.h>

enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { MATMUL_TRANSA = 3, MATMUL_TRANSB = 4, MATMUL_EPILOGUE = 7, MATMUL_BIAS_POINTER = 8 };
enum { MATMUL_AUX_POINTER = 11, MATMUL_AUX_LEADING = 12 };
enum { PREFERENCE_WORKSPACE = 1, PREFERENCE_ALIGNMENT_A = 5, PREFERENCE_ALIGNMENT_D = 8 };
/* Epilogues that read or write a row: the one that adds it, and those of its gradient. */
enum { EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4, EPILOGUE_BGRADA = 256, EPILOGUE_BGRADB = 512 };
/* Epilogues that read another matrix as large as z, and the place where it is. */
enum { EPILOGUE_AUX = 128, AUX = 5 };
enum { WITH_ROW = EPILOGUE_BIAS | EPILOGUE_BGRADA | EPILOGUE_BGRADB };
enum { TRANSPOSE_A, TRANSPOSE_B, M, N, K, LEADING_A, LEADING_B, LEADING_Z, EPILOGUE, TF32, ALPHA, BETA, OF_NAN };
/* What is asked of NaN; and that it cannot be told. */
enum { NAN_ANY, NAN_KEPT, NAN_DROPPED, NAN_UNKNOWN };
#define WORKSPACE ((size_t)32 << 20)
#define MOST_ALIGNMENT 16

int lt_open(OtherLibraries *libraries, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND(name, symbol, parameters)                                                                                 \
    if ((*(void **)&libraries->lt.name = library_function(handle, symbol, path, failure)) == NULL)                     \
        return -1;
    CUBLASLT_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

static int start(CudaContext *c) {
    struct OtherHandles *own = c->others;
    if (!c->state->others->has_lt || own->lt_failed)
        return 0;
    if (own->lt == NULL && c->state->others->lt.Create(&own->lt) != 0) {
        own->lt = NULL;
        own->lt_failed = 1;
    }
    return own->lt != NULL;
}

static int types_of(const Call *call, int *type, int *compute, int *scale) {
    *scale = CUDA_R_32F;
    *compute = CUBLAS_COMPUTE_32F;
    if (strcmp(call->dtype, "float16") == 0)
        *type = CUDA_R_16F;
    else if (strcmp(call->dtype, "float32") == 0) {
        *type = CUDA_R_32F;
        *compute = call->numbers[TF32] ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    } else if (strcmp(call->dtype, "float64") == 0) {
        *type = *scale = CUDA_R_64F;
        *compute = CUBLAS_COMPUTE_64F;
    } else
        return 0;
    return 1;
}

static void let_go(const CublasLtFunctions *lt, LtPlan *plan) {
    if (plan->operation != NULL)
        lt->DestroyOperation(plan->operation);
    if (plan->a != NULL)
        lt->DestroyMatrix(plan->a);
    if (plan->b != NULL)
        lt->DestroyMatrix(plan->b);
    if (plan->z != NULL)
        lt->DestroyMatrix(plan->z);
    memset(plan, 0, sizeof *plan);
}

/* The first factor of the library is b, the second one a. */
static int describe(const CublasLtFunctions *lt, const Call *call, LtPlan *plan) {
    const int64_t *n = call->numbers;
    int type = 0, compute = 0, scale = 0;
    const int32_t ta = n[TRANSPOSE_A] != 0, tb = n[TRANSPOSE_B] != 0;
    const uint32_t epilogue = (uint32_t)n[EPILOGUE];
    /* What the heuristic looks at is how the address is aligned. */
    const void *const row = (void *)(uintptr_t)plan->alignment;
    types_of(call, &type, &compute, &scale);
    int status = lt->CreateOperation(&plan->operation, compute, scale);
    if (status == 0)
        status = lt->SetOperation(plan->operation, MATMUL_TRANSA, &tb, sizeof tb);
    if (status == 0)
        status = lt->SetOperation(plan->operation, MATMUL_TRANSB, &ta, sizeof ta);
    if (status == 0)
        status = lt->SetOperation(plan->operation, MATMUL_EPILOGUE, &epilogue, sizeof epilogue);
    if (status == 0 && epilogue & WITH_ROW)
        status = lt->SetOperation(plan->operation, MATMUL_BIAS_POINTER, &row, sizeof row);
    if (status == 0 && epilogue & EPILOGUE_AUX)
        status = lt->SetOperation(plan->operation, MATMUL_AUX_POINTER, &row, sizeof row);
    if (status == 0 && epilogue & EPILOGUE_AUX)
        status = lt->SetOperation(plan->operation, MATMUL_AUX_LEADING, &n[N], sizeof n[N]);
    const uint64_t m = (uint64_t)n[M], columns = (uint64_t)n[N], k = (uint64_t)n[K];
    if (status == 0)
        status = lt->CreateMatrix(&plan->b, type, tb ? k : columns, tb ? columns : k, n[LEADING_B]);
    if (status == 0)
        status = lt->CreateMatrix(&plan->a, type, ta ? m : k, ta ? k : m, n[LEADING_A]);
    return status == 0 ? lt->CreateMatrix(&plan->z, type, columns, m, n[LEADING_Z]) : status;
}

/* Whether the library has an algorithm; statuses only say that it does not do this. */
static int choose(CudaContext *c, size_t most, LtPlan *plan) {
    const CublasLtFunctions *lt = &c->state->others->lt;
    cublasLtDescriptor preference = NULL;
    cublasLtHeuristic found = {0};
    int count = 0, status = lt->CreatePreference(&preference);
    if (status == 0)
        status = lt->SetPreference(preference, PREFERENCE_WORKSPACE, &most, sizeof most);
    for (int which = PREFERENCE_ALIGNMENT_A; status == 0 && which <= PREFERENCE_ALIGNMENT_D; which++)
        status = lt->SetPreference(preference, which, &plan->alignment, sizeof plan->alignment);
    if (status == 0)
        status = lt->Choose(c->others->lt, plan->operation, plan->b, plan->a, plan->z, plan->z, preference, 1, &found,
                            &count);
    if (preference != NULL)
        lt->DestroyPreference(preference);
    plan->algorithm = found.algorithm;
    plan->workspace = found.workspace;
    return status == 0 && count > 0 && found.state == 0;
}

/* The plan for some numbers; NULL where the library has none. The one that was made first makes way. */
static LtPlan *plan_of(CudaContext *c, const Call *call, uint32_t alignment, size_t most) {
    struct OtherHandles *own = c->others;
    int unused;
    for (int i = 0; i < own->n_lt_plans; i++) {
        LtPlan *known = &own->lt_plans[i];
        if (strcmp(known->dtype, call->dtype) == 0 && known->alignment == alignment && known->workspace <= most &&
            memcmp(known->numbers, call->numbers, ALPHA * sizeof *call->numbers) == 0)
            return known;
    }
    if (!types_of(call, &unused, &unused, &unused) || !start(c))
        return NULL;
    LtPlan made = {.alignment = alignment};
    const CublasLtFunctions *lt = &c->state->others->lt;
    memcpy(made.dtype, call->dtype, sizeof made.dtype);
    memcpy(made.numbers, call->numbers, sizeof made.numbers);
    if (describe(lt, call, &made) != 0 || !choose(c, most, &made)) {
        let_go(lt, &made);
        return NULL;
    }
    LtPlan *plan = &own->lt_plans[own->next_lt_plan];
    if (own->n_lt_plans < MOST_LT_PLANS)
        own->n_lt_plans++;
    else
        let_go(lt, plan);
    own->next_lt_plan = (own->next_lt_plan + 1) % MOST_LT_PLANS;
    *plan = made;
    return plan;
}

/* Multiply, with alpha and beta as bits of float64. */
static int multiply(CudaContext *c, const LtPlan *plan, const Call *call, CUstream stream) {
    const CublasLtFunctions *lt = &c->state->others->lt;
    const Place *p = call->places;
    double factors[2];
    memcpy(factors, &call->numbers[ALPHA], sizeof factors);
    const float singles[2] = {(float)factors[0], (float)factors[1]};
    const int full = strcmp(call->dtype, "float64") == 0;
    const void *const alpha = full ? (const void *)&factors[0] : &singles[0];
    const void *const beta = full ? (const void *)&factors[1] : &singles[1];
    const void *const row = place_address(&p[3]);
    void *const z = place_address(&p[2]);
    const int has_aux = (call->numbers[EPILOGUE] & EPILOGUE_AUX) != 0;
    const void *const aux = has_aux ? place_address(&p[AUX]) : NULL;
    int status = 0;
    if (call->numbers[EPILOGUE] & WITH_ROW)
        status = lt->SetOperation(plan->operation, MATMUL_BIAS_POINTER, &row, sizeof row);
    if (status == 0 && has_aux)
        status = lt->SetOperation(plan->operation, MATMUL_AUX_POINTER, &aux, sizeof aux);
    if (status == 0)
        status = lt->Multiply(c->others->lt, plan->operation, alpha, place_address(&p[1]), plan->b,
                              place_address(&p[0]), plan->a, beta, z, plan->z, z, plan->z, &plan->algorithm,
                              plan->workspace == 0 ? NULL : place_address(&p[4]), plan->workspace, stream);
    return status;
}

/* What the larger one of NaN and 0 is, seen at a small product. */
static int try_nan(CudaContext *c, const Call *call) {
    enum { SIDE = 16, BYTES = SIDE * SIDE * 8 };
    Call small = {.count = call->count, .n_places = 5, .numbers = {0, 0, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE}};
    const double one = 1;
    unsigned char found[8] = {0}, any = 0;
    CUdeviceptr memory = 0;
    memcpy(small.dtype, call->dtype, sizeof small.dtype);
    small.numbers[EPILOGUE] = EPILOGUE_RELU;
    small.numbers[TF32] = call->numbers[TF32];
    memcpy(&small.numbers[ALPHA], &one, sizeof one);
    const LtPlan *plan = plan_of(c, &small, MOST_ALIGNMENT, WORKSPACE);
    if (plan == NULL || cu.MemAlloc(&memory, 3 * BYTES + plan->workspace) != CUDA_SUCCESS)
        return NAN_UNKNOWN;
    for (int k = 0; k < 5; k++)
        small.places[k].address = memory + (CUdeviceptr)(k < 3 ? k : k == 3 ? 0 : 3) * BYTES;
    /* Where all bits are set there is NaN in each precision. */
    int is_done = cu.MemsetD32Async(memory, 0xffffffffu, 3 * BYTES / 4, c->queue) == CUDA_SUCCESS &&
                  multiply(c, plan, &small, c->queue) == 0 &&
                  cu.MemcpyDtoHAsync(found, memory + 2 * BYTES, sizeof found, c->queue) == CUDA_SUCCESS;
    /* It is waited for in any case, since the memory goes. */
    is_done &= cu.StreamSynchronize(c->queue) == CUDA_SUCCESS;
    cu.MemFree(memory);
    for (size_t i = 0; i < sizeof found; i++)
        any |= found[i] & 0x7f; /* 0 may have a sign */
    return !is_done ? NAN_UNKNOWN : any ? NAN_KEPT : NAN_DROPPED;
}

static int nan_fits(CudaContext *c, const Call *call) {
    const int wanted = (int)call->numbers[OF_NAN];
    if (wanted == NAN_ANY || !(call->numbers[EPILOGUE] & EPILOGUE_RELU))
        return 1;
    const int full = strcmp(call->dtype, "float64") == 0, half = strcmp(call->dtype, "float16") == 0;
    int *known = &c->others->nan_kept[full ? 3 : half ? 2 : call->numbers[TF32] != 0];
    if (*known == NAN_ANY)
        *known = try_nan(c, call);
    return *known == wanted;
}

int lt_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    (void)failure;
    int unused;
    *bytes = 0;
    if (!types_of(call, &unused, &unused, &unused) || !nan_fits(c, call))
        return 0;
    const LtPlan *plan = plan_of(c, call, MOST_ALIGNMENT, WORKSPACE);
    *bytes = plan == NULL ? 0 : (int64_t)plan->workspace;
    return plan != NULL;
}

/* The largest power of two that divides the addresses of all arrays, up to what is promised otherwise. */
static uint32_t alignment_of(const Call *call) {
    uintptr_t bits = MOST_ALIGNMENT;
    for (int k = 0; k < call->n_places; k++)
        bits |= k == 4 ? 0 : (uintptr_t)place_address(&call->places[k]);
    return (uint32_t)(bits & (~bits + 1));
}

int lt_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    if (call->numbers[EPILOGUE] & EPILOGUE_AUX && call->n_places <= AUX)
        return failure_set(failure, "a product with the gradient of an activation needs its argument");
    const LtPlan *plan = plan_of(c, call, alignment_of(call), call->places[4].bytes);
    if (plan == NULL)
        return failure_set(failure, "cuBLASLt has no product for operands that it had one for before");
    const int status = multiply(c, plan, call, stream);
    return status == 0 ? 0 : failure_set(failure, "a product by cuBLASLt failed with status %d", status);
}

void lt_close(CudaContext *c) {
    struct OtherHandles *own = c->others;
    for (int i = 0; i < own->n_lt_plans; i++)
        let_go(&c->state->others->lt, &own->lt_plans[i]);
    own->n_lt_plans = 0;
    if (own->lt != NULL)
        c->state->others->lt.Destroy(own->lt);
    own->lt = NULL;
}
