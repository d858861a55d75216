"""The definitions before the text of a kernel: macros and functions for CUDA and OpenCL, vectors, atomic operations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from theano_linker_c.kernels import memory_type

# ---- The prelude
#
# The words are those of `cluda.h` (``KERNEL``, ``GLOBAL_MEM``, ``LID_0``, ``ga_float``, ...), with the integer types of
# ``stdint.h`` and the functions that C text of scalars calls: functions of the C library with the suffix ``f`` for
# float, and built-in functions of gcc. A bare name such as ``pow`` is the function of doubles.
#
# ``theano_barrier()`` is a barrier after which a group sees its work-items' writes to global memory, too. On
# CUDA alone ``theano_shuffle(x, h)`` gives a work-item of a warp the `x` of the one whose number differs by the bit
# `h`.
#
# Sums and products are never contracted to one operation with one rounding, so that results are those of the CPU.

#: Options of compilers beside the architecture.
_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "--fmad=false --device-as-default-execution-space",
        "opencl": "-cl-std=CL1.2",
    }
)
#: Functions of one and two numbers that have a form for floats, and built-in functions of gcc.
_ONE = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "erf", "erfc", "cbrt", "tgamma", "lgamma"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "trunc", "rint", "round", "sqrt", "fabs"),
)
_TWO = ("atan2", "pow", "hypot", "fmod", "copysign")
#: Functions of floats that OpenCL has, but drivers for CPUs compute element by element: written without branches, so
#: that they are vectors. Of tanh the polynomial has the least relative error below 0.625; the result errs by at most 3
#: units in the last place, where exp does by less than 1.
_IN_PLACE = ("tanh",)
_BUILTIN = ("fabs", "copysign", "floor", "ceil", "trunc", "rint", "round", "sqrt")

_INTEGER_TYPES = """typedef {signed_char} int8_t;
typedef short int16_t;
typedef int int32_t;
typedef {long} int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned {long} uint64_t;
typedef uint8_t ga_bool;
typedef int8_t ga_byte;
typedef uint8_t ga_ubyte;
typedef int16_t ga_short;
typedef uint16_t ga_ushort;
typedef int32_t ga_int;
typedef uint32_t ga_uint;
typedef int64_t ga_long;
typedef uint64_t ga_ulong;
typedef float ga_float;
typedef uint64_t ga_size;
typedef int64_t ga_ssize;
typedef struct {{ uint16_t data; }} ga_half;
"""

_CUDA = """#define KERNEL extern "C" __global__
#define SINGLE_ITEM
#define WITHIN_KERNEL __device__
#define GLOBAL_MEM
#define LOCAL_MEM __shared__
#define LOCAL_MEM_ARG
#define CONSTANT_MEM __constant__
#define REQD_WG_SIZE(X, Y, Z) __launch_bounds__(X *Y *Z, 1)
#define GA_DECL_SHARED_PARAM(type, name)
#define GA_DECL_SHARED_BODY(type, name) extern __shared__ type name[];
#define GA_WARP_SIZE warpSize
#define LID_0 threadIdx.x
#define LID_1 threadIdx.y
#define LID_2 threadIdx.z
#define LDIM_0 blockDim.x
#define LDIM_1 blockDim.y
#define LDIM_2 blockDim.z
#define GID_0 blockIdx.x
#define GID_1 blockIdx.y
#define GID_2 blockIdx.z
#define GDIM_0 gridDim.x
#define GDIM_1 gridDim.y
#define GDIM_2 gridDim.z
#define local_barrier() __syncthreads()
#define theano_barrier() __syncthreads()
#define theano_shuffle(x, h) __shfl_xor_sync(0xffffffffu, x, h)
#define restrict __restrict__
#define _Bool bool
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_nan(tag) __longlong_as_double(0x7ff8000000000000LL)
#define __builtin_nanf(tag) __int_as_float(0x7fc00000)
#define __builtin_memcpy memcpy
typedef double ga_double;
static inline float theano_as_float(uint32_t x) { return __uint_as_float(x); }
static inline uint32_t theano_as_uint(float x) { return __float_as_uint(x); }
static inline double theano_as_double(uint64_t x) { return __longlong_as_double((int64_t)x); }
static inline uint64_t theano_as_ulong(double x) { return (uint64_t)__double_as_longlong(x); }
static inline uint32_t theano_atomic_cas_uint32(uint32_t *p, uint32_t e, uint32_t v) { return atomicCAS(p, e, v); }
static inline uint64_t theano_atomic_cas_uint64(uint64_t *p, uint64_t e, uint64_t v) { return atomicCAS(p, e, v); }
static inline int64_t theano_atomic_cas_int64(int64_t *p, int64_t e, int64_t v) {
  return (int64_t)atomicCAS((uint64_t *)p, (uint64_t)e, (uint64_t)v);
}
static inline float theano_from_half_uint16(uint16_t x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
static inline uint16_t theano_to_half_float32(float x) {
  uint16_t y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return x == x ? y : (uint16_t)((theano_as_uint(x) >> 16 & 0x8000) | 0x7e00);
}
"""

_OPENCL = """#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#define KERNEL __kernel
#ifdef __has_attribute
#if __has_attribute(intel_vec_len_hint)
#define SINGLE_ITEM __attribute__((intel_vec_len_hint(1)))
#endif
#endif
#ifndef SINGLE_ITEM
#define SINGLE_ITEM
#endif
#define WITHIN_KERNEL
#define GLOBAL_MEM __global
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define CONSTANT_MEM __constant
#define REQD_WG_SIZE(X, Y, Z) __attribute__((reqd_work_group_size(X, Y, Z)))
#define GA_DECL_SHARED_PARAM(type, name) , __local type *name
#define GA_DECL_SHARED_BODY(type, name)
#define GA_WARP_SIZE 1
#define LID_0 get_local_id(0)
#define LID_1 get_local_id(1)
#define LID_2 get_local_id(2)
#define LDIM_0 get_local_size(0)
#define LDIM_1 get_local_size(1)
#define LDIM_2 get_local_size(2)
#define GID_0 get_group_id(0)
#define GID_1 get_group_id(1)
#define GID_2 get_group_id(2)
#define GDIM_0 get_num_groups(0)
#define GDIM_1 get_num_groups(1)
#define GDIM_2 get_num_groups(2)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define theano_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define _Bool bool
#define __builtin_inf() as_double(0x7ff0000000000000ul)
#define __builtin_inff() as_float(0x7f800000u)
#define __builtin_nan(tag) as_double(0x7ff8000000000000ul)
#define __builtin_nanf(tag) as_float(0x7fc00000u)
#define __builtin_memcpy theano_memcpy
#define theano_as_float(x) as_float((uint32_t)(x))
#define theano_as_uint(x) as_uint((float)(x))
#define theano_as_double(x) as_double((uint64_t)(x))
#define theano_as_ulong(x) as_ulong((double)(x))
#ifdef cl_khr_fp64
typedef double ga_double;
#endif
static inline uint32_t theano_atomic_cas_uint32(volatile __global uint32_t *p, uint32_t e, uint32_t v) {
  return atomic_cmpxchg(p, e, v);
}
#ifdef cl_khr_int64_base_atomics
static inline uint64_t theano_atomic_cas_uint64(volatile __global uint64_t *p, uint64_t e, uint64_t v) {
  return atom_cmpxchg(p, e, v);
}
static inline int64_t theano_atomic_cas_int64(volatile __global int64_t *p, int64_t e, int64_t v) {
  return atom_cmpxchg(p, e, v);
}
#endif
static inline float theano_tanhf(float x) {
  const float a = fabs(x), z = x * x;
  const float high = (-0x1.75e196p-8f * z + 0x1.52268ep-6f) * z - 0x1.b83c58p-5f;
  const float p = (high * z + 0x1.110726p-3f) * z - 0x1.555532p-2f;
  const float large = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return copysign(a < 0.625f ? p * z * a + a : large, x);
}
static inline void theano_memcpy(void *to, const void *from, int n) {
  for (int i = 0; i < n; i++)
    ((char *)to)[i] = ((const char *)from)[i];
}
static inline float theano_from_half_uint16(uint16_t x) {
  const uint32_t m = x & 0x7fff;
  const float scaled = as_float(m << 13) * 0x1p112f;
  const uint32_t bits = m >= 0x7c00 ? 0x7f800000 | m << 13 : as_uint(scaled);
  return as_float(bits | (uint32_t)(x & 0x8000) << 16);
}
static inline uint16_t theano_to_half_float32(float x) {
  const uint32_t sign = as_uint(x) >> 16 & 0x8000, u = as_uint(x) & 0x7fffffff;
  uint32_t v = u < 0x38800000 ? as_uint(as_float(u) + 0.5f) - 0x3f000000
                              : (u + 0xfff + (u >> 13 & 1) - 0x38000000) >> 13;
  v = u >= 0x477ff000 ? 0x7c00 : v;
  v = u > 0x7f800000 ? 0x7e00 : v;
  return (uint16_t)(sign | v);
}
"""

#: After the types and functions above, and alike for both.
_COMMON = """#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef NAN
#define NAN __builtin_nanf("")
#endif
static inline float ga_half2float(ga_half x) { return theano_from_half_uint16(x.data); }
static inline ga_half ga_float2half(float x) {
  ga_half y;
  y.data = theano_to_half_float32(x);
  return y;
}
#define load_half(p) ga_half2float(*(p))
#define store_half(p, x) *(p) = ga_float2half(x)
"""


@cache
def prelude(driver: str) -> str:
    """Return the text that stands before all text of kernels.

    Parameters
    ----------
    driver : {"cuda", "opencl", "null"}
        The null driver compiles nothing; it is given the text of OpenCL.

    Returns
    -------
    str

    Examples
    --------
    >>> "#define KERNEL __kernel" in prelude("opencl")
    True
    """
    if driver == "cuda":
        types = _INTEGER_TYPES.format(signed_char="signed char", long="long long")
        return "".join([types, _CUDA, _builtins("f"), _COMMON])
    types = _INTEGER_TYPES.format(signed_char="char", long="long")
    return "".join([types, _OPENCL, _suffixed(), _builtins(""), _COMMON])


def compile_options(driver: str) -> str:
    """Return the options that a compiler needs for text with the prelude; ``""`` where there are none.

    Parameters
    ----------
    driver : {"cuda", "opencl", "null"}
    """
    return _OPTIONS.get(driver, "")


def _builtins(suffix: str) -> str:
    """Define the built-in functions of gcc; arguments are converted, as a prototype does."""
    lines = []
    for name in _BUILTIN:
        args = ("a", "b") if name in _TWO else ("a",)
        for end, kind, functions in (("f", "float", suffix), ("", "double", "")):
            arguments = ", ".join(f"({kind})({arg})" for arg in args)
            lines.append(f"#define __builtin_{name}{end}({', '.join(args)}) {name}{functions}({arguments})")
    return "\n".join([*lines, ""])


def _suffixed() -> str:
    """Define functions of floats with their suffix: in OpenCL one name stands for all types.

    A bare name converts two arguments to doubles; where there are none, a function with this name stays as it is.
    """
    names = {name: f"theano_{name}f" if name in _IN_PLACE else name for name in _ONE}
    lines = [f"#define {name}f(a) {function}((float)(a))" for name, function in names.items()]
    lines += [f"static inline float {name}f(float a, float b) {{ return {name}(a, b); }}" for name in _TWO]
    lines.append("#ifdef cl_khr_fp64")
    for name in _TWO:
        lines += [
            f"static inline double theano_{name}(double a, double b) {{ return {name}(a, b); }}",
            f"#undef {name}",
            f"#define {name} theano_{name}",
        ]
    return "\n".join([*lines, "#endif", ""])


# ---- Vectors of up to 16 bytes
#
# The type ``theano_<memory type>_x<width>`` is a structure with the elements as its member ``at``; its alignment is its
# size. A text that says the name has the definition before it.

#: Bytes of the widest load of a work-item.
VECTOR_BYTES = 16
_DTYPES = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")


def vector_type(dtype: str, width: int) -> str:
    """Return the name of the type of some elements of a dtype.

    Examples
    --------
    >>> vector_type("float32", 4)
    'theano_float_x4'
    """
    return f"theano_{memory_type(dtype)}_x{width}"


@cache
def _definitions() -> dict[str, str]:
    """Return the definition of each type, by its name."""
    definitions = {}
    for dtype in _DTYPES:
        size, width = np.dtype(dtype).itemsize, 2
        while size * width <= VECTOR_BYTES:
            name, alignment = vector_type(dtype, width), f"__attribute__((aligned({size * width})))"
            definitions[name] = f"typedef struct {alignment} {{ {memory_type(dtype)} at[{width}]; }} {name};"
            width *= 2
    return definitions


def vector_definitions(names: Collection[str]) -> list[str]:
    """Return the definitions of the vectors among some names, in a fixed order."""
    return [text for name, text in _definitions().items() if name in names]


def aligned(places: Sequence[tuple[str, str, int]]) -> str:
    """Return the text that tells whether addresses and distances are those of vectors.

    Parameters
    ----------
    places : sequence of (str, str, int)
        A pointer or a number of bytes, the dtype, and the width of the vectors that lie there.
    """
    parts = [f"(size_t){text} % {np.dtype(dtype).itemsize * width}" for text, dtype, width in places]
    return f"({' | '.join(parts)}) == 0" if parts else "true"


# ---- Atomic operations on elements in global memory, by compare-and-swap where there is none
#
# ``theano_atomic_add_<dtype>(p, value)``, and ``max``, ``min`` and ``set`` beside ``add``, return the old value; the
# prelude has ``theano_atomic_cas_<type>(p, expected, value)`` for uint32, int64 and uint64. A bool is a byte, and a
# float16 its bits; both live, like narrow integers, in a word of 32 bits, which is swapped as a whole.

#: C type of an element in memory and of its value, by dtype.
_ATOMIC_TYPES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "bool": ("uint8_t", "uint8_t"),
        **{f"{sign}int{bits}": (f"{sign}int{bits}_t",) * 2 for sign in ("", "u") for bits in (8, 16, 32, 64)},
        "float16": ("uint16_t", "float"),
        "float32": ("float", "float"),
        "float64": ("double", "double"),
    }
)
#: Bytes of elements that are parts of a word.
_PARTS: Mapping[str, int] = MappingProxyType({"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2})
#: The stored value, of the element ``x`` and the value ``v``.
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "add": "x + v",
        "max": "((x > v) | (x != x)) ? x : v",
        "min": "((x < v) | (x != x)) ? x : v",
        "set": "v",
    }
)
_NAMES = {f"theano_atomic_{kind}_{dtype}": (kind, dtype) for kind in _KINDS for dtype in _ATOMIC_TYPES}
#: Sums that devices have: of CUDA, and of OpenCL.
_SUMS: Mapping[str, tuple[str, str | None]] = MappingProxyType(
    {
        "int32": ("atomicAdd(p, v)", "atomic_add(p, v)"),
        "uint32": ("atomicAdd(p, v)", "atomic_add(p, v)"),
        "int64": ("(int64_t)atomicAdd((uint64_t *)p, (uint64_t)v)", "atom_add(p, v)"),
        "uint64": ("atomicAdd(p, v)", "atom_add(p, v)"),
        "float32": ("atomicAdd(p, v)", None),
        "float64": ("atomicAdd(p, v)", None),
    }
)


def atomic_definitions(names: Collection[str]) -> list[str]:
    """Return the definitions of the atomic operations among some names, in a fixed order."""
    return [_function(*pair) for name, pair in _NAMES.items() if name in names]


def _function(kind: str, dtype: str) -> str:
    memory, value = _ATOMIC_TYPES[dtype]
    head = f"static inline {value} theano_atomic_{kind}_{dtype}(GLOBAL_MEM {memory} *p, {value} v) {{"
    loop = _swapped_part(kind, dtype) if dtype in _PARTS else _swapped_word(kind, dtype)
    if kind != "add" or dtype not in _SUMS:
        return f"{head}\n{loop}}}"
    cuda, opencl = _SUMS[dtype]
    other = loop if opencl is None else f"  return {opencl};\n"
    return f"{head}\n#ifdef __OPENCL_VERSION__\n{other}#else\n  return {cuda};\n#endif\n}}"


def _swapped_word(kind: str, dtype: str) -> str:
    """Write the loop for an element that is a word of its own."""
    bits, value = 64 if dtype.endswith("64") else 32, _ATOMIC_TYPES[dtype][1]
    word = f"uint{bits}_t"
    decode, encode = {
        "float32": ("theano_as_float(old)", "theano_as_uint(y)"),
        "float64": ("theano_as_double(old)", "theano_as_ulong(y)"),
    }.get(dtype, (f"({value})old", f"({word})y"))
    return f"""  GLOBAL_MEM {word} *at = (GLOBAL_MEM {word} *)p;
  {word} old = *(volatile GLOBAL_MEM {word} *)at, seen;
  {value} x, y;
  do {{
    seen = old;
    x = {decode};
    y = {_KINDS[kind]};
    old = theano_atomic_cas_{word[:-2]}(at, seen, {encode});
  }} while (old != seen);
  return x;
"""


def _swapped_part(kind: str, dtype: str) -> str:
    """Write the loop for an element that is a part of a word."""
    (memory, value), size = _ATOMIC_TYPES[dtype], _PARTS[dtype]
    mask, bits = ("0xffu", "uint8_t") if size == 1 else ("0xffffu", "uint16_t")
    decode, encode = f"({memory})(old >> shift)", "y"
    if dtype == "float16":
        decode, encode = f"theano_from_half_uint16({decode})", "theano_to_half_float32(y)"
    joined = "(x + v) != 0" if (kind, dtype) == ("add", "bool") else _KINDS[kind]
    return f"""  GLOBAL_MEM uint32_t *at = (GLOBAL_MEM uint32_t *)((uint64_t)p & ~(uint64_t)3);
  const int shift = 8 * (int)((uint64_t)p & 3);
  uint32_t old = *(volatile GLOBAL_MEM uint32_t *)at, seen;
  {value} x, y;
  do {{
    seen = old;
    x = {decode};
    y = ({value})({joined});
    const uint32_t part = (uint32_t)({bits}){encode} << shift;
    old = theano_atomic_cas_uint32(at, seen, (seen & ~({mask} << shift)) | part);
  }} while (old != seen);
  return x;
"""


__all__ = [
    "compile_options",
    "prelude",
    "VECTOR_BYTES",
    "aligned",
    "vector_definitions",
    "vector_type",
    "atomic_definitions",
]
