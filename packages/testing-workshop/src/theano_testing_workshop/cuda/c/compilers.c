/* The stand-ins for NVRTC, which compiles for the processor, and cuBLAS. */
#include "fake.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char options[4096];
const char *fake_options(void) { return options; }

int nvrtcVersion(int *major, int *minor) {
    FAKE("nvrtcVersion");
    *major = 12;
    *minor = 4;
    return 0;
}

const char *nvrtcGetErrorString(int status) {
    return status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OF_THE_TEST";
}

static const int archs[] = {75, 80, 90, 100};

int nvrtcGetNumSupportedArchs(int *count) {
    FAKE("nvrtcGetNumSupportedArchs");
    *count = sizeof archs / sizeof *archs;
    return 0;
}

int nvrtcGetSupportedArchs(int *found) {
    FAKE("nvrtcGetSupportedArchs");
    memcpy(found, archs, sizeof archs);
    return 0;
}

typedef struct {
    char *text, *code, *log;
    size_t bytes;
} Program;

int nvrtcCreateProgram(Program **program, const char *text, const char *name, int headers, const void *a,
                       const void *b) {
    (void)name, (void)headers, (void)a, (void)b;
    FAKE("nvrtcCreateProgram");
    *program = calloc(1, sizeof(Program));
    (*program)->text = strdup(text);
    return 0;
}

int nvrtcDestroyProgram(Program **program) {
    FAKE("nvrtcDestroyProgram");
    free((*program)->text);
    free((*program)->code);
    free((*program)->log);
    free(*program);
    *program = NULL;
    return 0;
}

static char *read_file(const char *path, size_t before, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *found = malloc(before + 1);
    size_t used = 0, n;
    char piece[4096];
    while (file != NULL && (n = fread(piece, 1, sizeof piece, file)) > 0) {
        found = realloc(found, before + used + n + 1);
        memcpy(found + before + used, piece, n);
        used += n;
    }
    if (file != NULL)
        fclose(file);
    found[before + used] = 0;
    *bytes = used;
    return found;
}

/* Run compile.py on the text; its exit status. */
static int start_compiler(const Program *program, const char *folder, int count, const char *const *given) {
    char source[64], target[64], log[64];
    const char *words[128] = {PYTHON, "-I", "-S", COMPILER, source, target};
    int n = 6, status = 0;
    pid_t child;
    snprintf(source, sizeof source, "%s/kernel.cu", folder);
    snprintf(target, sizeof target, "%s/kernel.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    for (int i = 0; i < count && n < 127; i++)
        words[n++] = given[i];
    FILE *file = fopen(source, "w");
    if (file == NULL)
        return -1;
    fputs(program->text, file);
    fclose(file);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (posix_spawn(&child, PYTHON, &actions, NULL, (char *const *)(uintptr_t)words, environ) != 0)
        status = -1;
    posix_spawn_file_actions_destroy(&actions);
    return status < 0 || waitpid(child, &status, 0) < 0 ? -1 : status;
}

int nvrtcCompileProgram(Program *program, int count, const char *const *given) {
    FAKE("nvrtcCompileProgram");
    char folder[] = "/tmp/theano_fake_XXXXXX", path[64];
    options[0] = 0;
    for (int i = 0; i < count; i++)
        snprintf(options + strlen(options), sizeof options - strlen(options), "%s%s", i ? " " : "", given[i]);
    if (mkdtemp(folder) == NULL)
        return 1;
    const int status = start_compiler(program, folder, count, given);
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/log", folder);
    program->log = read_file(path, 0, &bytes);
    unlink(path);
    snprintf(path, sizeof path, "%s/kernel.so", folder);
    program->code = read_file(path, HEADER, &bytes);
    const char *arch = strchr(given[0], '=');
    memset(program->code, 0, HEADER);
    snprintf(program->code, HEADER - sizeof bytes, "code for %s: ", arch == NULL ? "?" : arch + 1);
    memcpy(program->code + HEADER - sizeof bytes, &bytes, sizeof bytes);
    program->bytes = HEADER + bytes;
    unlink(path);
    snprintf(path, sizeof path, "%s/kernel.cu", folder);
    unlink(path);
    rmdir(folder);
    return status == 0 ? 0 : 6;
}

int nvrtcGetProgramLogSize(Program *program, size_t *bytes) {
    FAKE("nvrtcGetProgramLogSize");
    *bytes = program->log == NULL ? 1 : strlen(program->log) + 1;
    return 0;
}

int nvrtcGetProgramLog(Program *program, char *log) {
    FAKE("nvrtcGetProgramLog");
    strcpy(log, program->log == NULL ? "" : program->log);
    return 0;
}

static int code_size(const Program *program, size_t *bytes) {
    *bytes = program->bytes;
    return 0;
}

static int take_code(const Program *program, char *code) {
    memcpy(code, program->code, program->bytes);
    return 0;
}

int nvrtcGetCUBINSize(Program *program, size_t *bytes) {
    FAKE("nvrtcGetCUBINSize");
    return code_size(program, bytes);
}

int nvrtcGetCUBIN(Program *program, char *code) {
    FAKE("nvrtcGetCUBIN");
    return take_code(program, code);
}

int nvrtcGetPTXSize(Program *program, size_t *bytes) {
    FAKE("nvrtcGetPTXSize");
    return code_size(program, bytes);
}

int nvrtcGetPTX(Program *program, char *code) {
    FAKE("nvrtcGetPTX");
    return take_code(program, code);
}

/* cuBLAS. */
int cublasCreate_v2(BlasHandle **handle) {
    FAKE("cublasCreate_v2");
    if (!fake_has_context())
        return 1;
    *handle = calloc(1, sizeof(BlasHandle));
    return 0;
}

int cublasDestroy_v2(BlasHandle *handle) {
    FAKE("cublasDestroy_v2");
    free(handle);
    return 0;
}

int cublasSetStream_v2(BlasHandle *handle, Stream *stream) {
    FAKE("cublasSetStream_v2");
    handle->stream = stream;
    handle->workspace = 0;
    return 0;
}

int cublasSetWorkspace_v2(BlasHandle *handle, void *memory, size_t bytes) {
    FAKE("cublasSetWorkspace_v2");
    handle->workspace = memory == NULL ? 0 : bytes;
    return 0;
}

int cublasSetPointerMode_v2(BlasHandle *handle, int mode) {
    FAKE("cublasSetPointerMode_v2");
    handle->on_device = mode;
    return 0;
}

int cublasSetMathMode(BlasHandle *handle, int mode) {
    FAKE("cublasSetMathMode");
    handle->mode = mode;
    return 0;
}

typedef struct {
    int ta, tb, m, n, k, batch, type, lda, ldb, ldc;
    long long sa, sb, sc;
    const void *alpha_place, *beta_place, *a, *b;
    double alpha, beta;
    void *c;
} Product;

static double number(const void *base, int type, long long i) {
    if (type == 2)
        return (double)((const _Float16 *)base)[i];
    return type == 1 ? ((const double *)base)[i] : ((const float *)base)[i];
}

/* The precision of the last product. */
static int last_compute;
int fake_compute(void) { return last_compute; }

/* Matrices are in the order of Fortran. */
static void run_product(void *data) {
    const Product *p = data;
    double alpha = p->alpha_place != NULL ? number(p->alpha_place, p->type == 1, 0) : p->alpha;
    double beta = p->beta_place != NULL ? number(p->beta_place, p->type == 1, 0) : p->beta;
    for (long long s = 0; s < p->batch; s++)
        for (long long j = 0; j < p->n; j++)
            for (long long i = 0; i < p->m; i++) {
                double sum = 0;
                for (long long q = 0; q < p->k; q++)
                    sum += number(p->a, p->type, s * p->sa + (p->ta ? i * p->lda + q : q * p->lda + i)) *
                           number(p->b, p->type, s * p->sb + (p->tb ? q * p->ldb + j : j * p->ldb + q));
                long long at = s * p->sc + j * p->ldc + i;
                double old = beta == 0 ? 0 : beta * number(p->c, p->type, at);
                if (p->type == 2)
                    ((_Float16 *)p->c)[at] = (_Float16)(alpha * sum + old);
                else if (p->type == 1)
                    ((double *)p->c)[at] = alpha * sum + old;
                else
                    ((float *)p->c)[at] = (float)(alpha * sum + old);
            }
}

static int multiply(BlasHandle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                    int a_type, int lda, long long sa, const void *b, int b_type, int ldb, long long sb,
                    const void *beta, void *c, int c_type, int ldc, long long sc, int batch, int compute,
                    int algorithm) {
    if (handle->workspace < (size_t)1 << 20 || handle->mode != 16 || algorithm != -1 || a_type != b_type ||
        a_type != c_type || (compute != (a_type == 1 ? 70 : 68) && !(a_type == 0 && compute == 77)))
        return 7;
    last_compute = compute;
    Product p = {.ta = ta,
                 .tb = tb,
                 .m = m,
                 .n = n,
                 .k = k,
                 .batch = batch,
                 .type = a_type,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .sa = sa,
                 .sb = sb,
                 .sc = sc,
                 .a = a,
                 .b = b,
                 .c = c};
    if (handle->on_device) {
        p.alpha_place = alpha;
        p.beta_place = beta;
    } else {
        p.alpha = number(alpha, compute == 70, 0);
        p.beta = number(beta, compute == 70, 0);
    }
    return fake_enqueue(handle->stream, run_product, &p, sizeof p);
}

int cublasGemmStridedBatchedEx(BlasHandle *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                               const void *a, int a_type, int lda, long long sa, const void *b, int b_type, int ldb,
                               long long sb, const void *beta, void *c, int c_type, int ldc, long long sc, int batch,
                               int compute, int algorithm) {
    FAKE("cublasGemmStridedBatchedEx");
    return multiply(handle, ta, tb, m, n, k, alpha, a, a_type, lda, sa, b, b_type, ldb, sb, beta, c, c_type, ldc, sc,
                    batch, compute, algorithm);
}

int cublasGemmEx(BlasHandle *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                 int compute, int algorithm) {
    FAKE("cublasGemmEx");
    return multiply(handle, ta, tb, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0, beta, c, c_type, ldc, 0, 1,
                    compute, algorithm);
}
