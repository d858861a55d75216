/* CUDA: memory of devices and of the host, and copies. */
#include "cuda.h"

int cuda_allocate(void *context, size_t bytes, Address *address, Failure *failure) {
    CUdeviceptr memory = 0;
    if (cuda_enter(context, failure) < 0)
        return -1;
    int result = cuda_check(cu.MemAlloc(&memory, bytes), "cuMemAlloc", failure);
    cuda_leave();
    *address = (Address)memory;
    return result;
}

int cuda_slice(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure) {
    (void)context, (void)bytes, (void)failure;
    *address = memory + offset;
    return 0;
}

/* Work in the queue may still use the memory, so that it is waited for. What fails was told by that work, or will be.
 */
void cuda_release(void *context, Address address, int is_slice) {
    CudaContext *c = context;
    if (is_slice || cuda_enter(c, NULL) < 0)
        return;
    cu.StreamSynchronize(c->queue);
    cu.MemFree(address);
    cuda_leave();
}

int cuda_host_allocate(void *context, size_t bytes, void **memory, void **handle, Failure *failure) {
    *handle = NULL;
    if (cuda_enter(context, failure) < 0)
        return -1;
    int result = cuda_check(cu.MemHostAlloc(memory, bytes, 0), "cuMemHostAlloc", failure);
    cuda_leave();
    return result;
}

void cuda_host_release(void *context, void *memory, void *handle) {
    (void)handle;
    if (cuda_enter(context, NULL) < 0)
        return;
    cu.MemFreeHost(memory);
    cuda_leave();
}

/* An event behind all that is in a queue; its context is current. */
static int record_event(CUstream queue, CUevent *event, Failure *failure) {
    if (cuda_check(cu.EventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", failure) < 0)
        return -1;
    if (cuda_check(cu.EventRecord(*event, queue), "cuEventRecord", failure) == 0)
        return 0;
    cu.EventDestroy(*event);
    return -1;
}

int cuda_mark(void *context, void **mark, Failure *failure) {
    CUevent event = NULL;
    if (cuda_enter(context, failure) < 0)
        return -1;
    int result = record_event(((CudaContext *)context)->queue, &event, failure);
    cuda_leave();
    *mark = event;
    return result;
}

int cuda_mark_wait(void *context, void *mark, Failure *failure) {
    if (cuda_enter(context, failure) < 0)
        return -1;
    int result = cuda_check(cu.EventSynchronize(mark), "cuEventSynchronize", failure);
    cu.EventDestroy(mark);
    cuda_leave();
    return result;
}

int cuda_write(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
               Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_check(cu.MemcpyHtoDAsync(target + offset, source, bytes, c->queue), "cuMemcpyHtoDAsync", failure);
    if (result == 0 && blocking)
        result = cuda_check(cu.StreamSynchronize(c->queue), "cuStreamSynchronize", failure);
    cuda_leave();
    return result;
}

int cuda_read(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_check(cu.MemcpyDtoHAsync(target, source + offset, bytes, c->queue), "cuMemcpyDtoHAsync", failure);
    if (result == 0)
        result = cuda_check(cu.StreamSynchronize(c->queue), "cuStreamSynchronize", failure);
    cuda_leave();
    return result;
}

int cuda_copy(void *context, const Copy *copy, Failure *failure) {
    CudaContext *c = context;
    const Step step = {.kind = STEP_COPY, .copy = *copy};
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_step(c, &step, c->queue, failure);
    cuda_leave();
    return result;
}

int cuda_fill(void *context, const Fill *fill, Failure *failure) {
    CudaContext *c = context;
    const Step step = {.kind = STEP_FILL, .fill = *fill};
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_step(c, &step, c->queue, failure);
    cuda_leave();
    return result;
}

/* Let what is put into the queue of `waiting` from now on run after all that is in the queue of `first`. */
static int order(CudaContext *first, CudaContext *waiting, Failure *failure) {
    CUevent event = NULL;
    if (cuda_enter(first, failure) < 0)
        return -1;
    int result = record_event(first->queue, &event, failure);
    cuda_leave();
    if (result < 0)
        return -1;
    int entered = cuda_enter(waiting, failure) == 0;
    if (entered)
        result = cuda_check(cu.StreamWaitEvent(waiting->queue, event, 0), "cuStreamWaitEvent", failure);
    /* The driver keeps an event until nobody waits for it any more. */
    cu.EventDestroy(event);
    if (entered)
        cuda_leave();
    return entered ? result : -1;
}

int cuda_share(void *context, uintptr_t stream, Failure *failure) {
    CudaContext *c = context;
    CUevent event = NULL;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = record_event(c->queue, &event, failure);
    if (result == 0) {
        result = cuda_check(cu.StreamWaitEvent((CUstream)stream, event, 0), "cuStreamWaitEvent", failure);
        cu.EventDestroy(event);
    }
    cuda_leave();
    return result;
}

int cuda_settle(void *context, Failure *failure) {
    if (cuda_enter(context, failure) < 0)
        return -1;
    cuda_begin_wait(context);
    int result = cuda_check(cu.CtxSynchronize(), "cuCtxSynchronize", failure);
    cuda_end(context);
    cuda_leave();
    return result;
}

int cuda_copy_from(void *context, void *other, const Copy *copy, Failure *failure) {
    CudaContext *c = context, *o = other;
    CUdeviceptr target = copy->target + copy->offset, source = copy->source + copy->source_offset;
    if (order(o, c, failure) < 0 || cuda_enter(c, failure) < 0)
        return -1;
    int result =
        c->handle == o->handle
            ? cuda_check(cu.MemcpyDtoDAsync(target, source, copy->bytes, c->queue), "cuMemcpyDtoDAsync", failure)
            : cuda_check(cu.MemcpyPeerAsync(target, c->handle, source, o->handle, copy->bytes, c->queue),
                         "cuMemcpyPeerAsync", failure);
    cuda_leave();
    /* Nor may the other queue write to the source before it has been copied. */
    return result < 0 ? -1 : order(c, o, failure);
}
