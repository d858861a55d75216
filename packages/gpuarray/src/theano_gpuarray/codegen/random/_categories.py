"""From uniform numbers to categories on devices: how often each comes up, or which ones do, as on the host.

A work-item has one row of probabilities, and adds them up in the order and the precision of the host, so that the same
numbers fall into the same categories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel, memory_type
from theano_linker_c.scalar import CValue, c_stored

from .._copies import host_numbers, on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, is_device_dtype, loaded, spread

__all__ = ["CategoriesKernel"]

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
def run(kernel: CategoriesKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch the draws.

    Raises
    ------
    ValueError
        If there are not as many uniform numbers as draws, or more draws than categories where none may come up twice.
    """
    chances, numbers = (on_device(recorder, x) for x in operands[:2])
    (draws,) = host_numbers(operands[2])
    _check(kernel, chances, numbers, draws)
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


def _check(kernel: CategoriesKernel, chances: DeviceOperand, numbers: DeviceOperand, draws: int) -> None:
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
