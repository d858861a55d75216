/* Memory for arrays whose sizes are known at run time only: chunks that stay for the next call. */
#ifndef THEANO_MEMORY
#define THEANO_MEMORY
typedef struct theano_chunk {
    struct theano_chunk *next;
    unsigned char *bytes; /* begins at a multiple of 64 */
    size_t size, used;
} theano_chunk;

typedef struct {
    theano_chunk *first, *now;
} theano_memory;

typedef struct {
    theano_chunk *chunk;
    size_t used;
} theano_mark;
#endif
