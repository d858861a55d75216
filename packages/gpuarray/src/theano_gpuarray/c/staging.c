/* Staging: writes that do not block copy their source first, into pinned memory of the host; small reads go by way of
 * such memory, too. */
#include "pool.h"
#include <string.h>

/* Sources are copied to places that suit every device. */
#define ALIGNMENT ((size_t)256)

void staging_open(Staging *staging, atomic_llong *submitted, atomic_llong *finished) {
    memset(staging, 0, sizeof *staging);
    staging->count = STAGING_PIECES;
    staging->submitted = submitted;
    staging->finished = finished;
    pthread_mutex_init(&staging->lock, NULL);
}

/* Put a mark behind the writes from the current piece, and go on to the next. */
static int leave_piece(Staging *s, const DriverTable *table, void *context, Failure *failure) {
    Piece *piece = &s->pieces[s->current];
    if (table->mark(context, &piece->mark, failure) < 0)
        return -1;
    piece->marked = 1;
    s->current = (s->current + 1) % s->count;
    s->used = 0;
    return 0;
}

/* Allocate the current piece. Where there is no more pinned memory, the ring stays as short as it is; returns 0 where
 * there is none at all. */
static int find_piece(Staging *s, const DriverTable *table, void *context) {
    Piece *piece = &s->pieces[s->current];
    Failure failure = {0};
    if (piece->memory != NULL ||
        table->host_allocate(context, STAGING_BYTES, &piece->memory, &piece->handle, &failure) == 0)
        return 1;
    failure_clear(&failure);
    piece->memory = NULL;
    if (s->current == 0)
        return 0;
    s->count = s->current;
    s->current = 0;
    return 1;
}

/* Wait for what was written from the current piece before. */
static int wait_for_piece(Staging *s, const DriverTable *table, void *context, Failure *failure) {
    Piece *piece = &s->pieces[s->current];
    if (!piece->marked)
        return 0;
    piece->marked = 0;
    return table->mark_wait(context, piece->mark, failure);
}

/* Use the first piece again where all that was written from the ring is known to have ended. */
static int start_again(Staging *s, const DriverTable *table, void *context, Failure *failure) {
    if (s->newest > atomic_load(s->finished))
        return 0;
    for (; s->current > 0; s->current--)
        if (wait_for_piece(s, table, context, failure) < 0)
            return -1;
    s->used = 0;
    return wait_for_piece(s, table, context, failure);
}

static int write_part(Staging *s, const DriverTable *table, void *context, Address target, size_t offset,
                      const char *source, size_t bytes, Failure *failure) {
    char *place = (char *)s->pieces[s->current].memory + s->used;
    memcpy(place, source, bytes);
    if (table->write(context, target, offset, place, bytes, 0, failure) < 0)
        return -1;
    s->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return 0;
}

/* A small write goes into what is left of a piece as a whole; a large one is divided. Without pinned memory, writing
 * blocks. */
static int stage_part(Staging *s, const DriverTable *table, void *context, Address target, size_t offset,
                      const char *source, size_t bytes, Failure *failure) {
    if (s->used + bytes > STAGING_BYTES && leave_piece(s, table, context, failure) < 0)
        return -1;
    if (!find_piece(s, table, context))
        return table->write(context, target, offset, source, bytes, 1, failure);
    if (wait_for_piece(s, table, context, failure) < 0)
        return -1;
    return write_part(s, table, context, target, offset, source, bytes, failure);
}

int staging_write(Staging *s, const DriverTable *table, void *context, Address target, size_t offset,
                  const void *source, size_t bytes, Failure *failure) {
    const char *from = source;
    pthread_mutex_lock(&s->lock);
    int result = start_again(s, table, context, failure);
    for (size_t done = 0; result == 0 && done < bytes; done += STAGING_BYTES) {
        size_t part = bytes - done < STAGING_BYTES ? bytes - done : STAGING_BYTES;
        result = stage_part(s, table, context, target, offset + done, from + done, part, failure);
    }
    s->newest = atomic_fetch_add(s->submitted, 1) + 1;
    pthread_mutex_unlock(&s->lock);
    return result;
}

void staging_close(Staging *s, const DriverTable *table, void *context) {
    for (int i = 0; i < STAGING_PIECES; i++) {
        Piece *piece = &s->pieces[i];
        Failure failure = {0};
        if (piece->marked)
            table->mark_wait(context, piece->mark, &failure);
        if (piece->memory != NULL)
            table->host_release(context, piece->memory, piece->handle);
        failure_clear(&failure);
    }
    pthread_mutex_destroy(&s->lock);
}

void reply_open(Reply *reply) {
    memset(reply, 0, sizeof *reply);
    pthread_mutex_init(&reply->lock, NULL);
}

/* Whether there is pinned memory; it is allocated when it is first asked for. */
static int find_reply(Reply *reply, const DriverTable *table, void *context) {
    Failure failure = {0};
    if (!reply->asked && table->host_allocate(context, REPLY_BYTES, &reply->memory, &reply->handle, &failure) < 0)
        reply->memory = NULL;
    reply->asked = 1;
    failure_clear(&failure);
    return reply->memory != NULL;
}

int reply_read(Reply *reply, const DriverTable *table, void *context, void *target, Address source, size_t offset,
               size_t bytes, Failure *failure) {
    if (bytes > REPLY_BYTES || pthread_mutex_trylock(&reply->lock) != 0)
        return table->read(context, target, source, offset, bytes, failure);
    int pinned = find_reply(reply, table, context);
    int result = table->read(context, pinned ? reply->memory : target, source, offset, bytes, failure);
    if (pinned && result == 0)
        memcpy(target, reply->memory, bytes);
    pthread_mutex_unlock(&reply->lock);
    return result;
}

void reply_close(Reply *reply, const DriverTable *table, void *context) {
    if (reply->memory != NULL)
        table->host_release(context, reply->memory, reply->handle);
    pthread_mutex_destroy(&reply->lock);
}
