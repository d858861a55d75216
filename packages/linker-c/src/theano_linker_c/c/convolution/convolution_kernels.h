/* Read by convolution_kernels.c with NUMBER (a type), LANES (elements of a vector), ROWS (most rows of a tile), SUMS
 * (most vectors of a sum), TARGET (an attribute) and NAME(x) defined. */

typedef NUMBER NAME(vector) __attribute__((vector_size(LANES * sizeof(NUMBER)), aligned(sizeof(NUMBER)), may_alias));

static TARGET void NAME(pack)(void *to, int64_t width, const void *from, const int64_t *offsets, int64_t taps,
                              const Span *spans, int64_t count) {
    NUMBER *row = to;
    for (int64_t t = 0; t < taps; t++, row += width) {
        const NUMBER *base = (const NUMBER *)from + offsets[t];
        for (int64_t k = 0; k < count; k++) {
            const NUMBER *x = base + spans[k].from;
            NUMBER *y = row + spans[k].at;
            for (int64_t j = 0; j < spans[k].count; j += LANES)
                *(NAME(vector) *)(y + j) = *(const NAME(vector) *)(x + j);
        }
    }
}

#define DEFINE_TILE(R, V)                                                                                              \
    static TARGET void NAME(tile_##R##_##V)(int64_t taps, const void *weights, const void *packed, int64_t width,      \
                                            void *target, int64_t step, int more) {                                    \
        const NUMBER *w = weights, *b = packed;                                                                        \
        NUMBER *c = target;                                                                                            \
        NAME(vector) sums[R][V];                                                                                       \
        UNROLLED for (int r = 0; r < R; r++)                                                                           \
            UNROLLED for (int v = 0; v < V; v++)                                                                       \
                sums[r][v] = more ? *(NAME(vector) *)(c + r * step + v * LANES) : (NAME(vector)){0};                   \
        for (int64_t t = 0; t < taps; t++, w += R, b += width) {                                                       \
            NAME(vector) x[V];                                                                                         \
            UNROLLED for (int v = 0; v < V; v++)                                                                       \
                x[v] = *(const NAME(vector) *)(b + v * LANES);                                                         \
            UNROLLED for (int r = 0; r < R; r++)                                                                       \
                UNROLLED for (int v = 0; v < V; v++)                                                                   \
                    sums[r][v] += w[r] * x[v];                                                                         \
        }                                                                                                              \
        UNROLLED for (int r = 0; r < R; r++)                                                                           \
            UNROLLED for (int v = 0; v < V; v++)                                                                       \
                *(NAME(vector) *)(c + r * step + v * LANES) = sums[r][v];                                              \
    }
#define DEFINE_TILES(R) DEFINE_TILE(R, 1) DEFINE_TILE(R, 2) DEFINE_TILE(R, 3)
DEFINE_TILES(1)
DEFINE_TILES(2)
DEFINE_TILES(4)
#if ROWS >= 8
DEFINE_TILES(8)
#endif

#define DEFINE_SUM(V)                                                                                                  \
    static TARGET void NAME(sum_##V)(const void *images, const int64_t *offsets, int64_t stride,                         \
                                     const Span *spans, int64_t count, const void *tops, void *target) {        \
        const NUMBER *x = images, *t = tops;                                                                           \
        NUMBER *s = target;                                                                                            \
        NAME(vector) sums[SUM_TAPS][V];                                                                                \
        UNROLLED for (int k = 0; k < SUM_TAPS; k++)                                                                    \
            UNROLLED for (int v = 0; v < V; v++)                                                                       \
                sums[k][v] = *(NAME(vector) *)(s + (k * V + v) * LANES);                                               \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const NUMBER *at[SUM_TAPS];                                                                                \
            UNROLLED for (int k = 0; k < SUM_TAPS; k++)                                                                \
                at[k] = x + offsets[k] + spans[i].from;                                                            \
            int64_t end = spans[i].count * stride;                                                                   \
            for (int64_t j = 0; j < end; j += stride, t += V * LANES) {                                                  \
                NAME(vector) y[V];                                                                                     \
                UNROLLED for (int v = 0; v < V; v++)                                                                   \
                    y[v] = *(const NAME(vector) *)(t + v * LANES);                                                     \
                UNROLLED for (int k = 0; k < SUM_TAPS; k++)                                                            \
                    UNROLLED for (int v = 0; v < V; v++)                                                               \
                        sums[k][v] += at[k][j] * y[v];                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        UNROLLED for (int k = 0; k < SUM_TAPS; k++)                                                                    \
            UNROLLED for (int v = 0; v < V; v++)                                                                       \
                *(NAME(vector) *)(s + (k * V + v) * LANES) = sums[k][v];                                               \
    }
DEFINE_SUM(1)
DEFINE_SUM(2)
#if SUMS >= 4
DEFINE_SUM(3)
DEFINE_SUM(4)
#endif

#define TILE_ROW(R) {NAME(tile_##R##_1), NAME(tile_##R##_2), NAME(tile_##R##_3)}
static const WindowKernels NAME(kernels) = {
    .lanes = LANES,
    .rows = ROWS,
    .sums = SUMS,
    .pack = NAME(pack),
#if ROWS >= 8
    .tile = {TILE_ROW(1), TILE_ROW(2), TILE_ROW(4), TILE_ROW(8)},
#else
    .tile = {TILE_ROW(1), TILE_ROW(2), TILE_ROW(4)},
#endif
#if SUMS >= 4
    .sum = {NAME(sum_1), NAME(sum_2), NAME(sum_3), NAME(sum_4)},
#else
    .sum = {NAME(sum_1), NAME(sum_2)},
#endif
};

#undef DEFINE_TILE
#undef DEFINE_TILES
#undef DEFINE_SUM
#undef TILE_ROW
#undef NUMBER
#undef LANES
#undef ROWS
#undef SUMS
#undef TARGET
#undef NAME
