/* What the stand-in for NVRTC puts before the text of kernels, so that it is C++ for the processor. Integer types of
 * stdint.h are not declared, since the text does. */
typedef __SIZE_TYPE__ size_t;

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};

/* What a thread sees of itself, as `kernels.c` has it. */
struct FakeThread {
    uint3 thread, block;
    dim3 block_size, grid_size;
    void *dynamic;
    void (*barrier)(void *where);
    unsigned long long (*exchange)(unsigned mask, unsigned long long value, int lane, void *where);
};
extern "C" {
FakeThread *fake_thread;
}
#define threadIdx (fake_thread->thread)
#define blockIdx (fake_thread->block)
#define blockDim (fake_thread->block_size)
#define gridDim (fake_thread->grid_size)
#define warpSize 32
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __constant__ static

static __attribute__((noinline)) void __syncthreads() {
    asm volatile("" ::: "memory");
    fake_thread->barrier(__builtin_return_address(0));
    asm volatile("" ::: "memory");
}
static inline void __threadfence() { asm volatile("" ::: "memory"); }
static inline void __threadfence_block() { asm volatile("" ::: "memory"); }
static inline unsigned fake_lane() {
    const FakeThread *t = fake_thread;
    return (t->thread.x + t->block_size.x * (t->thread.y + t->block_size.y * t->thread.z)) % 32;
}
static __attribute__((noinline)) unsigned long long fake_exchange(unsigned mask, unsigned long long value, int lane) {
    asm volatile("" ::: "memory");
    return fake_thread->exchange(mask, value, lane, __builtin_return_address(0));
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { fake_exchange(mask, 0, (int)fake_lane()); }
template <typename T> static inline T fake_shuffle(unsigned mask, T value, int lane) {
    static_assert(sizeof(T) <= 8, "too large");
    unsigned long long sent = 0;
    __builtin_memcpy(&sent, &value, sizeof(T));
    sent = fake_exchange(mask, sent, lane);
    __builtin_memcpy(&value, &sent, sizeof(T));
    return value;
}
template <typename T> static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
    const int lane = (int)fake_lane();
    return fake_shuffle(mask, value, (lane & ~(width - 1)) + (from & (width - 1)));
}
template <typename T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    const int lane = (int)fake_lane(), from = lane - (int)by;
    return fake_shuffle(mask, value, from < (lane & ~(width - 1)) ? lane : from);
}
template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    const int lane = (int)fake_lane(), from = lane + (int)by;
    return fake_shuffle(mask, value, from > (lane | (width - 1)) ? lane : from);
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    const int lane = (int)fake_lane(), from = lane ^ bits;
    return fake_shuffle(mask, value, from > (lane | (width - 1)) ? lane : from);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    unsigned found = 0;
    for (int lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            found |= (unsigned)(fake_exchange(mask, predicate != 0, lane) << lane);
    return found;
}
static inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
static inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

/* Threads run one at a time: an operation is atomic where nothing comes in between. */
template <typename T> static inline T fake_swap(T *p, T value) {
    T old = *p;
    *p = value;
    return old;
}
#define FAKE_ATOMIC(T)                                                                                                 \
    static inline T atomicExch(T *p, T x) { return fake_swap(p, x); }                                                  \
    static inline T atomicAdd(T *p, T x) { return fake_swap(p, (T)(*p + x)); }
#define FAKE_ATOMIC_INTEGER(T)                                                                                         \
    FAKE_ATOMIC(T)                                                                                                     \
    static inline T atomicCAS(T *p, T e, T x) { return fake_swap(p, *p == e ? x : *p); }                               \
    static inline T atomicMin(T *p, T x) { return fake_swap(p, *p < x ? *p : x); }                                     \
    static inline T atomicMax(T *p, T x) { return fake_swap(p, *p > x ? *p : x); }                                     \
    static inline T atomicAnd(T *p, T x) { return fake_swap(p, (T)(*p & x)); }                                         \
    static inline T atomicOr(T *p, T x) { return fake_swap(p, (T)(*p | x)); }                                          \
    static inline T atomicXor(T *p, T x) { return fake_swap(p, (T)(*p ^ x)); }
FAKE_ATOMIC_INTEGER(int)
FAKE_ATOMIC_INTEGER(unsigned)
FAKE_ATOMIC_INTEGER(unsigned long long)
FAKE_ATOMIC(float)
FAKE_ATOMIC(double)
static inline int atomicSub(int *p, int x) { return fake_swap(p, *p - x); }
static inline unsigned atomicSub(unsigned *p, unsigned x) { return fake_swap(p, *p - x); }
static inline unsigned short atomicCAS(unsigned short *p, unsigned short e, unsigned short x) {
    return fake_swap(p, *p == e ? x : *p);
}

template <typename To, typename From> static inline To fake_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "of different sizes");
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}
static inline double __longlong_as_double(long long x) { return fake_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return fake_bits<long long>(x); }
static inline float __int_as_float(int x) { return fake_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return fake_bits<float>(x); }
static inline int __float_as_int(float x) { return fake_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return fake_bits<unsigned>(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __dadd_rn(double a, double b) { return a + b; }
template <typename T> static inline T __ldg(const T *p) { return *p; }

static inline float fake_cvt_f32_f16(unsigned short x) { return (float)fake_bits<_Float16>(x); }
static inline unsigned short fake_cvt_rn_f16_f32(float x) { return fake_bits<unsigned short>((_Float16)x); }

#define FAKE_VECTOR2(T, name, bytes)                                                                                   \
    struct alignas(bytes) name {                                                                                       \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    static inline name make_##name(T x, T y) { return name{x, y}; }
#define FAKE_VECTOR4(T, name, bytes)                                                                                   \
    struct alignas(bytes) name {                                                                                       \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    static inline name make_##name(T x, T y, T z, T w) { return name{x, y, z, w}; }
FAKE_VECTOR2(signed char, char2, 2)
FAKE_VECTOR4(signed char, char4, 4)
FAKE_VECTOR2(unsigned char, uchar2, 2)
FAKE_VECTOR4(unsigned char, uchar4, 4)
FAKE_VECTOR2(short, short2, 4)
FAKE_VECTOR4(short, short4, 8)
FAKE_VECTOR2(unsigned short, ushort2, 4)
FAKE_VECTOR4(unsigned short, ushort4, 8)
FAKE_VECTOR2(int, int2, 8)
FAKE_VECTOR4(int, int4, 16)
FAKE_VECTOR2(unsigned, uint2, 8)
FAKE_VECTOR4(unsigned, uint4, 16)
FAKE_VECTOR2(long long, longlong2, 16)
FAKE_VECTOR2(unsigned long long, ulonglong2, 16)
FAKE_VECTOR2(float, float2, 8)
FAKE_VECTOR4(float, float4, 16)
FAKE_VECTOR2(double, double2, 16)

extern "C" {
void *memcpy(void *, const void *, size_t) noexcept;
void *memset(void *, int, size_t) noexcept;
}
#define FAKE_ONE(name)                                                                                                 \
    extern "C" double name(double) noexcept;                                                                           \
    extern "C" float name##f(float) noexcept;                                                                          \
    static inline float name(float x) { return name##f(x); }
#define FAKE_TWO(name)                                                                                                 \
    extern "C" double name(double, double) noexcept;                                                                   \
    extern "C" float name##f(float, float) noexcept;                                                                   \
    static inline float name(float x, float y) { return name##f(x, y); }
FAKE_ONE(exp)
FAKE_ONE(exp2)
FAKE_ONE(expm1)
FAKE_ONE(log)
FAKE_ONE(log2)
FAKE_ONE(log10)
FAKE_ONE(log1p)
FAKE_ONE(erf)
FAKE_ONE(erfc)
FAKE_ONE(cbrt)
FAKE_ONE(tgamma)
FAKE_ONE(lgamma)
FAKE_ONE(sin)
FAKE_ONE(cos)
FAKE_ONE(tan)
FAKE_ONE(asin)
FAKE_ONE(acos)
FAKE_ONE(atan)
FAKE_ONE(sinh)
FAKE_ONE(cosh)
FAKE_ONE(tanh)
FAKE_ONE(asinh)
FAKE_ONE(acosh)
FAKE_ONE(atanh)
FAKE_ONE(floor)
FAKE_ONE(ceil)
FAKE_ONE(trunc)
FAKE_ONE(rint)
FAKE_ONE(round)
FAKE_ONE(sqrt)
FAKE_ONE(fabs)
FAKE_ONE(j0)
FAKE_ONE(j1)
FAKE_ONE(y0)
FAKE_ONE(y1)
FAKE_TWO(atan2)
FAKE_TWO(pow)
FAKE_TWO(hypot)
FAKE_TWO(fmod)
FAKE_TWO(remainder)
FAKE_TWO(copysign)
FAKE_TWO(fmin)
FAKE_TWO(fmax)
FAKE_TWO(nextafter)
FAKE_TWO(fdim)
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double frexp(double, int *) noexcept;
extern "C" float frexpf(float, int *) noexcept;
extern "C" double modf(double, double *) noexcept;
extern "C" float modff(float, float *) noexcept;
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
template <typename T> static inline bool isnan(T x) { return __builtin_isnan(x); }
template <typename T> static inline bool isinf(T x) { return __builtin_isinf(x); }
template <typename T> static inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <typename T> static inline bool signbit(T x) { return __builtin_signbit(x); }
#define FAKE_MIN_MAX(T)                                                                                                \
    static inline T min(T a, T b) { return a < b ? a : b; }                                                            \
    static inline T max(T a, T b) { return a > b ? a : b; }
FAKE_MIN_MAX(int)
FAKE_MIN_MAX(unsigned)
FAKE_MIN_MAX(long long)
FAKE_MIN_MAX(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long long llabs(long long x) { return x < 0 ? -x : x; }

/* What is told of a kernel: how it is called with pointers to its arguments, their sizes, and which are pointers. */
struct FakeKernel {
    void (*run)(void **);
    unsigned count;
    const unsigned *sizes;
    const unsigned char *pointers;
    long long bound; /* of threads in a block; 0: none is given */
    char *shared, *shared_end;
};
template <int... I> struct FakeNumbers {};
template <int N, int... I> struct FakeCount : FakeCount<N - 1, N - 1, I...> {};
template <int... I> struct FakeCount<0, I...> {
    typedef FakeNumbers<I...> type;
};
template <typename T> struct FakePointer {
    static constexpr bool value = false;
};
template <typename T> struct FakePointer<T *> {
    static constexpr bool value = true;
};
template <auto F> struct FakeCall;
template <typename... A, void (*F)(A...)> struct FakeCall<F> {
    static constexpr unsigned count = sizeof...(A);
    static constexpr unsigned sizes[] = {sizeof(A)..., 0};
    static constexpr unsigned char pointers[] = {FakePointer<A>::value..., 0};
    template <int... I> static void call(void **given, FakeNumbers<I...>) { F(*(A *)given[I]...); }
    static void run(void **given) { call(given, typename FakeCount<sizeof...(A)>::type()); }
};
