/* cuBLAS: products of matrices.
 *
 * The library knows matrices in the order of Fortran, in which z, C-ordered, is its own transpose: the transpose of z is
 * that of b times that of a. Sums have the precision of float32 or float64; the short mantissas of TF32 are never used.
 */
#include "cuda.h"
#include <limits.h>
#include <string.h>

enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70 };
enum { CUBLAS_GEMM_DEFAULT = -1 };
/* The usual mode, in which float32 is float32, with sums of float16 that are not rounded on the way. */
enum { CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 };
/* What the library asks for on recent devices. It gets memory of its own, since a graph keeps its address. */
#define WORKSPACE ((size_t)32 << 20)

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
    if (cu.MemAlloc(&c->workspace, WORKSPACE) != CUDA_SUCCESS) {
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
    else if (strcmp(dtype, "float64") == 0)
        *precision = (Precision){CUDA_R_64F, CUBLAS_COMPUTE_64F, 8};
    else if (strcmp(dtype, "float16") == 0)
        *precision = (Precision){CUDA_R_16F, CUBLAS_COMPUTE_32F, 2};
    else
        return 0;
    return 1;
}

/* Sizes are ints there, and both factors are on one side; those of float16 would have to be float32 on the device. */
static int is_possible(const Product *p) {
    const int64_t sizes[] = {p->m, p->n, p->k, p->batch, p->a.leading, p->b.leading, p->z.leading};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] < 1 || sizes[i] > INT_MAX)
            return 0;
    int on_device = p->alpha.address != 0;
    return on_device == (p->beta.address != 0) && !(on_device && strcmp(p->dtype, "float16") == 0);
}

static void *place(Address address, int64_t offset, size_t size) {
    return (void *)(uintptr_t)(address + (Address)(offset * (int64_t)size));
}

/* A factor: where it is, or its value in the precision of sums. */
typedef struct {
    float single_value;
    double double_value;
} FactorValue;

static const void *factor(const Factor *f, const Precision *precision, FactorValue *value) {
    if (f->address != 0)
        return place(f->address, f->offset, precision->size);
    value->single_value = (float)f->value;
    value->double_value = f->value;
    return precision->compute == CUBLAS_COMPUTE_64F ? (const void *)&value->double_value : &value->single_value;
}

int cublas_product(CudaContext *c, const Product *p, CUstream stream, Failure *failure) {
    const CublasFunctions *cublas = &c->state->cublas;
    Precision precision;
    if (!c->state->has_cublas || !precision_of(p->dtype, &precision) || !is_possible(p) || !start(c))
        return 0;
    const int mode = p->alpha.address != 0 ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
    FactorValue alpha, beta;
    /* The workspace comes after the stream, which takes it away. */
    int status = cublas->SetStream(c->blas, stream);
    if (status == 0)
        status = cublas->SetWorkspace(c->blas, (void *)(uintptr_t)c->workspace, WORKSPACE);
    if (status == 0)
        status = cublas->SetPointerMode(c->blas, mode);
    if (status == 0)
        status = cublas->Gemm(c->blas, p->transpose_b != 0, p->transpose_a != 0, (int)p->n, (int)p->m, (int)p->k,
                              factor(&p->alpha, &precision, &alpha), place(p->b.address, p->b.offset, precision.size),
                              precision.type, (int)p->b.leading, p->b.stride,
                              place(p->a.address, p->a.offset, precision.size), precision.type, (int)p->a.leading,
                              p->a.stride, factor(&p->beta, &precision, &beta),
                              place(p->z.address, p->z.offset, precision.size), precision.type, (int)p->z.leading,
                              p->z.stride, (int)p->batch, precision.compute, CUBLAS_GEMM_DEFAULT);
    return status == 0 ? 1 : failure_set(failure, "a product by cuBLAS failed with status %d", status);
}
