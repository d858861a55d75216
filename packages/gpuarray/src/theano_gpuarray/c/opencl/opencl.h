/* The part of OpenCL 1.2 that is used: its types, constants and functions, declared here so that no header of it is
 * needed, and the library is looked for when a device is. */
#ifndef THEANO_GPUARRAY_OPENCL_H
#define THEANO_GPUARRAY_OPENCL_H

#include "../driver.h"
#include <pthread.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,
};
#define CL_DEVICE_TYPE_CPU ((cl_bitfield)1 << 1)
#define CL_DEVICE_TYPE_ALL ((cl_bitfield)0xFFFFFFFF)
enum { CL_PLATFORM_VERSION = 0x0901, CL_PLATFORM_NAME = 0x0902 };
enum {
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_WARP_SIZE_NV = 0x4003,
    CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043,
};
enum { CL_CONTEXT_PLATFORM = 0x1084 };
#define CL_MEM_READ_WRITE ((cl_bitfield)1)
#define CL_MEM_ALLOC_HOST_PTR ((cl_bitfield)1 << 4)
#define CL_MAP_READ_WRITE ((cl_bitfield)3)
enum { CL_BUFFER_CREATE_TYPE_REGION = 0x1220 };
enum { CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES = 0x1166, CL_PROGRAM_BUILD_LOG = 0x1183 };
enum { CL_KERNEL_WORK_GROUP_SIZE = 0x11B0 };

typedef void (*cl_notify)(const char *, const void *, size_t, void *);
typedef void (*cl_built)(cl_program, void *);

/* Result, name and parameters of each function. */
#define OPENCL_FUNCTIONS(F)                                                                                            \
    F(cl_int, clGetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                \
    F(cl_int, clGetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))                                  \
    F(cl_int, clGetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                       \
    F(cl_int, clGetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                      \
    F(cl_context, clCreateContext, (const intptr_t *, cl_uint, const cl_device_id *, cl_notify, void *, cl_int *))     \
    F(cl_int, clReleaseContext, (cl_context))                                                                          \
    F(cl_command_queue, clCreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))                       \
    F(cl_int, clReleaseCommandQueue, (cl_command_queue))                                                               \
    F(cl_int, clFlush, (cl_command_queue))                                                                             \
    F(cl_int, clFinish, (cl_command_queue))                                                                            \
    F(cl_mem, clCreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                     \
    F(cl_mem, clCreateSubBuffer, (cl_mem, cl_bitfield, cl_uint, const void *, cl_int *))                               \
    F(cl_int, clReleaseMemObject, (cl_mem))                                                                            \
    F(void *, clEnqueueMapBuffer,                                                                                      \
      (cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint, const cl_event *, cl_event *,          \
       cl_int *))                                                                                                      \
    F(cl_int, clEnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))      \
    F(cl_int, clEnqueueWriteBuffer,                                                                                    \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))        \
    F(cl_int, clEnqueueReadBuffer,                                                                                     \
      (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))              \
    F(cl_int, clEnqueueCopyBuffer,                                                                                     \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))               \
    F(cl_int, clEnqueueFillBuffer,                                                                                     \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))         \
    F(cl_int, clEnqueueMarkerWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                  \
    F(cl_int, clWaitForEvents, (cl_uint, const cl_event *))                                                            \
    F(cl_int, clReleaseEvent, (cl_event))                                                                              \
    F(cl_program, clCreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))           \
    F(cl_program, clCreateProgramWithBinary,                                                                           \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *))         \
    F(cl_int, clBuildProgram, (cl_program, cl_uint, const cl_device_id *, const char *, cl_built, void *))             \
    F(cl_int, clGetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                                       \
    F(cl_int, clGetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                    \
    F(cl_int, clRetainProgram, (cl_program))                                                                           \
    F(cl_int, clReleaseProgram, (cl_program))                                                                          \
    F(cl_kernel, clCreateKernel, (cl_program, const char *, cl_int *))                                                 \
    F(cl_int, clReleaseKernel, (cl_kernel))                                                                            \
    F(cl_int, clGetKernelWorkGroupInfo, (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                  \
    F(cl_int, clSetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                              \
    F(cl_int, clEnqueueNDRangeKernel,                                                                                  \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,                  \
       const cl_event *, cl_event *))

/* The functions of the library; there is one library in a process, whose ICD loader knows all platforms. */
typedef struct {
#define OPENCL_FIELD(result, name, parameters) result(*name) parameters;
    OPENCL_FUNCTIONS(OPENCL_FIELD)
#undef OPENCL_FIELD
} OpenClFunctions;
extern OpenClFunctions cl;

typedef struct {
    cl_platform_id platform;
    cl_device_id device;
    int platform_number, number;
} OpenClDevice;

typedef struct {
    OpenClDevice *devices;
    int count;
} OpenClState;

typedef struct {
    cl_device_id device;
    cl_context handle;
    cl_command_queue queue;
    int cpu;
    int keeps_text; /* whether compiled code is kept as text, since the driver has a cache of its own */
    /* What was compiled last, and what it is known by: most often it is loaded next. */
    pthread_mutex_t lock;
    cl_program newest;
    unsigned char *newest_binary;
    size_t newest_bytes;
} OpenClContext;

typedef struct {
    cl_program program;
    cl_kernel handle;
    char *name;
} OpenClKernel;

/* Say that a call failed, with the name of its error code; -1, or 0 where it did not. */
int opencl_check(cl_int status, const char *call, Failure *failure);

/* memory.c */
int opencl_allocate(void *context, size_t bytes, Address *address, Failure *failure);
int opencl_slice(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure);
void opencl_release(void *context, Address address, int is_slice);
int opencl_host_allocate(void *context, size_t bytes, void **memory, void **handle, Failure *failure);
void opencl_host_release(void *context, void *memory, void *handle);
int opencl_mark(void *context, void **mark, Failure *failure);
int opencl_mark_wait(void *context, void *mark, Failure *failure);
int opencl_write(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
                 Failure *failure);
int opencl_read(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure);
int opencl_copy(void *context, const Copy *copy, Failure *failure);
int opencl_fill(void *context, const Fill *fill, Failure *failure);

/* programs.c */
void opencl_forget_newest(OpenClContext *c);
int opencl_compile(void *context, const char *text, const char *options, unsigned char **binary, size_t *bytes,
                   Failure *failure);
int opencl_load(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure);
void opencl_unload(void *context, void *module);
int opencl_kernel(void *context, void *module, const char *name, void **kernel, int64_t *max_local, Failure *failure);
void opencl_kernel_free(void *context, void *kernel);

/* launch.c */
int opencl_launch(void *context, const Launch *launch, Failure *failure);
int opencl_replay(void *context, List *list, Failure *failure);
void opencl_list_free(void *context, List *list);

#endif
