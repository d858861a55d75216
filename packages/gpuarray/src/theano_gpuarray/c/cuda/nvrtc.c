/* NVRTC: compiles the text of kernels for a CUDA device. */
#include "cuda.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of the text in messages of the compiler. */
#define FILE_NAME "kernel.cu"
#define MOST_OPTIONS 64

int nvrtc_open(CudaState *state, const char *path, Failure *failure) {
    void *handle = library_open(path, failure);
    if (handle == NULL)
        return -1;
#define FIND(result, name, parameters)                                                                                 \
    if ((*(void **)&state->nvrtc.name = library_function(handle, "nvrtc" #name, path, failure)) == NULL)               \
        return -1;
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    int status = state->nvrtc.Version(&state->nvrtc_major, &state->nvrtc_minor);
    if (status == 0)
        status = state->nvrtc.GetNumSupportedArchs(&state->arch_count);
    if (status != 0 || state->arch_count <= 0)
        return failure_set(failure, "NVRTC (%s) does not tell its version and architectures: %s", path,
                           state->nvrtc.GetErrorString(status));
    state->archs = calloc((size_t)state->arch_count, sizeof(int));
    if (state->archs == NULL)
        return failure_set(failure, "there is no memory for CUDA");
    status = state->nvrtc.GetSupportedArchs(state->archs);
    return status == 0 ? 0
                       : failure_set(failure, "nvrtcGetSupportedArchs failed: %s", state->nvrtc.GetErrorString(status));
}

/* The best architecture that there is code for: the device's own; else the last one before it, from whose portable code
 * the driver makes the device's own. 0 where all are newer. */
static int best_arch(const CudaState *state, int arch) {
    int best = 0;
    for (int i = 0; i < state->arch_count; i++)
        if (state->archs[i] <= arch && state->archs[i] > best)
            best = state->archs[i];
    return best;
}

typedef struct {
    char *words; /* the options, each ending with a 0 */
    char arch[48];
    const char *list[MOST_OPTIONS];
    int count;
} CompilerOptions;

static int split_options(CompilerOptions *o, int arch, int own, const char *options, Failure *failure) {
    snprintf(o->arch, sizeof o->arch, "--gpu-architecture=%s_%d", own ? "sm" : "compute", arch);
    o->list[0] = o->arch;
    o->count = 1;
    o->words = strdup(options);
    if (o->words == NULL)
        return failure_set(failure, "there is no memory for options of the compiler");
    char *rest = NULL;
    for (char *word = strtok_r(o->words, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        if (o->count == MOST_OPTIONS)
            return failure_set(failure, "the compiler of kernels has more than %d options", MOST_OPTIONS - 1);
        o->list[o->count++] = word;
    }
    return 0;
}

static int compile_failed(const CudaState *state, nvrtcProgram program, int status, Failure *failure) {
    size_t size = 0;
    char *log = NULL;
    if (state->nvrtc.GetProgramLogSize(program, &size) == 0 && size > 1 && (log = malloc(size + 1)) != NULL) {
        log[size] = 0;
        if (state->nvrtc.GetProgramLog(program, log) != 0)
            log[0] = 0;
    }
    failure_set(failure, "compiling failed: %s\n%s", state->nvrtc.GetErrorString(status),
                log == NULL ? "the compiler does not say why" : log);
    free(log);
    return -1;
}

static int take_code(const CudaState *state, nvrtcProgram program, int own, unsigned char **binary, size_t *bytes,
                     Failure *failure) {
    const NvrtcFunctions *nvrtc = &state->nvrtc;
    int status = own ? nvrtc->GetCUBINSize(program, bytes) : nvrtc->GetPTXSize(program, bytes);
    if (status != 0)
        return failure_set(failure, "NVRTC gives no code: %s", nvrtc->GetErrorString(status));
    *binary = malloc(*bytes + 1);
    if (*binary == NULL)
        return failure_set(failure, "there is no memory for compiled code");
    status = own ? nvrtc->GetCUBIN(program, (char *)*binary) : nvrtc->GetPTX(program, (char *)*binary);
    if (status == 0)
        return 0;
    free(*binary);
    *binary = NULL;
    return failure_set(failure, "NVRTC gives no code: %s", nvrtc->GetErrorString(status));
}

int nvrtc_compile(const CudaState *state, int arch, const char *text, const char *options, unsigned char **binary,
                  size_t *bytes, Failure *failure) {
    int best = best_arch(state, arch), own = best == arch;
    if (best == 0)
        return failure_set(failure, "NVRTC %d.%d makes no code for sm_%d, the oldest device that it knows is sm_%d",
                           state->nvrtc_major, state->nvrtc_minor, arch, state->archs[0]);
    CompilerOptions o = {0};
    nvrtcProgram program = NULL;
    int result = split_options(&o, best, own, options, failure);
    if (result == 0) {
        int status = state->nvrtc.CreateProgram(&program, text, FILE_NAME, 0, NULL, NULL);
        if (status != 0)
            result = failure_set(failure, "nvrtcCreateProgram failed: %s", state->nvrtc.GetErrorString(status));
        else {
            status = state->nvrtc.CompileProgram(program, o.count, o.list);
            result = status != 0 ? compile_failed(state, program, status, failure)
                                 : take_code(state, program, own, binary, bytes, failure);
            state->nvrtc.DestroyProgram(&program);
        }
    }
    free(o.words);
    return result;
}
