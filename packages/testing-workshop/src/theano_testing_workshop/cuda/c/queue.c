/* The stand-in for the CUDA driver: streams, events, and the order in which work runs.
 *
 * Work runs when somebody waits for it. Among what may run next, the seed in THEANO_FAKE_SEED chooses, so that work
 * that waits for nobody, although it should, shows by its values.
 */
#include "fake.h"
#include <pthread.h>
#include <stdarg.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int locked;
void fake_lock(void) {
    if (locked++ == 0)
        pthread_mutex_lock(&mutex);
}
void fake_unlock(void) {
    if (--locked == 0)
        pthread_mutex_unlock(&mutex);
}

struct Op {
    void (*run)(void *data);
    void *data;
    Op **after;
    int n_after, done, references;
};

struct Capture {
    Graph *graph;
    Stream *origin;
    int invalid;
};

typedef struct {
    Op **after;
    int n_after;
    Capture *capturing;
    int *nodes, n_nodes;
} Event;

static Op **pending;
static int n_pending;
static int failed; /* what is told to all who wait from now on */
static Stream legacy, *streams;
static __thread Capture *capture_here;

static uint64_t state;
static int seeded = -1;

/* For tests: choose by another number from now on. */
void fake_seed(unsigned long long number) {
    seeded = 1;
    state = number * 0x9e3779b97f4a7c15u + 1;
}

int fake_is_seeded(void) {
    if (seeded < 0) {
        const char *text = getenv("THEANO_FAKE_SEED");
        seeded = 0;
        if (text != NULL && *text != 0)
            fake_seed(strtoull(text, NULL, 10));
    }
    return seeded;
}

unsigned fake_choice(unsigned bound) {
    if (!fake_is_seeded() || bound < 2)
        return 0;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % bound;
}

void fake_wrong(int status, const char *text, ...) {
    va_list list;
    va_start(list, text);
    fputs("CUDA's stand-in: ", stderr);
    vfprintf(stderr, text, list);
    fputc('\n', stderr);
    va_end(list);
    failed = failed == 0 ? status : failed;
}

Stream *fake_stream(Stream *stream) { return stream == NULL ? &legacy : stream; }

static void let_go(Op *op) {
    if (--op->references > 0)
        return;
    free(op->data);
    free(op->after);
    free(op);
}

static void forget(Op ***list, int *count) {
    for (int i = 0; i < *count; i++)
        let_go((*list)[i]);
    free(*list);
    *list = NULL;
    *count = 0;
}

static void remember(Op ***list, int *count, Op *op) {
    for (int i = 0; i < *count; i++)
        if ((*list)[i] == op)
            return;
    *list = realloc(*list, ((size_t)*count + 1) * sizeof(Op *));
    (*list)[(*count)++] = op;
    op->references++;
}

static int may_run(const Op *op) {
    for (int i = 0; i < op->n_after; i++)
        if (!op->after[i]->done)
            return 0;
    return 1;
}

/* For tests: whether the last of what may run comes first, if nothing is chosen by a seed. */
static int late_first;
void fake_late_first(int flag) { late_first = flag; }

/* Run one thing that may run. Work that was put in first never waits for what came later. */
static void run_one(void) {
    int ready = 0, at = fake_is_seeded() ? -1 : 0;
    for (int i = n_pending - 1; late_first && at == 0 && i > 0; i--)
        at = may_run(pending[i]) ? i : 0;
    for (int i = 0; at < 0 && i < n_pending; i++)
        ready += may_run(pending[i]);
    unsigned chosen = fake_choice((unsigned)ready);
    for (int i = 0; i < n_pending && at < 0; i++)
        if (may_run(pending[i]) && chosen-- == 0)
            at = i;
    Op *op = pending[at];
    memmove(&pending[at], &pending[at + 1], (size_t)(--n_pending - at) * sizeof(Op *));
    if (op->run != NULL)
        op->run(op->data);
    op->done = 1;
    forget(&op->after, &op->n_after);
    let_go(op);
}

static void finish_all(Op *const *list, int count) {
    for (int i = 0; i < count; i++)
        while (!list[i]->done)
            run_one();
}

/* For tests: forget what has failed. */
void fake_recover(void) { failed = 0; }

int fake_finish(Stream *stream) {
    fake_lock();
    stream = fake_stream(stream);
    finish_all(stream->after, stream->n_after);
    int status = failed;
    fake_unlock();
    return status;
}

/* Work of a stream runs behind what the stream has; the default stream and those that wait for it also run behind each
 * other. */
static Op *new_op(Stream *stream, void (*run)(void *data), const void *data, size_t bytes) {
    Op *op = calloc(1, sizeof *op);
    op->run = run;
    op->data = malloc(bytes + 1);
    if (bytes > 0)
        memcpy(op->data, data, bytes);
    if (stream == NULL)
        return op;
    for (int i = 0; i < stream->n_after; i++)
        remember(&op->after, &op->n_after, stream->after[i]);
    for (Stream *s = stream == &legacy ? streams : &legacy; s != NULL; s = s->next)
        if (stream == &legacy ? s->flags == 0 : stream->flags == 0)
            for (int i = 0; i < s->n_after; i++)
                remember(&op->after, &op->n_after, s->after[i]);
    return op;
}

static void append(Op *op) {
    pending = realloc(pending, ((size_t)n_pending + 1) * sizeof(Op *));
    pending[n_pending++] = op;
    op->references++;
}

static void put_into(Stream *stream, Op *op) {
    append(op);
    forget(&stream->after, &stream->n_after);
    remember(&stream->after, &stream->n_after, op);
}

static int *copy_numbers(const int *numbers, int count) {
    int *made = malloc((size_t)count * sizeof(int) + 1);
    if (count > 0)
        memcpy(made, numbers, (size_t)count * sizeof(int));
    return made;
}

static void add_node(Stream *stream, void (*run)(void *data), const void *data, size_t bytes) {
    Graph *graph = stream->capturing->graph;
    graph->nodes = realloc(graph->nodes, ((size_t)graph->count + 1) * sizeof(Node));
    Node *node = &graph->nodes[graph->count];
    *node = (Node){run, malloc(bytes + 1), bytes, stream->nodes, stream->n_nodes};
    memcpy(node->data, data, bytes);
    stream->nodes = copy_numbers(&graph->count, 1);
    stream->n_nodes = 1;
    graph->count++;
}

int fake_enqueue(Stream *stream, void (*run)(void *data), const void *data, size_t bytes) {
    NEEDS_CONTEXT;
    fake_lock();
    stream = fake_stream(stream);
    int status = 0;
    if (stream->capturing == NULL)
        put_into(stream, new_op(stream, run, data, bytes));
    else if (stream->capturing->invalid)
        status = CAPTURE_INVALIDATED;
    else
        add_node(stream, run, data, bytes);
    fake_unlock();
    return status;
}

int fake_in_capture(void) {
    if (capture_here == NULL)
        return 0;
    capture_here->invalid = 1;
    return 1;
}

int cuStreamCreate(Stream **stream, unsigned flags) {
    FAKE("cuStreamCreate");
    NEEDS_CONTEXT;
    fake_lock();
    *stream = calloc(1, sizeof **stream);
    (*stream)->flags = flags;
    (*stream)->context = fake_context();
    (*stream)->next = streams;
    streams = *stream;
    fake_unlock();
    return 0;
}

int cuStreamDestroy_v2(Stream *stream) {
    FAKE("cuStreamDestroy_v2");
    NEEDS_CONTEXT;
    fake_lock();
    finish_all(stream->after, stream->n_after);
    for (Stream **s = &streams; *s != NULL; s = &(*s)->next)
        if (*s == stream) {
            *s = stream->next;
            break;
        }
    forget(&stream->after, &stream->n_after);
    free(stream->nodes);
    free(stream);
    fake_unlock();
    return 0;
}

int cuStreamSynchronize(Stream *stream) {
    FAKE("cuStreamSynchronize");
    NEEDS_CONTEXT;
    if (fake_stream(stream)->capturing != NULL) {
        fake_stream(stream)->capturing->invalid = 1;
        return CAPTURE_UNSUPPORTED;
    }
    fake_finish(stream);
    fake_lock();
    fake_check_memory();
    const int status = failed;
    fake_unlock();
    return status;
}

/* Nobody may wait for a context, in whatever thread, while one of its streams is captured; the capture ends, too. */
static int ends_captures(const void *context) {
    int found = 0;
    for (Stream *s = streams; s != NULL; s = s->next)
        if (s->context == context && s->capturing != NULL)
            found = s->capturing->invalid = 1;
    return found;
}

int cuCtxSynchronize(void) {
    FAKE("cuCtxSynchronize");
    NEEDS_CONTEXT;
    fake_lock();
    if (ends_captures(fake_context())) {
        fake_unlock();
        return CAPTURE_UNSUPPORTED;
    }
    while (n_pending > 0)
        run_one();
    fake_check_memory();
    const int status = failed;
    fake_unlock();
    return status;
}

/* Events that have not been destroyed. */
static int events;
int fake_events(void) { return events; }

int cuEventCreate(Event **event, unsigned flags) {
    (void)flags;
    FAKE("cuEventCreate");
    NEEDS_CONTEXT;
    events++;
    *event = calloc(1, sizeof **event);
    return 0;
}

int cuEventRecord(Event *event, Stream *stream) {
    FAKE("cuEventRecord");
    NEEDS_CONTEXT;
    fake_lock();
    stream = fake_stream(stream);
    forget(&event->after, &event->n_after);
    free(event->nodes);
    event->nodes = NULL;
    event->n_nodes = 0;
    event->capturing = stream->capturing;
    if (stream->capturing != NULL) {
        event->nodes = copy_numbers(stream->nodes, stream->n_nodes);
        event->n_nodes = stream->n_nodes;
    } else
        for (int i = 0; i < stream->n_after; i++)
            remember(&event->after, &event->n_after, stream->after[i]);
    fake_unlock();
    return 0;
}

/* What a captured stream waits for, beside what it has; it is captured from then on. */
static void wait_in_capture(Stream *stream, const Event *event) {
    stream->capturing = event->capturing;
    for (int i = 0; i < event->n_nodes; i++) {
        int known = 0;
        for (int k = 0; k < stream->n_nodes; k++)
            known |= stream->nodes[k] == event->nodes[i];
        if (known)
            continue;
        stream->nodes = realloc(stream->nodes, ((size_t)stream->n_nodes + 1) * sizeof(int));
        stream->nodes[stream->n_nodes++] = event->nodes[i];
    }
}

int cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    (void)flags;
    FAKE("cuStreamWaitEvent");
    NEEDS_CONTEXT;
    stream = fake_stream(stream);
    if (stream->capturing != NULL && stream->capturing != event->capturing) {
        stream->capturing->invalid = 1;
        return event->capturing == NULL ? 905 : 903; /* isolation, or a merge of captures */
    }
    fake_lock();
    if (event->capturing != NULL)
        wait_in_capture(stream, event);
    else
        for (int i = 0; i < event->n_after; i++)
            if (!event->after[i]->done)
                remember(&stream->after, &stream->n_after, event->after[i]);
    fake_unlock();
    return 0;
}

int cuEventSynchronize(Event *event) {
    FAKE("cuEventSynchronize");
    NEEDS_CONTEXT;
    if (event->capturing != NULL)
        return CAPTURE_UNSUPPORTED;
    fake_lock();
    finish_all(event->after, event->n_after);
    int status = failed;
    fake_unlock();
    return status;
}

int cuEventQuery(Event *event) {
    FAKE("cuEventQuery");
    NEEDS_CONTEXT;
    for (int i = 0; i < event->n_after; i++)
        if (!event->after[i]->done)
            return 600;
    return 0;
}

int cuEventDestroy_v2(Event *event) {
    FAKE("cuEventDestroy_v2");
    NEEDS_CONTEXT;
    fake_lock();
    events--;
    forget(&event->after, &event->n_after);
    free(event->nodes);
    free(event);
    fake_unlock();
    return 0;
}

#ifndef WITHOUT_GRAPHS
static int graphs;
int fake_graphs(void) { return graphs; }

int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    FAKE("cuStreamBeginCapture_v2");
    /* Only a stream that does not wait for the default one is safe beside other threads. */
    if (mode != 1 || stream == NULL || stream->flags != 1 || stream->capturing != NULL)
        return INVALID_VALUE;
    stream->capturing = capture_here = calloc(1, sizeof(Capture));
    stream->capturing->origin = stream;
    stream->capturing->graph = calloc(1, sizeof(Graph));
    graphs++;
    return 0;
}

/* Whether the streams that were drawn into a capture have been waited for; they are taken out of it. */
static int all_joined(const Capture *capture) {
    int joined = 1;
    for (Stream *s = streams; s != NULL; s = s->next) {
        if (s->capturing != capture)
            continue;
        for (int i = 0; s != capture->origin && i < s->n_nodes; i++) {
            int found = 0;
            for (int k = 0; k < capture->origin->n_nodes; k++)
                found |= capture->origin->nodes[k] == s->nodes[i];
            for (int k = 0; k < capture->graph->count; k++)
                for (int j = 0; j < capture->graph->nodes[k].n_after; j++)
                    found |= capture->graph->nodes[k].after[j] == s->nodes[i];
            joined &= found;
        }
    }
    for (Stream *s = streams; s != NULL; s = s->next) {
        if (s->capturing != capture)
            continue;
        s->capturing = NULL;
        free(s->nodes);
        s->nodes = NULL;
        s->n_nodes = 0;
    }
    return joined;
}

int cuGraphDestroy(Graph *graph);

int cuStreamEndCapture(Stream *stream, Graph **graph) {
    int status = fake_call("cuStreamEndCapture");
    Capture *capture = stream->capturing;
    if (capture == NULL)
        return INVALID_VALUE;
    fake_lock();
    int joined = all_joined(capture);
    fake_unlock();
    *graph = capture->graph;
    if (status == 0 && (capture->invalid || !joined)) {
        status = joined ? CAPTURE_INVALIDATED : CAPTURE_UNJOINED;
        graphs++; /* it is destroyed here, which is no call */
        cuGraphDestroy(capture->graph);
        graphs--;
        *graph = NULL;
    }
    capture_here = NULL;
    free(capture);
    return status;
}

static void copy_graph(Graph *to, const Graph *from) {
    to->count = from->count;
    to->nodes = malloc((size_t)from->count * sizeof(Node) + 1);
    for (int i = 0; i < from->count; i++) {
        Node *node = &to->nodes[i];
        *node = from->nodes[i];
        node->data = malloc(node->bytes + 1);
        memcpy(node->data, from->nodes[i].data, node->bytes);
        node->after = copy_numbers(node->after, node->n_after);
    }
}

static void clear_graph(Graph *graph) {
    for (int i = 0; i < graph->count; i++) {
        free(graph->nodes[i].data);
        free(graph->nodes[i].after);
    }
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
    int same = exec->count == graph->count;
    for (int i = 0; same && i < graph->count; i++) {
        const Node *one = &exec->nodes[i], *other = &graph->nodes[i];
        same = one->run == other->run && one->n_after == other->n_after &&
               (one->n_after == 0 || memcmp(one->after, other->after, (size_t)one->n_after * sizeof(int)) == 0);
    }
    if (!same)
        return UPDATE_FAILED;
    clear_graph(exec);
    copy_graph(exec, graph);
    return 0;
}

/* For tests: how many pairs of nodes of the newest graph that was run may run at the same time. */
enum { MOST_COUNTED = 512 };
static int pairs;
int fake_pairs(void) { return pairs; }

static void count_pairs(const Graph *graph) {
    const size_t n = (size_t)graph->count;
    pairs = 0;
    if (n > MOST_COUNTED)
        return;
    unsigned char *before = calloc(n * n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char *own = before + i * n;
        for (int k = 0; k < graph->nodes[i].n_after; k++) {
            const size_t j = (size_t)graph->nodes[i].after[k];
            own[j] = 1;
            for (size_t m = 0; m < j; m++)
                own[m] |= before[j * n + m];
        }
        for (size_t j = 0; j < i; j++)
            pairs += !own[j];
    }
    free(before);
}

/* All nodes run behind what the stream has, and what comes next in the stream runs behind all nodes. */
int cuGraphLaunch(Graph *exec, Stream *stream) {
    FAKE("cuGraphLaunch");
    NEEDS_CONTEXT;
    stream = fake_stream(stream);
    if (stream->capturing != NULL)
        return CAPTURE_UNSUPPORTED;
    fake_lock();
    Op *begin = new_op(stream, NULL, NULL, 0), *end = new_op(NULL, NULL, NULL, 0);
    Op **made = malloc((size_t)exec->count * sizeof(Op *) + 1);
    put_into(stream, begin);
    remember(&end->after, &end->n_after, begin);
    for (int i = 0; i < exec->count; i++) {
        const Node *node = &exec->nodes[i];
        made[i] = new_op(NULL, node->run, node->data, node->bytes);
        remember(&made[i]->after, &made[i]->n_after, begin);
        for (int k = 0; k < node->n_after; k++)
            remember(&made[i]->after, &made[i]->n_after, made[node->after[k]]);
        append(made[i]);
        end->after = realloc(end->after, ((size_t)end->n_after + 1) * sizeof(Op *));
        end->after[end->n_after++] = made[i];
        made[i]->references++;
    }
    put_into(stream, end);
    free(made);
    count_pairs(exec);
    fake_unlock();
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
