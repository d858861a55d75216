"""Sorting on devices, the largest or smallest elements, and the positions of extrema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from theano_graph import format_error, record
from theano_linker_c.codegen.ir import Statement
from theano_linker_c.kernels import ArgmaxKernel, Kernel, memory_type
from theano_linker_c.scalar import c_loaded, c_type, is_complex, is_discrete

from ._form import Argument, DeviceOperand, KernelText, Operand, Recorder, contiguous_strides, register_device_form
from ._kernel_writer import (
    KernelWriter,
    copy_into,
    host_numbers,
    is_device_dtype,
    loaded,
    merged_dimensions,
    on_device,
    spread,
)
from ._layouts import ReduceLayout, Split, arrange, layout_of_reduction
from ._reduction_text import work_items
from .elementwise import arrays, offset, positions
from .text import Signature

# ---- Kernels: sorting along an axis, and the largest or smallest elements


@record
class SortKernel(Kernel):
    """The elements in ascending order along an axis, NaN last, or the numbers that bring them there.

    Elements that are equal stay in order.

    Parameters
    ----------
    dtype : str
    axis : int
        From 0 up.
    numbers : bool
        Whether the result is the numbers of the elements, int64.
    """

    dtype: str
    axis: int
    numbers: bool


@record
class TopKKernel(Kernel):
    """The k largest elements along an axis, or the -k smallest, in order; the second input, on the host, is k.

    Parameters
    ----------
    dtype : str
    axis : int
        From 0 up.
    index_dtype : str
        Of the numbers of the elements.
    values, indices : bool
        Which results there are: the elements, and their numbers.
    """

    dtype: str
    axis: int
    index_dtype: str
    values: bool
    indices: bool


# ---- Merge sort of rows, stable: blocks in local memory, then merges of neighbours, one launch for each doubling
#
# Blocks are sorted by a bitonic network, made stable by the places of the elements; in a merge each element finds its
# place by binary search in the other run. Where only the first elements are wanted, the rest of each run is left out.

#: Work-items that sort a block of twice as many elements.
_LOCAL = 256


def sorted_pairs(recorder: Recorder, keys: DeviceOperand) -> tuple[DeviceOperand, DeviceOperand]:
    """Return the last axis of an array in ascending order, and where its elements were, int64.

    Both have two dimensions: the axes before are joined.
    """
    values, order = sorted_rows(recorder, keys)
    assert order is not None, "the order was asked for"
    return values, order


def sorted_rows(
    recorder: Recorder,
    keys: DeviceOperand,
    *,
    descending: bool = False,
    with_order: bool = True,
    first: int | None = None,
) -> tuple[DeviceOperand, DeviceOperand | None]:
    """Return the elements along the last axis in order, and where they were.

    Parameters
    ----------
    recorder : Recorder
    keys : DeviceOperand
        Of any layout.
    descending : bool
        Whether the largest comes first (NaN counts as larger than all numbers).
    with_order : bool
        Whether the second result is wanted.
    first : int, optional
        How many elements of each row are wanted; the others are undefined.

    Returns
    -------
    DeviceOperand, DeviceOperand or None
        With two dimensions: rows, and the length of the axis.
    """
    length = keys.shape[-1]
    rows = keys.size // max(length, 1)
    values, order = _pair(recorder, keys.dtype, rows, length, with_order)
    if not keys.size:
        return values, order
    local = min(_LOCAL, 1 << (recorder.properties.max_local.bit_length() - 1))
    while local > 1 and local >= length:
        local //= 2
    run = 2 * local
    _sort_blocks(recorder, keys, values, order, local, descending)
    count = length if first is None else first
    while run < length:
        to_values, to_order = _pair(recorder, keys.dtype, rows, length, with_order)
        _merge(recorder, (values, order), (to_values, to_order), (run, count), descending)
        values, order, run = to_values, to_order, 2 * run
    return values, order


def _pair(
    recorder: Recorder, dtype: str, rows: int, length: int, with_order: bool
) -> tuple[DeviceOperand, DeviceOperand | None]:
    order = recorder.empty("int64", (rows, length)) if with_order else None
    return recorder.empty(dtype, (rows, length)), order


def _before(dtype: str, descending: bool) -> str:
    """Return a function that tells whether one element comes before another, in any places."""
    memory = memory_type(dtype)
    a, b = loaded(dtype, "a").text, loaded(dtype, "b").text
    if descending:
        a, b = b, a
    less = f"{a} < {b}"
    if dtype.startswith("float"):
        less = f"{less} || ({b} != {b} && {a} == {a})"
    return f"static inline int theano_before({memory} a, {memory} b) {{ return {less}; }}\n"


def _sort_blocks(
    recorder: Recorder,
    keys: DeviceOperand,
    values: DeviceOperand,
    order: DeviceOperand | None,
    local: int,
    descending: bool,
) -> None:
    """Sort each block of a row by one group; places behind the end of the row come after all others."""
    memory, block = memory_type(keys.dtype), 2 * local
    length, rows = values.shape[1], values.shape[0]
    blocks = -(-length // block)
    shape, (strides,) = merged_dimensions(keys.shape[:-1], keys.strides[:-1])
    writer = KernelWriter("sort_blocks")
    writer.function(_before(keys.dtype, descending))
    writer.reads(x=keys)
    writer.writes(v=values, p=order)
    writer.number("length", length)
    writer.number("blocks", blocks)
    writer.number("stride", keys.strides[-1])
    lengths, steps = writer.numbers("n", shape), writer.numbers("s", strides)
    writer.local(memory, "key", block)
    writer.local("int", "place", block)
    writer.add(
        "const int64_t row = GID_0 / blocks, begin = GID_0 % blocks * BLOCK;".replace("BLOCK", str(block)),
        "uint64_t r = row; int64_t o = x_at;",
    )
    writer.decode(lengths, [("o", steps)])
    writer.add(
        f"const int count = length - begin < {block} ? (int)(length - begin) : {block};",
        f"for (int k = LID_0; k < {block}; k += {local}) {{",
        "place[k] = k;",
        f"if (k < count) key[k] = *(GLOBAL_MEM const {memory} *)(x + o + (begin + k) * stride);",
        "else key[k] = 0;",
        "}",
        "local_barrier();",
        f"for (int size = 2; size <= {block}; size *= 2)",
        "for (int step = size / 2; step > 0; step /= 2) {",
        "const int a = 2 * LID_0 - (LID_0 & (step - 1)), b = a + step, up = (a & size) == 0;",
        f"const {memory} ka = key[a], kb = key[b]; const int pa = place[a], pb = place[b];",
        "const int none_a = pa >= count, none_b = pb >= count;",
        "int later = none_a != none_b ? none_a : pa > pb;",
        "if (!none_a && !none_b) {",
        "if (theano_before(kb, ka)) later = 1; else if (theano_before(ka, kb)) later = 0;",
        "}",
        "if (later == up) { key[a] = kb; key[b] = ka; place[a] = pb; place[b] = pa; }",
        "local_barrier();",
        "}",
        f"for (int k = LID_0; k < count; k += {local}) {{",
        "const int64_t to = row * length + begin + k;",
        f"((GLOBAL_MEM {memory} *)(v + v_at))[to] = key[k];",
    )
    if order is not None:
        writer.add("((GLOBAL_MEM int64_t *)(p + p_at))[to] = begin + place[k];")
    writer.end()
    writer.launch(recorder, (rows * blocks,), (local,))


def _merge(
    recorder: Recorder,
    source: tuple[DeviceOperand, DeviceOperand | None],
    target: tuple[DeviceOperand, DeviceOperand | None],
    sizes: tuple[int, int],
    descending: bool,
) -> None:
    """Merge pairs of runs; `sizes` are the length of a run, and how many elements of the result are wanted."""
    (values, order), (to_values, to_order) = source, target
    memory, (run, total), (rows, length) = memory_type(values.dtype), sizes, values.shape
    each, runs = min(run, total), -(-length // run)
    writer = KernelWriter("sort_merge")
    writer.function(_before(values.dtype, descending))
    writer.reads(x=values, p=order)
    writer.writes(v=to_values, w=to_order)
    for name, value in (("length", length), ("run", run), ("runs", runs), ("each", each), ("wanted", total)):
        writer.number(name, value)
    writer.walk(rows * runs * each)
    index = writer.positions(("rows", "runs", "each"))
    writer.add(
        f"const int64_t row = {index[0]}, number = {index[1]}, own = {index[2]}, at = number * run + own;",
        "if (at >= length) continue;",
        f"GLOBAL_MEM const {memory} *const keys = (GLOBAL_MEM const {memory} *)(x + x_at) + row * length;",
        f"const {memory} key = keys[at];",
        "const int64_t other = (number ^ 1) * run, left = length - other < each ? length - other : each;",
        "int64_t low = 0, high = left > 0 ? left : 0;",
        "while (low < high) {",
        "const int64_t middle = low + (high - low) / 2;",
        # Of equal elements those of the left run come first.
        f"const {memory} that = keys[other + middle];",
        "const int passes = number & 1 ? !theano_before(key, that) : theano_before(that, key);",
        "if (passes) low = middle + 1; else high = middle;",
        "}",
        "const int64_t place = own + low;",
        "if (place >= wanted) continue;",
        "const int64_t to = row * length + (number & ~(int64_t)1) * run + place;",
        f"((GLOBAL_MEM {memory} *)(v + v_at))[to] = key;",
    )
    if order is not None:
        writer.add(
            "((GLOBAL_MEM int64_t *)(w + w_at))[to] = ((GLOBAL_MEM const int64_t *)(p + p_at))[row * length + at];"
        )
    writer.end()
    writer.launch(recorder, *spread(recorder, rows * runs * each))


# ---- Device forms of sorting


def _axis_last(x: DeviceOperand, axis: int) -> DeviceOperand:
    order = [*(d for d in range(x.ndim) if d != axis), axis]
    return x.view([x.shape[d] for d in order], [x.strides[d] for d in order])


def _placed(recorder: Recorder, forms: DeviceOperand, x: DeviceOperand, axis: int, first: int, dtype: str) -> Operand:
    """Return the first elements of rows along the axis of the array that they come from, in some dtype."""
    shape = (*x.shape[:axis], first, *x.shape[axis + 1 :])
    if forms.dtype == dtype and axis == x.ndim - 1 and first == x.shape[axis]:
        return forms.view(shape, _row_strides(forms, x, axis))
    result = recorder.empty(dtype, shape)
    source = forms.view(shape, _row_strides(forms, x, axis))
    if forms.dtype == dtype:
        copy_into(recorder, result, source)
    elif result.size:
        _convert(recorder, result, source)
    return result


def _row_strides(forms: DeviceOperand, x: DeviceOperand, axis: int) -> tuple[int, ...]:
    """Return the strides of rows that follow each other, with the axis in its place."""
    strides, step = [0] * x.ndim, forms.itemsize * x.shape[axis]
    strides[axis] = forms.itemsize
    for d in reversed(range(x.ndim)):
        if d != axis:
            strides[d] = step
            step *= max(x.shape[d], 1)
    return tuple(strides)


def _convert(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy numbers of elements to another dtype."""
    shape, (to, of) = merged_dimensions(target.shape, target.strides, source.strides)
    writer = KernelWriter("convert_numbers")
    writer.writes(p=target)
    writer.reads(q=source)
    lengths, into, out_of = writer.numbers("n", shape), writer.numbers("s", to), writer.numbers("t", of)
    writer.walk(target.size)
    writer.add("int64_t a = p_at, b = q_at;")
    writer.decode(lengths, [("a", into), ("b", out_of)])
    memory = memory_type(target.dtype)
    writer.add(f"*(GLOBAL_MEM {memory} *)(p + a) = ({memory})*(GLOBAL_MEM const int64_t *)(q + b);")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


@register_device_form(SortKernel, supports=lambda kernel: is_device_dtype(kernel.dtype))
def _sort(kernel: SortKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, axis = on_device(recorder, operands[0]), kernel.axis
    values, order = sorted_rows(recorder, _axis_last(x, axis), with_order=kernel.numbers)
    result = values if order is None else order
    return [_placed(recorder, result, x, axis, x.shape[axis], result.dtype)]


@register_device_form(
    TopKKernel, supports=lambda kernel: is_device_dtype(kernel.dtype), host_inputs=lambda kernel, count: (1,)
)
def _top_k(kernel: TopKKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x, axis, (k,) = on_device(recorder, operands[0]), kernel.axis, host_numbers(operands[1])
    length = x.shape[axis]
    if not 0 < abs(k) <= length:
        raise ValueError(
            format_error(
                f"topk: k is {k}, the length of axis {axis} is {length}",
                hint=f"use 1 to {length} for the largest, -1 to -{length} for the smallest",
            )
        )
    values, order = sorted_rows(
        recorder, _axis_last(x, axis), descending=k > 0, with_order=kernel.indices, first=abs(k)
    )
    results = [_placed(recorder, values, x, axis, abs(k), kernel.dtype)] if kernel.values else []
    if order is not None:
        results.append(_placed(recorder, order, x, axis, abs(k), kernel.index_dtype))
    return results


# ---- Positions of extrema
#
# The position is an operand of its own, whose strides are those of the flattened axes: so axes may be merged, and taken
# in any order, and work-items that compare their extrema choose the smaller position of equal ones.


def _has_order(kernel: ArgmaxKernel) -> bool:
    return not is_complex(kernel.dtype)


@register_device_form(ArgmaxKernel, supports=_has_order)
def run_argmax(kernel: ArgmaxKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
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
    """Give the test whether a value at a position comes before the best so far."""
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


__all__ = ["SortKernel", "TopKKernel", "sorted_pairs", "sorted_rows"]
