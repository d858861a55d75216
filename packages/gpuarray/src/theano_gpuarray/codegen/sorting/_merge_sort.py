"""Stable sorting of rows: blocks in local memory, then merges of neighbouring runs, one launch for each doubling.

Blocks are sorted by a bitonic network, made stable by the places of the elements; in a merge each element finds its
place by binary search in the other run. Where only the first elements are wanted, the rest of each run is left out.
"""

from __future__ import annotations

from theano_linker_c.kernels import memory_type

from .._form import DeviceOperand, Recorder
from .._kernel_writer import KernelWriter, loaded, merged_dimensions, spread

__all__ = ["sorted_pairs", "sorted_rows"]

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
        How many elements of each row are wanted; what stands behind them is undefined.

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
    """Return a function that tells whether one element comes before another, whatever their places."""
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
