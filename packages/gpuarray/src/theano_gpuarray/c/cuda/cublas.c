/* cuBLAS: products of matrices.
 *
 * The library knows matrices in the order of Fortran, in which z, C-ordered, is its own transpose: the transpose of z
 * is that of b times that of a. Sums have the precision of float32 or float64. Factors of float32 are rounded to the
 * short mantissas of TF32 only where a product asks for it, by the name "tf32" instead of "float32".
 */
#include "cuda.h"
#include <limits.h>
#include <string.h>

enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum { CUBLAS_GEMM_DEFAULT = -1 };
/* The usual mode, in which float32 is float32, with sums of float16 that are not rounded on the way. */
enum { CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 };
/* What the library asks for on recent devices. It gets memory of its own, since a graph keeps its address. */
#define WORKSPACE ((size_t)32 << 20)
/* Bytes between two factors behind it. */
#define FACTOR 64

int cublas_open(CudaState *state, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND(name, symbol, parameters)                                                                                 \
    if ((*(void **)&state->cublas.name = library_function(handle, symbol, path, failure)) == NULL)                     \
        return -1;
    CUBLAS_FUNCTIONS(FIND)
#undef FIND
    state->has_cublas = 1;
    return 0;
}

/* The library of a context is started with its first product; where that fails, kernels compute products. */
static int start(CudaContext *c) {
    const CublasFunctions *cublas = &c->state->cublas;
    if (c->blas != NULL || c->blas_failed)
        return c->blas != NULL;
    c->blas_failed = 1;
    if (cu.MemAlloc(&c->workspace, WORKSPACE + 2 * FACTOR) != CUDA_SUCCESS) {
        c->workspace = 0;
        return 0;
    }
    if (cublas->Create(&c->blas) != 0)
        c->blas = NULL;
    else if (cublas->SetMathMode(c->blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) == 0)
        return 1;
    cublas_close(c);
    return 0;
}

void cublas_close(CudaContext *c) {
    if (c->blas != NULL)
        c->state->cublas.Destroy(c->blas);
    if (c->workspace != 0)
        cu.MemFree(c->workspace);
    c->blas = NULL;
    c->workspace = 0;
}

typedef struct {
    int type, compute;
    size_t size;
} Precision;

static int precision_of(const char *dtype, Precision *precision) {
    if (strcmp(dtype, "float32") == 0)
        *precision = (Precision){CUDA_R_32F, CUBLAS_COMPUTE_32F, 4};
    else if (strcmp(dtype, "tf32") == 0)
        *precision = (Precision){CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4};
    else if (strcmp(dtype, "float64") == 0)
        *precision = (Precision){CUDA_R_64F, CUBLAS_COMPUTE_64F, 8};
    else if (strcmp(dtype, "float16") == 0)
        *precision = (Precision){CUDA_R_16F, CUBLAS_COMPUTE_32F, 2};
    else
        return 0;
    return 1;
}

/* Sizes are ints there; factors of float16 would have to be float32 on the device. */
static int check_operands(const Product *p, Failure *failure) {
    const int64_t sizes[] = {p->m, p->n, p->k, p->batch, p->a.leading, p->b.leading, p->z.leading};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] > INT_MAX)
            return failure_set(failure, "cuBLAS multiplies no matrices with a length of %lld", (long long)sizes[i]);
    if (strcmp(p->dtype, "float16") == 0 && (p->alpha.address != 0 || p->beta.address != 0))
        return failure_set(failure, "cuBLAS takes no factors of float16 from the device");
    return 0;
}

static void *place(Address address, int64_t offset, size_t size) {
    return (void *)(uintptr_t)(address + (Address)(offset * (int64_t)size));
}

/* A factor on the host, in the precision of sums. */
typedef struct {
    union {
        float single;
        double full;
        unsigned words[2];
    };
    int count; /* of words */
} HostFactor;

static HostFactor host_factor(const Factor *f, const Precision *precision) {
    HostFactor value = {0};
    value.count = precision->compute == CUBLAS_COMPUTE_64F ? 2 : 1;
    if (value.count == 2)
        value.full = f->value;
    else
        value.single = (float)f->value;
    return value;
}

/* Where a factor is on the device; one of the host is written there by the queue, so that a graph has its value. */
static int device_factor(const CudaContext *c, const Factor *f, const Precision *precision, int which, CUstream stream,
                         const void **found, Failure *failure) {
    CUdeviceptr room = c->workspace + WORKSPACE + (CUdeviceptr)which * FACTOR;
    *found = f->address != 0 ? place(f->address, f->offset, precision->size) : (void *)(uintptr_t)room;
    if (f->address != 0)
        return 0;
    const HostFactor value = host_factor(f, precision);
    for (int k = 0; k < value.count; k++)
        if (cuda_check(cu.MemsetD32Async(room + 4 * (CUdeviceptr)k, value.words[k], 1, stream), "cuMemsetD32Async",
                       failure) < 0)
            return -1;
    return 0;
}

/* Tell the library where it works, and where its factors are. The workspace comes after the stream, which takes it
 * away. */
static int set_up(const CudaContext *c, int mode, CUstream stream) {
    const CublasFunctions *cublas = &c->state->cublas;
    int status = cublas->SetStream(c->blas, stream);
    if (status == 0)
        status = cublas->SetWorkspace(c->blas, (void *)(uintptr_t)c->workspace, WORKSPACE);
    return status == 0 ? cublas->SetPointerMode(c->blas, mode) : status;
}

int cublas_start(CudaContext *c) { return c->state->has_cublas && start(c); }

int cublas_enter(const CudaContext *c, CUstream stream) { return set_up(c, CUBLAS_POINTER_MODE_HOST, stream); }

/* One matrix, or a stack of them: what chooses among the kernels of the library has more of them for one. */
static int multiply(const CudaContext *c, const Product *p, const Precision *precision, const void *alpha,
                    const void *beta) {
    const CublasFunctions *cublas = &c->state->cublas;
    const int ta = p->transpose_a != 0, tb = p->transpose_b != 0, m = (int)p->m, n = (int)p->n, k = (int)p->k;
    const int lda = (int)p->a.leading, ldb = (int)p->b.leading, ldz = (int)p->z.leading;
    const int type = precision->type, compute = precision->compute;
    const void *a = place(p->a.address, p->a.offset, precision->size);
    const void *b = place(p->b.address, p->b.offset, precision->size);
    void *z = place(p->z.address, p->z.offset, precision->size);
    if (p->batch == 1)
        return cublas->Gemm(c->blas, tb, ta, n, m, k, alpha, b, type, ldb, a, type, lda, beta, z, type, ldz, compute,
                            CUBLAS_GEMM_DEFAULT);
    return cublas->GemmOfStack(c->blas, tb, ta, n, m, k, alpha, b, type, ldb, p->b.stride, a, type, lda, p->a.stride,
                               beta, z, type, ldz, p->z.stride, (int)p->batch, compute, CUBLAS_GEMM_DEFAULT);
}

int cublas_product(CudaContext *c, const Product *p, CUstream stream, Failure *failure) {
    Precision precision;
    if (!precision_of(p->dtype, &precision) || !cublas_start(c))
        return 0;
    if (check_operands(p, failure) < 0)
        return -1;
    if (p->m < 1 || p->n < 1 || p->batch < 1)
        return 1;
    const HostFactor one = host_factor(&p->alpha, &precision), other = host_factor(&p->beta, &precision);
    const void *alpha = one.words, *beta = other.words;
    int on_device = p->alpha.address != 0 || p->beta.address != 0;
    if (on_device && (device_factor(c, &p->alpha, &precision, 0, stream, &alpha, failure) < 0 ||
                      device_factor(c, &p->beta, &precision, 1, stream, &beta, failure) < 0))
        return -1;
    int status = set_up(c, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST, stream);
    if (status == 0)
        status = multiply(c, p, &precision, alpha, beta);
    return status == 0 ? 1 : failure_set(failure, "a product by cuBLAS failed with status %d", status);
}
