/* Numbers by pointer: a table that only grows. A set is one whose numbers are all 1. */
#ifndef THEANO_POINTERS_H
#define THEANO_POINTERS_H
#include "runtime.h"

typedef struct {
    const void **places;
    int64_t *numbers;
    size_t size, count; /* a power of two */
} Pointers;

static inline size_t pointers_place(const Pointers *p, const void *pointer) {
    size_t i = ((uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15u >> 20 & (p->size - 1);
    while (p->places[i] != NULL && p->places[i] != pointer)
        i = (i + 1) & (p->size - 1);
    return i;
}

/* The number of a pointer, `none` where it has none. */
static inline int64_t pointers_get(const Pointers *p, const void *pointer, int64_t none) {
    if (p->size == 0)
        return none;
    size_t i = pointers_place(p, pointer);
    return p->places[i] == NULL ? none : p->numbers[i];
}

/* Gives a pointer a number. Returns 1 where the pointer is new, 0 where it had one, -1 with an exception. */
int pointers_set(Pointers *p, const void *pointer, int64_t number);

void pointers_free(Pointers *p);

#endif
