/* What the files of the stand-in for cuDNN share. */
#ifndef FAKE_CUDNN_H
#define FAKE_CUDNN_H

#include "fake.h"

enum { AXES = 3, LENGTHS = 5 };
enum { FLOAT = 0, DOUBLE = 1, HALF = 2 };
enum { NOT_SUPPORTED = 3000, BAD_PARAMETER = 2000 };

typedef struct {
    Stream *stream;
} Handle;

typedef struct {
    int type, count, lengths[LENGTHS];
} Tensor;

/* Make and destroy a descriptor, which are counted. */
int fake_create(const char *name, void **made, size_t bytes);
int fake_destroy(const char *name, void *given);

/* Elements of an array; those of float16 are not computed. */
static inline long long fake_size(const Tensor *t) {
    long long size = 1;
    for (int d = 0; d < t->count; d++)
        size *= t->lengths[d];
    return size;
}

static inline double fake_number(const void *base, int type, long long i) {
    return type == DOUBLE ? ((const double *)base)[i] : (double)((const float *)base)[i];
}

static inline void fake_put(void *base, int type, long long i, double value) {
    if (type == DOUBLE)
        ((double *)base)[i] = value;
    else
        ((float *)base)[i] = (float)value;
}

static inline void fake_add(void *base, int type, long long i, double value) {
    fake_put(base, type, i, fake_number(base, type, i) + value);
}

/* Whether factors of a result say that it is computed, and nothing is added. */
static inline int fake_factors(const Tensor *t, const void *alpha, const void *beta) {
    const int type = t->type == DOUBLE ? DOUBLE : FLOAT;
    return fake_number(alpha, type, 0) == 1 && fake_number(beta, type, 0) == 0;
}

static inline int fake_alike(const Tensor *a, const Tensor *b) {
    return a->type == b->type && a->count == b->count &&
           memcmp(a->lengths, b->lengths, (size_t)a->count * sizeof(int)) == 0;
}

#endif
