/* The stand-ins for cuBLASLt and cuFFT; matrices are in the order of Fortran. */
#include "fake.h"
#include <math.h>

typedef struct {
    int compute, scale, ta, tb, epilogue;
    const void *bias, *aux;
    int64_t aux_leading;
} Operation;
typedef struct {
    int type;
    long long rows, columns, leading;
} Layout;
typedef struct {
    size_t workspace;
    unsigned alignments[4];
} Preference;
typedef struct {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} Heuristic;

enum { NOT_SUPPORTED = 15, TOKEN = 1234 };
static int last_epilogue, last_compute, workspace = 256;
int fake_epilogue(void) { return last_epilogue; }
int fake_lt_compute(void) { return last_compute; }
/* Whether the larger one of NaN and 0 is NaN. */
static int keeps_nan = 1;
void fake_keeps_nan(int keeps) { keeps_nan = keeps; }
/* What the heuristic says that its algorithms need. */
void fake_lt_workspace(int bytes) { workspace = bytes; }

int cublasLtCreate(int **handle) {
    FAKE("cublasLtCreate");
    *handle = calloc(1, sizeof **handle);
    return fake_has_context() ? 0 : 1;
}

int cublasLtDestroy(int *handle) {
    FAKE("cublasLtDestroy");
    free(handle);
    return 0;
}

int cublasLtMatmulDescCreate(Operation **made, int compute, int scale) {
    FAKE("cublasLtMatmulDescCreate");
    *made = calloc(1, sizeof **made);
    (*made)->compute = compute;
    (*made)->scale = scale;
    (*made)->epilogue = 1;
    return 0;
}

int cublasLtMatmulDescDestroy(Operation *operation) {
    FAKE("cublasLtMatmulDescDestroy");
    free(operation);
    return 0;
}

int cublasLtMatmulDescSetAttribute(Operation *operation, int which, const void *value, size_t bytes) {
    FAKE("cublasLtMatmulDescSetAttribute");
    switch (which) {
    case 3: memcpy(&operation->ta, value, sizeof(int)); break;
    case 4: memcpy(&operation->tb, value, sizeof(int)); break;
    case 7: memcpy(&operation->epilogue, value, sizeof(int)); break;
    case 8: memcpy(&operation->bias, value, sizeof(void *)); break;
    case 11: memcpy(&operation->aux, value, sizeof(void *)); break;
    case 12: memcpy(&operation->aux_leading, value, sizeof(int64_t)); break;
    default: return 7;
    }
    return bytes == (which >= 8 ? sizeof(int64_t) : sizeof(int)) ? 0 : 7;
}

int cublasLtMatrixLayoutCreate(Layout **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    FAKE("cublasLtMatrixLayoutCreate");
    *made = calloc(1, sizeof **made);
    **made = (Layout){type, (long long)rows, (long long)columns, leading};
    return leading < (int64_t)rows ? 7 : 0;
}

int cublasLtMatrixLayoutDestroy(Layout *layout) {
    FAKE("cublasLtMatrixLayoutDestroy");
    free(layout);
    return 0;
}

int cublasLtMatmulPreferenceCreate(Preference **made) {
    FAKE("cublasLtMatmulPreferenceCreate");
    *made = calloc(1, sizeof **made);
    return 0;
}

int cublasLtMatmulPreferenceDestroy(Preference *preference) {
    FAKE("cublasLtMatmulPreferenceDestroy");
    free(preference);
    return 0;
}

int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int which, const void *value, size_t bytes) {
    FAKE("cublasLtMatmulPreferenceSetAttribute");
    if (which == 1 && bytes == sizeof(size_t))
        memcpy(&preference->workspace, value, bytes);
    else if (which >= 5 && which <= 8 && bytes == sizeof(unsigned))
        memcpy(&preference->alignments[which - 5], value, bytes);
    else
        return 7;
    return 0;
}

/* The algorithm says how addresses have to be aligned. */
int cublasLtMatmulAlgoGetHeuristic(int *handle, Operation *operation, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int wanted, Heuristic *found, int *count) {
    FAKE("cublasLtMatmulAlgoGetHeuristic");
    int m = (int)(operation->ta ? a->columns : a->rows), n = (int)(operation->tb ? b->rows : b->columns);
    int k = (int)(operation->ta ? a->rows : a->columns), other = (int)(operation->tb ? b->columns : b->rows);
    *count = 0;
    if (operation->epilogue & 128 && (operation->aux_leading < m || operation->aux_leading % 8 != 0))
        return 7;
    if (handle == NULL || c != d || wanted != 1 || k != other || d->rows != m || d->columns != n ||
        (operation->epilogue & (4 | 256 | 512) && (uintptr_t)operation->bias % preference->alignments[0] != 0))
        return 7;
    if (operation->scale != (d->type == 1 ? 1 : 0) || (size_t)workspace > preference->workspace)
        return NOT_SUPPORTED;
    memset(found, 0, sizeof *found);
    found->algorithm[0] = TOKEN;
    found->algorithm[1] = preference->alignments[3];
    found->workspace = (size_t)workspace;
    *count = 1;
    return 0;
}

typedef struct {
    Operation operation;
    Layout a_layout, b_layout, d_layout;
    const void *a, *b;
    void *d;
    double alpha, beta;
} Work;

/* An element of op(a) or op(b). */
static double factor(const void *base, const Layout *layout, int transposed, long long i, long long j) {
    return get(base, layout->type, transposed ? i * layout->leading + j : j * layout->leading + i);
}

static void multiply(void *data) {
    const Work *w = data;
    const Operation *o = &w->operation;
    const int type = w->d_layout.type;
    long long inner = o->ta ? w->a_layout.rows : w->a_layout.columns;
    for (long long j = 0; j < w->d_layout.columns; j++)
        for (long long i = 0; i < w->d_layout.rows; i++) {
            const long long at = j * w->d_layout.leading + i;
            double sum = 0;
            for (long long q = 0; q < inner; q++)
                sum += factor(w->a, &w->a_layout, o->ta, i, q) * factor(w->b, &w->b_layout, o->tb, q, j);
            sum = w->alpha * sum + (w->beta == 0 ? 0 : w->beta * get(w->d, type, at)) +
                  (o->epilogue & 4 ? get(o->bias, type, i) : 0);
            if (o->epilogue & 2)
                sum = sum > 0 || (isnan(sum) && keeps_nan) ? sum : 0;
            if (o->epilogue & 32)
                sum = 0.5 * sum * (1 + tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
            if (o->epilogue & 64) {
                double x = get(o->aux, type, j * o->aux_leading + i), c = 0.7978845608028654, k = 0.044715;
                double t = tanh(c * (x + k * x * x * x));
                sum *= 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * k * x * x);
            }
            put(w->d, type, at, sum);
        }
    for (long long i = 0; o->epilogue & 256 && i < w->d_layout.rows; i++) {
        double sum = 0;
        for (long long q = 0; q < inner; q++)
            sum += factor(w->a, &w->a_layout, o->ta, i, q);
        put((void *)o->bias, type, i, sum);
    }
    for (long long j = 0; o->epilogue & 512 && j < w->d_layout.columns; j++) {
        double sum = 0;
        for (long long q = 0; q < inner; q++)
            sum += factor(w->b, &w->b_layout, o->tb, q, j);
        put((void *)o->bias, type, j, sum);
    }
}

int cublasLtMatmul(int *handle, Operation *operation, const void *alpha, const void *a, Layout *a_layout, const void *b,
                   Layout *b_layout, const void *beta, const void *c, Layout *c_layout, void *d, Layout *d_layout,
                   const uint64_t *algorithm, void *memory, size_t bytes, Stream *stream) {
    FAKE("cublasLtMatmul");
    uintptr_t bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)d;
    if (operation->epilogue & (4 | 256 | 512))
        bits |= (uintptr_t)operation->bias;
    if (handle == NULL || c != d || c_layout != d_layout || algorithm[0] != TOKEN || bits % algorithm[1] != 0 ||
        bytes != (size_t)workspace || (bytes > 0 && memory == NULL))
        return 7;
    last_epilogue = operation->epilogue;
    last_compute = operation->compute;
    Work work = {*operation,
                 *a_layout,
                 *b_layout,
                 *d_layout,
                 a,
                 b,
                 d,
                 get(alpha, operation->scale, 0),
                 get(beta, operation->scale, 0)};
    return d_layout->type == 2 ? 0 : fake_enqueue(stream, multiply, &work, sizeof work);
}

typedef struct {
    int rank, type;
    long long n[3], batch;
    Stream *stream;
    void *area;
    int has_stream;
} Plan;
static Plan plans[1024];
static int n_plans;
static int live_plans;
int fake_plans(void) { return live_plans; }

int cufftCreate(int *handle) {
    FAKE("cufftCreate");
    memset(&plans[n_plans], 0, sizeof *plans);
    *handle = n_plans++;
    live_plans++;
    return fake_has_context() ? 0 : 1;
}

int cufftDestroy(int handle) {
    FAKE("cufftDestroy");
    live_plans--;
    return handle < n_plans ? 0 : 1;
}

int cufftSetAutoAllocation(int handle, int automatic) {
    FAKE("cufftSetAutoAllocation");
    return handle < n_plans && automatic == 0 ? 0 : 1;
}

int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in, long long in_step, long long in_gap,
                        long long *out, long long out_step, long long out_gap, int type, long long batch,
                        size_t *bytes) {
    FAKE("cufftMakePlanMany64");
    Plan *plan = &plans[handle];
    const int inverse = type == 0x2c || type == 0x6c;
    long long whole = 1, half = 1;
    for (int d = 0; d < rank; d++) {
        long long kept = d == rank - 1 ? n[d] / 2 + 1 : n[d];
        if (in[d] != (inverse ? kept : n[d]) || out[d] != (inverse ? n[d] : kept))
            return 4;
        plan->n[d] = n[d];
        whole *= n[d];
        half *= kept;
    }
    if (in_step != 1 || out_step != 1 || in_gap != (inverse ? half : whole) || out_gap != (inverse ? whole : half))
        return 4;
    plan->rank = rank;
    plan->type = type;
    plan->batch = batch;
    *bytes = 64;
    return 0;
}

int cufftSetStream(int handle, Stream *stream) {
    FAKE("cufftSetStream");
    plans[handle].stream = stream;
    plans[handle].has_stream = 1;
    return 0;
}

int cufftSetWorkArea(int handle, void *area) {
    FAKE("cufftSetWorkArea");
    plans[handle].area = area;
    return 0;
}

typedef struct {
    Plan plan;
    void *from, *to;
} Transform;

/* By the definition; the position along each dimension is taken off a number. */
static void transform(void *data) {
    const Transform *t = data;
    const Plan *p = &t->plan;
    const int full = p->type == 0x6a || p->type == 0x6c, inverse = p->type == 0x2c || p->type == 0x6c;
    const int rank = p->rank;
    long long whole = 1, half = 1, last = p->n[rank - 1], kept = last / 2 + 1;
    for (int d = 0; d < rank; d++) {
        whole *= p->n[d];
        half *= d == rank - 1 ? kept : p->n[d];
    }
    for (long long b = 0; b < p->batch; b++)
        for (long long o = 0; o < (inverse ? whole : half); o++) {
            double re = 0, im = 0;
            for (long long i = 0; i < whole; i++) {
                long long a = o, c = i, mirrored = 0, step = 1, width = inverse ? last : kept, flip = 0;
                double angle = 0;
                for (int d = rank - 1; d >= 0; d--) {
                    long long long_width = d == rank - 1 ? width : p->n[d];
                    long long j = a % long_width, k = c % p->n[d];
                    a /= long_width;
                    c /= p->n[d];
                    angle += 2 * 3.14159265358979323846 * (double)(j * k % p->n[d]) / (double)p->n[d];
                    if (d == rank - 1)
                        flip = k >= kept;
                    mirrored += step * (flip ? (p->n[d] - k) % p->n[d] : k);
                    step *= d == rank - 1 ? kept : p->n[d];
                }
                if (!inverse) {
                    double x = get(t->from, full, b * whole + i);
                    re += x * cos(angle);
                    im -= x * sin(angle);
                } else {
                    double x = get(t->from, full, 2 * (b * half + mirrored));
                    double y = get(t->from, full, 2 * (b * half + mirrored) + 1) * (flip ? -1 : 1);
                    re += x * cos(angle) - y * sin(angle);
                    im += x * sin(angle) + y * cos(angle);
                }
            }
            if (inverse) {
                /* The operand has to be as the transform of real numbers is: else what comes out is nonsense. */
                put(t->to, full, b * whole + o, fabs(im) < 1e-3 ? re : NAN);
            } else {
                put(t->to, full, 2 * (b * half + o), re);
                put(t->to, full, 2 * (b * half + o) + 1, im);
            }
        }
    if (inverse) /* as the library does where there are several dimensions */
        memset(t->from, 0x7f, (size_t)(p->batch * half * 2) * (full ? 8 : 4));
}

static int execute(int handle, int type, void *from, void *to) {
    Plan *plan = &plans[handle];
    const size_t pair = type == 0x6a || type == 0x6c ? 16 : 8;
    if (plan->type != type || !plan->has_stream || plan->area == NULL || (uintptr_t)from % pair || (uintptr_t)to % pair)
        return 4;
    Transform work = {*plan, from, to};
    return fake_enqueue(plan->stream, transform, &work, sizeof work);
}

int cufftExecR2C(int handle, void *from, void *to) {
    FAKE("cufftExecR2C");
    return execute(handle, 0x2a, from, to);
}
int cufftExecC2R(int handle, void *from, void *to) {
    FAKE("cufftExecC2R");
    return execute(handle, 0x2c, from, to);
}
int cufftExecD2Z(int handle, void *from, void *to) {
    FAKE("cufftExecD2Z");
    return execute(handle, 0x6a, from, to);
}
int cufftExecZ2D(int handle, void *from, void *to) {
    FAKE("cufftExecZ2D");
    return execute(handle, 0x6c, from, to);
}
