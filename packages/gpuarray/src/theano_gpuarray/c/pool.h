/* Memory of a context that is used again, and staging memory for writes that do not block.
 *
 * Memory that a buffer gives back may be handed out at once, though work that uses it is still in the queue: whoever
 * gets it can reach it through the same queue only, so after that work.
 */
#ifndef THEANO_GPUARRAY_POOL_H
#define THEANO_GPUARRAY_POOL_H

#include "driver.h"
#include <pthread.h>
#include <stdatomic.h>

/* Eight classes of sizes from each power of two to the next, so that at most an eighth is wasted. */
#define POOL_CLASSES (8 * 64)
#define POOL_SLABS 32

typedef struct Block Block;
struct Block {
    Address address;
    size_t bytes;      /* of its class */
    int class_, slab;  /* slab: which one it is part of, or -1 */
    size_t slab_bytes; /* of the slab */
    Block *next;       /* in the list of its class */
};

/* Memory that was allocated ahead; blocks are cut from its begin on. */
typedef struct {
    Address address;
    size_t bytes, cut;
    int64_t live; /* blocks that buffers have */
} Slab;

typedef struct {
    const DriverTable *table;
    void *context;
    pthread_mutex_t lock; /* never held while the GIL is waited for, or the device */
    Block *free[POOL_CLASSES];
    Slab slabs[POOL_SLABS];
    int n_slabs, caches; /* whether memory is kept */
    size_t memory, most_pooled, max_buffer;
    int64_t in_use, pooled, peak; /* bytes; memory that was allocated ahead counts as pooled */
    int64_t buffers, allocations; /* buffers that there are, and how often the driver was asked for memory */
    int64_t releases;             /* how often memory was given back to the driver */
} Pool;

void pool_open(Pool *pool, const DriverTable *table, void *context, const Properties *properties, int caches);
/* Allocate ahead. Where the device has less, as much as there is. */
void pool_preallocate(Pool *pool, size_t bytes);
/* `bytes` is not 0. */
int pool_take(Pool *pool, size_t bytes, Block **block, Failure *failure);
/* Take a block that is free; NULL where there is none. Nothing is asked of the device. */
Block *pool_take_free(Pool *pool, size_t bytes);
void pool_give(Pool *pool, Block *block);
/* Give what nobody uses back to the driver. */
void pool_trim(Pool *pool);
/* All blocks have been given back. */
void pool_close(Pool *pool);

/* A ring of pieces of pinned memory: a piece is used again when the queue has passed the mark behind its writes. Where
 * all writes are known to have ended, it starts again at its beginning, which the caches of the processor hold. */
#define STAGING_PIECES 16
#define STAGING_BYTES ((size_t)1 << 20)

typedef struct {
    void *memory, *handle, *mark;
    int marked;
} Piece;

typedef struct {
    pthread_mutex_t lock;
    Piece pieces[STAGING_PIECES];
    int count, current; /* how many pieces there may be, and which one is filled */
    size_t used;        /* bytes of the current piece */
    /* Numbers of work that the context counts, and that of the newest write. */
    atomic_llong *submitted, *finished;
    long long newest;
} Staging;
void staging_open(Staging *staging, atomic_llong *submitted, atomic_llong *finished);
/* Copy the source, and put writes into the queue; the source may change afterwards. */
int staging_write(Staging *staging, const DriverTable *table, void *context, Address target, size_t offset,
                  const void *source, size_t bytes, Failure *failure);
void staging_close(Staging *staging, const DriverTable *table, void *context);

/* Pinned memory by way of which small reads go: a status, a cost. */
#define REPLY_BYTES ((size_t)4096)
typedef struct {
    void *memory, *handle; /* NULL: not asked for yet, or there is none */
    int asked;
    pthread_mutex_t lock;
} Reply;

void reply_open(Reply *reply);
void reply_close(Reply *reply, const DriverTable *table, void *context);
/* Wait for the queue, and read. Large reads, and those beside another one, do without pinned memory. */
int reply_read(Reply *reply, const DriverTable *table, void *context, void *target, Address source, size_t offset,
               size_t bytes, Failure *failure);

#endif
