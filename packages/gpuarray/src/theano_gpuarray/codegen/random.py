"""Random numbers on devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel, memory_type
from theano_linker_c.scalar import CValue, c_stored

from ._form import Argument, DeviceOperand, KernelText, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, host_numbers, is_device_dtype, loaded, on_device, spread
from .elementwise import arrays
from .text import Signature

# ---- Draws from streams of the generator MRG31k3p: the numbers of the host, bit for bit
#
# P. L'Ecuyer and R. Touzin, "Fast Combined Multiple Recursive Generators with Multipliers of the form a = ±2^q ± 2^r",
# Proceedings of the 2000 Winter Simulation Conference, 683-689. A work-item has one stream; element i of a draw comes
# from stream ``i % n`` of n, so that work-items side by side write elements side by side.

#: The moduli.
M1, M2 = 2**31 - 1, 2**31 - 21069
LOCAL = 128
#: From a number between 1 and `M1` to one between 0 and 1, which are never reached. Of float16 the last 15 bits count.
_NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        "float64": "(int32_t)z * 0x1p-31",
        "float32": "(float)(int32_t)z * 4.6566126e-10f",
        "float16": "theano_to_half_float32(theano_half_float64("
        f"(double)((z & 0x7fffu) + 1) * {float(np.float16(3.0458e-05))!r}))",
    }
)


@record
class MRGKernel(Kernel):
    """A draw of numbers between 0 and 1. Operands are the states, int32 of shape (n, 6), and the lengths of the draw.

    The results are the states after the draw, and the draw.

    Parameters
    ----------
    dtype : {"float16", "float32", "float64"}
    ndim : int
        Number of lengths.
    """

    dtype: str
    ndim: int


@register_device_form(
    MRGKernel, supports=lambda kernel: kernel.dtype in _NUMBERS, host_inputs=lambda kernel, count: (1,)
)
def run_streams(kernel: MRGKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch a draw.

    Raises
    ------
    ValueError
        If a length is negative, the shapes do not fit, or there is no stream to draw from.
    """
    lengths = np.asarray(operands[1])
    (states,) = arrays(operands[:1], recorder)
    shape = tuple(int(length) for length in lengths.ravel())
    total, count = math.prod(shape), states.shape[0]
    _check_streams(kernel, shape, states)
    in_place = states.contiguous and recorder.may_overwrite(states)
    moved = states if in_place else recorder.empty("int32", states.shape)
    draw = recorder.empty(kernel.dtype, shape)
    if count:
        local = 1 if recorder.properties.cpu else min(LOCAL, recorder.properties.max_local)
        arguments: list[Argument] = [count, total, states, states.offset, *states.strides]
        arguments += [moved, moved.offset, draw, draw.offset]
        recorder.launch(mrg_text(kernel.dtype), arguments, [-(-count // local)], [local])
    return [moved, draw]


def _check_streams(kernel: MRGKernel, shape: Sequence[int], states: DeviceOperand) -> None:
    total = math.prod(int(n) for n in shape)
    if any(n < 0 for n in shape):
        what, hint = f"length {min(shape)} in the size of a draw is negative", "pass lengths from 0 up"
    elif len(shape) != kernel.ndim or states.shape[1] != 6:
        what = f"{len(shape)} lengths, states of {states.shape[1]} numbers; not {kernel.ndim} and 6"
        hint = "take states from MRG_RandomStreams.get_substream_rstates"
    elif states.shape[0] == 0 and total:
        what, hint = "there is no stream to draw from", "pass states of one stream at least"
    elif total > M1:
        what, hint = f"one draw takes at most {M1} numbers, not {total}", "draw several times"
    else:
        return
    raise ValueError(format_error(f"MRGUniform: {what}", hint=hint))


@lru_cache(maxsize=8)
def mrg_text(dtype: str) -> KernelText:
    """Return the text of a draw of some dtype."""
    signature = Signature()
    signature.number("q", "n", "total")
    signature.array("states")
    signature.number("q", "row", "column")
    signature.array("moved", "int32_t", written=True)
    signature.array("draw", memory_type(dtype), written=True)
    return signature.text("mrg", _lines(dtype), (), (_SUPPORT,))


#: `theano_mrg_shifted` is a product with 2^15 modulo M2.
_SUPPORT = f"""static inline uint32_t theano_mrg_reduced(uint32_t y, uint32_t m) {{ return y >= m ? y - m : y; }}
static inline uint32_t theano_mrg_shifted(uint32_t x) {{
  return theano_mrg_reduced(((x & 65535u) << 15) + 21069u * (x >> 16), {M2}u);
}}"""


def _lines(dtype: str) -> Iterator[str]:
    yield "const int64_t stream = (int64_t)GID_0 * LDIM_0 + LID_0;"
    yield "if (stream >= n) return;"
    for k in range(6):
        address = f"states + stream * row + {k} * column"
        yield f"uint32_t s{k} = (uint32_t)*(GLOBAL_MEM const int32_t *)({address});"
    yield "for (int64_t at = stream; at < total; at += n) {"
    yield "  const uint32_t sum = ((s1 & 511u) << 22) + (s1 >> 9) + ((s2 & 16777215u) << 7) + (s2 >> 24);"
    yield f"  const uint32_t y = theano_mrg_reduced(sum, {M1}u);"
    yield f"  const uint32_t first = theano_mrg_reduced(y + s2, {M1}u);"
    yield f"  const uint32_t part = theano_mrg_reduced(theano_mrg_shifted(s5) + s5, {M2}u);"
    yield f"  const uint32_t second = theano_mrg_reduced(part + theano_mrg_shifted(s3), {M2}u);"
    yield from ("  s2 = s1;", "  s1 = s0;", "  s0 = first;", "  s5 = s4;", "  s4 = s3;", "  s3 = second;")
    yield f"  const uint32_t z = first - second + (first <= second ? {M1}u : 0u);"
    yield f"  draw[at] = {_NUMBERS[dtype]};"
    yield "}"
    yield from (f"moved[6 * stream + {k}] = (int32_t)s{k};" for k in range(6))


# ---- Categories from uniform numbers, as on the host
#
# A work-item has one row of probabilities, and adds them up in the order and the precision of the host, so that the
# same
# numbers fall into the same categories.

#: Probabilities that add up to 1 but for this leave no gap above the last category.
SLACK = 1e-5


@record
class CategoriesKernel(Kernel):
    """Draws from rows of probabilities; operands are these, the uniform numbers, and how many draws each row has.

    Parameters
    ----------
    dtype : str
        Of the result.
    task : {"count", "choose", "choose_once"}
        How often each category comes up; which one each draw gives; the same where none comes up twice in a row.
    """

    dtype: str
    task: Literal["count", "choose", "choose_once"]


@register_device_form(
    CategoriesKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtype),
    host_inputs=lambda kernel, count: (2,),
)
def run_categories(kernel: CategoriesKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch the draws.

    Raises
    ------
    ValueError
        If there are not as many uniform numbers as draws, or more draws than categories where none may come up twice.
    """
    chances, numbers = (on_device(recorder, x) for x in operands[:2])
    (draws,) = host_numbers(operands[2])
    _check_categories(kernel, chances, numbers, draws)
    rows, categories = chances.shape
    result = recorder.empty(kernel.dtype, (rows, categories if kernel.task == "count" else draws))
    if not result.size:
        return [result]
    number = "double" if recorder.properties.doubles else "float"
    writer = KernelWriter(f"categories_{kernel.task}")
    writer.reads(chances=chances, numbers=numbers)
    writer.writes(result=result)
    if kernel.task == "choose_once":
        left = recorder.empty("float64" if number == "double" else "float32", chances.shape)
        writer.writes(left=left, taken=recorder.empty("int8", chances.shape))
    for name, value in (("rows", rows), ("k", categories), ("draws", draws)):
        writer.number(name, value)
    writer.numbers("s", (*chances.strides, *numbers.strides))
    writer.walk(rows)
    writer.add(*_LINES[kernel.task](kernel, chances.dtype, numbers.dtype, number))
    writer.end()
    writer.launch(recorder, *spread(recorder, rows))
    return [result]


def _check_categories(kernel: CategoriesKernel, chances: DeviceOperand, numbers: DeviceOperand, draws: int) -> None:
    rows, categories = chances.shape
    if draws < 0 or numbers.shape[0] != rows * draws:
        raise ValueError(
            format_error(
                f"{draws} draws from {rows} rows need as many uniform numbers, got {numbers.shape[0]}",
                hint="pass rows * draws numbers between 0 and 1",
            )
        )
    if kernel.task != "count" and (draws > categories if kernel.task == "choose_once" else draws > 0 == categories):
        raise ValueError(
            format_error(
                f"{draws} draws from {categories} categories: there are not so many",
                hint="draw fewer times, or with replacement",
            )
        )


def _element(array: str, offset: str, dtype: str, number: str) -> str:
    value = loaded(dtype, f"*(GLOBAL_MEM const {memory_type(dtype)} *)({array} + {array}_at + {offset})")
    return f"({number})({value.text})"


def _chance(dtype: str, number: str) -> str:
    return _element("chances", "row * s0 + j * s1", dtype, number)


def _search(chance: str, total: str, number: str, closed: str = "") -> Iterator[str]:
    """Yield the search for the first category whose running sum exceeds ``u * whole``, or else the last possible one.

    The latter only where `closed`, a condition in C, holds; without it, always. It leaves the number in `found`; -1
    where there is none.
    """
    unfound = f"found < 0 && {closed}" if closed else "found < 0"  # compilers of devices warn of constants beside &&
    yield f"{{ {number} sum = 0; int64_t possible = -1;"
    yield f"  const {number} wanted = u * ({total});"
    yield "  found = -1;"
    yield "  for (int64_t j = 0; j < k; j++) {"
    yield f"    const {number} p = {chance};"
    yield "    sum += p;"
    yield "    if (wanted < sum) { found = j; break; }"
    yield "    if (p > 0) possible = j;"
    yield "  }"
    yield f"  if ({unfound}) found = possible;"
    yield "}"


def _head(chances: str, number: str) -> Iterator[str]:
    yield "const int64_t row = (int64_t)i;"
    yield "int64_t found = -1;"
    yield f"{number} total = 0;"
    yield f"for (int64_t j = 0; j < k; j++) total += {_chance(chances, number)};"


def _draw(numbers: str, number: str) -> Iterator[str]:
    yield "for (int64_t c = 0; c < draws; c++) {"
    yield f"  const {number} u = {_element('numbers', '(c * rows + row) * s2', numbers, number)};"


def _store(kernel: CategoriesKernel, value: str, offset: str) -> str:
    text = c_stored(CValue(value, "int64"), kernel.dtype)
    return f"((GLOBAL_MEM {memory_type(kernel.dtype)} *)(result + result_at))[{offset}] = {text};"


def _count(kernel: CategoriesKernel, chances: str, numbers: str, number: str) -> Iterator[str]:
    memory = memory_type(kernel.dtype)
    row = f"((GLOBAL_MEM {memory} *)(result + result_at))[row * k + found]"
    more = c_stored(CValue(f"({loaded(kernel.dtype, row).text} + 1)", loaded(kernel.dtype, row).dtype), kernel.dtype)
    yield from _head(chances, number)
    yield f"for (int64_t j = 0; j < k; j++) {_store(kernel, '(int64_t)0', 'row * k + j')}"
    yield from _draw(numbers, number)
    yield from _search(_chance(chances, number), "1", number, f"total > 1 - ({number}){SLACK!r}")
    yield f"  if (found >= 0) {row} = {more};"
    yield "}"


def _choose(kernel: CategoriesKernel, chances: str, numbers: str, number: str) -> Iterator[str]:
    yield from _head(chances, number)
    yield from _draw(numbers, number)
    yield "  if (total > 0) {"
    yield from _search(_chance(chances, number), "total", number)
    yield "  } else found = 0;"
    yield _store(kernel, "found", "row * draws + c")
    yield "}"


def _choose_once(kernel: CategoriesKernel, chances: str, numbers: str, number: str) -> Iterator[str]:
    yield f"GLOBAL_MEM {number} *rest = (GLOBAL_MEM {number} *)(left + left_at) + (int64_t)i * k;"
    yield "GLOBAL_MEM int8_t *out = (GLOBAL_MEM int8_t *)(taken + taken_at) + (int64_t)i * k;"
    yield from _head(chances, number)
    yield f"for (int64_t j = 0; j < k; j++) {{ rest[j] = {_chance(chances, number)}; out[j] = 0; }}"
    yield from _draw(numbers, number)
    yield "  found = 0;"
    yield "  if (total > 0) {"
    yield f"    {number} remains = 0;"
    yield "    for (int64_t j = 0; j < k; j++) remains += rest[j];"
    yield "    found = -1;"
    yield "    if (remains > 0)"
    yield from _search("rest[j]", "remains", number)
    yield "    if (found < 0) { found = 0; while (out[found] != 0) found++; }"
    yield "    rest[found] = 0;"
    yield "    out[found] = 1;"
    yield "  }"
    yield _store(kernel, "found", "row * draws + c")
    yield "}"


_LINES = {"count": _count, "choose": _choose, "choose_once": _choose_once}

__all__ = ["CategoriesKernel", "MRGKernel", "mrg_text"]
