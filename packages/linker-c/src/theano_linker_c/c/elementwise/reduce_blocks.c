/* What compiled kernels that reduce call: their loops run block by block, and the totals of blocks are joined.
 *
 * Sums of floats keep what a running total loses (Kahan), so that the error hardly grows with the number of blocks. */
#include "blocks.h"

#define BLOCK 512

enum { JOIN_SUM, JOIN_ADD, JOIN_MUL, JOIN_AND, JOIN_OR, JOIN_XOR, JOIN_MAX, JOIN_MIN };
enum { BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT, DOUBLE };

/* Integers wrap: they are joined as unsigned numbers where that makes a difference. */
#define JOIN_INTEGERS(type, wrapping)                                                                                  \
    {                                                                                                                  \
        type a, b;                                                                                                     \
        memcpy(&a, total, sizeof a);                                                                                   \
        memcpy(&b, part, sizeof b);                                                                                    \
        switch (join) {                                                                                                \
        case JOIN_ADD: a = (type)((wrapping)a + (wrapping)b); break;                                                   \
        case JOIN_MUL: a = (type)((wrapping)a * (wrapping)b); break;                                                   \
        case JOIN_AND: a = a & b; break;                                                                               \
        case JOIN_OR: a = a | b; break;                                                                                \
        case JOIN_XOR: a = a ^ b; break;                                                                               \
        case JOIN_MAX: a = a > b ? a : b; break;                                                                       \
        case JOIN_MIN: a = a < b ? a : b; break;                                                                       \
        }                                                                                                              \
        memcpy(total, &a, sizeof a);                                                                                   \
        break;                                                                                                         \
    }

/* NaN comes through; of an infinite or NaN sum nothing was lost, and `inf - inf` would spoil it. */
#define JOIN_FLOATS(type)                                                                                              \
    {                                                                                                                  \
        type a, b, l;                                                                                                  \
        memcpy(&a, total, sizeof a);                                                                                   \
        memcpy(&b, part, sizeof b);                                                                                    \
        memcpy(&l, lost, sizeof l);                                                                                    \
        if (join == JOIN_SUM) {                                                                                        \
            const type given = b - l, sum = a + given;                                                                 \
            l = sum - sum == 0 ? (sum - a) - given : 0;                                                                \
            a = sum;                                                                                                   \
            memcpy(lost, &l, sizeof l);                                                                                \
        } else if (join == JOIN_MUL) {                                                                                 \
            a = a * b;                                                                                                 \
        } else if (join == JOIN_MAX) {                                                                                 \
            a = (a > b) | (a != a) ? a : b;                                                                            \
        } else {                                                                                                       \
            a = (a < b) | (a != a) ? a : b;                                                                            \
        }                                                                                                              \
        memcpy(total, &a, sizeof a);                                                                                   \
        break;                                                                                                         \
    }

static void join_totals(char *total, const char *part, char *lost, int32_t code) {
    const int32_t join = code >> 8;
    switch (code & 255) {
    case BOOL:
    case UINT8: JOIN_INTEGERS(uint8_t, uint32_t)
    case UINT16: JOIN_INTEGERS(uint16_t, uint32_t)
    case UINT32: JOIN_INTEGERS(uint32_t, uint32_t)
    case UINT64: JOIN_INTEGERS(uint64_t, uint64_t)
    case INT8: JOIN_INTEGERS(int8_t, uint32_t)
    case INT16: JOIN_INTEGERS(int16_t, uint32_t)
    case INT32: JOIN_INTEGERS(int32_t, uint32_t)
    case INT64: JOIN_INTEGERS(int64_t, uint64_t)
    case FLOAT: JOIN_FLOATS(float)
    case DOUBLE: JOIN_FLOATS(double)
    }
}

typedef struct {
    const BlockReduction *reduction;
    int loop;
    char *const *totals; /* operands of the kernel */
    char *parts, *lost;  /* [reduces][16] */
} Totals;

/* Run the kernel's loop on a block, and join its totals. */
static void run_block(const Totals *t, int64_t n, char **block, int64_t skip) {
    const BlockReduction *reduction = t->reduction;
    const int32_t first = reduction->count - reduction->reductions;
    for (int32_t k = 0; k < reduction->reductions; k++)
        block[first + k] = t->parts + 16 * k;
    reduction->vector[t->loop](n, block, skip);
    for (int32_t k = 0; k < reduction->reductions; k++)
        join_totals(t->totals[first + k], t->parts + 16 * k, t->lost + 16 * k, reduction->joins[k]);
}

/* What remains after whole vectors: the last `left` of `n` contiguous elements, as the end of one whole vector. Its
 * first elements lie before them, or are copies of the first one where there are none; they are left out of totals, and
 * what is kept of them is dropped. */
static void run_remainder(const Totals *t, int64_t n, char *const *data) {
    const BlockReduction *reduction = t->reduction;
    const int64_t lanes = reduction->lanes, left = n & (lanes - 1), skip = lanes - left;
    const int32_t count = reduction->count - reduction->reductions, *kinds = reduction->kinds;
    int64_t bytes = 64;
    for (int32_t k = 0; k < count; k++)
        bytes += lanes * SIZE_OF(kinds[k]);
    char memory[bytes], *block[reduction->count], *copy = memory + (-(uintptr_t)memory & 63);
    for (int32_t k = 0; k < count; copy += lanes * SIZE_OF(kinds[k]), k++) {
        const int64_t size = SIZE_OF(kinds[k]);
        block[k] = copy;
        if (IS_FIXED(kinds[k], t->loop)) {
            block[k] = data[k];
        } else if (IS_READ(kinds[k]) && n >= lanes) {
            block[k] = data[k] + (n - lanes) * size;
        } else if (IS_READ(kinds[k])) {
            block_pack(copy, data[k], 0, skip, size);
            memcpy(copy + skip * size, data[k], left * size);
        }
    }
    run_block(t, lanes, block, skip);
    for (int32_t k = 0; k < count; k++)
        if (IS_WRITTEN(kinds[k])) {
            const int64_t size = SIZE_OF(kinds[k]);
            memcpy(data[k] + (n - left) * size, block[k] + skip * size, left * size);
        }
}

/* Reduce `n` elements into the totals. The last loop whose fixed operands do not move is taken. */
void reduce_blocks(int64_t n, char *const *data, const int64_t *strides, const BlockReduction *reduction) {
    const int32_t count = reduction->count - reduction->reductions, *kinds = reduction->kinds;
    const int64_t most = n < BLOCK ? n : BLOCK;
    int64_t bytes = 64, in_place = 1;
    int loop = reduction->loops - 1;
    for (int32_t k = 0; k < count; k++)
        if (IS_FIXED(kinds[k], loop) && strides[k] != 0)
            loop = 0;
    for (int32_t k = 0; k < count; k++)
        if (!IS_FIXED(kinds[k], loop) && strides[k] != SIZE_OF(kinds[k])) {
            in_place = 0;
            bytes += most * SIZE_OF(kinds[k]);
        }
    double parts[2 * reduction->reductions], lost[2 * reduction->reductions];
    char memory[bytes], *block[reduction->count];
    const Totals t = {reduction, loop, data, (char *)parts, (char *)lost};
    memset(lost, 0, sizeof lost);
    for (int64_t start = 0; start < n; start += BLOCK) {
        const int64_t left = n - start < BLOCK ? n - start : BLOCK, whole = reduction->whole ? left & -reduction->lanes : left;
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
            copy += most * size;
        }
        if (whole > 0)
            run_block(&t, whole, block, 0);
        if (whole < left)
            run_remainder(&t, left, block);
        for (int32_t k = 0; k < count && !in_place; k++)
            if (IS_WRITTEN(kinds[k]) && strides[k] != SIZE_OF(kinds[k]))
                block_unpack(data[k] + start * strides[k], block[k], strides[k], left, SIZE_OF(kinds[k]));
    }
}
