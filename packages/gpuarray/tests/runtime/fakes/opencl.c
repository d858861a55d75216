/* A stand-in for the library of OpenCL: memory of the host, launches that do nothing, and calls that fail when told to.
 *
 * It counts its objects, so that tests see whether all were released, and the calls of clSetKernelArg.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int references;
    char *memory;
    size_t bytes;
    int is_part;
} Object;

static int live, set_arguments, fail_times, fail_status;
static char failing[64], version[64] = "OpenCL 1.2 of tests", built[4096];
static size_t used;
static int platforms = 3;
static int devices_of[] = {2, 0, 1};
static int names[4];

int fake_live(void) { return live; }
int fake_set_arguments(void) { return set_arguments; }
const char *fake_built(void) { return built; }
void fake_platforms(int count) { platforms = count; }
void fake_version(const char *text) { snprintf(version, sizeof version, "%s", text); }
/* Let the next calls of a function fail. */
void fake_fail(const char *name, int status, int times) {
    snprintf(failing, sizeof failing, "%s", name);
    fail_status = status;
    fail_times = times;
}

/* The status with which a call ends. */
static int status_of(const char *name) {
    if (fail_times == 0 || strcmp(failing, name) != 0)
        return 0;
    fail_times--;
    return fail_status;
}

static Object *make(const char *name, size_t bytes, int *status) {
    *status = status_of(name);
    if (*status != 0)
        return NULL;
    Object *made = calloc(1, sizeof *made);
    made->references = 1;
    made->memory = calloc(bytes + 1, 1);
    made->bytes = bytes;
    live++;
    return made;
}

static int release(Object *object) {
    if (--object->references > 0)
        return 0;
    if (!object->is_part)
        free(object->memory);
    free(object);
    live--;
    return 0;
}

static int put(const void *value, size_t length, size_t size, void *target, size_t *needed) {
    if (needed != NULL)
        *needed = length;
    if (target != NULL && size < length)
        return -30;
    if (target != NULL)
        memcpy(target, value, length);
    return 0;
}

int clGetPlatformIDs(uint32_t size, void **ids, uint32_t *count) {
    int status = status_of("clGetPlatformIDs");
    if (platforms == 0)
        return -1001;
    for (int i = 0; ids != NULL && i < platforms && i < (int)size; i++)
        ids[i] = &devices_of[i];
    if (count != NULL)
        *count = (uint32_t)platforms;
    return status;
}

int clGetPlatformInfo(void *platform, uint32_t what, size_t size, void *value, size_t *needed) {
    (void)platform;
    const char *text = what == 0x902 ? "Tests" : "OpenCL 1.2 Tests";
    return put(text, strlen(text) + 1, size, value, needed);
}

int clGetDeviceIDs(void *platform, uint64_t type, uint32_t size, void **ids, uint32_t *count) {
    (void)type;
    int number = *(int *)platform, first = platform == &devices_of[0] ? 0 : 2;
    if (number == 0)
        return -1;
    for (int i = 0; ids != NULL && i < number && i < (int)size; i++)
        ids[i] = &names[first + i];
    if (count != NULL)
        *count = (uint32_t)number;
    return status_of("clGetDeviceIDs");
}

int clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value, size_t *needed) {
    char name[32];
    uint64_t number = what == 0x1000   ? 4
                      : what == 0x1004 ? 256
                      : what == 0x101F ? 1 << 24
                      : what == 0x1010 ? 1 << 22
                                       : 64;
    const size_t sizes[] = {256, 128, 0};
    snprintf(name, sizeof name, "device %d", (int)((int *)device - names));
    switch (what) {
    case 0x102B: return put(name, strlen(name) + 1, size, value, needed);
    case 0x102C: return put("tests", 6, size, value, needed);
    case 0x102D: return put("7", 2, size, value, needed);
    case 0x102F: return put(version, strlen(version) + 1, size, value, needed);
    case 0x1030:
        return status_of("clGetDeviceInfo") ? -5
                                            : put("cl_khr_fp16 cl_nv_device_attribute_query", 41, size, value, needed);
    case 0x1005: return put(sizes, sizeof sizes, size, value, needed);
    case 0x4003: return put(&(uint32_t){32}, 4, size, value, needed);
    case 0x4043: return -30;
    default: return put(&number, 8, size, value, needed);
    }
}

void *clCreateContext(const intptr_t *p, uint32_t n, void *const *d, void *f, void *u, int *status) {
    (void)p, (void)n, (void)d, (void)f, (void)u;
    return make("clCreateContext", 0, status);
}
void *clCreateCommandQueue(void *c, void *d, uint64_t p, int *status) {
    (void)c, (void)d, (void)p;
    return make("clCreateCommandQueue", 0, status);
}
int clReleaseContext(void *object) { return release(object); }
int clReleaseCommandQueue(void *object) { return release(object); }
int clReleaseProgram(void *object) { return release(object); }
int clReleaseKernel(void *object) { return release(object); }
int clReleaseEvent(void *object) { return release(object); }
int clRetainProgram(void *object) { return ((Object *)object)->references++, 0; }
int clReleaseMemObject(void *object) {
    used -= ((Object *)object)->is_part || ((Object *)object)->references > 1 ? 0 : ((Object *)object)->bytes;
    return release(object);
}
int clFinish(void *queue) { return (void)queue, status_of("clFinish"); }
#ifndef WITHOUT_FLUSH
int clFlush(void *queue) { return (void)queue, status_of("clFlush"); }
#endif

/* There are 16 MiB. */
void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int *status) {
    (void)context, (void)flags, (void)host;
    if (used + bytes > (size_t)16 << 20) {
        *status = -4;
        return NULL;
    }
    Object *made = make("clCreateBuffer", bytes, status);
    used += made == NULL ? 0 : bytes;
    return made;
}
void *clCreateSubBuffer(void *buffer, uint64_t flags, uint32_t kind, const size_t *region, int *status) {
    (void)flags, (void)kind;
    Object *made = make("clCreateSubBuffer", 0, status);
    if (made != NULL) {
        free(made->memory);
        made->memory = ((Object *)buffer)->memory + region[0];
        made->bytes = region[1];
        made->is_part = 1;
    }
    return made;
}
void *clEnqueueMapBuffer(void *q, void *buffer, uint32_t b, uint64_t f, size_t o, size_t n, uint32_t w, void *l,
                         void *e, int *status) {
    (void)q, (void)b, (void)f, (void)o, (void)n, (void)w, (void)l, (void)e;
    *status = status_of("clEnqueueMapBuffer");
    return *status == 0 ? ((Object *)buffer)->memory : NULL;
}
int clEnqueueUnmapMemObject(void *q, void *b, void *m, uint32_t w, void *l, void *e) {
    return (void)q, (void)b, (void)m, (void)w, (void)l, (void)e, 0;
}
int clEnqueueWriteBuffer(void *q, Object *to, uint32_t b, size_t offset, size_t bytes, const void *from, uint32_t w,
                         void *l, void *e) {
    (void)q, (void)b, (void)w, (void)l, (void)e;
    memcpy(to->memory + offset, from, bytes);
    return status_of("clEnqueueWriteBuffer");
}
int clEnqueueReadBuffer(void *q, Object *from, uint32_t b, size_t offset, size_t bytes, void *to, uint32_t w, void *l,
                        void *e) {
    (void)q, (void)b, (void)w, (void)l, (void)e;
    memcpy(to, from->memory + offset, bytes);
    return status_of("clEnqueueReadBuffer");
}
int clEnqueueCopyBuffer(void *q, Object *from, Object *to, size_t a, size_t b, size_t bytes, uint32_t w, void *l,
                        void *e) {
    (void)q, (void)w, (void)l, (void)e;
    memcpy(to->memory + b, from->memory + a, bytes);
    return status_of("clEnqueueCopyBuffer");
}
int clEnqueueFillBuffer(void *q, Object *to, const void *value, size_t size, size_t offset, size_t bytes, uint32_t w,
                        void *l, void *e) {
    (void)q, (void)size, (void)w, (void)l, (void)e;
    memset(to->memory + offset, *(const unsigned char *)value, bytes);
    return status_of("clEnqueueFillBuffer");
}
int clEnqueueMarkerWithWaitList(void *q, uint32_t w, void *l, void **event) {
    int status;
    (void)q, (void)w, (void)l;
    *event = make("clEnqueueMarkerWithWaitList", 0, &status);
    return status;
}
int clWaitForEvents(uint32_t n, void *events) { return (void)n, (void)events, status_of("clWaitForEvents"); }

void *clCreateProgramWithSource(void *c, uint32_t n, const char **text, const size_t *l, int *status) {
    (void)c, (void)n, (void)l;
    Object *made = make("clCreateProgramWithSource", strlen(*text) + 1, status);
    if (made != NULL)
        strcpy(made->memory, *text);
    return made;
}
void *clCreateProgramWithBinary(void *c, uint32_t n, void *const *d, const size_t *size, const unsigned char **binary,
                                int *loaded, int *status) {
    (void)c, (void)n, (void)d;
    Object *made = make("clCreateProgramWithBinary", *size + 1, status);
    if (made != NULL)
        memcpy(made->memory, *binary, *size);
    *loaded = made != NULL && strncmp(made->memory, "bad", 3) == 0 ? -42 : 0;
    return made;
}
int clBuildProgram(Object *program, uint32_t n, void *const *d, const char *options, void *f, void *u) {
    (void)n, (void)d, (void)f, (void)u;
    snprintf(built, sizeof built, "%s %s", options, program->memory);
    return status_of("clBuildProgram");
}
int clGetProgramBuildInfo(void *program, void *d, uint32_t what, size_t size, void *value, size_t *needed) {
    (void)program, (void)d, (void)what;
    return put("line 7: the log", 16, size, value, needed);
}
/* The binary of a program is its text. */
int clGetProgramInfo(Object *program, uint32_t what, size_t size, void *value, size_t *needed) {
    size_t length = strlen(program->memory);
    int status = status_of(what == 0x1165 ? "sizes" : "binaries");
    if (status != 0)
        return status;
    if (what == 0x1165)
        return put(&length, sizeof length, size, value, needed);
    memcpy(*(char **)value, program->memory, length);
    return 0;
}
void *clCreateKernel(void *program, const char *name, int *status) {
    (void)program, (void)name;
    return make("clCreateKernel", 0, status);
}
int clGetKernelWorkGroupInfo(void *k, void *d, uint32_t what, size_t size, void *value, size_t *needed) {
    (void)k, (void)d, (void)what;
    return put(&(size_t){128}, sizeof(size_t), size, value, needed);
}
int clSetKernelArg(void *k, uint32_t position, size_t size, const void *value) {
    (void)k, (void)position, (void)size, (void)value;
    set_arguments++;
    return status_of("clSetKernelArg");
}
int clEnqueueNDRangeKernel(void *q, void *k, uint32_t n, const size_t *o, const size_t *g, const size_t *l, uint32_t w,
                           void *a, void *e) {
    (void)q, (void)k, (void)n, (void)o, (void)g, (void)l, (void)w, (void)a, (void)e;
    return status_of("clEnqueueNDRangeKernel");
}
