/* Sorting of REAL numbers. */

static int NAME(theano_before)(REAL a, REAL b) {
    const REAL same_a = a, same_b = b;
    return a < b || (b != same_b && a == same_a);
}

/* The numbers of n elements in ascending order, by merging; equal ones keep their order, and NaN stands last. */
static void NAME(theano_argsort)(int64_t n, const REAL *x, int64_t step, int64_t *order, int64_t *space) {
    int64_t *from = order, *to = space;
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t width = 1; width < n; width *= 2) {
        int64_t *const turned = from;
        for (int64_t begin = 0; begin < n; begin += 2 * width) {
            const int64_t middle = begin + width < n ? begin + width : n, end = middle + width < n ? middle + width : n;
            int64_t a = begin, b = middle;
            for (int64_t i = begin; i < end; i++)
                to[i] = a < middle && (b >= end || !NAME(theano_before)(x[from[b] * step], x[from[a] * step]))
                            ? from[a++]
                            : from[b++];
        }
        from = to;
        to = turned;
    }
    if (from != order)
        for (int64_t i = 0; i < n; i++)
            order[i] = from[i];
}
