/* Pooling of one plane (or volume) after the other, for each type of numbers and set of vector instructions. */
#ifndef THEANO_LINKER_C_POOLING_H
#define THEANO_LINKER_C_POOLING_H

#include <stddef.h>
#include <stdint.h>

enum { POOL_MAX = 0, POOL_SUM = 1, POOL_MEAN = 2, POOL_MEAN_OF_INSIDE = 3 };

/* How windows lie along an axis; axes that a program does not have come first, with one window of one element. */
typedef struct {
    int64_t length, window, step, pad, windows;
} WindowAxis;

typedef struct {
    WindowAxis axes[3];
    int mode;
} Windows;

/* Elements that the rows of `workspace` must hold, three of them. */
static inline int64_t workspace_row(const Windows *w) {
    const WindowAxis *a = &w->axes[2];
    int64_t span = (a->windows - 1) * a->step + a->window, all = a->pad + a->length;
    return (span > all ? span : all) + a->windows;
}

/* How many elements a window has; for POOL_MEAN with those of the padding. */
static inline int64_t window_elements(const WindowAxis *a, int mode, int64_t window) {
    int64_t begin = window * a->step - a->pad, end = begin + a->window, last = a->length + (mode == POOL_MEAN ? a->pad : 0);
    if (mode != POOL_MEAN && begin < 0)
        begin = 0;
    return (end < last ? end : last) - begin;
}

typedef struct {
    void (*pool)(const Windows *w, const void *x, void *y, void *workspace);
    void (*average_pool_grad)(const Windows *w, const void *g, void *x, void *workspace);
    void (*max_pool_grad)(const Windows *w, const void *x, const void *y, const void *g, void *to, void *workspace);
    void (*max_pool_grad_grad)(const Windows *w, const void *x, const void *y, const void *t, void *to, void *workspace);
} PoolKernels;

extern int most_vector_bytes; /* convolution_kernels.c */
const PoolKernels *pool_kernels(int doubles);

#endif
