/* The stand-in for the CUDA driver: memory, modules, launches and graphs. */
#include "fake.h"

static int allocated;
int fake_allocated(void) { return allocated; }

#define NEEDS_CONTEXT                                                                                                  \
    if (!fake_has_context())                                                                                           \
    return INVALID_CONTEXT

int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    FAKE("cuMemAlloc_v2");
    NEEDS_CONTEXT;
    void *memory = bytes > (size_t)1 << 30 ? NULL : malloc(bytes);
    if (memory == NULL)
        return OUT_OF_MEMORY;
    allocated++;
    *address = (uintptr_t)memory;
    return 0;
}

int cuMemFree_v2(unsigned long long address) {
    FAKE("cuMemFree_v2");
    NEEDS_CONTEXT;
    allocated--;
    free((void *)(uintptr_t)address);
    return 0;
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    FAKE("cuMemHostAlloc");
    NEEDS_CONTEXT;
    *memory = malloc(bytes);
    return 0;
}

int cuMemFreeHost(void *memory) {
    FAKE("cuMemFreeHost");
    NEEDS_CONTEXT;
    free(memory);
    return 0;
}

int fake_enqueue(Stream *stream, void (*run)(void *data), const void *data, size_t bytes) {
    NEEDS_CONTEXT;
    void *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    if (stream->capturing == NULL) {
        run(copy);
        free(copy);
        return 0;
    }
    Graph *graph = stream->capturing;
    if (graph->count == MOST_NODES)
        return OUT_OF_MEMORY;
    graph->nodes = realloc(graph->nodes, ((size_t)graph->count + 1) * sizeof(Node));
    graph->nodes[graph->count] = (Node){run, copy, bytes, stream->before};
    stream->before.has[graph->count++] = 1;
    return 0;
}

typedef struct {
    unsigned long long target, source;
    size_t bytes;
    unsigned value;
} Transfer;

static void run_copy(void *data) {
    const Transfer *t = data;
    memmove((void *)(uintptr_t)t->target, (void *)(uintptr_t)t->source, t->bytes);
}

static void run_fill(void *data) {
    const Transfer *t = data;
    memset((void *)(uintptr_t)t->target, (int)t->value, t->bytes);
}

static void run_words(void *data) {
    const Transfer *t = data;
    for (size_t i = 0; i < t->bytes; i++)
        ((unsigned *)(uintptr_t)t->target)[i] = t->value;
}

int cuMemcpyHtoDAsync_v2(unsigned long long target, const void *source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyHtoDAsync_v2");
    const Transfer t = {target, (uintptr_t)source, bytes, 0};
    return fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemcpyDtoHAsync_v2(void *target, unsigned long long source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyDtoHAsync_v2");
    const Transfer t = {(uintptr_t)target, source, bytes, 0};
    return fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemcpyDtoDAsync_v2(unsigned long long target, unsigned long long source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyDtoDAsync_v2");
    const Transfer t = {target, source, bytes, 0};
    return fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemcpyPeerAsync(unsigned long long target, void *to, unsigned long long source, void *from, size_t bytes,
                      Stream *stream) {
    FAKE("cuMemcpyPeerAsync");
    const Transfer t = {target, source, bytes, 0};
    return to == from ? INVALID_VALUE : fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes, Stream *stream) {
    FAKE("cuMemsetD8Async");
    const Transfer t = {target, 0, bytes, value};
    return fake_enqueue(stream, run_fill, &t, sizeof t);
}

int cuMemsetD32Async(unsigned long long target, unsigned value, size_t count, Stream *stream) {
    FAKE("cuMemsetD32Async");
    const Transfer t = {target, 0, count, value};
    return fake_enqueue(stream, run_words, &t, sizeof t);
}

/* A module is the text that NVRTC's stand-in has given, and a function is its name. */
int cuModuleLoadData(char **module, const char *image) {
    FAKE("cuModuleLoadData");
    NEEDS_CONTEXT;
#ifdef ANY_CODE
    if (memcmp(image, "\177ELF", 4) != 0)
        return INVALID_VALUE;
    *module = strdup("any");
#else
    if (strncmp(image, "code for ", 9) != 0)
        return INVALID_VALUE;
    *module = strdup(image);
#endif
    return 0;
}

int cuModuleUnload(char *module) {
    FAKE("cuModuleUnload");
    NEEDS_CONTEXT;
    free(module);
    return 0;
}

static const char *const names[] = {"scale", "sum_into"};

int cuModuleGetFunction(const char **function, const char *module, const char *name) {
    FAKE("cuModuleGetFunction");
    NEEDS_CONTEXT;
#ifdef ANY_CODE
    (void)module, (void)name;
    *function = "any";
    return 0;
#endif
    for (int i = 0; i < 2; i++)
        if (strcmp(name, names[i]) == 0 && strstr(module, name) != NULL) {
            *function = names[i];
            return 0;
        }
    return NOT_FOUND;
}

int cuFuncGetAttribute(int *value, int which, const char *function) {
    (void)which, (void)function;
    FAKE("cuFuncGetAttribute");
    *value = 512;
    return 0;
}

typedef struct {
    float *x;
    int64_t count;
    float factor;
} Scale;

typedef struct {
    double *z;
    const float *x, *y;
    int64_t count;
    double first;
    int32_t times;
    uint32_t more;
} Sum;

static void run_scale(void *data) {
    const Scale *s = data;
    for (int64_t i = 0; i < s->count; i++)
        s->x[i] *= s->factor;
}

static void run_nothing(void *data) { (void)data; }

static void run_sum(void *data) {
    const Sum *s = data;
    for (int64_t i = 0; i < s->count; i++)
        s->z[i] = s->first + s->times * (double)s->x[i] + s->more * (double)s->y[i];
}

static unsigned sizes[7];
const unsigned *fake_sizes(void) { return sizes; }

int cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Stream *stream, void **p, void **extra) {
    (void)extra;
    FAKE("cuLaunchKernel");
    const unsigned given[] = {gx, gy, gz, bx, by, bz, shared};
    memcpy(sizes, given, sizeof sizes);
    if (strcmp(function, "any") == 0)
        return fake_enqueue(stream, run_nothing, sizes, sizeof sizes);
    if (strcmp(function, "scale") == 0) {
        const Scale s = {*(float **)p[0], *(int64_t *)p[1], *(float *)p[2]};
        return fake_enqueue(stream, run_scale, &s, sizeof s);
    }
    const Sum s = {*(double **)p[0], *(float **)p[1],  *(float **)p[2],  *(int64_t *)p[3],
                   *(double *)p[4],  *(int32_t *)p[5], *(uint32_t *)p[6]};
    return fake_enqueue(stream, run_sum, &s, sizeof s);
}

void fake_end_capture(const Graph *graph);

#ifndef WITHOUT_GRAPHS
int cuGraphDestroy(Graph *graph);
static int graphs;
int fake_graphs(void) { return graphs; }

int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    FAKE("cuStreamBeginCapture_v2");
    /* Only a stream that does not wait for the default one is safe beside other threads. */
    if (mode != 1 || stream->flags != 1)
        return INVALID_VALUE;
    stream->capturing = calloc(1, sizeof(Graph));
    memset(&stream->before, 0, sizeof stream->before);
    stream->origin = 1;
    graphs++;
    return 0;
}

/* All that was captured has to be before what would come next in the stream in which the capture began. */
int cuStreamEndCapture(Stream *stream, Graph **graph) {
    int status = fake_call("cuStreamEndCapture");
    if (stream->capturing == NULL || !stream->origin)
        return INVALID_VALUE;
    *graph = stream->capturing;
    stream->origin = 0;
    fake_end_capture(*graph);
    for (int i = 0; i < (*graph)->count; i++)
        if (!stream->before.has[i]) {
            cuGraphDestroy(*graph);
            *graph = NULL;
            return UNJOINED;
        }
    return status;
}

static void copy_graph(Graph *to, const Graph *from) {
    to->count = from->count;
    to->nodes = malloc((size_t)from->count * sizeof(Node) + 1);
    for (int i = 0; i < from->count; i++) {
        to->nodes[i] = from->nodes[i];
        to->nodes[i].data = malloc(from->nodes[i].bytes);
        memcpy(to->nodes[i].data, from->nodes[i].data, from->nodes[i].bytes);
    }
}

static void clear_graph(Graph *graph) {
    for (int i = 0; i < graph->count; i++)
        free(graph->nodes[i].data);
    free(graph->nodes);
}

int cuGraphInstantiateWithFlags(Graph **exec, Graph *graph, unsigned long long flags) {
    (void)flags;
    FAKE("cuGraphInstantiateWithFlags");
    *exec = calloc(1, sizeof(Graph));
    copy_graph(*exec, graph);
    graphs++;
    return 0;
}

int cuGraphExecUpdate_v2(Graph *exec, Graph *graph, void *info) {
    (void)info;
    FAKE("cuGraphExecUpdate_v2");
    if (exec->count != graph->count)
        return UPDATE_FAILED;
    clear_graph(exec);
    copy_graph(exec, graph);
    return 0;
}

/* Whether nodes run in an order that the graph allows but is as far from that of the capture as can be. */
static int late_first;
void fake_late_first(int flag) { late_first = flag; }

/* How many pairs of nodes of the newest graph that was run may run at the same time. */
static int pairs;
int fake_pairs(void) { return pairs; }

static int is_ready(const Node *node, const Nodes *done) {
    for (int i = 0; i < MOST_NODES; i++)
        if (node->before.has[i] && !done->has[i])
            return 0;
    return 1;
}

static void run_graph(const Graph *graph) {
    Nodes done = {0};
    pairs = 0;
    for (int i = 0; i < graph->count; i++)
        for (int j = 0; j < i; j++)
            pairs += !graph->nodes[i].before.has[j];
    for (int count = 0; count < graph->count; count++) {
        int next = late_first ? graph->count - 1 : 0, step = late_first ? -1 : 1;
        while (done.has[next] || !is_ready(&graph->nodes[next], &done))
            next += step;
        graph->nodes[next].run(graph->nodes[next].data);
        done.has[next] = 1;
    }
}

int cuGraphLaunch(Graph *exec, Stream *stream) {
    FAKE("cuGraphLaunch");
    NEEDS_CONTEXT;
    if (stream->capturing != NULL)
        return INVALID_VALUE;
    run_graph(exec);
    return 0;
}

int cuGraphDestroy(Graph *graph) {
    FAKE("cuGraphDestroy");
    clear_graph(graph);
    free(graph);
    graphs--;
    return 0;
}

int cuGraphExecDestroy(Graph *exec) {
    FAKE("cuGraphExecDestroy");
    clear_graph(exec);
    free(exec);
    graphs--;
    return 0;
}
#endif
