/* Staging: writes that do not block copy their source first, into pinned memory of the host. */
#include "pool.h"
#include <string.h>

/* Sources are copied to places that suit every device. */
#define ALIGNMENT ((size_t)256)

void staging_open(Staging *staging) {
    memset(staging, 0, sizeof *staging);
    pthread_mutex_init(&staging->lock, NULL);
}

/* Put a mark behind the writes from the current piece. */
static int leave_piece(Staging *s, const DriverTable *table, void *context, Failure *failure) {
    Piece *piece = &s->pieces[s->current];
    if (table->mark(context, &piece->mark, failure) < 0)
        return -1;
    piece->marked = 1;
    s->current = (s->current + 1) % STAGING_PIECES;
    s->used = 0;
    return 0;
}

/* See that the current piece has room: allocate it, or wait for what was written from it before. */
static int enter_piece(Staging *s, const DriverTable *table, void *context, Failure *failure) {
    Piece *piece = &s->pieces[s->current];
    if (piece->memory == NULL) {
        if (table->host_allocate(context, STAGING_BYTES, &piece->memory, &piece->handle, failure) < 0) {
            piece->memory = NULL;
            return -1;
        }
    }
    if (!piece->marked)
        return 0;
    piece->marked = 0;
    return table->mark_wait(context, piece->mark, failure);
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

int staging_write(Staging *s, const DriverTable *table, void *context, Address target, size_t offset,
                  const void *source, size_t bytes, Failure *failure) {
    int result = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t done = 0; result == 0 && done < bytes;) {
        /* A small write goes into what is left of a piece as a whole; a large one is divided. */
        size_t rest = bytes - done, part = rest < STAGING_BYTES ? rest : STAGING_BYTES;
        if (s->used + part > STAGING_BYTES)
            result = leave_piece(s, table, context, failure);
        if (result == 0)
            result = enter_piece(s, table, context, failure);
        if (result == 0)
            result = write_part(s, table, context, target, offset + done, (const char *)source + done, part, failure);
        done += part;
    }
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
