"""Draws from streams of the generator MRG31k3p: the same numbers as on the host, bit for bit.

P. L'Ecuyer and R. Touzin, "Fast Combined Multiple Recursive Generators with Multipliers of the form a = ±2^q ± 2^r",
Proceedings of the 2000 Winter Simulation Conference, 683-689. A work-item has one stream; element i of a draw comes
from stream ``i % n`` of n, so that work-items side by side write elements side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel

from .._form import Argument, DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_text import KernelText
from ..elementwise import arrays
from ..text import Signature, memory_type

__all__ = ["MRGKernel", "mrg_text"]

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
def run(kernel: MRGKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
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
    _check(kernel, shape, states)
    in_place = states.contiguous and recorder.may_overwrite(states)
    moved = states if in_place else recorder.empty("int32", states.shape)
    draw = recorder.empty(kernel.dtype, shape)
    if count:
        local = 1 if recorder.properties.cpu else min(LOCAL, recorder.properties.max_local)
        arguments: list[Argument] = [count, total, states, states.offset, *states.strides]
        arguments += [moved, moved.offset, draw, draw.offset]
        recorder.launch(mrg_text(kernel.dtype), arguments, [-(-count // local)], [local])
    return [moved, draw]


def _check(kernel: MRGKernel, shape: Sequence[int], states: DeviceOperand) -> None:
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
