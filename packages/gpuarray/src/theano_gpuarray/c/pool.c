/* The pool: memory of a context that is kept for the next buffer of its size. */
#include "pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST 256
#define SLICE_ALIGNMENT ((size_t)4096)
/* How many free blocks are passed to find the place of one. */
#define LONGEST_WALK 256
/* How many classes larger a block may be than what is asked for. */
#define LARGER_CLASSES 2

static size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

/* The class of a size, and the size of the class. Sizes beyond half the address space are refused before. */
static int class_of(size_t bytes, size_t *size) {
    if (bytes < SMALLEST)
        bytes = SMALLEST;
    int exponent = 63 - __builtin_clzll((unsigned long long)bytes - 1);
    size_t step = (size_t)1 << (exponent - 3);
    *size = round_up(bytes, step);
    return exponent * 8 + (int)((*size - ((size_t)1 << exponent)) / step) - 1;
}

void pool_open(Pool *pool, const DriverTable *table, void *context, const Properties *properties, int caches) {
    memset(pool, 0, sizeof *pool);
    pthread_mutex_init(&pool->lock, NULL);
    pool->table = table;
    pool->context = context;
    pool->caches = caches;
    pool->memory = (size_t)properties->memory;
    pool->max_buffer = (size_t)properties->max_buffer;
    /* The memory of a CPU is that of all programs; what is kept must not drive them out. */
    pool->most_pooled = properties->cpu ? pool->memory / 8 : pool->memory;
}

void pool_preallocate(Pool *pool, size_t bytes) {
    while (bytes > 0 && pool->n_slabs < POOL_SLABS) {
        size_t part = pool->max_buffer > 0 && bytes > pool->max_buffer ? pool->max_buffer : bytes;
        Slab *slab = &pool->slabs[pool->n_slabs];
        Failure failure = {0};
        part = part < SLICE_ALIGNMENT ? SLICE_ALIGNMENT : part / SLICE_ALIGNMENT * SLICE_ALIGNMENT;
        if (pool->table->allocate(pool->context, part, &slab->address, &failure) < 0) {
            failure_clear(&failure);
            if (part <= STAGING_BYTES)
                return;
            bytes = part / 2; /* as much as there is */
            continue;
        }
        slab->bytes = part;
        pool->n_slabs++;
        pool->allocations++;
        pool->pooled += (int64_t)part;
        bytes -= part < bytes ? part : bytes;
    }
}

static Block *find_free(Pool *pool, int class_) {
    for (int c = class_; c <= class_ + LARGER_CLASSES && c < POOL_CLASSES; c++) {
        Block *block = pool->free[c];
        if (block != NULL) {
            pool->free[c] = block->next;
            return block;
        }
    }
    return NULL;
}

/* A block of a slab; it is cut with the lock held, for cutting asks nothing of the device. */
static int cut_slab(Pool *pool, Block *block, Failure *failure) {
    size_t bytes = round_up(block->bytes, SLICE_ALIGNMENT);
    for (int i = 0; i < pool->n_slabs; i++) {
        Slab *slab = &pool->slabs[i];
        if (slab->bytes - slab->cut < bytes)
            continue;
        if (pool->table->slice(pool->context, slab->address, slab->cut, block->bytes, &block->address, failure) < 0) {
            failure_clear(failure);
            return 0;
        }
        block->slab = i;
        block->slab_bytes = bytes;
        slab->cut += bytes;
        return 1;
    }
    return 0;
}

/* The device memory that a block stands for: alignment makes parts of slabs larger. */
static int64_t bytes_of(const Block *block) { return (int64_t)(block->slab >= 0 ? block->slab_bytes : block->bytes); }

static void count_taken(Pool *pool, const Block *block, int from_pool) {
    pool->in_use += bytes_of(block);
    pool->pooled -= from_pool ? bytes_of(block) : 0;
    pool->allocations += !from_pool;
    pool->buffers++;
    if (block->slab >= 0)
        pool->slabs[block->slab].live++;
    if (pool->in_use > pool->peak)
        pool->peak = pool->in_use;
}

/* Sizes in the words of people. */
static const char *size_text(char *text, size_t size, int64_t bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

static int out_of_memory(const Pool *pool, size_t bytes, Failure *failure) {
    char asked[32], used[32], pooled[32], whole[32], single[32];
    char *reason = failure->text;
    failure->text = NULL;
    failure_set(failure,
                "there is no memory left on the device for %s%s%s\n"
                "  in use: %s; in the pool: %s; the device has %s, one buffer at most %s\n"
                "  Hint: use smaller arrays, or delete those that are no longer needed",
                size_text(asked, sizeof asked, (int64_t)bytes), reason == NULL ? "" : ": ",
                reason == NULL ? "" : reason, size_text(used, sizeof used, pool->in_use),
                size_text(pooled, sizeof pooled, pool->pooled), size_text(whole, sizeof whole, (int64_t)pool->memory),
                size_text(single, sizeof single, (int64_t)pool->max_buffer));
    free(reason);
    failure->out_of_memory = 1;
    return -1;
}

/* Whether more memory may be asked of the driver. Some drivers promise memory that there is not. */
static int has_room(Pool *pool, size_t bytes) {
    pthread_mutex_lock(&pool->lock);
    size_t held = (size_t)(pool->in_use + pool->pooled);
    int fits = bytes <= pool->memory && held <= pool->memory - bytes && (size_t)pool->pooled <= pool->most_pooled;
    pthread_mutex_unlock(&pool->lock);
    return fits;
}

/* New memory of the driver, after a trim where that helps. */
static int ask_driver(Pool *pool, Block *block, size_t bytes, Failure *failure) {
    size_t size = block->bytes;
    if (bytes <= pool->max_buffer && size > pool->max_buffer)
        block->bytes = size = bytes; /* rounded up it would be refused */
    if (!has_room(pool, size))
        pool_trim(pool);
    if (!has_room(pool, size))
        return out_of_memory(pool, bytes, failure);
    if (pool->table->allocate(pool->context, size, &block->address, failure) == 0)
        return 0;
    if (!failure->out_of_memory)
        return -1;
    failure_clear(failure);
    pool_trim(pool);
    if (pool->table->allocate(pool->context, size, &block->address, failure) == 0)
        return 0;
    return failure->out_of_memory ? out_of_memory(pool, bytes, failure) : -1;
}

Block *pool_take_free(Pool *pool, size_t bytes) {
    size_t size;
    if (bytes > SIZE_MAX / 4)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    Block *found = find_free(pool, class_of(bytes, &size));
    if (found != NULL)
        count_taken(pool, found, 1);
    pthread_mutex_unlock(&pool->lock);
    return found;
}

int pool_take(Pool *pool, size_t bytes, Block **block, Failure *failure) {
    if (bytes > SIZE_MAX / 4)
        return out_of_memory(pool, SIZE_MAX / 4, failure);
    size_t size;
    int class_ = class_of(bytes, &size);
    Block *found = pool_take_free(pool, bytes);
    if (found != NULL) {
        *block = found;
        return 0;
    }
    found = calloc(1, sizeof *found);
    if (found == NULL)
        return failure_set(failure, "there is no memory on the host for a buffer");
    *found = (Block){.bytes = size, .class_ = class_, .slab = -1};
    pthread_mutex_lock(&pool->lock);
    int cut = cut_slab(pool, found, failure);
    if (cut)
        count_taken(pool, found, 1);
    pthread_mutex_unlock(&pool->lock);
    if (!cut) {
        if (ask_driver(pool, found, bytes, failure) < 0) {
            free(found);
            return -1;
        }
        pthread_mutex_lock(&pool->lock);
        count_taken(pool, found, 0);
        pthread_mutex_unlock(&pool->lock);
    }
    *block = found;
    return 0;
}

static void release(Pool *pool, Block *block) {
    pool->table->release(pool->context, block->address, block->slab >= 0);
    free(block);
}

/* Free blocks lie in the order of their addresses, and the first one is taken. A program that does the same again and
 * again then gets the same addresses every other time, however the sizes of what it needs are mixed, and what remembers
 * addresses finds them again: graphs of CUDA, arguments of kernels of OpenCL. A long list is not walked to its end. */
static void put_in_order(Block **list, Block *block) {
    for (int k = 0; k < LONGEST_WALK && *list != NULL && (*list)->address < block->address; k++)
        list = &(*list)->next;
    block->next = *list;
    *list = block;
}

void pool_give(Pool *pool, Block *block) {
    int keep = pool->caches || block->slab >= 0;
    pthread_mutex_lock(&pool->lock);
    pool->in_use -= bytes_of(block);
    pool->buffers--;
    if (block->slab >= 0)
        pool->slabs[block->slab].live--;
    if (keep) {
        pool->pooled += bytes_of(block);
        put_in_order(&pool->free[block->class_], block);
    } else
        pool->releases++;
    pthread_mutex_unlock(&pool->lock);
    if (!keep)
        release(pool, block);
}

/* Take the free blocks out of a list that are no part of a slab, or of one that no buffer uses. */
static Block *take_unused(Pool *pool, int class_) {
    Block *unused = NULL, *kept = NULL;
    for (Block *block = pool->free[class_], *next; block != NULL; block = next) {
        next = block->next;
        Block **list = block->slab < 0 || pool->slabs[block->slab].live == 0 ? &unused : &kept;
        put_in_order(list, block);
        if (list == &unused && block->slab < 0)
            pool->pooled -= (int64_t)block->bytes;
        pool->releases += list == &unused;
    }
    pool->free[class_] = kept;
    return unused;
}

void pool_trim(Pool *pool) {
    Block *unused = NULL;
    pthread_mutex_lock(&pool->lock);
    for (int c = 0; c < POOL_CLASSES; c++)
        for (Block *block = take_unused(pool, c), *next; block != NULL; block = next) {
            next = block->next;
            block->next = unused;
            unused = block;
        }
    for (int i = 0; i < pool->n_slabs; i++)
        if (pool->slabs[i].live == 0)
            pool->slabs[i].cut = 0;
    pthread_mutex_unlock(&pool->lock);
    for (Block *next; unused != NULL; unused = next) {
        next = unused->next;
        release(pool, unused);
    }
}

void pool_close(Pool *pool) {
    pool_trim(pool);
    for (int i = 0; i < pool->n_slabs; i++)
        pool->table->release(pool->context, pool->slabs[i].address, 0);
    pthread_mutex_destroy(&pool->lock);
}
