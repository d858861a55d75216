/* Functions that exported C code calls. Each stands between two empty lines, and is copied where it is called. */

/* Give memory for an array of so many bytes, or NULL. */
static void *theano_take(theano_memory *memory, double bytes) {
    theano_chunk *chunk = memory->now;
    size_t size;
    if (!(bytes >= 0 && bytes < 9007199254740992.0 && bytes < (double)SIZE_MAX / 2))
        return NULL;
    size = ((size_t)bytes + 63) / 64 * 64;
    while (chunk != NULL && chunk->size - chunk->used < size) {
        chunk = chunk->next;
        if (chunk != NULL)
            chunk->used = 0;
    }
    if (chunk == NULL) {
        const size_t room = size > 65536 ? size : 65536;
        theano_chunk **last = &memory->first;
        chunk = malloc(sizeof *chunk + room + 64);
        if (chunk == NULL)
            return NULL;
        chunk->next = NULL;
        chunk->bytes = (unsigned char *)(((uintptr_t)(chunk + 1) + 63) / 64 * 64);
        chunk->size = room;
        chunk->used = 0;
        while (*last != NULL)
            last = &(*last)->next;
        *last = chunk;
    }
    memory->now = chunk;
    chunk->used += size;
    return chunk->bytes + chunk->used - size;
}

/* Remember how much memory is in use. */
static theano_mark theano_remember(const theano_memory *memory) {
    theano_mark mark;
    mark.chunk = memory->now;
    mark.used = memory->now == NULL ? 0 : memory->now->used;
    return mark;
}

/* Give back what has been taken since. */
static void theano_give_back(theano_memory *memory, theano_mark mark) {
    memory->now = mark.chunk == NULL ? memory->first : mark.chunk;
    if (memory->now != NULL)
        memory->now->used = mark.used;
}

static int64_t theano_least(int64_t a, int64_t b) {
    const int64_t least = a < b ? a : b;
    return least < 0 ? 0 : least;
}

/* The sum of two lengths; -1 if that is too large for a length, or one of them is none. */
static int64_t theano_add_lengths(int64_t a, int64_t b) { return a < 0 || b < 0 || a > INT64_MAX - b ? -1 : a + b; }

/* The product of two lengths; -1 if that is too large for a length, or one of them is none. */
static int64_t theano_multiply_lengths(int64_t a, int64_t b) {
    return a < 0 || b < 0 || (b > 0 && a > INT64_MAX / b) ? -1 : a * b;
}

/* The number of elements of a range. */
static int64_t theano_range_length(int64_t start, int64_t stop, int64_t step) {
    const uint64_t a = (uint64_t)start, b = (uint64_t)stop, by = (uint64_t)step;
    uint64_t count;
    if (step > 0)
        count = start < stop ? (b - a - 1) / by + 1 : 0;
    else
        count = stop < start ? (a - b - 1) / (0 - by) + 1 : 0;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

/* The number of elements of a range of real numbers. */
static int64_t theano_real_range_length(double start, double stop, double step) {
    const double count = ceil((stop - start) / step);
    return count >= 9e18 ? INT64_MAX : count > 0 ? (int64_t)count : 0;
}

/* The number of windows of a pooling along an axis. What is too large is the largest number, for which there is no
 * memory. */
static int64_t theano_count_windows(int64_t length, int64_t window, int64_t step, int64_t pad, int ignore_border) {
    const int64_t most = INT64_MAX - 1, least = length - window;
    const int64_t left = least > most - pad ? most : least + pad, room = left > most - pad ? most : left + pad;
    const int64_t whole = room > most - window ? most : room + window;
    int64_t cover, inside;
    if (ignore_border)
        return room < 0 ? 0 : room / step + 1;
    /* As many as cover everything, but none that begins behind the last element. */
    cover = room > 0 ? (room - 1) / step + 1 : 0;
    inside = whole > 0 ? (whole - 1) / step : -1;
    return (inside < cover ? inside : cover) + 1;
}

/* The first element and the number of elements of a slice; a bound that is not there is that of all elements. */
static int64_t theano_slice(int has_start, int64_t start, int has_stop, int64_t stop, int64_t step, int64_t length,
                            int64_t *first) {
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
    int64_t count;
    start = has_start ? start + (start < 0 ? length : 0) : (step < 0 ? high : low);
    stop = has_stop ? stop + (stop < 0 ? length : 0) : (step < 0 ? low : high);
    start = start < low ? low : start > high ? high : start;
    stop = stop < low ? low : stop > high ? high : stop;
    if (step < 0)
        count = stop < start ? (int64_t)((uint64_t)(start - stop - 1) / (0 - (uint64_t)step)) + 1 : 0;
    else
        count = start < stop ? (stop - start - 1) / step + 1 : 0;
    *first = count ? start : 0;
    return count;
}

/* The logarithmic derivative of the gamma function: recurrence up to 10, and the asymptotic series (Abramowitz and
 * Stegun, 6.3.5 and 6.3.18). */
static double theano_digamma(double x) {
    double sum = 0, y;
    if (x <= 0) {
        if (x == floor(x))
            return (double)NAN;
        return theano_digamma(1 - x) - 3.14159265358979323846 / tan(3.14159265358979323846 * x);
    }
    for (; x < 10; x += 1)
        sum -= 1 / x;
    y = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * 691.0 / 32760)))));
}
