"""Positions of extrema: the first one in the flattened axes, or the first NaN.

The position is an operand of its own, whose strides are those of the flattened axes: so axes may be merged, and taken
in any order, and work-items that compare their extrema choose the smaller position of equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from theano_linker_c.codegen.ir import Statement
from theano_linker_c.kernels import ArgmaxKernel
from theano_linker_c.scalar import c_loaded, c_type, is_complex, is_discrete

from .._form import Argument, DeviceOperand, Operand, Recorder, contiguous_strides, register_device_form
from .._kernel_text import KernelText
from ..elementwise import arrays, offset, positions
from ..text import Signature, memory_type
from ._layout import ReduceLayout, Split, arrange, layout_of_reduction
from ._texts import work_items

__all__ = ["argmax_text"]


def _supports(kernel: ArgmaxKernel) -> bool:
    return not is_complex(kernel.dtype)


@register_device_form(ArgmaxKernel, supports=_supports)
def run(kernel: ArgmaxKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch the search for extrema.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    """
    (x,) = arrays(operands, recorder)
    gone = sorted({axis % max(kernel.ndim, 1) for axis in kernel.axes})
    kept_shape = [n for d, n in enumerate(x.shape) if d not in gone]
    lengths = [x.shape[d] for d in gone]
    if 0 in lengths:
        raise ValueError(f"attempt to get {'argmax' if kernel.largest else 'argmin'} of an empty sequence")
    result = recorder.empty("int64", kept_shape)
    if 0 in kept_shape:
        return [result]
    places = iter(contiguous_strides(lengths, 1))
    positions = tuple(next(places) if d in gone else 0 for d in range(x.ndim))
    _search(kernel, recorder, x, positions, None, gone, result)
    return [result]


def _search(
    kernel: ArgmaxKernel,
    recorder: Recorder,
    x: DeviceOperand,
    positions: Sequence[int],
    is_known: DeviceOperand | None,
    gone: Sequence[int],
    result: DeviceOperand,
) -> None:
    """Launch a search, of elements or (where their positions are `is_known`) among the extrema of chunks."""
    steps = positions if is_known is None else is_known.strides

    def split_for(target: DeviceOperand, skip: int) -> Split:
        return arrange(x.shape, gone, [x.strides, steps], [target.strides[skip:]])

    split = split_for(result, 0)
    layout, groups, local, chunk = layout_of_reduction(split, [x.itemsize, 8], recorder.properties)
    if layout.cpu:  # a work-item takes one result
        layout = ReduceLayout(
            layout.n_kept, layout.n_reduced, layout.inner, 1, 1, layout.narrow, True, layout.contiguous
        )
        groups = [split.n_kept, groups[1]]
    partial = groups[1] > 1
    target, value = result, None
    if partial:
        shape = (groups[1], *result.shape)
        target, value = recorder.empty("int64", shape), recorder.empty(kernel.dtype, shape)
        split = split_for(target, 1)
    arguments: list[Argument] = [*split.kept, *split.reduced, split.n_kept, split.n_reduced, chunk]
    arguments += [x, x.offset, *split.strides[0]]
    arguments += [*split.strides[1]] if is_known is None else [is_known, is_known.offset, *split.strides[1]]
    arguments += [target, target.offset, *(step // 8 for step in split.result_strides[0])]
    if value is not None:
        arguments += [value, value.offset, target.size // groups[1]]
    text = argmax_text(kernel.dtype, kernel.largest, layout, is_known is not None, partial)
    recorder.launch(text, arguments, groups, local)
    if value is not None:
        _search(kernel, recorder, value, (), target, (0,), result)


@lru_cache(maxsize=512)
def argmax_text(dtype: str, largest: bool, layout: ReduceLayout, is_known: bool, partial: bool) -> KernelText:
    """Return the text of a search.

    Parameters
    ----------
    dtype : str
    largest : bool
    layout : ReduceLayout
    is_known : bool
        Whether positions are read from an array.
    partial : bool
        Whether extrema of chunks are stored.
    """
    kept_names, reduced = [f"k{d}" for d in range(layout.n_kept)], [f"m{d}" for d in range(layout.n_reduced)]
    dims, letter = [*kept_names, *reduced], layout.letter
    signature = Signature(apart=True)
    signature.number(letter, *dims, "n", "m", "chunk")
    signature.array("x")
    signature.number(letter, *(f"s_{d}" for d in dims))
    if is_known:
        signature.array("known")
    signature.number(letter, *(f"t_{d}" for d in dims))
    signature.array("position", "int64_t", written=True)
    signature.number(letter, *(f"z_{d}" for d in kept_names))
    if partial:
        signature.array("value", memory_type(dtype), written=True)
        signature.number(letter, "results")
    if layout.lanes > _warp(layout):
        signature.local(_shared_type(dtype), "values", layout.lanes * layout.columns)
        signature.local("int64_t", "places", layout.lanes * layout.columns)
    return signature.text("argmax", _lines(dtype, largest, layout, kept_names, reduced, is_known, partial))


def _better(dtype: str, largest: bool, v: str, p: str, best: str, at: str) -> str:
    """Give the test whether a value at a position comes before what was best so far."""
    sign = ">" if largest else "<"
    more, same = f"{v} {sign} {best}", f"{v} == {best}"
    if not is_discrete(dtype):
        more = f"({more} || ({v} != {v} && {best} == {best}))"
        same = f"({same} || ({v} != {v} && {best} != {best}))"
    return f"{p} >= 0 && ({at} < 0 || {more} || ({same} && {p} < {at}))"


def _lines(
    dtype: str,
    largest: bool,
    layout: ReduceLayout,
    kept_names: list[str],
    reduced: list[str],
    is_known: bool,
    partial: bool,
) -> Iterator[Statement | str]:
    index, unsigned, kind = layout.index, layout.unsigned, c_type(dtype)
    yield from (*work_items(layout), *positions(layout, "g", kept_names, "j"))
    yield from (f"const {index} {o} = {offset('j', [f'{s}_{d}' for d in kept_names])};" for o, s in ("os", "bt", "zz"))
    yield f"{kind} best = 0;"
    yield "int64_t where = -1;"
    if layout.many and not layout.cpu:  # several loads are under way at once
        yield "#pragma unroll 4"
    yield f"for ({unsigned} r = begin + lane; r < end; r += {layout.lanes}) {{"
    yield from positions(layout, "r", reduced, "i")
    yield f"  const {index} a = {offset('i', [f's_{d}' for d in reduced], 'o')};"
    yield f"  const {index} c = {offset('i', [f't_{d}' for d in reduced], 'b')};"
    address = f"*(GLOBAL_MEM const {memory_type(dtype)} *)(x + a)"
    yield f"  const {c_type(dtype)} v = {c_loaded(address, dtype)};"
    yield f"  const int64_t p = {'*(GLOBAL_MEM const int64_t *)(known + c)' if is_known else 'c'};"
    yield f"  if ({_better(dtype, largest, 'v', 'p', 'best', 'where')}) {{ best = v; where = p; }}"
    yield "}"
    if layout.lanes > 1:
        yield from _tree(dtype, largest, layout)
    yield f"if (lane == 0 && at < ({unsigned})n) {{"
    if partial:
        stored = "theano_to_half_float32(best)" if dtype == "float16" else "best"
        yield "  position[(int64_t)GID_1 * results + z] = where;"
        yield f"  value[(int64_t)GID_1 * results + z] = {stored};"
    else:
        yield "  position[z] = where;"
    yield "}"


def _shared_type(dtype: str) -> str:
    return "uint8_t" if dtype == "bool" else c_type(dtype)


def _warp(layout: ReduceLayout) -> int:
    """Return how many work-items of a result hand each other values without local memory."""
    return layout.warp if layout.inner else 1


def _tree(dtype: str, largest: bool, layout: ReduceLayout) -> Iterator[str]:
    kind, step, warp = _shared_type(dtype), 1 if layout.inner else layout.columns, _warp(layout)
    if layout.lanes > warp:
        yield from _shared_tree(kind, step, layout.lanes, warp, _better(dtype, largest, "w", "q", "u", "p"))
        yield f"best = ({c_type(dtype)})values[LID_0];"
        yield "where = places[LID_0];"
    if warp > 1:
        lanes = min(layout.lanes, warp)
        yield f"if (lane < {lanes}) {{"
        yield "#pragma unroll"
        yield f"  for (int h = {lanes // 2}; h > 0; h /= 2) {{"
        yield f"    const {c_type(dtype)} w = theano_shuffle(best, h);"
        yield "    const int64_t q = theano_shuffle(where, h);"
        yield f"    if ({_better(dtype, largest, 'w', 'q', 'best', 'where')}) {{ best = w; where = q; }}"
        yield "  }"
        yield "}"


def _shared_tree(kind: str, step: int, lanes: int, least: int, better: str) -> Iterator[str]:
    """Give the statements that compare pairs in local memory until `least` of each result are left."""
    yield "values[LID_0] = best;"
    yield "places[LID_0] = where;"
    yield f"for (int h = {lanes // 2}; h >= {least}; h /= 2) {{"
    yield "  local_barrier();"
    yield "  if (lane < h) {"
    yield f"    const {kind} u = values[LID_0], w = values[LID_0 + h * {step}];"
    yield f"    const int64_t p = places[LID_0], q = places[LID_0 + h * {step}];"
    yield f"    if ({better}) {{"
    yield "      values[LID_0] = w;"
    yield "      places[LID_0] = q;"
    yield "    }"
    yield "  }"
    yield "}"
