/* What compiled kernels that reduce call: their loops run block by block. */
#include "blocks.h"

/* Elements of a block that is copied. */
#define BLOCK 512

/* What remains after whole vectors: the last `left` of `n` contiguous elements, as the end of one whole vector. Its
 * first elements lie before them, or are copies of the first one where there are none; they are left out of totals, and
 * what is kept of them is dropped. `data` has all pointers of the kernel's loop. */
static void run_remainder(const BlockReduction *reduction, int loop, int64_t n, char *const *data) {
    const int64_t lanes = reduction->lanes, left = n & (lanes - 1), skip = lanes - left;
    const int32_t all = reduction->count + reduction->reductions, count = reduction->count - reduction->reductions;
    const int32_t *kinds = reduction->kinds;
    int64_t bytes = 64;
    for (int32_t k = 0; k < count; k++)
        bytes += lanes * SIZE_OF(kinds[k]);
    char memory[bytes], *block[all], *copy = memory + (-(uintptr_t)memory & 63);
    memcpy(block, data, sizeof block);
    for (int32_t k = 0; k < count; copy += lanes * SIZE_OF(kinds[k]), k++) {
        const int64_t size = SIZE_OF(kinds[k]);
        if (IS_FIXED(kinds[k], loop))
            continue;
        block[k] = copy;
        if (IS_READ(kinds[k]) && n >= lanes) {
            block[k] = data[k] + (n - lanes) * size;
        } else if (IS_READ(kinds[k])) {
            block_pack(copy, data[k], 0, skip, size);
            memcpy(copy + skip * size, data[k], left * size);
        }
    }
    reduction->vector[loop](lanes, block, skip);
    for (int32_t k = 0; k < count; k++)
        if (IS_WRITTEN(kinds[k])) {
            const int64_t size = SIZE_OF(kinds[k]);
            memcpy(data[k] + (n - left) * size, block[k] + skip * size, left * size);
        }
}

/* Reduce block by block; `block` has the pointers to the accumulators and to what they have lost. */
static void run_blocks(const BlockReduction *reduction, int loop, int in_place, int64_t n, char *const *data,
                       const int64_t *strides, char **block) {
    const int32_t count = reduction->count - reduction->reductions, *kinds = reduction->kinds;
    const int64_t copied = n < BLOCK ? n : BLOCK, most = in_place ? reduction->block : BLOCK;
    int64_t bytes = 64;
    for (int32_t k = 0; k < count; k++)
        if (!IS_FIXED(kinds[k], loop) && strides[k] != SIZE_OF(kinds[k]))
            bytes += copied * SIZE_OF(kinds[k]);
    char memory[bytes];
    for (int64_t start = 0; start < n; start += most) {
        const int64_t left = n - start < most ? n - start : most;
        const int64_t whole = reduction->whole ? left & -reduction->lanes : left;
        char *copy = memory + (-(uintptr_t)memory & 63);
        for (int32_t k = 0; k < count; k++) {
            const int64_t stride = strides[k], size = SIZE_OF(kinds[k]);
            block[k] = data[k] + start * stride;
            if (IS_FIXED(kinds[k], loop) || stride == size)
                continue;
            /* One value for all elements is copied once: the block keeps it. */
            if (IS_READ(kinds[k]) && (start == 0 || stride != 0))
                block_pack(copy, block[k], stride, left, size);
            block[k] = copy;
            copy += copied * size;
        }
        if (whole > 0)
            reduction->vector[loop](whole, block, 0);
        if (whole < left)
            run_remainder(reduction, loop, left, block);
        for (int32_t k = 0; k < count && !in_place; k++)
            if (IS_WRITTEN(kinds[k]) && strides[k] != SIZE_OF(kinds[k]))
                block_unpack(data[k] + start * strides[k], block[k], strides[k], left, SIZE_OF(kinds[k]));
    }
}

/* Reduce `n` elements into the accumulators. The last loop whose fixed operands do not move is taken. */
void reduce_blocks(int64_t n, char *const *data, const int64_t *strides, const BlockReduction *reduction) {
    const int32_t reductions = reduction->reductions, count = reduction->count - reductions, *kinds = reduction->kinds;
    int loop = reduction->loops - 1, in_place = 1;
    for (int32_t k = 0; k < count; k++)
        if (IS_FIXED(kinds[k], loop) && strides[k] != 0)
            loop = 0;
    for (int32_t k = 0; k < count; k++)
        in_place &= IS_FIXED(kinds[k], loop) || strides[k] == SIZE_OF(kinds[k]);
    double lost[2 * reductions]; /* 16 bytes for each */
    char *block[count + 2 * reductions];
    for (int32_t k = 0; k < count + reductions; k++)
        block[k] = data[k];
    for (int32_t k = 0; k < reductions; k++) {
        lost[2 * k] = lost[2 * k + 1] = 0;
        block[count + reductions + k] = (char *)(lost + 2 * k);
    }
    if (in_place && n <= reduction->block && !reduction->whole)
        reduction->vector[loop](n, block, 0); /* short rows come by the thousand */
    else
        run_blocks(reduction, loop, in_place, n, data, strides, block);
}
