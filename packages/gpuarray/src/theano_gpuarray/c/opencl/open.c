/* OpenCL: the library, its platforms and devices, and contexts. */
#include "opencl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

OpenClFunctions cl;

static const struct {
    cl_int code;
    const char *name;
} error_names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

int opencl_check(cl_int status, const char *call, Failure *failure) {
    if (status == CL_SUCCESS)
        return 0;
    const char *name = "an unknown error";
    for (size_t i = 0; i < sizeof error_names / sizeof *error_names; i++)
        if (error_names[i].code == status)
            name = error_names[i].name;
    failure->out_of_memory |= status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
                              status == CL_OUT_OF_HOST_MEMORY || status == CL_INVALID_BUFFER_SIZE;
    return failure_set(failure, "%s failed: %s (%d)", call, name, (int)status);
}

/* A platform without devices, or none at all, is no failure. */
static int add_devices(OpenClState *state, cl_platform_id platform, int number, Failure *failure) {
    cl_uint count = 0;
    cl_int status = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (status == CL_DEVICE_NOT_FOUND || count == 0)
        return 0;
    if (opencl_check(status, "clGetDeviceIDs", failure) < 0)
        return -1;
    cl_device_id *found = calloc(count, sizeof *found);
    OpenClDevice *devices = realloc(state->devices, ((size_t)state->count + count) * sizeof *devices);
    if (devices != NULL)
        state->devices = devices;
    if (found == NULL || devices == NULL) {
        free(found);
        return failure_set(failure, "there is no memory for the list of OpenCL devices");
    }
    status = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, found, NULL);
    for (cl_uint i = 0; status == CL_SUCCESS && i < count; i++)
        devices[state->count++] = (OpenClDevice){platform, found[i], number, (int)i};
    free(found);
    return opencl_check(status, "clGetDeviceIDs", failure);
}

static int list_devices(OpenClState *state, Failure *failure) {
    cl_uint count = 0;
    cl_int status = cl.clGetPlatformIDs(0, NULL, &count);
    if (status == CL_PLATFORM_NOT_FOUND_KHR || count == 0)
        return 0;
    if (opencl_check(status, "clGetPlatformIDs", failure) < 0)
        return -1;
    cl_platform_id *platforms = calloc(count, sizeof(cl_platform_id));
    if (platforms == NULL)
        return failure_set(failure, "there is no memory for the list of OpenCL platforms");
    int result = opencl_check(cl.clGetPlatformIDs(count, platforms, NULL), "clGetPlatformIDs", failure);
    for (cl_uint i = 0; result == 0 && i < count; i++)
        result = add_devices(state, platforms[i], (int)i, failure);
    free(platforms);
    return result;
}

static int opencl_open(const Libraries *libraries, void **state, Failure *failure) {
    const char *path = library_path(libraries, "opencl");
    void *handle = library_open(path == NULL ? "libOpenCL.so.1" : path, failure);
    if (handle == NULL)
        return -1;
#define OPENCL_FIND(result, name, parameters)                                                                          \
    if ((*(void **)&cl.name = library_function(handle, #name, path == NULL ? "libOpenCL.so.1" : path, failure)) ==     \
        NULL)                                                                                                          \
        return -1;
    OPENCL_FUNCTIONS(OPENCL_FIND)
#undef OPENCL_FIND
    OpenClState *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failure_set(failure, "there is no memory for OpenCL");
    if (list_devices(made, failure) < 0) {
        free(made->devices);
        free(made);
        return -1;
    }
    *state = made;
    return 0;
}

static int opencl_count(void *state, int *count, Failure *failure) {
    (void)failure;
    *count = ((OpenClState *)state)->count;
    return 0;
}

static void device_text(cl_device_id device, cl_uint what, char *text, size_t size) {
    char whole[1024] = "";
    if (cl.clGetDeviceInfo(device, what, sizeof whole - 1, whole, NULL) != CL_SUCCESS)
        whole[0] = 0;
    snprintf(text, size, "%.*s", (int)size - 1, whole);
}

/* Numbers of devices have 4 or 8 bytes; the processors that there are store the low bytes first. */
static int64_t device_number(cl_device_id device, cl_uint what) {
    uint64_t value = 0;
    return cl.clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? (int64_t)value : 0;
}

static int64_t warp_of(cl_device_id device, const char *extensions) {
    int64_t warp = 0;
    if (strstr(extensions, "cl_nv_device_attribute_query") != NULL)
        warp = device_number(device, CL_DEVICE_WARP_SIZE_NV);
    else if (strstr(extensions, "cl_amd_device_attribute_query") != NULL)
        warp = device_number(device, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
    return warp > 0 ? warp : 1;
}

/* The version tells compiled code apart: that of the platform, of the device and of its driver. */
static void version_of(const OpenClDevice *item, Properties *p) {
    char platform[512] = "", version[64], driver[64];
    cl.clGetPlatformInfo(item->platform, CL_PLATFORM_VERSION, sizeof platform - 1, platform, NULL);
    device_text(item->device, CL_DEVICE_VERSION, version, sizeof version);
    device_text(item->device, CL_DRIVER_VERSION, driver, sizeof driver);
    snprintf(p->version, sizeof p->version, "%s; %.100s; %s", version, platform, driver);
}

static int opencl_properties(void *state, int index, Properties *p, Failure *failure) {
    const OpenClDevice *item = &((OpenClState *)state)->devices[index];
    cl_device_id device = item->device;
    size_t sizes[16] = {0}, length = 0;
    if (opencl_check(cl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, NULL, &length), "clGetDeviceInfo", failure))
        return -1;
    char *extensions = calloc(length + 1, 1);
    if (extensions == NULL)
        return failure_set(failure, "there is no memory for the properties of a device");
    cl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, length, extensions, NULL);
    cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
    memset(p, 0, sizeof *p);
    device_text(device, CL_DEVICE_NAME, p->name, sizeof p->name);
    device_text(device, CL_DEVICE_VENDOR, p->vendor, sizeof p->vendor);
    version_of(item, p);
    p->platform = item->platform_number;
    p->number = item->number;
    p->max_local = device_number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    for (int d = 0; d < 3; d++) {
        p->max_locals[d] = sizes[d] == 0 ? 1 : (int64_t)sizes[d];
        p->max_groups[d] = INT32_MAX;
    }
    p->local_memory = device_number(device, CL_DEVICE_LOCAL_MEM_SIZE);
    p->memory = device_number(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    p->max_buffer = device_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    p->units = device_number(device, CL_DEVICE_MAX_COMPUTE_UNITS);
    p->warp = warp_of(device, extensions);
    p->doubles = device_number(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    p->halves = strstr(extensions, "cl_khr_fp16") != NULL;
    p->long_atomics = strstr(extensions, "cl_khr_int64_base_atomics") != NULL;
    p->cpu = ((cl_bitfield)device_number(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    free(extensions);
    return 0;
}

/* Functions of OpenCL 1.2 are used. */
static int check_version(cl_device_id device, Failure *failure) {
    char version[64];
    int major = 0, minor = 0;
    device_text(device, CL_DEVICE_VERSION, version, sizeof version);
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 && major * 10 + minor < 12)
        return failure_set(failure, "the device has %s, and 1.2 is needed\n  Hint: install a newer driver", version);
    return 0;
}

/* PoCL builds every kernel, for all sizes of work-groups, when it is asked for the binary of a program; left alone it
 * builds those that are launched, for the size at hand, and keeps them on disk. */
static int is_pocl(cl_platform_id platform) {
    char name[256] = "";
    cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    return strcmp(name, "Portable Computing Language") == 0;
}

static void opencl_context_close(void *context) {
    OpenClContext *c = context;
    opencl_forget_newest(c);
    pthread_mutex_destroy(&c->lock);
    if (c->queue != NULL) {
        cl.clFinish(c->queue);
        cl.clReleaseCommandQueue(c->queue);
    }
    if (c->handle != NULL)
        cl.clReleaseContext(c->handle);
    free(c);
}

static int opencl_context_open(void *state, int index, const Options *options, void **context, Failure *failure) {
    const OpenClDevice *item = &((OpenClState *)state)->devices[index];
    (void)options; /* there is one queue, and drivers choose how threads wait */
    if (check_version(item->device, failure) < 0)
        return -1;
    OpenClContext *c = calloc(1, sizeof *c);
    if (c == NULL)
        return failure_set(failure, "there is no memory for a context");
    const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)item->platform, 0};
    cl_int status = CL_SUCCESS;
    pthread_mutex_init(&c->lock, NULL);
    c->device = item->device;
    c->keeps_text = is_pocl(item->platform);
    c->cpu = ((cl_bitfield)device_number(item->device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    c->handle = cl.clCreateContext(properties, 1, &item->device, NULL, NULL, &status);
    if (opencl_check(status, "clCreateContext", failure) == 0) {
        c->queue = cl.clCreateCommandQueue(c->handle, c->device, 0, &status);
        opencl_check(status, "clCreateCommandQueue", failure);
    }
    if (status != CL_SUCCESS) {
        opencl_context_close(c);
        return -1;
    }
    *context = c;
    return 0;
}

static void opencl_handles(void *context, uintptr_t *handle, uintptr_t *queue) {
    const OpenClContext *c = context;
    *handle = (uintptr_t)c->handle;
    *queue = (uintptr_t)c->queue;
}

static int opencl_synchronize(void *context, Failure *failure) {
    return opencl_check(cl.clFinish(((OpenClContext *)context)->queue), "clFinish", failure);
}

const DriverTable opencl_driver = {
    .name = "opencl",
    .reads_sources = 1,
    .open = opencl_open,
    .count = opencl_count,
    .properties = opencl_properties,
    .context_open = opencl_context_open,
    .context_close = opencl_context_close,
    .handles = opencl_handles,
    .synchronize = opencl_synchronize,
    .allocate = opencl_allocate,
    .slice = opencl_slice,
    .release = opencl_release,
    .host_allocate = opencl_host_allocate,
    .host_release = opencl_host_release,
    .mark = opencl_mark,
    .mark_wait = opencl_mark_wait,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .fill = opencl_fill,
    .compile = opencl_compile,
    .load = opencl_load,
    .unload = opencl_unload,
    .kernel = opencl_kernel,
    .kernel_free = opencl_kernel_free,
    .launch = opencl_launch,
    .replay = opencl_replay,
    .list_free = opencl_list_free,
};
