/* The stand-in for cuDNN: convolutions that are right, algorithms that differ in what they are said to need. */
#include "cudnn.h"

#ifndef WITHOUT_CUDNN

typedef struct {
    int axes, zeros[AXES], strides[AXES], dilations[AXES], flipped, compute, groups, math;
} Description;

typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} Performance;

/* For tests: the algorithm, the workspace, the precision and the math of the last convolution; descriptors in use. */
static int last[4], descriptors;
const int *fake_convolution(void) { return last; }
int fake_descriptors(void) { return descriptors; }

size_t cudnnGetVersion(void) {
    fake_call("cudnnGetVersion");
    return 90100;
}

const char *cudnnGetErrorString(int status) {
    return status == NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_OF_THE_TEST";
}

int cudnnCreate(Handle **handle) {
    FAKE("cudnnCreate");
    if (!fake_has_context())
        return 1001;
    *handle = calloc(1, sizeof(Handle));
    return 0;
}

int cudnnDestroy(Handle *handle) {
    FAKE("cudnnDestroy");
    free(handle);
    return 0;
}

int cudnnSetStream(Handle *handle, Stream *stream) {
    FAKE("cudnnSetStream");
    handle->stream = stream;
    return 0;
}

int fake_create(const char *name, void **made, size_t bytes) {
    FAKE(name);
    descriptors++;
    *made = calloc(1, bytes);
    return 0;
}

int fake_destroy(const char *name, void *given) {
    FAKE(name);
    descriptors--;
    free(given);
    return 0;
}

int cudnnCreateTensorDescriptor(void **made) {
    return fake_create("cudnnCreateTensorDescriptor", made, sizeof(Tensor));
}
int cudnnCreateFilterDescriptor(void **made) {
    return fake_create("cudnnCreateFilterDescriptor", made, sizeof(Tensor));
}
int cudnnCreateConvolutionDescriptor(void **made) {
    return fake_create("cudnnCreateConvolutionDescriptor", made, sizeof(Description));
}
int cudnnDestroyTensorDescriptor(void *given) { return fake_destroy("cudnnDestroyTensorDescriptor", given); }
int cudnnDestroyFilterDescriptor(void *given) { return fake_destroy("cudnnDestroyFilterDescriptor", given); }
int cudnnDestroyConvolutionDescriptor(void *given) { return fake_destroy("cudnnDestroyConvolutionDescriptor", given); }

static int set_lengths(Tensor *tensor, int type, int count, const int *lengths) {
    if (count < 3 || count > LENGTHS || type < FLOAT || type > HALF)
        return BAD_PARAMETER;
    tensor->type = type;
    tensor->count = count;
    memcpy(tensor->lengths, lengths, (size_t)count * sizeof(int));
    return 0;
}

int cudnnSetTensorNdDescriptor(Tensor *tensor, int type, int count, const int *lengths, const int *strides) {
    FAKE("cudnnSetTensorNdDescriptor");
    int step = 1;
    for (int d = count - 1; d >= 0; d--) {
        if (strides[d] != step)
            return BAD_PARAMETER;
        step *= lengths[d];
    }
    return set_lengths(tensor, type, count, lengths);
}

int cudnnSetFilterNdDescriptor(Tensor *filter, int type, int format, int count, const int *lengths) {
    FAKE("cudnnSetFilterNdDescriptor");
    return format != 0 ? BAD_PARAMETER : set_lengths(filter, type, count, lengths);
}

int cudnnSetConvolutionNdDescriptor(Description *d, int axes, const int *zeros, const int *strides,
                                    const int *dilations, int mode, int compute) {
    FAKE("cudnnSetConvolutionNdDescriptor");
    if (axes < 2 || axes > AXES || mode < 0 || mode > 1)
        return BAD_PARAMETER;
    const size_t bytes = (size_t)axes * sizeof(int);
    d->axes = axes;
    memcpy(d->zeros, zeros, bytes);
    memcpy(d->strides, strides, bytes);
    memcpy(d->dilations, dilations, bytes);
    d->flipped = mode == 0;
    d->compute = compute;
    return 0;
}

int cudnnSetConvolutionGroupCount(Description *d, int groups) {
    FAKE("cudnnSetConvolutionGroupCount");
    d->groups = groups;
    return 0;
}

int cudnnSetConvolutionMathType(Description *d, int math) {
    FAKE("cudnnSetConvolutionMathType");
    d->math = math;
    return 0;
}

/* Algorithm 3 of the convolution itself is not there, 4 (of Fourier transforms) takes no strides, and each needs its number of kilobytes. */
static int needs(const Description *d, int task, int algorithm, size_t *bytes) {
    if (algorithm < 0 || algorithm > 7 || (task == 0 && algorithm == 3) || (algorithm == 4 && d->strides[0] > 1))
        return NOT_SUPPORTED;
    *bytes = (size_t)algorithm * 1024;
    return 0;
}

/* The fastest one needs more memory than there is, the second works always, but not always alike. */
static int list_algorithms(const char *name, const int *order, int most, int *count, Performance *found) {
    FAKE(name);
    if (most < 4)
        return BAD_PARAMETER;
    for (int i = 0; i < 4; i++) {
        const int a = order[i];
        found[i] = (Performance){
            a, i == 0 ? NOT_SUPPORTED : 0, (float)i, a == 7 ? (size_t)1 << 40 : (size_t)a * 1024, a != 5, 0, {0}};
    }
    *count = 4;
    return 0;
}

static const int guessed[] = {3, 7, 5, 1}, timed[] = {3, 7, 5, 2};

typedef struct {
    Tensor image, filter, top;
    Description d;
    int task;
    const void *first, *second;
    void *result;
} Work;

static long long row_of(const Tensor *t, int first, int second) {
    long long row = (long long)first * t->lengths[1] + second;
    for (int d = 2; d < t->count; d++)
        row *= t->lengths[d];
    return row;
}

/* Where the element of the filter at `tap` meets an image for the element of the result at `position`; -1: a zero. */
static long long meets(const Work *w, long long position, long long tap) {
    long long at = 0, step = 1;
    for (int k = w->d.axes - 1; k >= 0; k--) {
        const int n = w->filter.lengths[2 + k], m = w->top.lengths[2 + k];
        const int t = (int)(tap % n), p = (int)(position % m);
        const int i = p * w->d.strides[k] + (w->d.flipped ? n - 1 - t : t) * w->d.dilations[k] - w->d.zeros[k];
        if (i < 0 || i >= w->image.lengths[2 + k])
            return -1;
        at += i * step;
        step *= w->image.lengths[2 + k];
        tap /= n;
        position /= m;
    }
    return at;
}

/* All products of one filter, one channel and one image. */
static void run_channel(const Work *w, int image, int filter, int channel) {
    const int of_group = w->filter.lengths[0] / w->d.groups, channels = w->filter.lengths[1], type = w->image.type;
    const long long pixels = row_of(&w->image, image, filter / of_group * channels + channel);
    const long long taps = row_of(&w->filter, filter, channel), tops = row_of(&w->top, image, filter);
    const long long all_taps = row_of(&w->filter, 0, 1), all_tops = row_of(&w->top, 0, 1);
    for (long long p = 0; p < all_tops; p++)
        for (long long t = 0; t < all_taps; t++) {
            const long long at = meets(w, p, t);
            if (at < 0)
                continue;
            const long long places[] = {pixels + at, taps + t, tops + p};
            static const int orders[3][3] = {{0, 1, 2}, {1, 2, 0}, {0, 2, 1}};
            const int *o = orders[w->task];
            fake_add(w->result, type, places[o[2]],
                     fake_number(w->first, type, places[o[0]]) * fake_number(w->second, type, places[o[1]]));
        }
}

static void run_convolution(void *data) {
    const Work *w = data;
    const Tensor *result = w->task == 0 ? &w->top : w->task == 1 ? &w->image : &w->filter;
    memset(w->result, 0, (size_t)fake_size(result) * (w->image.type == DOUBLE ? 8 : 4));
    for (int image = 0; image < w->image.lengths[0]; image++)
        for (int filter = 0; filter < w->filter.lengths[0]; filter++)
            for (int channel = 0; channel < w->filter.lengths[1]; channel++)
                run_channel(w, image, filter, channel);
}

static int convolve(Handle *handle, const Tensor *image, const Tensor *filter, const Tensor *top, const Description *d,
                    int task, int algorithm, const void *first, const void *second, void *result, const void *workspace,
                    size_t bytes, const void *alpha, const void *beta) {
    size_t wanted = 0;
    if (needs(d, task, algorithm, &wanted) != 0 || bytes < wanted || (wanted > 0 && workspace == NULL))
        return BAD_PARAMETER;
    if (fake_number(alpha, image->type == DOUBLE, 0) != 1 || fake_number(beta, image->type == DOUBLE, 0) != 0)
        return BAD_PARAMETER;
    const int told[] = {algorithm, (int)bytes, d->compute, d->math};
    memcpy(last, told, sizeof last);
    const Work w = {*image, *filter, *top, *d, task, first, second, result};
    return image->type == HALF ? 0 : fake_enqueue(handle->stream, run_convolution, &w, sizeof w);
}

#define LISTS(task, name)                                                                                              \
    int cudnnGetConvolution##name##Algorithm_v7(Handle *h, void *a, void *b, void *c, void *d, int most, int *count,   \
                                                Performance *found) {                                                  \
        (void)h, (void)a, (void)b, (void)c, (void)d;                                                                   \
        return list_algorithms("cudnnGetConvolution" #name "Algorithm_v7", guessed, most, count, found);               \
    }                                                                                                                  \
    int cudnnFindConvolution##name##Algorithm(Handle *h, void *a, void *b, void *c, void *d, int most, int *count,     \
                                              Performance *found) {                                                    \
        (void)h, (void)a, (void)b, (void)c, (void)d;                                                                   \
        return list_algorithms("cudnnFindConvolution" #name "Algorithm", timed, most, count, found);                   \
    }                                                                                                                  \
    int cudnnGetConvolution##name##WorkspaceSize(Handle *h, void *a, void *b, const Description *d, void *c,           \
                                                 int algorithm, size_t *bytes) {                                       \
        (void)h, (void)a, (void)b, (void)c;                                                                            \
        FAKE("cudnnGetConvolution" #name "WorkspaceSize");                                                             \
        return needs(d, task, algorithm, bytes);                                                                       \
    }

LISTS(0, Forward)
LISTS(1, BackwardData)
LISTS(2, BackwardFilter)

int cudnnConvolutionForward(Handle *handle, const void *alpha, Tensor *image, const void *x, Tensor *filter,
                            const void *w, Description *d, int algorithm, void *workspace, size_t bytes,
                            const void *beta, Tensor *top, void *y) {
    FAKE("cudnnConvolutionForward");
    return convolve(handle, image, filter, top, d, 0, algorithm, x, w, y, workspace, bytes, alpha, beta);
}

int cudnnConvolutionBackwardData(Handle *handle, const void *alpha, Tensor *filter, const void *w, Tensor *top,
                                 const void *dy, Description *d, int algorithm, void *workspace, size_t bytes,
                                 const void *beta, Tensor *image, void *dx) {
    FAKE("cudnnConvolutionBackwardData");
    return convolve(handle, image, filter, top, d, 1, algorithm, w, dy, dx, workspace, bytes, alpha, beta);
}

int cudnnConvolutionBackwardFilter(Handle *handle, const void *alpha, Tensor *image, const void *x, Tensor *top,
                                   const void *dy, Description *d, int algorithm, void *workspace, size_t bytes,
                                   const void *beta, Tensor *filter, void *dw) {
    FAKE("cudnnConvolutionBackwardFilter");
    return convolve(handle, image, filter, top, d, 2, algorithm, x, dy, dw, workspace, bytes, alpha, beta);
}
#endif
