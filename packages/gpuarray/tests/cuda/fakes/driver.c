/* The stand-in for the CUDA driver: what tests tell it, devices, contexts, memory and queues. */
#include "fake.h"

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

int fake_call(const char *name) {
    int length = snprintf(calls + used, LOG_BYTES - used, "%s\n", name);
    if (length > 0 && used + (size_t)length < LOG_BYTES)
        used += (size_t)length;
    if (strcmp(name, armed.name) != 0 || armed.skip-- > 0)
        return 0;
    armed.name[0] = 0;
    return armed.status;
}

/* Contexts: the current ones of this thread, the latest last. */
static __thread void *current[64];
static __thread int depth;
static int contexts[3], retained[3];

int fake_depth(void) { return depth; }
int fake_retained(int device) { return retained[device]; }
int fake_has_context(void) { return depth > 0; }
#define NEEDS_CONTEXT                                                                                                  \
    if (!fake_has_context())                                                                                           \
    return INVALID_CONTEXT

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
    *name = status == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TEST";
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

/* Those that there are, so that a capture ends in all of them. */
enum { MOST_STREAMS = 64 };
static Stream *streams[MOST_STREAMS];
void fake_end_capture(const Graph *graph) {
    for (int i = 0; i < MOST_STREAMS; i++)
        if (streams[i] != NULL && streams[i]->capturing == graph)
            streams[i]->capturing = NULL;
}

int cuStreamCreate(Stream **stream, unsigned flags) {
    FAKE("cuStreamCreate");
    NEEDS_CONTEXT;
    *stream = calloc(1, sizeof **stream);
    (*stream)->flags = flags;
    for (int i = 0; i < MOST_STREAMS; i++)
        if (streams[i] == NULL) {
            streams[i] = *stream;
            break;
        }
    return 0;
}

int cuStreamDestroy_v2(Stream *stream) {
    FAKE("cuStreamDestroy_v2");
    NEEDS_CONTEXT;
    for (int i = 0; i < MOST_STREAMS; i++)
        if (streams[i] == stream)
            streams[i] = NULL;
    free(stream);
    return 0;
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

int cuStreamSynchronize(Stream *stream) {
    FAKE("cuStreamSynchronize");
    NEEDS_CONTEXT;
    return stream->capturing != NULL ? INVALID_VALUE : 0;
}

void fake_add(Nodes *to, const Nodes *from) {
    for (int i = 0; i < MOST_NODES; i++)
        to->has[i] |= from->has[i];
}

/* A stream becomes a part of the capture that an event is of. */
int cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    (void)flags;
    FAKE("cuStreamWaitEvent");
    NEEDS_CONTEXT;
    if (event->capturing == NULL)
        return stream->capturing != NULL ? INVALID_VALUE : 0;
    if (stream->capturing == NULL) {
        memset(&stream->before, 0, sizeof stream->before);
        stream->capturing = event->capturing;
    }
    fake_add(&stream->before, &event->before);
    return 0;
}

/* Events that have not been destroyed. */
static int events;
int fake_events(void) { return events; }

int cuEventCreate(Event **event, unsigned flags) {
    (void)flags;
    FAKE("cuEventCreate");
    NEEDS_CONTEXT;
    events++;
    *event = calloc(1, sizeof **event);
    return 0;
}

int cuEventRecord(Event *event, Stream *stream) {
    FAKE("cuEventRecord");
    NEEDS_CONTEXT;
    event->capturing = stream->capturing;
    event->before = stream->before;
    return 0;
}

int cuEventSynchronize(void *event) {
    (void)event;
    FAKE("cuEventSynchronize");
    NEEDS_CONTEXT;
    return 0;
}

int cuEventDestroy_v2(void *event) {
    FAKE("cuEventDestroy_v2");
    NEEDS_CONTEXT;
    events--;
    free(event);
    return 0;
}
