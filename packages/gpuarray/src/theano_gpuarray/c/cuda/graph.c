/* CUDA: lists of launches as graphs.
 *
 * From its third run on a list is captured as a graph, which costs one call to put into the queue. A graph has the
 * addresses of its run in it. A function with updates computes into what the call before last has left, and the pool
 * gives memory out in the order of addresses: so calls take turns between two sets of addresses, and each finds its
 * graph; two more are for functions that are called in between. Where addresses differ from all, the graph that was not
 * used for longest is updated; where that happens nearly always, a graph costs more than it saves, and the list goes
 * step by step.
 *
 * Where a list has lanes, each is captured from a stream of its own, and the graph has their steps side by side.
 * Without a graph, its steps run in order.
 */
#include "cuda.h"
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 4, FIRST_RUNS = 2, FEWEST_STEPS = 3, MOST_MISSES = 32 };

typedef struct {
    CUgraphExec exec; /* NULL: none yet */
    Address *told;    /* the addresses in it */
    long used;        /* number of the run that used it last */
} Graph;

typedef struct {
    Graph graphs[GRAPHS];
    int count;    /* addresses */
    Address *now; /* those of this run */
    long runs;
    int hits, misses, given_up;
} Kept;

/* Write the addresses of a step to `to`, where that is not NULL; returns how many there are. */
static int step_addresses(const Step *step, Address *to) {
    const Address *found[5] = {0};
    int count = 0;
    switch (step->kind) {
    case STEP_COPY:
        found[count++] = &step->copy.target;
        found[count++] = &step->copy.source;
        break;
    case STEP_FILL: found[count++] = &step->fill.target; break;
    case STEP_PRODUCT:
        found[count++] = &step->product.a.address;
        found[count++] = &step->product.b.address;
        found[count++] = &step->product.z.address;
        found[count++] = &step->product.alpha.address;
        found[count++] = &step->product.beta.address;
        break;
    case STEP_CONVOLUTION:
        found[count++] = &step->convolution->image.address;
        found[count++] = &step->convolution->filter.address;
        found[count++] = &step->convolution->top.address;
        found[count++] = &step->convolution->workspace.address;
        break;
    case STEP_CALL:
        for (int k = 0; k < step->call->n_places; k++)
            if (to != NULL)
                to[k] = step->call->places[k].address;
        return step->call->n_places;
    default:
        for (int k = 0; k < step->launch.count; k++) {
            if (step->launch.parameters[k] != 'P')
                continue;
            if (to != NULL)
                to[count] = step->launch.values[k].P;
            count++;
        }
        return count;
    }
    for (int k = 0; to != NULL && k < count; k++)
        to[k] = *found[k];
    return count;
}

static int list_addresses(const List *list, Address *to) {
    int count = 0;
    for (int i = 0; i < list->count; i++)
        count += step_addresses(&list->steps[i], to == NULL ? NULL : to + count);
    return count;
}

/* Whether a step waits for the device, which ends a capture. */
static int waits(const List *list) {
    for (int i = 0; i < list->count; i++)
        if (list->steps[i].kind == STEP_CALL && cuda_call_waits(list->steps[i].call))
            return 1;
    return 0;
}

static Kept *kept_of(List *list, Failure *failure) {
    if (list->driver != NULL)
        return list->driver;
    Kept *kept = calloc(1, sizeof *kept);
    if (kept != NULL) {
        list->driver = kept;
        kept->count = list_addresses(list, NULL);
        kept->given_up = waits(list);
        kept->now = calloc((size_t)kept->count + 1, sizeof(Address));
        for (int g = 0; g < GRAPHS; g++)
            kept->graphs[g].told = calloc((size_t)kept->count + 1, sizeof(Address));
        int complete = kept->now != NULL;
        for (int g = 0; g < GRAPHS; g++)
            complete &= kept->graphs[g].told != NULL;
        if (complete)
            return kept;
        cuda_list_free(NULL, list);
    }
    failure_set(failure, "there is no memory for a list of launches");
    return NULL;
}

static int run_steps(CudaContext *context, const List *list, CUstream stream, Failure *failure) {
    for (int i = 0; i < list->count; i++)
        if (cuda_step(context, &list->steps[i], stream, failure) < 0)
            return -1;
    return 0;
}

/* What is captured from several streams: events[i] is recorded behind step i, the last one where all begins. */
typedef struct {
    CudaContext *context;
    const List *list;
    CUevent *events;
    int started[MOST_LANES];
} Forks;

static CUstream lane_stream(const Forks *forks, int lane) {
    return lane == 0 ? forks->context->capture : forks->context->beside[lane - 1];
}

static int signal(Forks *forks, int i, CUstream stream, Failure *failure) {
    if (forks->events[i] == NULL &&
        cuda_check(cu.EventCreate(&forks->events[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate", failure) < 0)
        return -1;
    return cuda_check(cu.EventRecord(forks->events[i], stream), "cuEventRecord", failure);
}

static int wait_for(const Forks *forks, int i, CUstream stream, Failure *failure) {
    return cuda_check(cu.StreamWaitEvent(stream, forks->events[i], 0), "cuStreamWaitEvent", failure);
}

static int step_of_lane(Forks *forks, int i, Failure *failure) {
    const Lanes *lanes = &forks->list->lanes;
    int lane = lanes->numbers[i];
    CUstream stream = lane_stream(forks, lane);
    /* A stream becomes a part of the capture by waiting for an event of it. */
    if (lane > 0 && !forks->started[lane] && wait_for(forks, forks->list->count, stream, failure) < 0)
        return -1;
    forks->started[lane] = 1;
    for (int k = lanes->begins[i]; k < lanes->begins[i + 1]; k++)
        if (wait_for(forks, lanes->waits[k], stream, failure) < 0)
            return -1;
    if (cuda_step(forks->context, &forks->list->steps[i], stream, failure) < 0)
        return -1;
    return lanes->signals[i] ? signal(forks, i, stream, failure) : 0;
}

/* Capture steps in lanes, which end together. */
static int run_lanes(CudaContext *context, const List *list, Failure *failure) {
    Forks forks = {.context = context, .list = list, .started = {1}};
    forks.events = calloc((size_t)list->count + 1, sizeof(CUevent));
    if (forks.events == NULL)
        return failure_set(failure, "there is no memory for the events of a graph");
    int result = signal(&forks, list->count, context->capture, failure);
    for (int i = 0; result == 0 && i < list->count; i++)
        result = step_of_lane(&forks, i, failure);
    for (int lane = 1; result == 0 && lane < MOST_LANES; lane++)
        if (forks.started[lane]) {
            result = signal(&forks, list->count, lane_stream(&forks, lane), failure);
            if (result == 0)
                result = wait_for(&forks, list->count, context->capture, failure);
        }
    for (int i = 0; i <= list->count; i++)
        if (forks.events[i] != NULL)
            cu.EventDestroy(forks.events[i]);
    free(forks.events);
    return result;
}

static int has_lanes(CudaContext *context, const List *list) {
    if (list->lanes.numbers == NULL)
        return 0;
    for (int i = 0; i < list->count; i++) {
        int lane = list->lanes.numbers[i];
        if (lane > 0 && context->beside[lane - 1] == NULL &&
            cu.StreamCreate(&context->beside[lane - 1], CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) {
            context->beside[lane - 1] = NULL;
            return 0;
        }
    }
    return 1;
}

/* A graph of the list with the addresses of this run, or NULL where something in it cannot be captured. */
static CUgraph capture(CudaContext *context, const List *list) {
    CUgraph graph = NULL;
    Failure failure = {0};
    int lanes = has_lanes(context, list);
    cuda_begin_capture(context);
    if (cu.StreamBeginCapture(context->capture, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) {
        cuda_end(context);
        return NULL;
    }
    int result = lanes ? run_lanes(context, list, &failure) : run_steps(context, list, context->capture, &failure);
    /* The capture is ended in any case. */
    CUresult status = cu.StreamEndCapture(context->capture, &graph);
    cuda_end(context);
    failure_clear(&failure);
    if (result == 0 && status == CUDA_SUCCESS)
        return graph;
    if (graph != NULL)
        cu.GraphDestroy(graph);
    return NULL;
}

/* Give a graph the addresses of this run; -1 where there cannot be one. */
static int tell(CudaContext *context, const List *list, const Kept *kept, Graph *graph) {
    CUgraphExecUpdateResultInfo info = {0};
    CUgraph made = capture(context, list);
    if (made == NULL)
        return -1;
    CUresult status = CUDA_SUCCESS;
    if (graph->exec == NULL || cu.GraphExecUpdate(graph->exec, made, &info) != CUDA_SUCCESS) {
        if (graph->exec != NULL)
            cu.GraphExecDestroy(graph->exec);
        graph->exec = NULL;
        status = cu.GraphInstantiate(&graph->exec, made, 0);
    }
    cu.GraphDestroy(made);
    if (status != CUDA_SUCCESS) {
        graph->exec = NULL;
        return -1;
    }
    memcpy(graph->told, kept->now, (size_t)kept->count * sizeof(Address));
    return 0;
}

/* The graph for this run; NULL where the list goes step by step. */
static Graph *graph_for(CudaContext *context, const List *list, Kept *kept) {
    Graph *oldest = &kept->graphs[0];
    for (int g = 0; g < GRAPHS; g++) {
        Graph *graph = &kept->graphs[g];
        if (graph->exec != NULL && memcmp(graph->told, kept->now, (size_t)kept->count * sizeof(Address)) == 0) {
            kept->hits++;
            return graph;
        }
        if (graph->used < oldest->used)
            oldest = graph;
    }
    if (++kept->misses > MOST_MISSES && kept->misses > kept->hits)
        kept->given_up = 1;
    if (kept->given_up || tell(context, list, kept, oldest) < 0) {
        kept->given_up = 1;
        return NULL;
    }
    return oldest;
}

int cuda_replay(void *context, List *list, Failure *failure) {
    CudaContext *c = context;
    Kept *kept = kept_of(list, failure);
    if (kept == NULL || cuda_enter(c, failure) < 0)
        return -1;
    Graph *graph = NULL;
    if (kept->runs++ >= FIRST_RUNS && list->count >= FEWEST_STEPS && cu.graphs && !kept->given_up) {
        list_addresses(list, kept->now);
        graph = graph_for(c, list, kept);
    }
    int result = 0;
    if (graph != NULL) {
        graph->used = kept->runs;
        result = cuda_check(cu.GraphLaunch(graph->exec, c->queue), "cuGraphLaunch", failure);
    } else
        result = run_steps(c, list, c->queue, failure);
    cuda_leave();
    return result;
}

void cuda_list_free(void *context, List *list) {
    Kept *kept = list->driver;
    if (kept == NULL)
        return;
    int entered = context != NULL && cuda_enter(context, NULL) == 0;
    for (int g = 0; g < GRAPHS; g++) {
        /* The driver keeps a graph that is under way until it has ended. */
        if (kept->graphs[g].exec != NULL)
            cu.GraphExecDestroy(kept->graphs[g].exec);
        free(kept->graphs[g].told);
    }
    if (entered)
        cuda_leave();
    free(kept->now);
    free(kept);
    list->driver = NULL;
}
