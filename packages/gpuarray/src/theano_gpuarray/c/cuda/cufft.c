/* cuFFT: transforms of real numbers, and their inverses, without a factor.
 *
 * Numbers are how many transforms there are, and one to three lengths; places are the operand, the result and the
 * workspace. Arrays are contiguous, and the operand of an inverse is overwritten. Graphs refer to tables of a plan, so
 * plans live as long as the context; where there are too many, there is no plan for more.
 */
#include "others.h"
#include <string.h>

enum { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c };

int fft_open(OtherLibraries *libraries, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND(name, symbol, parameters)                                                                                 \
    if ((*(void **)&libraries->fft.name = library_function(handle, symbol, path, failure)) == NULL)                    \
        return -1;
    CUFFT_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

static int describe(const Call *call, FftPlan *plan) {
    const int full = strcmp(call->dtype, "float64") == 0, inverse = strcmp(call->name, "irfft") == 0;
    memset(plan, 0, sizeof *plan);
    plan->type = inverse ? full ? CUFFT_Z2D : CUFFT_C2R : full ? CUFFT_D2Z : CUFFT_R2C;
    plan->rank = call->count - 1;
    plan->batch = call->numbers[0];
    if ((!full && strcmp(call->dtype, "float32") != 0) || plan->rank > 3 || plan->batch < 1)
        return 0;
    memcpy(plan->lengths, call->numbers + 1, (size_t)plan->rank * sizeof *plan->lengths);
    return 1;
}

/* Layouts are passed, since the library would take others where the operand and the result are the same memory. */
static int make(const CufftFunctions *fft, FftPlan *plan) {
    long long n[3], half[3], whole_size = 1, half_size = 1;
    for (int d = 0; d < plan->rank; d++) {
        n[d] = half[d] = plan->lengths[d];
        if (d == plan->rank - 1)
            half[d] = n[d] / 2 + 1;
        whole_size *= n[d];
        half_size *= half[d];
    }
    const int inverse = plan->type == CUFFT_C2R || plan->type == CUFFT_Z2D;
    int status = fft->SetAutoAllocation(plan->handle, 0);
    if (status != 0)
        return status;
    return fft->MakePlan(plan->handle, plan->rank, n, inverse ? half : n, 1, inverse ? half_size : whole_size,
                         inverse ? n : half, 1, inverse ? whole_size : half_size, plan->type, plan->batch,
                         &plan->workspace);
}

static const FftPlan *plan_of(CudaContext *c, const Call *call) {
    struct OtherHandles *own = c->others;
    const CufftFunctions *fft = &c->state->others->fft;
    FftPlan wanted;
    if (!c->state->others->has_fft || !describe(call, &wanted))
        return NULL;
    for (int i = 0; i < own->n_fft_plans; i++) {
        const FftPlan *known = &own->fft_plans[i];
        if (known->type == wanted.type && known->rank == wanted.rank && known->batch == wanted.batch &&
            memcmp(known->lengths, wanted.lengths, sizeof wanted.lengths) == 0)
            return known;
    }
    if (own->n_fft_plans == MOST_FFT_PLANS || fft->Create(&wanted.handle) != 0)
        return NULL;
    if (make(fft, &wanted) != 0) {
        fft->Destroy(wanted.handle);
        return NULL;
    }
    own->fft_plans[own->n_fft_plans] = wanted;
    return &own->fft_plans[own->n_fft_plans++];
}

int fft_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    (void)failure;
    const FftPlan *plan = plan_of(c, call);
    *bytes = plan == NULL ? 0 : (int64_t)plan->workspace;
    return plan != NULL;
}

static int execute(const CufftFunctions *fft, const FftPlan *plan, void *from, void *to) {
    switch (plan->type) {
    case CUFFT_R2C: return fft->ExecR2C(plan->handle, from, to);
    case CUFFT_C2R: return fft->ExecC2R(plan->handle, from, to);
    case CUFFT_D2Z: return fft->ExecD2Z(plan->handle, from, to);
    default: return fft->ExecZ2D(plan->handle, from, to);
    }
}

int fft_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const FftPlan *plan = plan_of(c, call);
    const CufftFunctions *fft = &c->state->others->fft;
    if (plan == NULL)
        return failure_set(failure, "cuFFT has no transform for operands that it had one for before");
    int status = fft->SetStream(plan->handle, stream);
    if (status == 0 && plan->workspace > 0)
        status = fft->SetWorkArea(plan->handle, place_address(&call->places[2]));
    if (status == 0)
        status = execute(fft, plan, place_address(&call->places[0]), place_address(&call->places[1]));
    return status == 0 ? 0 : failure_set(failure, "a transform by cuFFT failed with status %d", status);
}

void fft_close(CudaContext *c) {
    struct OtherHandles *own = c->others;
    for (int i = 0; i < own->n_fft_plans; i++)
        c->state->others->fft.Destroy(own->fft_plans[i].handle);
    own->n_fft_plans = 0;
}
