/* What the code that all kernels share knows of them. Same numbers as in kernels/_source.py. */
#ifndef THEANO_LINKER_C_BLOCKS_H
#define THEANO_LINKER_C_BLOCKS_H

#include "runtime.h"

/* How a kernel describes an operand: the bytes of an element, whether it is read and written, and, in a bit for each
 * of its loops, whether it is the same for all elements there. */
#define SIZE_OF(kind) ((kind) & 31)
#define IS_READ(kind) ((kind) & 32)
#define IS_WRITTEN(kind) ((kind) & 64)
#define IS_FIXED(kind, loop) ((kind) & 128 << (loop))

/* A kernel that reduces: operands are its inputs, what it keeps, and a total for each reduction. */
typedef struct {
    int32_t count, loops, reductions;
    int32_t whole; /* loops take whole vectors only, and leave out the first `skip` elements; otherwise any number */
    int64_t lanes, block; /* block: elements that are reduced together where they lie */
    const int32_t *kinds; /* [count] */
    /* Reduce a block and join its totals with the accumulators. After the operands, `data` has a number for each
     * reduction that is 0 in the beginning: what its accumulator has lost. */
    void (*vector[2])(int64_t n, char *const *data, int64_t skip);
} BlockReduction;

void block_pack(char *to, const char *from, int64_t stride, int64_t n, int64_t size);
void block_unpack(char *to, const char *from, int64_t stride, int64_t n, int64_t size);
void reduce_blocks(int64_t n, char *const *data, const int64_t *strides, const BlockReduction *reduction);

#endif
