/* OpenCL: compiling, and kernels.
 *
 * What `compile` returns begins with a letter: B for a binary of the driver, S for source text where the driver has no
 * binary; then come the options with their zero, and the binary or the text.
 */
#include "opencl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Say why a build failed, with its log. */
static int build_failure(const OpenClContext *c, cl_program program, cl_int status, Failure *failure) {
    size_t length = 0;
    cl.clGetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    char *log = calloc(length + 1, 1);
    if (log != NULL)
        cl.clGetProgramBuildInfo(program, c->device, CL_PROGRAM_BUILD_LOG, length, log, NULL);
    failure_set(failure, "clBuildProgram failed (%d)\n%s", (int)status, log == NULL ? "" : log);
    free(log);
    return -1;
}

static int build(const OpenClContext *c, cl_program program, const char *options, Failure *failure) {
    cl_int status = cl.clBuildProgram(program, 1, &c->device, options, NULL, NULL);
    return status == CL_SUCCESS ? 0 : build_failure(c, program, status, failure);
}

static int from_source(const OpenClContext *c, const char *text, const char *options, cl_program *program,
                       Failure *failure) {
    cl_int status = CL_SUCCESS;
    *program = cl.clCreateProgramWithSource(c->handle, 1, &text, NULL, &status);
    if (opencl_check(status, "clCreateProgramWithSource", failure) < 0)
        return -1;
    if (build(c, *program, options, failure) == 0)
        return 0;
    cl.clReleaseProgram(*program);
    return -1;
}

static int from_binary(const OpenClContext *c, const unsigned char *binary, size_t bytes, const char *options,
                       cl_program *program, Failure *failure) {
    cl_int status = CL_SUCCESS, loaded = CL_SUCCESS;
    *program = cl.clCreateProgramWithBinary(c->handle, 1, &c->device, &bytes, &binary, &loaded, &status);
    if (opencl_check(status == CL_SUCCESS ? loaded : status, "clCreateProgramWithBinary", failure) < 0) {
        if (status == CL_SUCCESS)
            cl.clReleaseProgram(*program);
        return -1;
    }
    if (build(c, *program, options, failure) == 0)
        return 0;
    cl.clReleaseProgram(*program);
    return -1;
}

/* Bytes of the driver's binary; 0 where it has none. */
static size_t binary_size(const OpenClContext *c, cl_program program) {
    size_t size = 0;
    if (c->keeps_text || cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS)
        return 0;
    return size;
}

/* The bytes that `compile` returns for a program; NULL where there is no memory. */
static unsigned char *to_bytes(const OpenClContext *c, cl_program program, const char *text, const char *options,
                               size_t *bytes) {
    size_t head = strlen(options) + 2, size = binary_size(c, program), length = strlen(text);
    unsigned char *made = calloc(head + (size > length ? size : length) + 1, 1);
    if (made == NULL)
        return NULL;
    unsigned char *body = made + head;
    memcpy(made + 1, options, head - 1);
    made[0] = 'B';
    if (size == 0 || cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof body, &body, NULL) != CL_SUCCESS) {
        made[0] = 'S';
        size = length;
        memcpy(body, text, length);
    }
    *bytes = head + size;
    return made;
}

void opencl_forget_newest(OpenClContext *c) {
    if (c->newest != NULL)
        cl.clReleaseProgram(c->newest);
    free(c->newest_binary);
    c->newest = NULL;
    c->newest_binary = NULL;
}

/* Takes the program over. */
static void keep_newest(OpenClContext *c, cl_program program, const unsigned char *binary, size_t bytes) {
    unsigned char *copy = malloc(bytes);
    if (copy == NULL) {
        cl.clReleaseProgram(program);
        return;
    }
    memcpy(copy, binary, bytes);
    pthread_mutex_lock(&c->lock);
    opencl_forget_newest(c);
    c->newest = program;
    c->newest_binary = copy;
    c->newest_bytes = bytes;
    pthread_mutex_unlock(&c->lock);
}

/* The program that was compiled last, if these are its bytes; else NULL. */
static cl_program take_newest(OpenClContext *c, const unsigned char *binary, size_t bytes) {
    cl_program program = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->newest != NULL && c->newest_bytes == bytes && memcmp(c->newest_binary, binary, bytes) == 0) {
        program = c->newest;
        c->newest = NULL;
        opencl_forget_newest(c);
    }
    pthread_mutex_unlock(&c->lock);
    return program;
}

int opencl_compile(void *context, const char *text, const char *options, unsigned char **binary, size_t *bytes,
                   Failure *failure) {
    cl_program program;
    if (from_source(context, text, options, &program, failure) < 0)
        return -1;
    *binary = to_bytes(context, program, text, options, bytes);
    if (*binary == NULL) {
        cl.clReleaseProgram(program);
        return failure_set(failure, "there is no memory for compiled code");
    }
    keep_newest(context, program, *binary, *bytes);
    return 0;
}

static int load_text(const OpenClContext *c, const unsigned char *bytes, size_t length, const char *options,
                     cl_program *program, Failure *failure) {
    char *text = calloc(length + 1, 1);
    if (text == NULL)
        return failure_set(failure, "there is no memory for a program");
    memcpy(text, bytes, length);
    int result = from_source(c, text, options, program, failure);
    free(text);
    return result;
}

int opencl_load(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure) {
    const char *options = (const char *)binary + 1;
    size_t head = bytes < 2 ? 0 : strnlen(options, bytes - 1) + 2;
    if (head == 0 || head > bytes || (binary[0] != 'B' && binary[0] != 'S'))
        return failure_set(failure, "what is loaded is not compiled code of OpenCL");
    cl_program program = take_newest(context, binary, bytes);
    int result = 0;
    if (program == NULL && binary[0] == 'B')
        result = from_binary(context, binary + head, bytes - head, options, &program, failure);
    else if (program == NULL)
        result = load_text(context, binary + head, bytes - head, options, &program, failure);
    *module = program;
    return result;
}

void opencl_unload(void *context, void *module) {
    (void)context;
    cl.clReleaseProgram(module);
}

void opencl_kernel_free(void *context, void *kernel) {
    OpenClKernel *k = kernel;
    (void)context;
    if (k->handle != NULL)
        cl.clReleaseKernel(k->handle);
    cl.clReleaseProgram(k->program);
    free(k->name);
    free(k);
}

int opencl_kernel(void *context, void *module, const char *name, void **kernel, int64_t *max_local, Failure *failure) {
    OpenClKernel *k = calloc(1, sizeof *k);
    char *copy = strdup(name);
    if (k == NULL || copy == NULL) {
        free(k);
        free(copy);
        return failure_set(failure, "there is no memory for a kernel");
    }
    cl_int status = CL_SUCCESS;
    size_t local = 0;
    cl.clRetainProgram(module);
    k->program = module;
    k->name = copy;
    k->handle = cl.clCreateKernel(module, name, &status);
    if (status == CL_SUCCESS)
        cl.clGetKernelWorkGroupInfo(k->handle, ((OpenClContext *)context)->device, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof local, &local, NULL);
    if (opencl_check(status, "clCreateKernel", failure) < 0) {
        opencl_kernel_free(context, k);
        return -1;
    }
    *kernel = k;
    *max_local = (int64_t)local;
    return 0;
}
