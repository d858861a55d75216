/* Inner loops of convolutions, one set for each type of numbers and set of vector instructions. */
#ifndef THEANO_LINKER_C_CONVOLUTION_H
#define THEANO_LINKER_C_CONVOLUTION_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of a tile are vectors, at most so many; rows are powers of two, up to `rows` of the set. */
enum { TILE_VECTORS = 3, TILE_ROW_KINDS = 4, SUM_TAPS = 6, SUM_VECTORS = 4 };

/* Elements in a row: `count` of them, from the element `from` on; in a packed row they begin at the element `at`. */
typedef struct {
    int64_t from, at, count;
} Span;

/* Let each of `taps` packed rows of `width` elements be the spans of `from`, moved by the offset of the tap. Reads
 * and writes up to a vector beyond the end of a span. */
typedef void (*pack_fn)(void *to, int64_t width, const void *from, const int64_t *offsets, int64_t taps,
                        const Span *spans, int64_t count);
/* A tile of a product: c[r][j] = (more ? c[r][j] : 0) + sum over taps of w[tap][r] * b[tap][j]; `width` is the step of
 * b, `step` that of c. */
typedef void (*tile_fn)(int64_t taps, const void *w, const void *b, int64_t width, void *c, int64_t step, int more);
/* Sums over positions: s[tap][f] += sum over spans of x[position * stride + offset of the tap] * t[position][f],
 * SUM_TAPS taps; positions of t follow each other. */
typedef void (*sum_fn)(const void *x, const int64_t *offsets, int64_t stride, const Span *spans, int64_t count,
                       const void *t, void *s);

typedef struct {
    int lanes; /* elements of a vector */
    int rows;  /* most rows of a tile */
    int sums;  /* most vectors of `sum` */
    pack_fn pack;
    tile_fn tile[TILE_ROW_KINDS][TILE_VECTORS]; /* 1, 2, 4, 8 rows; 1, 2, 3 vectors */
    sum_fn sum[SUM_VECTORS];                    /* 1, 2, 3, 4 vectors */
} WindowKernels;

/* Bytes that vectors may have, here and in pooling. */
extern int most_vector_bytes;
const WindowKernels *window_kernels(int doubles);

/* Three axes; those that a convolution does not have come first, with lengths, steps and dilation 1. */
typedef struct {
    int64_t images, groups, channels, filters; /* channels and filters of one group */
    int64_t image[3], kernel[3], output[3], before[3], stride[3], dilation[3];
    int flip;
} Geometry;

/* Memory that all convolutions of the process use again: as many pieces as are in use at one time. */
typedef struct {
    atomic_int busy;
    void *memory;
    size_t size;
} Slot;
void *workspace_take(size_t bytes, Slot **slot);
void workspace_give(Slot *slot, void *memory);

/* How an array of images lies in memory when zeros have been put around it: the elements of the last axis in `phases`
 * rows, element i in the row i % phases. */
typedef struct {
    int64_t channels, image[3], before[3], padded[3]; /* the last length is that of one phase */
    int64_t phases, plane;                            /* elements of a channel */
    int whole;                                        /* nothing is put around, and the elements stay in order */
} Layout;
void layout_set(Layout *l, int64_t channels, const int64_t *image, const int64_t *before, const int64_t *after,
                int64_t phases);
int64_t layout_size(const Layout *l);
int64_t layout_offset(const Layout *l, int64_t depth, int64_t row, int64_t column);
void layout_fill(const Layout *l, size_t item, char *to, const char *from);

/* What computes a convolution or a gradient. Returns RUN_DONE, or RUN_RAISED. */
typedef struct {
    const WindowKernels *kernels;
    size_t item;
    double threshold; /* cycles from which threads are used */
} Engine;
int convolution_forward(const Engine *m, const Geometry *g, const char *images, const char *kernel, char *output);
int convolution_input_grad(const Engine *m, const Geometry *g, const char *kernel, const char *cotangent, char *images);
/* The gradient by images in another way, and how many cycles that takes. */
int convolution_by_columns(const Engine *m, const Geometry *g, const char *kernel, const char *cotangent, char *images);
double columns_work(const Engine *m, const Geometry *g);
int convolution_weight_grad(const Engine *m, const Geometry *g, const char *images, const char *cotangent,
                            char *kernel);

#endif
