/* The stand-in for the CUDA driver: what tests tell it, devices, contexts, memory and queues. */
#include "fake.h"
#include <pthread.h>

#define LOG_BYTES (1 << 20)
static char calls[LOG_BYTES];
static size_t used;
static struct {
    char name[64];
    int status, skip;
} armed;

/* For tests: forget what was called; return it; let a call fail after `skip` that do not. */
void fake_reset(void) {
    used = 0;
    calls[0] = 0;
    armed.name[0] = 0;
}

const char *fake_log(void) { return calls; }

void fake_fail(const char *name, int status, int skip) {
    snprintf(armed.name, sizeof armed.name, "%s", name);
    armed.status = status;
    armed.skip = skip;
}

/* For tests: what is done in each call of a function. */
static char watched[64];
static void (*watcher)(void);
void fake_watch(const char *name, void (*run)(void)) {
    snprintf(watched, sizeof watched, "%s", name);
    watcher = run;
}

/* Calls of several threads take turns: the text of one would end that of another. */
static pthread_mutex_t turns = PTHREAD_MUTEX_INITIALIZER;

static void note_call(const char *name) {
    pthread_mutex_lock(&turns);
    int length = snprintf(calls + used, LOG_BYTES - used, "%s\n", name);
    if (length > 0 && used + (size_t)length < LOG_BYTES)
        used += (size_t)length;
    pthread_mutex_unlock(&turns);
}

static int armed_status(const char *name) {
    int status = 0;
    pthread_mutex_lock(&turns);
    if (strcmp(name, armed.name) == 0 && armed.skip-- <= 0) {
        armed.name[0] = 0;
        status = armed.status;
    }
    pthread_mutex_unlock(&turns);
    return status;
}

int fake_call(const char *name) {
    note_call(name);
    if (watcher != NULL && strcmp(name, watched) == 0)
        watcher();
    return armed_status(name);
}

/* Contexts: the current ones of this thread, the latest last. */
static __thread void *current[64];
static __thread int depth;
static int contexts[3], retained[3];

int fake_depth(void) { return depth; }
int fake_retained(int device) { return retained[device]; }
int fake_has_context(void) { return depth > 0; }
const void *fake_context(void) { return depth > 0 ? current[depth - 1] : NULL; }
int cuInit(unsigned flags) {
    (void)flags;
    FAKE("cuInit");
    return 0;
}

int cuDriverGetVersion(int *version) {
    FAKE("cuDriverGetVersion");
#ifdef ANY_CODE
    *version = 13000;
#else
    *version = 12040;
#endif
    return 0;
}

int cuGetErrorName(int status, const char **name) {
    FAKE("cuGetErrorName");
    switch (status) {
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case MISALIGNED_ADDRESS: *name = "CUDA_ERROR_MISALIGNED_ADDRESS"; break;
    case LAUNCH_FAILED: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    default: *name = "CUDA_ERROR_OF_THE_TEST";
    }
    return 0;
}

int cuGetErrorString(int status, const char **text) {
    FAKE("cuGetErrorString");
    *text = status == OUT_OF_MEMORY ? "out of memory" : "as the test wants it";
    return 0;
}

int cuDeviceGetCount(int *count) {
    FAKE("cuDeviceGetCount");
    *count = 3;
    return 0;
}

int cuDeviceGet(int *device, int index) {
    FAKE("cuDeviceGet");
    *device = index;
    return 0;
}

int cuDeviceGetName(char *name, int bytes, int device) {
    FAKE("cuDeviceGetName");
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return 0;
}

int cuDeviceGetPCIBusId(char *name, int bytes, int device) {
    FAKE("cuDeviceGetPCIBusId");
    snprintf(name, (size_t)bytes, "0000:0%d:00.0", device + 1);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    FAKE("cuDeviceTotalMem_v2");
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}

static int majors[] = {9, 12, 6};
/* For tests: let a device be of another architecture. */
void fake_capability(int device, int major) { majors[device] = major; }

int cuDeviceGetAttribute(int *value, int which, int device) {
    FAKE("cuDeviceGetAttribute");
    switch (which) {
    case 1: *value = 1024; return 0;
    case 2:
    case 3: *value = 1024; return 0;
    case 4: *value = 64; return 0;
    case 5: *value = 2147483647; return 0;
    case 6:
    case 7: *value = 65535; return 0;
    case 8: *value = 49152; return 0;
    case 10: *value = 32; return 0;
    case 16: *value = 4; return 0;
    case 75: *value = majors[device]; return 0;
    case 76: *value = 0; return 0;
    default: return INVALID_VALUE;
    }
}

static unsigned context_flags[3];

int cuDevicePrimaryCtxRetain(void **context, int device) {
    FAKE("cuDevicePrimaryCtxRetain");
    retained[device]++;
    *context = &contexts[device];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    FAKE("cuDevicePrimaryCtxRelease_v2");
    retained[device]--;
    return 0;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    FAKE("cuDevicePrimaryCtxSetFlags_v2");
    context_flags[device] = flags;
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    FAKE("cuDevicePrimaryCtxGetState");
    *flags = context_flags[device];
    *active = retained[device] > 0;
    return 0;
}

unsigned fake_flags(int device) { return context_flags[device]; }

int cuCtxPushCurrent_v2(void *context) {
    FAKE("cuCtxPushCurrent_v2");
    current[depth++] = context;
    return 0;
}

int cuCtxPopCurrent_v2(void **context) {
    int status = fake_call("cuCtxPopCurrent_v2");
    if (depth == 0)
        return INVALID_CONTEXT;
    *context = current[--depth];
    return status;
}

/* All memory is that of the first device, but for what lies on the first page. */
int cuPointerGetAttribute(void **data, int attribute, uint64_t address) {
    FAKE("cuPointerGetAttribute");
    NEEDS_CONTEXT;
    if (attribute != 1 || address < 4096)
        return INVALID_VALUE;
    *data = &contexts[0];
    return 0;
}
