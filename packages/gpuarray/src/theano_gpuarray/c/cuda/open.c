/* CUDA: the libraries, devices and contexts. */
#include "cuda.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CudaFunctions cu;

int cuda_check(CUresult status, const char *call, Failure *failure) {
    if (status == CUDA_SUCCESS)
        return 0;
    const char *name = NULL, *meaning = NULL;
    if (cu.GetErrorName(status, &name) != CUDA_SUCCESS || name == NULL)
        name = "an unknown error";
    if (cu.GetErrorString(status, &meaning) != CUDA_SUCCESS || meaning == NULL)
        meaning = "the driver does not say what it means";
    if (failure != NULL)
        failure->out_of_memory |= status == CUDA_ERROR_OUT_OF_MEMORY;
    return failure_set(failure, "%s failed: %s (%d), %s", call, name, (int)status, meaning);
}

int cuda_enter(CudaContext *context, Failure *failure) {
    return cuda_check(cu.CtxPushCurrent(context->handle), "cuCtxPushCurrent", failure);
}

void cuda_leave(void) {
    CUcontext popped;
    cu.CtxPopCurrent(&popped);
}

/* Held by threads that capture, all at once, or by one that waits: a lock for each device, shared beyond some. */
enum { MOST_LOCKS = 64 };
static pthread_rwlock_t locks[MOST_LOCKS];
static pthread_once_t locks_made = PTHREAD_ONCE_INIT;

static void make_locks(void) {
    for (int k = 0; k < MOST_LOCKS; k++)
        pthread_rwlock_init(&locks[k], NULL);
}

static pthread_rwlock_t *lock_of(const CudaContext *context) {
    pthread_once(&locks_made, make_locks);
    return &locks[(unsigned)context->device % MOST_LOCKS];
}

void cuda_begin_capture(const CudaContext *context) { pthread_rwlock_rdlock(lock_of(context)); }
void cuda_begin_wait(const CudaContext *context) { pthread_rwlock_wrlock(lock_of(context)); }
void cuda_end(const CudaContext *context) { pthread_rwlock_unlock(lock_of(context)); }

static int find_functions(const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND(field, symbol, parameters)                                                                                \
    if ((*(void **)&cu.field = library_function(handle, symbol, path, failure)) == NULL)                               \
        return -1;
    CUDA_FUNCTIONS(FIND)
#undef FIND
    cu.graphs = 1;
#define FIND(field, symbol, parameters)                                                                                \
    if ((*(void **)&cu.field = library_function(handle, symbol, path, NULL)) == NULL)                                  \
        cu.graphs = 0;
    CUDA_GRAPH_FUNCTIONS(FIND)
#undef FIND
    return 0;
}

/* A machine without a device is no failure: there are none. */
static int count_devices(CudaState *state, Failure *failure) {
    CUresult status = cu.Init(0);
    if (status == CUDA_ERROR_NO_DEVICE)
        return 0;
    if (cuda_check(status, "cuInit", failure) < 0)
        return -1;
    if (cuda_check(cu.DriverGetVersion(&state->cuda_version), "cuDriverGetVersion", failure) < 0)
        return -1;
    return cuda_check(cu.DeviceGetCount(&state->count), "cuDeviceGetCount", failure);
}

static int cuda_open(const Libraries *libraries, void **state, Failure *failure) {
    const char *driver = library_path(libraries, "cuda"), *nvrtc = library_path(libraries, "nvrtc");
    const char *cublas = library_path(libraries, "cublas");
    if (driver == NULL || nvrtc == NULL)
        return failure_set(failure, "CUDA needs the libraries \"cuda\" and \"nvrtc\"");
    CudaState *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failure_set(failure, "there is no memory for CUDA");
    if (find_functions(driver, failure) < 0 || count_devices(made, failure) < 0 ||
        nvrtc_open(made, nvrtc, failure) < 0 || (cublas != NULL && cublas_open(made, cublas, failure) < 0)) {
        free(made->archs);
        free(made);
        return -1;
    }
    if (library_path(libraries, "cudnn") != NULL)
        cudnn_open(made, library_path(libraries, "cudnn"));
    calls_open(made, libraries);
    *state = made;
    return 0;
}

static int cuda_count(void *state, int *count, Failure *failure) {
    (void)failure;
    *count = ((CudaState *)state)->count;
    return 0;
}

/* A number of a device; 0 where the call before has failed already. */
static int64_t attribute(CUdevice device, int which, CUresult *status) {
    int value = 0;
    if (*status == CUDA_SUCCESS)
        *status = cu.DeviceGetAttribute(&value, which, device);
    return *status == CUDA_SUCCESS ? value : 0;
}

static int arch_of(CUdevice device, CUresult *status) {
    int64_t major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, status);
    return (int)(10 * major + attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, status));
}

/* The version tells compiled code apart: that of the driver, and of what compiles. */
static void texts_of(const CudaState *state, int arch, Properties *p) {
    snprintf(p->vendor, sizeof p->vendor, "NVIDIA");
    snprintf(p->arch, sizeof p->arch, "sm_%d", arch);
    snprintf(p->version, sizeof p->version, "CUDA %d.%d; NVRTC %d.%d", state->cuda_version / 1000,
             state->cuda_version % 1000 / 10, state->nvrtc_major, state->nvrtc_minor);
}

static int cuda_properties(void *state, int index, Properties *p, Failure *failure) {
    CUdevice device = 0;
    size_t memory = 0;
    memset(p, 0, sizeof *p);
    if (cuda_check(cu.DeviceGet(&device, index), "cuDeviceGet", failure) < 0 ||
        cuda_check(cu.DeviceGetName(p->name, sizeof p->name, device), "cuDeviceGetName", failure) < 0 ||
        cuda_check(cu.DeviceTotalMem(&memory, device), "cuDeviceTotalMem", failure) < 0)
        return -1;
    if (cu.DeviceGetPCIBusId(p->place, sizeof p->place, device) != CUDA_SUCCESS)
        p->place[0] = 0;
    CUresult status = CUDA_SUCCESS;
    int arch = arch_of(device, &status);
    texts_of(state, arch, p);
    p->number = index;
    p->memory = p->max_buffer = (int64_t)memory;
    p->max_local = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &status);
    for (int d = 0; d < 3; d++) {
        p->max_locals[d] = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + d, &status);
        p->max_groups[d] = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + d, &status);
    }
    p->local_memory = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &status);
    p->units = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &status);
    p->warp = attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE, &status);
    p->doubles = p->long_atomics = 1;
    p->halves = arch >= 53;
    return cuda_check(status, "cuDeviceGetAttribute", failure);
}

/* Let threads that wait give way to others, unless somebody else has made the context already. */
static int set_waiting(CUdevice device, const Options *options, Failure *failure) {
    unsigned flags = 0;
    int active = 0;
    if (!options->blocking)
        return 0;
    CUresult status = cu.DevicePrimaryCtxGetState(device, &flags, &active);
    if (status == CUDA_SUCCESS && !active)
        status = cu.DevicePrimaryCtxSetFlags(device, (flags & ~(unsigned)CU_CTX_SCHED_MASK) | CU_CTX_SCHED_YIELD);
    return status == CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE ? 0 : cuda_check(status, "cuDevicePrimaryCtxSetFlags", failure);
}

static int make_streams(CudaContext *context, Failure *failure) {
    if (cuda_enter(context, failure) < 0)
        return -1;
    int result = cuda_check(cu.StreamCreate(&context->queue, CU_STREAM_DEFAULT), "cuStreamCreate", failure);
    if (result == 0)
        result = cuda_check(cu.StreamCreate(&context->capture, CU_STREAM_NON_BLOCKING), "cuStreamCreate", failure);
    cuda_leave();
    return result;
}

static void cuda_context_close(void *context) {
    CudaContext *c = context;
    /* At the end of a process the driver may have gone before. */
    if (cuda_enter(c, NULL) == 0) {
        if (c->queue != NULL)
            cu.StreamSynchronize(c->queue);
        cuda_begin_wait(c); /* libraries wait for the device when they are closed */
        cublas_close(c);
        cudnn_close(c);
        calls_close(c);
        cuda_end(c);
        if (c->capture != NULL)
            cu.StreamDestroy(c->capture);
        for (int k = 0; k < MOST_LANES - 1; k++)
            if (c->beside[k] != NULL)
                cu.StreamDestroy(c->beside[k]);
        if (c->queue != NULL)
            cu.StreamDestroy(c->queue);
        cuda_leave();
    }
    cu.DevicePrimaryCtxRelease(c->device);
    free(c);
}

static int cuda_context_open(void *state, int index, const Options *options, void **context, Failure *failure) {
    CudaContext *c = calloc(1, sizeof *c);
    CUresult status = CUDA_SUCCESS;
    if (c == NULL)
        return failure_set(failure, "there is no memory for a context");
    c->state = state;
    if (cuda_check(cu.DeviceGet(&c->device, index), "cuDeviceGet", failure) < 0)
        goto failed;
    c->arch = arch_of(c->device, &status);
    if (cuda_check(status, "cuDeviceGetAttribute", failure) < 0 || set_waiting(c->device, options, failure) < 0 ||
        cuda_check(cu.DevicePrimaryCtxRetain(&c->handle, c->device), "cuDevicePrimaryCtxRetain", failure) < 0)
        goto failed;
    if (make_streams(c, failure) < 0) {
        cuda_context_close(c);
        return -1;
    }
    *context = c;
    return 0;
failed:
    free(c);
    return -1;
}

static void cuda_handles(void *context, uintptr_t *handle, uintptr_t *queue) {
    *handle = (uintptr_t)((CudaContext *)context)->handle;
    *queue = (uintptr_t)((CudaContext *)context)->queue;
}

static int cuda_synchronize(void *context, Failure *failure) {
    CudaContext *c = context;
    if (cuda_enter(c, failure) < 0)
        return -1;
    int result = cuda_check(cu.StreamSynchronize(c->queue), "cuStreamSynchronize", failure);
    cuda_leave();
    return result;
}

static int cuda_push(void *context, Failure *failure) { return cuda_enter(context, failure); }

static int cuda_pop(void *context, Failure *failure) {
    (void)context;
    CUcontext popped;
    return cuda_check(cu.CtxPopCurrent(&popped), "cuCtxPopCurrent", failure);
}

static int cuda_compile(void *context, const char *text, const char *options, unsigned char **binary, size_t *bytes,
                        Failure *failure) {
    const CudaContext *c = context;
    return nvrtc_compile(c->state, c->arch, text, options, binary, bytes, failure);
}

const DriverTable cuda_driver = {
    .name = "cuda",
    .open = cuda_open,
    .count = cuda_count,
    .properties = cuda_properties,
    .version = cudnn_version,
    .context_open = cuda_context_open,
    .context_close = cuda_context_close,
    .handles = cuda_handles,
    .synchronize = cuda_synchronize,
    .push = cuda_push,
    .pop = cuda_pop,
    .allocate = cuda_allocate,
    .slice = cuda_slice,
    .release = cuda_release,
    .host_allocate = cuda_host_allocate,
    .host_release = cuda_host_release,
    .mark = cuda_mark,
    .mark_wait = cuda_mark_wait,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .fill = cuda_fill,
    .copy_from = cuda_copy_from,
    .share = cuda_share,
    .settle = cuda_settle,
    .compile = cuda_compile,
    .load = cuda_load,
    .unload = cuda_unload,
    .kernel = cuda_kernel,
    .kernel_free = cuda_kernel_free,
    .launch = cuda_launch,
    .product = cuda_product,
    .plan = cuda_plan,
    .convolve = cuda_convolve,
    .workspace = cuda_workspace,
    .call = cuda_call,
    .replay = cuda_replay,
    .list_free = cuda_list_free,
};
