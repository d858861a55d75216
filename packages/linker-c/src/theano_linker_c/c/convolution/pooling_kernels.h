/* Read by pooling_kernels.c with NUMBER (a type), MASK (an integer of its size), TARGET (an attribute) and NAME(x)
 * defined. Loops over rows are written out for steps of 1 and 2, so that they become vector code. */

#define FOR_STEPS(step, body)                                                                                          \
    do {                                                                                                               \
        if ((step) == 1) {                                                                                             \
            enum { S = 1 };                                                                                            \
            body;                                                                                                      \
        } else if ((step) == 2) {                                                                                      \
            enum { S = 2 };                                                                                            \
            body;                                                                                                      \
        } else {                                                                                                       \
            const int64_t S = (step);                                                                                  \
            body;                                                                                                      \
        }                                                                                                              \
    } while (0)

/* NaN is larger than everything, as for NumPy. */
static inline TARGET NUMBER NAME(larger)(NUMBER a, NUMBER b) { return ((b > a) | (b != b)) ? b : a; }

static TARGET void NAME(join_row)(int largest, NUMBER *restrict to, const NUMBER *restrict from, int64_t n) {
    if (largest)
        for (int64_t j = 0; j < n; j++)
            to[j] = NAME(larger)(to[j], from[j]);
    else
        for (int64_t j = 0; j < n; j++)
            to[j] += from[j];
}

/* Join the elements of each window of a row that has its padding. */
static TARGET void NAME(join_columns)(const WindowAxis *a, int largest, NUMBER *restrict to, const NUMBER *restrict row) {
    FOR_STEPS(a->step, for (int64_t j = 0; j < a->windows; j++) to[j] = row[j * S]);
    for (int64_t k = 1; k < a->window; k++)
        if (largest)
            FOR_STEPS(a->step, for (int64_t j = 0; j < a->windows; j++) to[j] = NAME(larger)(to[j], row[j * S + k]));
        else
            FOR_STEPS(a->step, for (int64_t j = 0; j < a->windows; j++) to[j] += row[j * S + k]);
}

/* Rows of a window that are inside: from *begin up to *end. */
static TARGET void NAME(inside)(const WindowAxis *a, int64_t window, int64_t *begin, int64_t *end) {
    *begin = window * a->step - a->pad;
    *end = *begin + a->window < a->length ? *begin + a->window : a->length;
    *begin = *begin < 0 ? 0 : *begin;
}

/* Join the rows of the windows at one depth and row: those at one height first, as one axis after the other does. */
static TARGET void NAME(join_rows)(const Windows *w, int64_t depth, int64_t height, const NUMBER *x, NUMBER *row,
                                   NUMBER *other) {
    const WindowAxis *a = w->axes;
    int64_t n = a[2].length, top, bottom, near, far;
    int largest = w->mode == POOL_MAX;
    NAME(inside)(&a[0], depth, &near, &far);
    NAME(inside)(&a[1], height, &top, &bottom);
    for (int64_t r = top; r < bottom; r++) {
        NUMBER *to = r == top ? row : other;
        const NUMBER *from = x + (near * a[1].length + r) * n;
        if (far - near == 1 && r > top) {
            NAME(join_row)(largest, row, from, n);
            continue;
        }
        memcpy(to, from, (size_t)n * sizeof(NUMBER));
        for (int64_t d = near + 1; d < far; d++)
            NAME(join_row)(largest, to, x + (d * a[1].length + r) * n, n);
        if (r > top)
            NAME(join_row)(largest, row, other, n);
    }
}

/* The most frequent windows by far: squares of four elements, side by side. */
static TARGET void NAME(join_squares)(const WindowAxis *a, const NUMBER *restrict x, NUMBER *restrict y,
                                      NUMBER *restrict row) {
    int64_t n = a[2].length;
    for (int64_t h = 0; h < a[1].windows; h++, x += 2 * n, y += a[2].windows) {
        for (int64_t j = 0; j < n; j++)
            row[j] = NAME(larger)(x[j], x[n + j]);
        for (int64_t j = 0; j < a[2].windows; j++)
            y[j] = NAME(larger)(row[2 * j], row[2 * j + 1]);
    }
}

/* Whether windows of two elements, side by side, are all inside. */
static TARGET int NAME(pairs)(const WindowAxis *a) {
    return a->window == 2 && a->step == 2 && a->pad == 0 && 2 * a->windows <= a->length;
}

static TARGET void NAME(pool)(const Windows *w, const void *from, void *to, void *workspace) {
    const WindowAxis *a = w->axes;
    if (w->mode == POOL_MAX && a[0].length == 1 && NAME(pairs)(&a[1]) && NAME(pairs)(&a[2])) {
        NAME(join_squares)(a, from, to, workspace);
        return;
    }
    NUMBER *y = to, *padded = workspace, *other = padded + workspace_row(w);
    int64_t all = workspace_row(w);
    for (int64_t j = 0; j < all; j++)
        padded[j] = w->mode == POOL_MAX ? -(NUMBER)INFINITY : 0;
    for (int64_t d = 0; d < a[0].windows; d++)
        for (int64_t h = 0; h < a[1].windows; h++, y += a[2].windows) {
            NAME(join_rows)(w, d, h, from, padded + a[2].pad, other);
            NAME(join_columns)(&a[2], w->mode == POOL_MAX, y, padded);
            if (w->mode < POOL_MEAN)
                continue;
            int64_t rows = window_elements(&a[0], w->mode, d) * window_elements(&a[1], w->mode, h);
            for (int64_t j = 0; j < a[2].windows; j++)
                y[j] /= (NUMBER)(rows * window_elements(&a[2], w->mode, j));
        }
}

/* The gradient of sums and means: each element gets the gradients of its windows. */
static TARGET void NAME(average_pool_grad)(const Windows *w, const void *from, void *to, void *workspace) {
    const WindowAxis *a = w->axes;
    const NUMBER *g = from;
    int64_t n = a[2].length, near, far, top, bottom, all = workspace_row(w);
    NUMBER *x = to, *row = workspace, *each = row + all;
    memset(x, 0, (size_t)(a[0].length * a[1].length * n) * sizeof(NUMBER));
    for (int64_t d = 0; d < a[0].windows; d++)
        for (int64_t h = 0; h < a[1].windows; h++, g += a[2].windows) {
            int64_t rows = window_elements(&a[0], w->mode, d) * window_elements(&a[1], w->mode, h);
            for (int64_t j = 0; j < a[2].windows; j++)
                each[j] = w->mode < POOL_MEAN ? g[j] : g[j] / (NUMBER)(rows * window_elements(&a[2], w->mode, j));
            memset(row, 0, (size_t)all * sizeof(NUMBER));
            for (int64_t k = 0; k < a[2].window; k++)
                FOR_STEPS(a[2].step, for (int64_t j = 0; j < a[2].windows; j++) row[j * S + k] += each[j]);
            NAME(inside)(&a[0], d, &near, &far);
            NAME(inside)(&a[1], h, &top, &bottom);
            for (int64_t i = near; i < far; i++)
                for (int64_t r = top; r < bottom; r++)
                    NAME(join_row)(0, x + (i * a[1].length + r) * n, row + a[2].pad, n);
        }
}

/* Windows whose element number k along the last axis is inside: from *begin up to *end. */
static TARGET void NAME(columns)(const WindowAxis *a, int64_t k, int64_t *begin, int64_t *end) {
    int64_t left = a->pad - k, right = a->length - 1 + a->pad - k;
    *begin = left > 0 ? (left + a->step - 1) / a->step : 0;
    *end = right < 0 ? 0 : right / a->step + 1 < a->windows ? right / a->step + 1 : a->windows;
}

/* One row of windows, one row of elements: where an element is the first that equals the largest, it gets what its
 * window gives. `left` tells which windows have not found theirs. */
static TARGET void NAME(max_pool_grad_row)(const WindowAxis *a, const NUMBER *restrict x, const NUMBER *restrict y,
                                  const NUMBER *restrict g, NUMBER *restrict to, MASK *restrict left) {
    int64_t begin, end;
    if (NAME(pairs)(a)) {
        for (int64_t j = 0; j < a->windows; j++) {
            MASK first = (x[2 * j] == y[j] ? -1 : 0) & left[j];
            MASK second = (x[2 * j + 1] == y[j] ? -1 : 0) & left[j] & ~first;
            to[2 * j] += first ? g[j] : 0;
            to[2 * j + 1] += second ? g[j] : 0;
            left[j] &= ~(first | second);
        }
        return;
    }
    for (int64_t k = 0; k < a->window; k++) {
        const NUMBER *from = x + k - a->pad;
        NUMBER *target = to + k - a->pad;
        NAME(columns)(a, k, &begin, &end);
        FOR_STEPS(a->step, for (int64_t j = begin; j < end; j++) {
            MASK hit = (from[j * S] == y[j] ? -1 : 0) & left[j];
            target[j * S] += hit ? g[j] : 0;
            left[j] &= ~hit;
        });
    }
}

static TARGET void NAME(max_pool_grad_grad_row)(const WindowAxis *a, const NUMBER *restrict x, const NUMBER *restrict y,
                                  const NUMBER *restrict t, NUMBER *restrict to, MASK *restrict left) {
    int64_t begin, end;
    for (int64_t k = 0; k < a->window; k++) {
        const NUMBER *from = x + k - a->pad, *other = t + k - a->pad;
        NAME(columns)(a, k, &begin, &end);
        FOR_STEPS(a->step, for (int64_t j = begin; j < end; j++) {
            MASK hit = (from[j * S] == y[j] ? -1 : 0) & left[j];
            to[j] = hit ? other[j * S] : to[j];
            left[j] &= ~hit;
        });
    }
}

static TARGET void NAME(max_pool_grad)(const Windows *w, const void *from, const void *tops, const void *gifts, void *target,
                              void *workspace) {
    const WindowAxis *a = w->axes;
    const NUMBER *x = from, *y = tops, *g = gifts;
    NUMBER *to = target;
    int64_t n = a[2].length, near, far, top, bottom;
    memset(to, 0, (size_t)(a[0].length * a[1].length * n) * sizeof(NUMBER));
    for (int64_t d = 0; d < a[0].windows; d++)
        for (int64_t h = 0; h < a[1].windows; h++, y += a[2].windows, g += a[2].windows) {
            memset(workspace, 255, (size_t)a[2].windows * sizeof(MASK));
            NAME(inside)(&a[0], d, &near, &far);
            NAME(inside)(&a[1], h, &top, &bottom);
            for (int64_t i = near; i < far; i++)
                for (int64_t r = top; r < bottom; r++)
                    NAME(max_pool_grad_row)(&a[2], x + (i * a[1].length + r) * n, y, g, to + (i * a[1].length + r) * n, workspace);
        }
}

static TARGET void NAME(max_pool_grad_grad)(const Windows *w, const void *from, const void *tops, const void *others, void *target,
                              void *workspace) {
    const WindowAxis *a = w->axes;
    const NUMBER *x = from, *y = tops, *t = others;
    NUMBER *to = target;
    int64_t n = a[2].length, near, far, top, bottom;
    memset(to, 0, (size_t)(a[0].windows * a[1].windows * a[2].windows) * sizeof(NUMBER));
    for (int64_t d = 0; d < a[0].windows; d++)
        for (int64_t h = 0; h < a[1].windows; h++, y += a[2].windows, to += a[2].windows) {
            memset(workspace, 255, (size_t)a[2].windows * sizeof(MASK));
            NAME(inside)(&a[0], d, &near, &far);
            NAME(inside)(&a[1], h, &top, &bottom);
            for (int64_t i = near; i < far; i++)
                for (int64_t r = top; r < bottom; r++)
                    NAME(max_pool_grad_grad_row)(&a[2], x + (i * a[1].length + r) * n, y, t + (i * a[1].length + r) * n, to, workspace);
        }
}

static const PoolKernels NAME(kernels) = {NAME(pool), NAME(average_pool_grad), NAME(max_pool_grad), NAME(max_pool_grad_grad)};

#undef FOR_STEPS
#undef NUMBER
#undef MASK
#undef TARGET
#undef NAME
