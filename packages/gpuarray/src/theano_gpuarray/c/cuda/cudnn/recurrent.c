/* cuDNN: recurrent networks of several layers, for training, and their gradients.
 *
 * All take: mode, length of the states, layers, whether there are two directions, whether the input of the first layer
 * is added as it is, steps, batch, length of the inputs, and whether float32 may be rounded to TF32.
 *
 *   rnn: inputs, first states, first cells, parameters; results, last states, last cells; lengths of the sequences, the
 *     workspace, and what is kept for the gradient. The workspace is asked for by this name.
 *   rnn_reserve, rnn_weights: bytes of what is kept, and of the parameters, are asked for by these; there are none
 *     where parameters lie otherwise than `matches` says.
 *   rnn_grad: inputs, first states, first cells, parameters, results; gradients by results, by last states and cells;
 *     gradients by inputs, by first states and cells, and by parameters, which are added to; lengths of the sequences,
 *     the workspace, and what was kept, which is changed
 *
 * Networks without cells get any places in theirs. All sequences have the same length, so that they lie alike packed or
 * not.
 */
#include "cudnn.h"
#include <stdlib.h>
#include <string.h>

enum { RNN_STANDARD = 0, RNN_DOUBLE_BIAS = 2, RNN_PACKED = 1, RNN_TRAINING = 1, RNN_LSTM = 2, WEIGHTS_ADD = 0 };
enum { NUMBERS = 9, OF_FORWARD = 10, OF_GRADIENT = 15, MOST_MODES = 4 };
static const int gates_of[MOST_MODES] = {1, 1, 4, 3};

typedef struct {
    int mode, hidden, layers, directions, skips, steps, batch, inputs, tf32;
    cudnnDescriptor dropout, network, x, y, states;
    size_t workspace, reserve, weights; /* bytes */
} Network;

/* 0 where the library has none such. */
static int understand(CudaContext *c, const Call *call, Network *n) {
    int v[NUMBERS];
    if (!cudnn_start(c) || c->state->layers == NULL || !c->state->layers->recurrent.there ||
        !cudnn_lengths(call, 0, NUMBERS, 0, v) || v[0] >= MOST_MODES)
        return 0;
    const Network made = {.mode = v[0],
                          .hidden = v[1],
                          .layers = v[2],
                          .directions = v[3] ? 2 : 1,
                          .skips = v[4],
                          .steps = v[5],
                          .batch = v[6],
                          .inputs = v[7],
                          .tf32 = v[8]};
    *n = made;
    for (int k = 1; k < 8; k++)
        if (v[k] < 1 && k != 3 && k != 4)
            return 0;
    const int most[] = {n->steps, n->batch,
                        n->hidden * n->directions > n->inputs ? n->hidden * n->directions : n->inputs};
    return !n->skips || n->inputs == n->hidden ? cudnn_elements(3, most) > 0 : 0;
}

static int describe_steps(const CudaContext *c, const Call *call, Network *n) {
    const struct CudnnLayers *of = c->state->layers;
    const int type = cudnn_type(call->dtype), states[] = {n->layers * n->directions, n->batch, n->hidden};
    int *lengths = malloc((size_t)n->batch * sizeof *lengths), status = of->recurrent.CreateSteps(&n->x);
    for (int k = 0; lengths != NULL && k < n->batch; k++)
        lengths[k] = n->steps;
    if (lengths == NULL)
        status = status == 0 ? 1 : status;
    if (status == 0)
        status = of->recurrent.SetSteps(n->x, type, RNN_PACKED, n->steps, n->batch, n->inputs, lengths, NULL);
    if (status == 0)
        status = of->recurrent.CreateSteps(&n->y);
    if (status == 0)
        status = of->recurrent.SetSteps(n->y, type, RNN_PACKED, n->steps, n->batch, n->hidden * n->directions, lengths,
                                        NULL);
    free(lengths);
    return status == 0 ? cudnn_tensor(&c->state->cudnn, &n->states, type, 3, states) : status;
}

/* Sums of float16 are of float32; float32 is rounded only where that is asked for, and float64, for which there is no
 * other mode than the usual one, never. */
static int describe(const CudaContext *c, const Call *call, Network *n) {
    const struct CudnnLayers *of = c->state->layers;
    const int type = cudnn_type(call->dtype), precision = type == CUDNN_DATA_HALF ? CUDNN_DATA_FLOAT : type;
    const int math = type == CUDNN_DATA_HALF                ? CUDNN_TENSOR_OP_MATH
                     : type == CUDNN_DATA_FLOAT && !n->tf32 ? CUDNN_FMA_MATH
                                                            : CUDNN_DEFAULT_MATH;
    int status = of->recurrent.CreateDropout(&n->dropout);
    if (status == 0)
        status = of->recurrent.SetDropout(n->dropout, c->dnn, 0, NULL, 0, 0);
    if (status == 0)
        status = of->recurrent.CreateNetwork(&n->network);
    if (status == 0)
        status =
            of->recurrent.SetNetwork(n->network, RNN_STANDARD, n->mode, RNN_DOUBLE_BIAS, n->directions - 1, n->skips,
                                     type, precision, math, n->inputs, n->hidden, n->hidden, n->layers, n->dropout, 0);
    if (status == 0)
        status = describe_steps(c, call, n);
    if (status == 0)
        status = of->recurrent.GetSpaces(c->dnn, n->network, RNN_TRAINING, n->x, &n->workspace, &n->reserve);
    return status == 0 ? of->recurrent.GetWeightSpace(c->dnn, n->network, &n->weights) : status;
}

static void forget(const CudaContext *c, const Network *n) {
    const struct CudnnLayers *of = c->state->layers;
    if (n->x != NULL)
        of->recurrent.DestroySteps(n->x);
    if (n->y != NULL)
        of->recurrent.DestroySteps(n->y);
    if (n->network != NULL)
        of->recurrent.DestroyNetwork(n->network);
    if (n->dropout != NULL)
        of->recurrent.DestroyDropout(n->dropout);
    cudnn_forget(&c->state->cudnn, n->states);
}

/* Elements of the parameters, and whether the matrix and the bias that the library has found lie where they should:
 * first the matrices of all layers and directions, for each its gates for the input and then for the state, then the
 * biases in the same order. */
static int matches(const CudaContext *c, const Call *call, const Network *n, int *status) {
    static char base[1]; /* nothing is read there */
    const CudnnFunctions *dnn = &c->state->cudnn;
    const int gates = gates_of[n->mode], parts = n->layers * n->directions;
    const size_t size = cudnn_itemsize(call->dtype), rows = (size_t)n->hidden;
    cudnnDescriptor matrix = NULL, bias = NULL;
    size_t at = 0, biases = 0;
    int same = 1;
    for (int part = 0; part < parts; part++) {
        const size_t columns = part >= n->directions ? rows * (size_t)n->directions : n->skips ? 0 : (size_t)n->inputs;
        biases += (size_t)gates * rows * (columns + rows);
    }
    *status = dnn->CreateTensor(&matrix);
    if (*status == 0)
        *status = dnn->CreateTensor(&bias);
    for (int part = 0; *status == 0 && part < parts; part++) {
        const size_t columns = part >= n->directions ? rows * (size_t)n->directions : n->skips ? 0 : (size_t)n->inputs;
        for (int gate = 0; *status == 0 && gate < 2 * gates; gate++) {
            void *found = NULL, *found_bias = NULL;
            const size_t elements = rows * (gate < gates ? columns : rows);
            *status = c->state->layers->recurrent.GetWeight(c->dnn, n->network, part, n->weights, base, gate, matrix,
                                                            &found, bias, &found_bias);
            same &= elements == 0 || (size_t)((char *)found - base) == at * size;
            same &= (size_t)((char *)found_bias - base) == biases * size;
            at += elements;
            biases += rows;
        }
    }
    cudnn_forget(dnn, matrix);
    cudnn_forget(dnn, bias);
    return same && n->weights >= biases * size;
}

int dnn_rnn_workspace(CudaContext *c, const Call *call, int64_t *bytes, Failure *failure) {
    Network n;
    int has = 1;
    if (!understand(c, call, &n))
        return 0;
    int status = describe(c, call, &n);
    if (status == 0 && strcmp(call->name, "rnn_weights") == 0)
        has = matches(c, call, &n, &status) || status != 0;
    forget(c, &n);
    *bytes = (int64_t)(strcmp(call->name, "rnn_reserve") == 0   ? n.reserve
                       : strcmp(call->name, "rnn_weights") == 0 ? n.weights
                                                                : n.workspace);
    return has ? cudnn_answer(c, status, "describing a recurrent network to cuDNN", failure) : 0;
}

/* Whether a place is that of cells. */
static int is_cell(const Call *call, int place) {
    return place == 2 || (call->n_places == OF_FORWARD ? place == 6 : place == 7 || place == 10);
}

/* What is in which place: what has the length of inputs (x), of results (y), of states (h), of parameters (w), of what
 * is kept (r), of the workspace (s) or of the batch (l). */
static int check_places(const Call *call, const Network *n, Failure *failure) {
    static const char forward[] = "xhhwyhhlsr", gradient[] = "xhhwyyhhxhhwlsr";
    const char *wanted = call->n_places == OF_FORWARD ? forward : gradient;
    const size_t size = cudnn_itemsize(call->dtype), rows = (size_t)n->steps * (size_t)n->batch;
    const size_t states = (size_t)n->layers * (size_t)n->directions * (size_t)n->batch * (size_t)n->hidden;
    for (int k = 0; k < call->n_places; k++) {
        const char kind = wanted[k];
        const size_t bytes = kind == 'x'   ? rows * (size_t)n->inputs * size
                             : kind == 'y' ? rows * (size_t)n->hidden * (size_t)n->directions * size
                             : kind == 'h' ? (n->mode == RNN_LSTM || !is_cell(call, k) ? states : 0) * size
                             : kind == 'w' ? n->weights
                             : kind == 'r' ? n->reserve
                             : kind == 's' ? n->workspace
                                           : (size_t)n->batch * sizeof(int32_t);
        if (call->places[k].bytes < bytes)
            return failure_set(failure, "%s: array %d has %zu bytes, too few", call->name, k, call->places[k].bytes);
    }
    return 0;
}

static int run(const CudaContext *c, const Network *n, void *const *at) {
    return c->state->layers->recurrent.RunNetwork(c->dnn, n->network, RNN_TRAINING, at[7], n->x, at[0], n->y, at[4],
                                                  n->states, at[1], at[5], n->states, at[2], at[6], n->weights, at[3],
                                                  n->workspace, at[8], n->reserve, at[9]);
}

static int run_back(const CudaContext *c, const Network *n, void *const *at) {
    const struct CudnnLayers *of = c->state->layers;
    int status = of->recurrent.BackToData(c->dnn, n->network, at[12], n->y, at[4], at[5], n->x, at[8], n->states, at[1],
                                          at[6], at[9], n->states, at[2], at[7], at[10], n->weights, at[3],
                                          n->workspace, at[13], n->reserve, at[14]);
    if (status != 0)
        return status;
    return of->recurrent.BackToWeights(c->dnn, n->network, WEIGHTS_ADD, at[12], n->x, at[0], n->states, at[1], n->y,
                                       at[4], n->weights, at[11], n->workspace, at[13], n->reserve, at[14]);
}

int dnn_rnn_call(CudaContext *c, const Call *call, CUstream stream, Failure *failure) {
    const int back = strcmp(call->name, "rnn_grad") == 0;
    Network n;
    void *at[MOST_PLACES];
    if (cudnn_begin(c, call, stream, failure) < 0)
        return -1;
    if (!understand(c, call, &n) || call->n_places != (back ? OF_GRADIENT : OF_FORWARD) ||
        (!back && strcmp(call->name, "rnn") != 0))
        return failure_set(failure, "cuDNN has no %s of these lengths", call->name);
    int status = describe(c, call, &n), result = -1;
    if (status == 0 && (result = check_places(call, &n, failure)) == 0) {
        for (int k = 0; k < call->n_places; k++)
            at[k] = is_cell(call, k) && n.mode != RNN_LSTM ? NULL : place_address(&call->places[k]);
        status = back ? run_back(c, &n, at) : run(c, &n, at);
    }
    forget(c, &n);
    if (status != 0)
        return cudnn_check(c, status, "a recurrent network by cuDNN", failure);
    return result;
}
