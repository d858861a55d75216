/* OpenCL: launches, and lists of them.
 *
 * A kernel object keeps the arguments that it was given. Each launch of a list has a kernel object of its own, so that
 * from the second run on only memory that has been exchanged is told again.
 */
#include "opencl.h"
#include <stdlib.h>

static int set_argument(cl_kernel kernel, int position, char letter, const Value *value, Failure *failure) {
    size_t size = letter == 'P' ? sizeof(cl_mem) : parameter_size(letter);
    return opencl_check(cl.clSetKernelArg(kernel, (cl_uint)position, size, value), "clSetKernelArg", failure);
}

static int set_arguments(cl_kernel kernel, const Launch *launch, Failure *failure) {
    for (int k = 0; k < launch->count; k++)
        if (set_argument(kernel, k, launch->parameters[k], &launch->values[k], failure) < 0)
            return -1;
    if (launch->shared == 0)
        return 0;
    return opencl_check(cl.clSetKernelArg(kernel, (cl_uint)launch->count, launch->shared, NULL), "clSetKernelArg",
                        failure);
}

static int enqueue(const OpenClContext *c, cl_kernel kernel, const Launch *launch, Failure *failure) {
    size_t items[3];
    for (int d = 0; d < launch->dimensions; d++)
        items[d] = launch->groups[d] * launch->local[d];
    return opencl_check(cl.clEnqueueNDRangeKernel(c->queue, kernel, (cl_uint)launch->dimensions, NULL, items,
                                                  launch->local, 0, NULL, NULL),
                        "clEnqueueNDRangeKernel", failure);
}

int opencl_launch(void *context, const Launch *launch, Failure *failure) {
    const OpenClContext *c = context;
    cl_kernel kernel = ((OpenClKernel *)launch->kernel)->handle;
    if (set_arguments(kernel, launch, failure) < 0 || enqueue(c, kernel, launch, failure) < 0)
        return -1;
    return opencl_check(cl.clFlush(c->queue), "clFlush", failure);
}

/* What a list keeps of a launch: its kernel object, and the memory that the object has been told. */
typedef struct {
    cl_kernel kernel;
    Address *told;
} Kept;

static int keep(Kept *kept, const Launch *launch, Failure *failure) {
    const OpenClKernel *k = launch->kernel;
    cl_int status = CL_SUCCESS;
    kept->told = calloc((size_t)launch->count + 1, sizeof *kept->told);
    if (kept->told == NULL)
        return failure_set(failure, "there is no memory for a list of launches");
    kept->kernel = cl.clCreateKernel(k->program, k->name, &status);
    if (opencl_check(status, "clCreateKernel", failure) < 0) {
        kept->kernel = NULL;
        return -1;
    }
    return set_arguments(kept->kernel, launch, failure);
}

static int tell_moved(Kept *kept, const Launch *launch, int all, Failure *failure) {
    for (int k = 0; k < launch->count; k++) {
        if (launch->parameters[k] != 'P' || (!all && launch->values[k].P == kept->told[k]))
            continue;
        if (set_argument(kept->kernel, k, 'P', &launch->values[k], failure) < 0)
            return -1;
        kept->told[k] = launch->values[k].P;
    }
    return 0;
}

static int prepare(List *list, Failure *failure) {
    Kept *kept = calloc((size_t)list->count + 1, sizeof *kept);
    if (kept == NULL)
        return failure_set(failure, "there is no memory for a list of launches");
    list->driver = kept;
    for (int i = 0; i < list->count; i++)
        if (list->steps[i].kind == STEP_LAUNCH && keep(&kept[i], &list->steps[i].launch, failure) < 0) {
            opencl_list_free(NULL, list);
            return -1;
        }
    list->stale = 1;
    return 0;
}

int opencl_replay(void *context, List *list, Failure *failure) {
    const OpenClContext *c = context;
    if (list->driver == NULL && prepare(list, failure) < 0)
        return -1;
    Kept *kept = list->driver;
    int result = 0;
    for (int i = 0; result == 0 && i < list->count; i++) {
        const Step *step = &list->steps[i];
        if (step->kind == STEP_COPY)
            result = step->copy.bytes == 0 ? 0 : opencl_copy(context, &step->copy, failure);
        else if (step->kind == STEP_FILL)
            result = step->fill.bytes == 0 ? 0 : opencl_fill(context, &step->fill, failure);
        else if (step->kind == STEP_LAUNCH) {
            if (list->stale || list->moved)
                result = tell_moved(&kept[i], &step->launch, list->stale, failure);
            if (result == 0)
                result = enqueue(c, kept[i].kernel, &step->launch, failure);
        }
    }
    cl.clFlush(c->queue);
    return result;
}

void opencl_list_free(void *context, List *list) {
    Kept *kept = list->driver;
    (void)context;
    for (int i = 0; kept != NULL && i < list->count; i++) {
        if (kept[i].kernel != NULL)
            cl.clReleaseKernel(kept[i].kernel);
        free(kept[i].told);
    }
    free(kept);
    list->driver = NULL;
}
