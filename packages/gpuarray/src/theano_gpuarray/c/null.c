/* The null driver: its memory is memory of the host, copies and fills are carried out, launches are written down alone.
 *
 * It stands in for a device where tests look at what is launched in which order, and where no device is. Its second
 * device has little memory, so that running out of it can be tested.
 */
#include "driver.h"
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Older records are forgotten. */
#define MOST_RECORDS 65536
#define DEVICES 2
static const int64_t memories[DEVICES] = {(int64_t)64 << 30, (int64_t)64 << 20};

typedef struct Entry Entry;
struct Entry {
    Record record;
    Entry *next;
};

typedef struct {
    pthread_mutex_t lock;
    Entry *oldest, *newest;
    int count;
    size_t used, memory;
} NullContext;

static int null_open(const Libraries *libraries, void **state, Failure *failure) {
    (void)libraries, (void)failure;
    *state = NULL;
    return 0;
}

static int null_count(void *state, int *count, Failure *failure) {
    (void)state, (void)failure;
    *count = DEVICES;
    return 0;
}

static int null_properties(void *state, int index, Properties *p, Failure *failure) {
    (void)state, (void)failure;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "null device %d", index);
    snprintf(p->vendor, sizeof p->vendor, "theano_gpuarray");
    snprintf(p->version, sizeof p->version, "1");
    p->number = index;
    p->max_local = 1024;
    p->local_memory = 48 << 10;
    p->memory = p->max_buffer = memories[index];
    p->units = 16;
    p->warp = 32;
    p->doubles = p->halves = p->long_atomics = 1;
    for (int d = 0; d < 3; d++) {
        p->max_locals[d] = d == 2 ? 64 : 1024;
        p->max_groups[d] = d == 0 ? INT32_MAX : 65535;
    }
    return 0;
}

static int null_context_open(void *state, int index, const Options *options, void **context, Failure *failure) {
    (void)state, (void)options;
    NullContext *c = calloc(1, sizeof *c);
    if (c == NULL)
        return failure_set(failure, "there is no memory for a context");
    pthread_mutex_init(&c->lock, NULL);
    c->memory = (size_t)memories[index];
    *context = c;
    return 0;
}

static void record_free(Record *record) {
    free((char *)record->launch.name);
    free((char *)record->launch.parameters);
    free(record->launch.values);
}

static int null_recorded(void *context, Record *record) {
    NullContext *c = context;
    pthread_mutex_lock(&c->lock);
    Entry *entry = c->oldest;
    if (entry != NULL) {
        c->oldest = entry->next;
        c->count--;
        *record = entry->record;
    }
    if (c->oldest == NULL)
        c->newest = NULL;
    pthread_mutex_unlock(&c->lock);
    free(entry);
    return entry != NULL;
}

/* Takes the texts of the record over, also where there is no memory for it. */
static int add_record(NullContext *c, Record record, Failure *failure) {
    Entry *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        record_free(&record);
        return failure_set(failure, "there is no memory for a record");
    }
    *entry = (Entry){record, NULL};
    pthread_mutex_lock(&c->lock);
    if (c->newest == NULL)
        c->oldest = entry;
    else
        c->newest->next = entry;
    c->newest = entry;
    int full = ++c->count > MOST_RECORDS;
    pthread_mutex_unlock(&c->lock);
    Record forgotten;
    if (full && null_recorded(c, &forgotten))
        record_free(&forgotten);
    return 0;
}

static void null_context_close(void *context) {
    Record record;
    while (null_recorded(context, &record))
        record_free(&record);
    pthread_mutex_destroy(&((NullContext *)context)->lock);
    free(context);
}

static void null_handles(void *context, uintptr_t *handle, uintptr_t *queue) { *handle = *queue = (uintptr_t)context; }

static int null_synchronize(void *context, Failure *failure) {
    (void)context, (void)failure;
    return 0;
}

/* The size stands before the memory, so that releasing it can be accounted for. */
#define HEAD 64

static int null_allocate(void *context, size_t bytes, Address *address, Failure *failure) {
    NullContext *c = context;
    pthread_mutex_lock(&c->lock);
    int fits = bytes <= c->memory && c->used <= c->memory - bytes;
    c->used += fits ? bytes : 0;
    pthread_mutex_unlock(&c->lock);
    char *memory = fits ? malloc(bytes + HEAD) : NULL;
    if (memory == NULL) {
        failure->out_of_memory = 1;
        return failure_set(failure, "the null driver has no memory left");
    }
    *(size_t *)memory = bytes;
    *address = (Address)(memory + HEAD);
    return 0;
}

static int null_slice(void *context, Address memory, size_t offset, size_t bytes, Address *address, Failure *failure) {
    (void)context, (void)bytes, (void)failure;
    *address = memory + offset;
    return 0;
}

static void null_release(void *context, Address address, int is_slice) {
    NullContext *c = context;
    if (is_slice)
        return;
    char *memory = (char *)address - HEAD;
    pthread_mutex_lock(&c->lock);
    c->used -= *(size_t *)memory;
    pthread_mutex_unlock(&c->lock);
    free(memory);
}

static int null_host_allocate(void *context, size_t bytes, void **memory, void **handle, Failure *failure) {
    (void)context;
    *handle = NULL;
    *memory = malloc(bytes);
    return *memory == NULL ? failure_set(failure, "there is no memory on the host for %zu bytes", bytes) : 0;
}

static void null_host_release(void *context, void *memory, void *handle) {
    (void)context, (void)handle;
    free(memory);
}

static int null_mark(void *context, void **mark, Failure *failure) {
    (void)context, (void)failure;
    *mark = NULL;
    return 0;
}

static int null_mark_wait(void *context, void *mark, Failure *failure) {
    (void)context, (void)mark, (void)failure;
    return 0;
}

static int null_write(void *context, Address target, size_t offset, const void *source, size_t bytes, int blocking,
                      Failure *failure) {
    (void)blocking;
    memcpy((char *)target + offset, source, bytes);
    return add_record(context, (Record){.what = "write", .bytes = bytes}, failure);
}

static int null_read(void *context, void *target, Address source, size_t offset, size_t bytes, Failure *failure) {
    memcpy(target, (const char *)source + offset, bytes);
    return add_record(context, (Record){.what = "read", .bytes = bytes}, failure);
}

static int null_copy(void *context, const Copy *copy, Failure *failure) {
    memcpy((char *)copy->target + copy->offset, (const char *)copy->source + copy->source_offset, copy->bytes);
    return add_record(context, (Record){.what = "copy", .bytes = copy->bytes}, failure);
}

static int null_fill(void *context, const Fill *fill, Failure *failure) {
    memset((char *)fill->target + fill->offset, fill->value, fill->bytes);
    return add_record(context, (Record){.what = "fill", .bytes = fill->bytes, .value = fill->value}, failure);
}

/* The compiled code is the text; a line `#error` fails as it does in a compiler. */
static int null_compile(void *context, const char *text, const char *options, unsigned char **binary, size_t *bytes,
                        Failure *failure) {
    (void)context, (void)options;
    const char *error = strstr(text, "#error");
    if (error != NULL)
        return failure_set(failure, "compiling failed\n%.*s", (int)strcspn(error, "\n"), error);
    *bytes = strlen(text);
    *binary = malloc(*bytes + 1);
    if (*binary == NULL)
        return failure_set(failure, "there is no memory for compiled code");
    memcpy(*binary, text, *bytes + 1);
    return 0;
}

static int null_load(void *context, const unsigned char *binary, size_t bytes, void **module, Failure *failure) {
    (void)context;
    char *text = malloc(bytes + 1);
    if (text == NULL)
        return failure_set(failure, "there is no memory for a module");
    memcpy(text, binary, bytes);
    text[bytes] = 0;
    *module = text;
    return 0;
}

static void null_unload(void *context, void *module) {
    (void)context;
    free(module);
}

/* Whether the text has a word. */
static int has_word(const char *text, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        int before = at != text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!before && !isalnum((unsigned char)at[length]) && at[length] != '_')
            return 1;
    }
    return 0;
}

static int null_kernel(void *context, void *module, const char *name, void **kernel, int64_t *max_local,
                       Failure *failure) {
    (void)context;
    if (!has_word(module, name))
        return failure_set(failure, "the module has no kernel %s", name);
    *max_local = 1024;
    *kernel = module;
    return 0;
}

static void null_kernel_free(void *context, void *kernel) { (void)context, (void)kernel; }

static int null_launch(void *context, const Launch *launch, Failure *failure) {
    Record record = {.what = "launch", .launch = *launch};
    size_t size = (size_t)launch->count * sizeof(Value);
    record.launch.name = strdup(launch->name);
    record.launch.parameters = strdup(launch->parameters);
    record.launch.values = malloc(size + 1);
    if (record.launch.name == NULL || record.launch.parameters == NULL || record.launch.values == NULL) {
        record_free(&record);
        return failure_set(failure, "there is no memory for a record");
    }
    if (size > 0)
        memcpy(record.launch.values, launch->values, size);
    return add_record(context, record, failure);
}

const DriverTable null_driver = {
    .name = "null",
    .open = null_open,
    .count = null_count,
    .properties = null_properties,
    .context_open = null_context_open,
    .context_close = null_context_close,
    .handles = null_handles,
    .synchronize = null_synchronize,
    .allocate = null_allocate,
    .slice = null_slice,
    .release = null_release,
    .host_allocate = null_host_allocate,
    .host_release = null_host_release,
    .mark = null_mark,
    .mark_wait = null_mark_wait,
    .write = null_write,
    .read = null_read,
    .copy = null_copy,
    .fill = null_fill,
    .compile = null_compile,
    .load = null_load,
    .unload = null_unload,
    .kernel = null_kernel,
    .kernel_free = null_kernel_free,
    .launch = null_launch,
    .reads_sources = 1,
    .recorded = null_recorded,
};
