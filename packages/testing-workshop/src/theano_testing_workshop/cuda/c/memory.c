/* The stand-in for the CUDA driver: memory, and what is copied into it.
 *
 * Memory is not 0 when it is given out, but all bits of it are 1: numbers of floating point are NaN then. Bytes around
 * it have a pattern, which is looked at when somebody waits. What has been freed is kept for a while, so that writing to
 * it shows, too.
 */
#include "fake.h"

enum { ZONE = 256, PATTERN = 0xa5, FRESH = 0xff, KEPT = 64 };
/* Memory that has been freed is kept up to this size. */
#define LARGEST_KEPT ((size_t)1 << 22)

typedef struct Block {
    uintptr_t begin;
    size_t bytes;
    char *whole;
    int is_host;
} Block;

static Block *blocks, freed[KEPT];
static int n_blocks, room, n_freed, allocated;
int fake_allocated(void) { return allocated; }

static Block make_block(size_t bytes, int is_host) {
    char *whole = NULL;
    if (posix_memalign((void **)&whole, ZONE, bytes + 2 * ZONE) != 0)
        return (Block){0};
    memset(whole, PATTERN, ZONE);
    memset(whole + ZONE, FRESH, bytes);
    memset(whole + ZONE + bytes, PATTERN, ZONE);
    return (Block){(uintptr_t)whole + ZONE, bytes, whole, is_host};
}

static int add_block(size_t bytes, int is_host, uintptr_t *begin) {
    Block made = make_block(bytes, is_host);
    if (made.whole == NULL)
        return OUT_OF_MEMORY;
    fake_lock();
    if (n_blocks == room)
        blocks = realloc(blocks, (size_t)(room = 2 * room + 16) * sizeof(Block));
    blocks[n_blocks++] = made;
    fake_unlock();
    *begin = made.begin;
    return 0;
}

static void check_zones(const Block *block) {
    for (size_t i = 0; i < ZONE; i++)
        if ((unsigned char)block->whole[i] != PATTERN ||
            (unsigned char)block->whole[ZONE + block->bytes + i] != PATTERN) {
            fake_wrong(ILLEGAL_ADDRESS, "somebody wrote %s memory of %zu bytes",
                       (unsigned char)block->whole[i] != PATTERN ? "before" : "behind", block->bytes);
            memset(block->whole, PATTERN, ZONE);
            memset(block->whole + ZONE + block->bytes, PATTERN, ZONE);
            return;
        }
}

static void check_freed(Block *block) {
    for (size_t i = 0; i < block->bytes; i++)
        if ((unsigned char)block->whole[ZONE + i] != PATTERN) {
            fake_wrong(ILLEGAL_ADDRESS, "somebody wrote to memory of %zu bytes that had been freed", block->bytes);
            memset(block->whole + ZONE, PATTERN, block->bytes);
            return;
        }
}

void fake_check_memory(void) {
    for (int i = 0; i < n_blocks; i++)
        check_zones(&blocks[i]);
    for (int i = 0; i < n_freed; i++)
        check_freed(&freed[i]);
}

static int remove_block(uintptr_t begin) {
    fake_lock();
    int at = 0;
    while (at < n_blocks && blocks[at].begin != begin)
        at++;
    if (at == n_blocks) {
        fake_unlock();
        return INVALID_VALUE;
    }
    Block block = blocks[at];
    blocks[at] = blocks[--n_blocks];
    check_zones(&block);
    if (block.bytes > LARGEST_KEPT)
        free(block.whole);
    else {
        memset(block.whole + ZONE, PATTERN, block.bytes);
        if (n_freed == KEPT) {
            check_freed(&freed[0]);
            free(freed[0].whole);
            memmove(&freed[0], &freed[1], sizeof(Block) * (size_t)--n_freed);
        }
        freed[n_freed++] = block;
    }
    fake_unlock();
    return 0;
}

static const Block *block_of(uintptr_t address) {
    for (int i = 0; i < n_blocks; i++)
        if (address >= blocks[i].begin && address <= blocks[i].begin + blocks[i].bytes)
            return &blocks[i];
    return NULL;
}

int fake_is_device(uintptr_t address, size_t bytes) {
    fake_lock();
    const Block *block = block_of(address);
    int found = block != NULL && !block->is_host && address + bytes <= block->begin + block->bytes;
    fake_unlock();
    return found;
}

int fake_is_pinned(uintptr_t address) {
    fake_lock();
    const Block *block = block_of(address);
    int found = block != NULL && block->is_host;
    fake_unlock();
    return found;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    FAKE("cuMemAlloc_v2");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    uintptr_t begin = 0;
    int status = bytes == 0 ? INVALID_VALUE : bytes > (size_t)1 << 30 ? OUT_OF_MEMORY : add_block(bytes, 0, &begin);
    allocated += status == 0;
    *address = begin;
    return status;
}

int cuMemFree_v2(unsigned long long address) {
    FAKE("cuMemFree_v2");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    allocated--;
    return remove_block((uintptr_t)address);
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    FAKE("cuMemHostAlloc");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    return add_block(bytes, 1, (uintptr_t *)memory);
}

int cuMemFreeHost(void *memory) {
    FAKE("cuMemFreeHost");
    NEEDS_CONTEXT;
    NOT_IN_CAPTURE;
    return remove_block((uintptr_t)memory);
}

typedef struct {
    uintptr_t target, source;
    size_t bytes;
    unsigned value;
} Transfer;

static void run_copy(void *data) {
    const Transfer *t = data;
    memmove((void *)t->target, (void *)t->source, t->bytes);
}

/* The bytes are behind the description. */
static void run_write(void *data) {
    const Transfer *t = data;
    memcpy((void *)t->target, t + 1, t->bytes);
}

static void run_fill(void *data) {
    const Transfer *t = data;
    memset((void *)t->target, (int)t->value, t->bytes);
}

static void run_words(void *data) {
    const Transfer *t = data;
    for (size_t i = 0; i < t->bytes / 4; i++)
        ((unsigned *)t->target)[i] = t->value;
}

static int refused(const char *call, uintptr_t address, size_t bytes) {
    if (bytes == 0 || fake_is_device(address, bytes))
        return 0;
    fprintf(stderr, "CUDA's stand-in: %s of %zu bytes at what is no memory of a device\n", call, bytes);
    return 1;
}

/* The source is read now, where it is not pinned. */
int cuMemcpyHtoDAsync_v2(unsigned long long target, const void *source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyHtoDAsync_v2");
    Transfer t = {(uintptr_t)target, (uintptr_t)source, bytes, 0};
    if (refused("cuMemcpyHtoDAsync", t.target, bytes))
        return INVALID_VALUE;
    if (fake_is_pinned(t.source) || fake_stream(stream)->capturing != NULL)
        return fake_enqueue(stream, run_copy, &t, sizeof t);
    Transfer *whole = malloc(sizeof t + bytes);
    *whole = t;
    memcpy(whole + 1, source, bytes);
    int status = fake_enqueue(stream, run_write, whole, sizeof t + bytes);
    free(whole);
    return status;
}

/* It has been done when the call returns, where the target is not pinned. */
int cuMemcpyDtoHAsync_v2(void *target, unsigned long long source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyDtoHAsync_v2");
    const Transfer t = {(uintptr_t)target, (uintptr_t)source, bytes, 0};
    if (refused("cuMemcpyDtoHAsync", t.source, bytes))
        return INVALID_VALUE;
    int status = fake_enqueue(stream, run_copy, &t, sizeof t);
    if (status != 0 || fake_is_pinned(t.target) || fake_stream(stream)->capturing != NULL)
        return status;
    return fake_finish(stream);
}

int cuMemcpyDtoDAsync_v2(unsigned long long target, unsigned long long source, size_t bytes, Stream *stream) {
    FAKE("cuMemcpyDtoDAsync_v2");
    const Transfer t = {(uintptr_t)target, (uintptr_t)source, bytes, 0};
    if (refused("cuMemcpyDtoDAsync", t.target, bytes) || refused("cuMemcpyDtoDAsync", t.source, bytes))
        return INVALID_VALUE;
    return fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemcpyPeerAsync(unsigned long long target, void *to, unsigned long long source, void *from, size_t bytes,
                      Stream *stream) {
    FAKE("cuMemcpyPeerAsync");
    const Transfer t = {(uintptr_t)target, (uintptr_t)source, bytes, 0};
    return to == from ? INVALID_VALUE : fake_enqueue(stream, run_copy, &t, sizeof t);
}

int cuMemsetD8Async(unsigned long long target, unsigned char value, size_t bytes, Stream *stream) {
    FAKE("cuMemsetD8Async");
    const Transfer t = {(uintptr_t)target, 0, bytes, value};
    return refused("cuMemsetD8Async", t.target, bytes) ? INVALID_VALUE : fake_enqueue(stream, run_fill, &t, sizeof t);
}

int cuMemsetD32Async(unsigned long long target, unsigned value, size_t count, Stream *stream) {
    FAKE("cuMemsetD32Async");
    const Transfer t = {(uintptr_t)target, 0, count * 4, value};
    return t.target % 4 != 0 || refused("cuMemsetD32Async", t.target, t.bytes)
               ? INVALID_VALUE
               : fake_enqueue(stream, run_words, &t, sizeof t);
}
