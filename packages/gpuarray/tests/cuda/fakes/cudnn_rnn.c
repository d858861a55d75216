/* The stand-in for cuDNN: recurrent networks. Results and gradients are right for one layer in one direction of a
 * network without gates whose steps are sums (mode tanh is taken as that, so that gradients are simple); for others all
 * that is checked is what is told. */
#include "cudnn.h"

#ifndef WITHOUT_CUDNN

typedef struct {
    float dropout;
    int set;
} Dropout;

typedef struct {
    int told
        [12]; /* algorithm, mode, bias, direction, input, type, precision, math, inputs, hidden, projection, layers */
} Network;

typedef struct {
    int type, layout, steps, batch, length;
} Steps;

/* For tests: what the last network was told; by how many bytes parameters take more than they need, and whether their
 * biases come first. */
static int last_network[12], more_weights, biases_first;
const int *fake_network(void) { return last_network; }
void fake_weights(int more, int first) {
    more_weights = more;
    biases_first = first;
}

int cudnnCreateDropoutDescriptor(void **made) {
    return fake_create("cudnnCreateDropoutDescriptor", made, sizeof(Dropout));
}
int cudnnDestroyDropoutDescriptor(void *given) { return fake_destroy("cudnnDestroyDropoutDescriptor", given); }
int cudnnCreateRNNDescriptor(void **made) { return fake_create("cudnnCreateRNNDescriptor", made, sizeof(Network)); }
int cudnnDestroyRNNDescriptor(void *given) { return fake_destroy("cudnnDestroyRNNDescriptor", given); }
int cudnnCreateRNNDataDescriptor(void **made) {
    return fake_create("cudnnCreateRNNDataDescriptor", made, sizeof(Steps));
}
int cudnnDestroyRNNDataDescriptor(void *given) { return fake_destroy("cudnnDestroyRNNDataDescriptor", given); }

int cudnnSetDropoutDescriptor(Dropout *d, Handle *handle, float dropout, void *states, size_t bytes,
                              unsigned long long seed) {
    FAKE("cudnnSetDropoutDescriptor");
    (void)handle, (void)seed;
    d->dropout = dropout;
    d->set = 1;
    return dropout != 0 || states != NULL || bytes != 0 ? BAD_PARAMETER : 0;
}

int cudnnSetRNNDescriptor_v8(Network *n, int algorithm, int mode, int bias, int direction, int input, int type,
                             int precision, int math, int32_t inputs, int32_t hidden, int32_t projection,
                             int32_t layers, const Dropout *dropout, uint32_t flags) {
    FAKE("cudnnSetRNNDescriptor_v8");
    const int told[] = {algorithm, mode, bias,   direction, input,      type,
                        precision, math, inputs, hidden,    projection, layers};
    memcpy(n->told, told, sizeof told);
    memcpy(last_network, told, sizeof told);
    const int fits = algorithm == 0 && mode >= 0 && mode < 4 && bias == 2 && projection == hidden && flags == 0;
    return fits && dropout->set && (!input || inputs == hidden) ? 0 : BAD_PARAMETER;
}

int cudnnSetRNNDataDescriptor(Steps *s, int type, int layout, int steps, int batch, int length, const int *lengths,
                              void *fill) {
    FAKE("cudnnSetRNNDataDescriptor");
    for (int k = 0; k < batch; k++)
        if (lengths[k] != steps)
            return BAD_PARAMETER;
    const Steps made = {type, layout, steps, batch, length};
    *s = made;
    return layout == 1 && fill == NULL ? 0 : BAD_PARAMETER;
}

int cudnnGetRNNTempSpaceSizes(Handle *handle, const Network *n, int mode, const Steps *x, size_t *work,
                              size_t *reserve) {
    FAKE("cudnnGetRNNTempSpaceSizes");
    (void)handle;
    *work = 128;
    *reserve = (size_t)x->steps * (size_t)x->batch * (size_t)n->told[9] * 8;
    return mode == 1 && x->length == n->told[8] ? 0 : BAD_PARAMETER;
}

static int gates(const Network *n) { return n->told[1] < 2 ? 1 : n->told[1] == 2 ? 4 : 3; }
static size_t item(const Network *n) { return n->told[5] == DOUBLE ? 8 : n->told[5] == HALF ? 2 : 4; }
static size_t columns(const Network *n, int part) {
    const int directions = n->told[3] + 1;
    return part >= directions ? (size_t)(n->told[9] * directions) : n->told[4] ? 0 : (size_t)n->told[8];
}

/* Elements of all matrices before a part. */
static size_t matrices(const Network *n, int parts) {
    size_t total = 0;
    for (int k = 0; k < parts; k++)
        total += (size_t)gates(n) * (size_t)n->told[9] * (columns(n, k) + (size_t)n->told[9]);
    return total;
}

static int parts_of(const Network *n) { return n->told[11] * (n->told[3] + 1); }
static size_t weights_of(const Network *n) {
    const size_t biases = (size_t)(parts_of(n) * 2 * gates(n) * n->told[9]);
    return (matrices(n, parts_of(n)) + biases) * item(n) + (size_t)more_weights;
}

int cudnnGetRNNWeightSpaceSize(Handle *handle, const Network *n, size_t *bytes) {
    FAKE("cudnnGetRNNWeightSpaceSize");
    (void)handle;
    *bytes = weights_of(n);
    return 0;
}

int cudnnGetRNNWeightParams(Handle *handle, const Network *n, int32_t part, size_t bytes, const void *space,
                            int32_t gate, Tensor *of_matrix, void **matrix, Tensor *of_bias, void **bias) {
    FAKE("cudnnGetRNNWeightParams");
    (void)handle, (void)of_matrix, (void)of_bias;
    const int g = gates(n);
    const size_t hidden = (size_t)n->told[9], own = columns(n, part);
    if (bytes != weights_of(n) || gate >= 2 * g || part >= parts_of(n))
        return BAD_PARAMETER;
    size_t at =
        matrices(n, part) + hidden * (gate < g ? (size_t)gate * own : (size_t)g * own + (size_t)(gate - g) * hidden);
    size_t bias_at = (biases_first ? 0 : matrices(n, parts_of(n))) + (size_t)(part * 2 * g + gate) * hidden;
    *matrix = gate < g && own == 0 ? NULL : (char *)space + at * item(n);
    *bias = (char *)space + bias_at * item(n);
    return 0;
}

typedef struct {
    int type, steps, batch, inputs, hidden;
    const int32_t *lengths;
    void (*run)(const void *work); /* NULL: the network is none that is computed */
    const void *x, *first, *w, *y, *dy, *by_last;
    void *result, *last, *reserve, *dx, *by_first, *dw;
} Work;

/* h' = W x + U h + b + c, for each step. */
static void run_network(const void *data) {
    const Work *k = data;
    const int h = k->hidden, d = k->inputs, t = k->type;
    const long long u = (long long)h * d, b = u + (long long)h * h;
    for (int step = 0; step < k->steps; step++)
        for (int row = 0; row < k->batch; row++)
            for (int i = 0; i < h; i++) {
                double total = fake_number(k->w, t, b + i) + fake_number(k->w, t, b + h + i);
                const long long at = ((long long)step * k->batch + row);
                for (int j = 0; j < d; j++)
                    total += fake_number(k->w, t, (long long)i * d + j) * fake_number(k->x, t, at * d + j);
                for (int j = 0; j < h; j++)
                    total += fake_number(k->w, t, u + (long long)i * h + j) *
                             (step ? fake_number(k->result, t, (at - k->batch) * h + j)
                                   : fake_number(k->first, t, (long long)row * h + j));
                fake_put(k->result, t, at * h + i, total);
                if (step == k->steps - 1)
                    fake_put(k->last, t, (long long)row * h + i, total);
            }
    memset(k->reserve, 7, (size_t)(k->steps * k->batch * h) * 8);
}

/* The gradient that reaches each step goes into what was kept, from where the weights take it. */
static void run_to_data(const void *data) {
    const Work *k = data;
    const int h = k->hidden, d = k->inputs, t = k->type, rows = k->steps * k->batch;
    const long long u = (long long)h * d;
    for (int at = rows - 1; at >= 0; at--)
        for (int i = 0; i < h; i++) {
            double total = fake_number(k->dy, t, (long long)at * h + i);
            if (at >= rows - k->batch)
                total += fake_number(k->by_last, t, (long long)(at - rows + k->batch) * h + i);
            for (int j = 0; at < rows - k->batch && j < h; j++)
                total += fake_number(k->w, t, u + (long long)j * h + i) *
                         ((const double *)k->reserve)[(long long)(at + k->batch) * h + j];
            ((double *)k->reserve)[(long long)at * h + i] = total;
        }
    for (int at = 0; at < rows; at++)
        for (int j = 0; j < (d > h ? d : h); j++) {
            double by_x = 0, by_h = 0;
            for (int i = 0; i < h; i++) {
                const double g = ((const double *)k->reserve)[(long long)at * h + i];
                by_x += j < d ? g * fake_number(k->w, t, (long long)i * d + j) : 0;
                by_h += j < h ? g * fake_number(k->w, t, u + (long long)i * h + j) : 0;
            }
            if (j < d)
                fake_put(k->dx, t, (long long)at * d + j, by_x);
            if (j < h && at < k->batch)
                fake_put(k->by_first, t, (long long)at * h + j, by_h);
        }
}

static void run_to_weights(const void *data) {
    const Work *k = data;
    const int h = k->hidden, d = k->inputs, t = k->type, rows = k->steps * k->batch;
    const long long u = (long long)h * d, b = u + (long long)h * h;
    for (int at = 0; at < rows; at++)
        for (int i = 0; i < h; i++) {
            const double g = ((const double *)k->reserve)[(long long)at * h + i];
            for (int j = 0; j < d; j++)
                fake_add(k->dw, t, (long long)i * d + j, g * fake_number(k->x, t, (long long)at * d + j));
            for (int j = 0; j < h; j++)
                fake_add(k->dw, t, u + (long long)i * h + j,
                         g * (at < k->batch ? fake_number(k->first, t, (long long)at * h + j)
                                            : fake_number(k->y, t, (long long)(at - k->batch) * h + j)));
            fake_add(k->dw, t, b + i, g);
            fake_add(k->dw, t, b + h + i, g);
        }
}

/* The lengths of the sequences are on the device, so that they are known when the work begins. */
static void run_work(void *data) {
    const Work *k = data;
    for (int row = 0; row < k->batch; row++)
        if (k->lengths[row] != k->steps) {
            fputs("a sequence has another length than the description says\n", stderr);
            abort();
        }
    if (k->run != NULL)
        k->run(k);
}

static int start(Handle *handle, const Network *n, const Steps *x, const int32_t *lengths, const Tensor *states,
                 void (*run)(const void *), Work *work) {
    if (states->lengths[0] != parts_of(n) || states->lengths[1] != x->batch || states->lengths[2] != n->told[9])
        return BAD_PARAMETER;
    work->type = n->told[5];
    work->steps = x->steps;
    work->batch = x->batch;
    work->inputs = x->length;
    work->hidden = n->told[9];
    work->lengths = lengths;
    work->run = n->told[1] == 1 && parts_of(n) == 1 && work->type != HALF ? run : NULL;
    return fake_enqueue(handle->stream, run_work, work, sizeof *work);
}

/* Whether there are cells where there should be, and memory is as large as was said. */
static int right(const Network *n, const void *first, const void *second, size_t weights, size_t work) {
    const int cells = n->told[1] == 2;
    return (first != NULL) == cells && (second != NULL) == cells && weights == weights_of(n) && work == 128;
}

int cudnnRNNForward(Handle *handle, const Network *n, int mode, const int32_t *lengths, const Steps *of_x,
                    const void *x, const Steps *of_y, void *y, const Tensor *states, const void *first, void *last,
                    const Tensor *cells, const void *cell, void *last_cell, size_t weights, const void *w, size_t bytes,
                    void *work, size_t reserved, void *reserve) {
    FAKE("cudnnRNNForward");
    (void)work, (void)reserved;
    if (mode != 1 || !fake_alike(states, cells) || !right(n, cell, last_cell, weights, bytes) ||
        of_y->length != n->told[9] * (n->told[3] + 1))
        return BAD_PARAMETER;
    Work k = {.x = x, .first = first, .w = w, .result = y, .last = last, .reserve = reserve};
    return start(handle, n, of_x, lengths, states, run_network, &k);
}

int cudnnRNNBackwardData_v8(Handle *handle, const Network *n, const int32_t *lengths, const Steps *of_y, const void *y,
                            const void *dy, const Steps *of_x, void *dx, const Tensor *states, const void *first,
                            const void *by_last, void *by_first, const Tensor *cells, const void *cell,
                            const void *by_last_cell, void *by_cell, size_t weights, const void *w, size_t bytes,
                            void *work, size_t reserved, void *reserve) {
    FAKE("cudnnRNNBackwardData_v8");
    (void)work, (void)reserved, (void)of_y, (void)by_cell, (void)first;
    if (!fake_alike(states, cells) || !right(n, cell, by_last_cell, weights, bytes))
        return BAD_PARAMETER;
    Work k = {.w = w, .y = y, .dy = dy, .by_last = by_last, .reserve = reserve, .dx = dx, .by_first = by_first};
    return start(handle, n, of_x, lengths, states, run_to_data, &k);
}

int cudnnRNNBackwardWeights_v8(Handle *handle, const Network *n, int add, const int32_t *lengths, const Steps *of_x,
                               const void *x, const Tensor *states, const void *first, const Steps *of_y, const void *y,
                               size_t weights, void *dw, size_t bytes, void *work, size_t reserved, void *reserve) {
    FAKE("cudnnRNNBackwardWeights_v8");
    (void)work, (void)reserved, (void)of_y;
    if (add != 0 || weights != weights_of(n) || bytes != 128)
        return BAD_PARAMETER;
    Work k = {.x = x, .first = first, .y = y, .reserve = reserve, .dw = dw};
    return start(handle, n, of_x, lengths, states, run_to_weights, &k);
}
#endif
