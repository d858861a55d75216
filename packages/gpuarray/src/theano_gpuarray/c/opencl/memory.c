/* OpenCL: memory of devices and of the host, and copies. Addresses are cl_mem. */
#include "opencl.h"
#include <stdlib.h>

/* Drivers of graphics cards promise memory, and look for it when it is first used, which may be within a function's
 * launches. A byte is written at once, so that the pool hears of it in time. */
static int use_byte(const OpenClContext *c, cl_mem buffer, Failure *failure) {
    const unsigned char zero = 0;
    return opencl_check(cl.clEnqueueFillBuffer(c->queue, buffer, &zero, 1, 0, 1, 0, NULL, NULL), "clEnqueueFillBuffer",
                        failure);
}

int opencl_allocate(void *context, size_t bytes, Address *address, Failure *failure) {
    const OpenClContext *c = context;
    cl_int status = CL_SUCCESS;
    cl_mem buffer = cl.clCreateBuffer(c->handle, CL_MEM_READ_WRITE, bytes, NULL, &status);
    if (opencl_check(status, "clCreateBuffer", failure) < 0)
        return -1;
    if (!c->cpu && use_byte(c, buffer, failure) < 0) {
        cl.clReleaseMemObject(buffer);
        return -1;
    }
    *address = (Address)buffer;
    return 0;
}

int opencl_slice(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure) {
    (void)context;
    const size_t region[] = {offset, bytes};
    cl_int status = CL_SUCCESS;
    *address =
        (Address)cl.clCreateSubBuffer((cl_mem)memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, region, &status);
    return opencl_check(status, "clCreateSubBuffer", failure);
}

/* OpenCL itself waits with the memory until commands that use it have ended. */
void opencl_release(void *context, Address address, int is_slice) {
    (void)context, (void)is_slice;
    cl.clReleaseMemObject((cl_mem)address);
}

/* Pinned memory is what drivers of graphics cards give for a mapped buffer in host memory; a CPU needs none. */
int opencl_host_allocate(void *context, size_t bytes, void **memory, void **handle, Failure *failure) {
    const OpenClContext *c = context;
    *handle = NULL;
    if (c->cpu) {
        *memory = malloc(bytes);
        return *memory == NULL ? failure_set(failure, "there is no memory on the host for %zu bytes", bytes) : 0;
    }
    cl_int status = CL_SUCCESS;
    cl_mem buffer = cl.clCreateBuffer(c->handle, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &status);
    if (opencl_check(status, "clCreateBuffer", failure) < 0)
        return -1;
    *memory = cl.clEnqueueMapBuffer(c->queue, buffer, 1, CL_MAP_READ_WRITE, 0, bytes, 0, NULL, NULL, &status);
    if (opencl_check(status, "clEnqueueMapBuffer", failure) < 0) {
        cl.clReleaseMemObject(buffer);
        return -1;
    }
    *handle = buffer;
    return 0;
}

void opencl_host_release(void *context, void *memory, void *handle) {
    if (handle == NULL) {
        free(memory);
        return;
    }
    cl.clEnqueueUnmapMemObject(((OpenClContext *)context)->queue, handle, memory, 0, NULL, NULL);
    cl.clReleaseMemObject(handle);
}

int opencl_mark(void *context, void **mark, Failure *failure) {
    cl_command_queue queue = ((OpenClContext *)context)->queue;
    cl_event event = NULL;
    if (opencl_check(cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList", failure))
        return -1;
    cl.clFlush(queue);
    *mark = event;
    return 0;
}

int opencl_mark_wait(void *context, void *mark, Failure *failure) {
    (void)context;
    cl_event event = mark;
    int result = opencl_check(cl.clWaitForEvents(1, &event), "clWaitForEvents", failure);
    cl.clReleaseEvent(event);
    return result;
}

int opencl_write(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
                 Failure *failure) {
    cl_command_queue queue = ((OpenClContext *)context)->queue;
    return opencl_check(
        cl.clEnqueueWriteBuffer(queue, (cl_mem)target, (cl_uint)blocking, offset, bytes, source, 0, NULL, NULL),
        "clEnqueueWriteBuffer", failure);
}

int opencl_read(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure) {
    cl_command_queue queue = ((OpenClContext *)context)->queue;
    return opencl_check(cl.clEnqueueReadBuffer(queue, (cl_mem)source, 1, offset, bytes, target, 0, NULL, NULL),
                        "clEnqueueReadBuffer", failure);
}

int opencl_copy(void *context, const Copy *copy, Failure *failure) {
    cl_command_queue queue = ((OpenClContext *)context)->queue;
    return opencl_check(cl.clEnqueueCopyBuffer(queue, (cl_mem)copy->source, (cl_mem)copy->target, copy->source_offset,
                                               copy->offset, copy->bytes, 0, NULL, NULL),
                        "clEnqueueCopyBuffer", failure);
}

int opencl_fill(void *context, const Fill *fill, Failure *failure) {
    cl_command_queue queue = ((OpenClContext *)context)->queue;
    const unsigned char value = (unsigned char)fill->value;
    return opencl_check(
        cl.clEnqueueFillBuffer(queue, (cl_mem)fill->target, &value, 1, fill->offset, fill->bytes, 0, NULL, NULL),
        "clEnqueueFillBuffer", failure);
}
