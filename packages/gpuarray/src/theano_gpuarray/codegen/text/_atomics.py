"""Atomic operations on elements in global memory, for all real dtypes, by compare-and-swap where there is none.

``theano_atomic_add_<dtype>(p, value)``, and ``max``, ``min`` and ``set`` beside ``add``, return the old value; the
prelude has ``theano_atomic_cas_<type>(p, expected, value)`` for uint32, int64 and uint64. A bool is a byte, and a
float16 its bits; both live, like narrow integers, in a word of 32 bits, which is swapped as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

__all__ = ["atomic_definitions"]

#: C type of an element in memory and of its value, by dtype.
_TYPES: Mapping[str, tuple[str, str]] = MappingProxyType(
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
#: What is stored, of the element ``x`` and the value ``v``.
_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "add": "x + v",
        "max": "((x > v) | (x != x)) ? x : v",
        "min": "((x < v) | (x != x)) ? x : v",
        "set": "v",
    }
)
_NAMES = {f"theano_atomic_{kind}_{dtype}": (kind, dtype) for kind in _KINDS for dtype in _TYPES}
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
    memory, value = _TYPES[dtype]
    head = f"static inline {value} theano_atomic_{kind}_{dtype}(GLOBAL_MEM {memory} *p, {value} v) {{"
    loop = _swapped_part(kind, dtype) if dtype in _PARTS else _swapped_word(kind, dtype)
    if kind != "add" or dtype not in _SUMS:
        return f"{head}\n{loop}}}"
    cuda, opencl = _SUMS[dtype]
    other = loop if opencl is None else f"  return {opencl};\n"
    return f"{head}\n#ifdef __OPENCL_VERSION__\n{other}#else\n  return {cuda};\n#endif\n}}"


def _swapped_word(kind: str, dtype: str) -> str:
    """Write the loop for an element that is a word of its own."""
    bits, value = 64 if dtype.endswith("64") else 32, _TYPES[dtype][1]
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
    (memory, value), size = _TYPES[dtype], _PARTS[dtype]
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
