/* What compiled kernels call: copies between strided memory and blocks, and loops run block by block.
 *
 * Vectorised loops take whole vectors only, so that the compiler need not make further loops for what remains. Where
 * operands lie as such a loop wants them it runs there. Otherwise they are copied into blocks, the last element
 * repeated until the last vector is full. */
#include "blocks.h"

/* Elements of a block: a multiple of the lanes of any vector. */
#define BLOCK 256

typedef struct {
    int32_t count, loops;
    int64_t lanes;
    const int32_t *kinds;
    void (*vector[2])(int64_t n, char *const *data);
} BlockLoopNest;

#define COPY(size, target, source)                                                                                     \
    case size:                                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                                \
            memcpy(target, source, size);                                                                              \
        break;
#define COPIES(target, source)                                                                                         \
    switch (size) {                                                                                                    \
        COPY(1, target, source)                                                                                        \
        COPY(2, target, source)                                                                                        \
        COPY(4, target, source)                                                                                        \
        COPY(8, target, source)                                                                                        \
        COPY(16, target, source)                                                                                       \
    }

/* Pack elements that lie `stride` bytes apart into contiguous memory. */
void block_pack(char *to, const char *from, int64_t stride, int64_t n, int64_t size) {
    if (stride == size)
        memcpy(to, from, n * size);
    else
        COPIES(to + i * size, from + i * stride)
}

/* Unpack contiguous elements to where they lie `stride` bytes apart. */
void block_unpack(char *to, const char *from, int64_t stride, int64_t n, int64_t size) {
    if (stride == size)
        memcpy(to, from, n * size);
    else
        COPIES(to + i * stride, from + i * size)
}

static void run_blocks(int64_t n, char *const *data, const int64_t *strides, const BlockLoopNest *nest, int loop) {
    const int32_t count = nest->count, *kinds = nest->kinds;
    const int64_t lanes = nest->lanes, most = n < BLOCK ? (n + lanes - 1) & -lanes : BLOCK;
    int64_t bytes = 64;
    for (int32_t k = 0; k < count; k++)
        bytes += most * SIZE_OF(kinds[k]);
    char memory[bytes], *block[count];
    for (int64_t start = 0; start < n; start += BLOCK) {
        const int64_t left = n - start < BLOCK ? n - start : BLOCK, whole = (left + lanes - 1) & -lanes;
        char *copy = memory + (-(uintptr_t)memory & 63);
        for (int32_t k = 0; k < count; copy += most * SIZE_OF(kinds[k]), k++) {
            const int64_t stride = strides[k], size = SIZE_OF(kinds[k]);
            block[k] = data[k] + start * stride;
            if (IS_FIXED(kinds[k], loop) || (stride == size && whole == left))
                continue;
            /* One value for all elements is copied once: the block keeps it. */
            if (IS_READ(kinds[k]) && (start == 0 || stride != 0)) {
                block_pack(copy, block[k], stride, left, size);
                block_pack(copy + left * size, block[k] + (left - 1) * stride, 0, whole - left, size);
            }
            block[k] = copy;
        }
        nest->vector[loop](whole, block);
        for (int32_t k = 0; k < count; k++)
            if (IS_WRITTEN(kinds[k]) && block[k] != data[k] + start * strides[k])
                block_unpack(data[k] + start * strides[k], block[k], strides[k], left, SIZE_OF(kinds[k]));
    }
}

/* What remains after whole vectors of contiguous operands: the last whole vector, whose first elements were done
 * before. They may have been overwritten since; what is computed of them is dropped. Nothing is put together from small
 * pieces, for which a wide load would have to wait. */
static void run_remainder(int64_t n, char *const *data, const BlockLoopNest *nest, int loop) {
    const int32_t count = nest->count, *kinds = nest->kinds;
    const int64_t lanes = nest->lanes, left = n & (lanes - 1), start = n - lanes;
    int64_t bytes = 64;
    for (int32_t k = 0; k < count; k++)
        if (IS_WRITTEN(kinds[k]))
            bytes += lanes * SIZE_OF(kinds[k]);
    char memory[bytes], *block[count], *copy = memory + (-(uintptr_t)memory & 63);
    for (int32_t k = 0; k < count; k++) {
        const int64_t size = SIZE_OF(kinds[k]);
        block[k] = IS_FIXED(kinds[k], loop) ? data[k] : data[k] + start * size;
        if (!IS_WRITTEN(kinds[k]))
            continue;
        if (IS_READ(kinds[k]))
            memcpy(copy, block[k], lanes * size);
        block[k] = copy;
        copy += lanes * size;
    }
    nest->vector[loop](lanes, block);
    for (int32_t k = 0; k < count; k++)
        if (IS_WRITTEN(kinds[k])) {
            const int64_t size = SIZE_OF(kinds[k]);
            memcpy(data[k] + (n - left) * size, block[k] + (lanes - left) * size, left * size);
        }
}

/* Run the first of the kernel's loops that fits the strides, on copies where none does. */
static void run_loop_nest(int64_t n, char *const *data, const int64_t *strides, const BlockLoopNest *nest) {
    for (int32_t loop = 0; loop < nest->loops; loop++) {
        int mismatch = 0;
        for (int32_t k = 0; k < nest->count; k++)
            mismatch |= strides[k] != (IS_FIXED(nest->kinds[k], loop) ? 0 : SIZE_OF(nest->kinds[k]));
        if (mismatch)
            continue;
        const int64_t whole = n & -nest->lanes;
        if (whole == 0) {
            run_blocks(n, data, strides, nest, loop);
        } else {
            nest->vector[loop](whole, data);
            if (whole < n)
                run_remainder(n, data, nest, loop);
        }
        return;
    }
    run_blocks(n, data, strides, nest, 0);
}

#define ADDRESS(function) (unsigned long long)(uintptr_t)(function)

/* A dictionary of the addresses by the names that kernels use. */
PyObject *shared_code(void) {
    return Py_BuildValue("{s:K,s:K,s:K}", "theano_pack", ADDRESS(block_pack), "theano_run", ADDRESS(run_loop_nest),
                         "theano_reduce", ADDRESS(reduce_blocks));
}
