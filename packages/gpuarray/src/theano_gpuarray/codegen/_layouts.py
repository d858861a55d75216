"""Layouts of elementwise kernels and of reductions: dimensions that are one, strides of operands, work-groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import record
from theano_linker_c.kernels import Reduction
from theano_linker_c.scalar import OneOp, ScalarProgram

from ._form import DeviceOperand, DeviceProperties
from ._prelude import VECTOR_BYTES

# ---- Shapes and strides of elementwise kernels

#: Byte offsets and numbers of elements below this are computed with 32 bits.
_NARROW = 2**31 - 2**20
#: Operands up to which a work-item takes several elements.
_MOST_SIDE_BY_SIDE = 10
#: Elements of a work-item up to some cost of the program, which is written down for each of them; and elements that it
#: loads side by side where it has no vectors. Heavier programs wait for arithmetic, not for memory.
_ELEMENTS = ((48, 16, 4), (96, 8, 1), (math.inf, 1, 1))
#: Vectors that a work-item loads of each operand, and operands up to which these are several.
_VECTORS, _FEW = 2, 4


@record
class Nest:
    """A shape without dimensions of length 1, and the byte strides of operands, 0 where they broadcast."""

    shape: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def merge(shape: Sequence[int], strides: Sequence[Sequence[int]], kinds: Sequence[object] | None = None) -> Nest:
    """Leave out dimensions of length 1, and join neighbours that lie in all operands like one dimension.

    Parameters
    ----------
    shape : sequence of int
    strides : sequence of sequences of int
        For each operand, in bytes.
    kinds : sequence, optional
        For each dimension; only dimensions with equal ones are joined.
    """
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    last: object = None
    for d, length in enumerate(shape):
        if length == 1:
            continue
        kind = None if kinds is None else kinds[d]
        joins = lengths and kind == last
        if joins and all(own[-1] == given[d] * length for own, given in zip(steps, strides, strict=True)):
            lengths[-1] *= length
            for own, given in zip(steps, strides, strict=True):
                own[-1] = given[d]
            continue
        last = kind
        lengths.append(length)
        for own, given in zip(steps, strides, strict=True):
            own.append(given[d])
    return Nest(tuple(lengths), tuple(map(tuple, steps)))


def broadcast_strides(operand: DeviceOperand, broadcast: Sequence[bool]) -> tuple[int, ...]:
    """Return the strides of an operand in the common shape."""
    return tuple(0 if fixed else step for fixed, step in zip(broadcast, operand.strides, strict=True))


def nest_of(
    shape: Sequence[int],
    inputs: Sequence[DeviceOperand],
    broadcast: Sequence[Sequence[bool]],
    outputs: Sequence[DeviceOperand],
) -> Nest:
    """Return the loop nest of an elementwise kernel over inputs, then outputs."""
    strides = [broadcast_strides(x, pattern) for x, pattern in zip(inputs, broadcast, strict=True)]
    nest = merge(shape, [*strides, *(y.strides for y in outputs)])
    return nest if nest.shape else Nest((1,), tuple((0,) for _ in nest.strides))


class IndexWidth:
    """The width of a layout's indices, in C text.

    Attributes
    ----------
    narrow : bool
        Whether 32 bits are enough for all numbers.
    """

    __slots__ = ()
    narrow: bool

    @property
    def letter(self) -> str:
        """Kind of the parameters that are lengths and strides."""
        return "i" if self.narrow else "q"

    @property
    def index(self) -> str:
        """C type of indices."""
        return "int32_t" if self.narrow else "int64_t"

    @property
    def unsigned(self) -> str:
        """C type of flat indices, which are divided."""
        return "uint32_t" if self.narrow else "uint64_t"


@record
class Layout(IndexWidth):
    """The key of a nest's text.

    Parameters
    ----------
    ndim : int
    modes : tuple of {"contiguous", "fixed", "strided", "row", "column"}
        For each operand: an element behind the other, one for all, or something else. Where there are vectors: whether
        an operand with strides has one in each row, or a single element.
    narrow : bool
        Whether 32 bits are enough for all numbers.
    cpu : bool
        Whether the device is a CPU, where each group takes whole rows.
    unroll : int
        Elements of a work-item.
    vector : int
        How many of them are loaded and stored at once.
    apart : bool
        Whether nothing that is read is written to.
    rest : int
        Elements that a work-item loads side by side where there are no vectors.
    """

    ndim: int
    modes: tuple[str, ...]
    narrow: bool
    cpu: bool
    unroll: int
    vector: int = 1
    apart: bool = False
    rest: int = 1


def fits_narrow(nest: Nest) -> bool:
    """Whether 32 bits are enough for the numbers of elements and the byte offsets."""
    if nest.size >= _NARROW:
        return False
    return all(
        sum(abs(step) * (length - 1) for step, length in zip(strides, nest.shape, strict=True)) < _NARROW
        for strides in nest.strides
    )


def has_strides(layout: Layout, mode: str) -> bool:
    """Whether the strides of an operand are parameters."""
    return mode not in ("contiguous", "fixed") or (layout.cpu and layout.ndim > 1)


def layout_of(
    nest: Nest, itemsizes: Sequence[int], properties: DeviceProperties, cost: int = 1, apart: bool = False
) -> Layout:
    """Say how the operands of a nest lie.

    Parameters
    ----------
    nest : Nest
    itemsizes : sequence of int
    properties : DeviceProperties
    cost : int
        Rough number of cycles for one element.
    apart : bool
        Whether nothing that is read is written to.
    """
    cpu = properties.cpu
    modes = []
    for strides, size in zip(nest.strides, itemsizes, strict=True):
        row_strides = _contiguous(nest.shape, size)
        seen, full = (strides[-1:], row_strides[-1:]) if cpu else (strides, row_strides)
        alone = nest.shape == (1,)  # its stride says nothing
        modes.append("contiguous" if seen == full or alone else "strided" if any(seen) else "fixed")
    unroll, vector, remainder = 1, 1, 1
    # Short arrays are spread over all units; many operands would not fit into the registers of a work-item.
    if not cpu and nest.size > 1024 * properties.units and len(itemsizes) <= _MOST_SIDE_BY_SIDE:
        most, remainder = next((elements, side) for least, elements, side in _ELEMENTS if cost <= least)
        rows = _along_rows(nest, itemsizes, modes)
        vector = _vector_width(nest, itemsizes, rows, most)
        unroll = min(4, most)
        if vector > 1:
            modes, remainder = rows, min(remainder, vector)
            unroll = min(most, vector * _VECTORS) if len(itemsizes) <= _FEW else vector
    return Layout(len(nest.shape), tuple(modes), fits_narrow(nest), cpu, unroll, vector, apart, remainder)


def _along_rows(nest: Nest, itemsizes: Sequence[int], modes: Sequence[str]) -> list[str]:
    """Say of operands with strides whether they have a vector in each row, or one element."""
    dims = []
    for strides, size, mode in zip(nest.strides, itemsizes, modes, strict=True):
        along = {size: "row", 0: "column"}.get(strides[-1], "strided")
        dims.append(along if mode == "strided" else mode)
    return dims


def _vector_width(nest: Nest, itemsizes: Sequence[int], modes: Sequence[str], most: int) -> int:
    """Return how many elements are loaded at once; 1 where neighbours of an operand do not lie side by side."""
    if "strided" in modes:
        return 1
    sizes = [size for size, mode in zip(itemsizes, modes, strict=True) if mode in ("contiguous", "row")]
    width = min(VECTOR_BYTES // max(sizes), most)
    rows = "row" in modes or "column" in modes
    while rows and nest.shape[-1] % width:
        width //= 2
    return width


def _contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    steps, step = [0] * len(shape), itemsize
    for d in reversed(range(len(shape))):
        steps[d] = step
        step *= shape[d]
    return tuple(steps)


# ---- Layouts of reductions: which dimensions are kept and reduced, and the tasks of work-groups

#: Work-items of a group on a graphics card, and columns of neighbouring ones.
LOCAL = 256
COLUMNS = 32
#: Elements that a work-item reduces at least before the elements are split among groups: where groups are fewer than
#: units, and elsewhere, where a second launch costs more than it gains.
FEWEST, FEWEST_IF_BUSY = 16, 64
MOST_SPLITS = 1024
#: Groups that a unit runs at a time: with fewer, too few loads are under way.
GROUPS_OF_UNIT = 8
#: Work-items that share a result at least, where it has so many elements: small groups need no barrier on CUDA.
WARP = 32
#: Work-items that a unit runs at a time.
_ITEMS_OF_UNIT = 2048


@record
class Update:
    """The function of each result of a reduction, in place of storing it.

    Parameters
    ----------
    program : ScalarProgram or OneOp
    inputs : tuple of int
        Its inputs: -1 is the result, or the number of a further operand, which has the shape of the result.
    dtypes : tuple of str
        Of the further operands.
    output_dtypes : tuple of str
    """

    program: ScalarProgram | OneOp
    inputs: tuple[int, ...]
    dtypes: tuple[str, ...]
    output_dtypes: tuple[str, ...]


@record
class ReduceJob:
    """The computation: a program, of whose results the first are kept, and the others reduced.

    Where there is an update, there is one reduction.
    """

    program: ScalarProgram | OneOp
    input_dtypes: tuple[str, ...]
    kept_dtypes: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    update: Update | None = None

    @property
    def result_dtypes(self) -> tuple[str, ...]:
        """The dtypes stored for each result."""
        if self.update is not None:
            return self.update.output_dtypes
        return tuple(reduction.output_dtype for reduction in self.reductions)


@record
class Split:
    """The dimensions of a reduction: kept ones, then reduced ones; strides of the results have the kept ones only.

    Parameters
    ----------
    kept, reduced : tuple of int
        Lengths.
    strides : tuple of tuple of int
        For each input and kept result, in bytes: along kept dimensions, then along reduced ones.
    result_strides : tuple of tuple of int
        For each reduced result, along kept dimensions.
    inner : bool
        Whether the dimension with the smallest strides is reduced; it is the last of its kind.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    result_strides: tuple[tuple[int, ...], ...]
    inner: bool

    @property
    def n_kept(self) -> int:
        """Number of results."""
        return math.prod(self.kept)

    @property
    def n_reduced(self) -> int:
        """Number of elements of each result."""
        return math.prod(self.reduced)

    @property
    def narrow(self) -> bool:
        """Whether 32 bits are enough."""
        full = Nest((*self.kept, *self.reduced), self.strides)
        return fits_narrow(full) and fits_narrow(Nest(self.kept, self.result_strides))


def arrange(
    shape: Sequence[int],
    axes: Sequence[int],
    strides: Sequence[Sequence[int]],
    result_strides: Sequence[Sequence[int]],
) -> Split:
    """Sort dimensions, and merge dimensions with one stride; `result_strides` are for the kept dimensions in order."""
    gone, kept_steps = set(axes), [iter(steps) for steps in result_strides]
    kinds = [d in gone for d in range(len(shape))]
    padded = [[0 if gone_d else next(steps) for gone_d in kinds] for steps in kept_steps]
    order = list(range(len(shape)))
    nest = merge([shape[d] for d in order], [*strides, *padded], kinds)
    merged_kinds = _kinds(shape, kinds, [*strides, *padded])
    count = len(strides)
    inner = _inner(nest, count)
    dims = range(len(nest.shape))
    outer_dims = sorted((d for d in dims if not merged_kinds[d]), key=lambda d: d == inner)
    reduced = sorted((d for d in dims if merged_kinds[d]), key=lambda d: d == inner)
    return Split(
        tuple(nest.shape[d] for d in outer_dims),
        tuple(nest.shape[d] for d in reduced),
        tuple(tuple(steps[d] for d in (*outer_dims, *reduced)) for steps in nest.strides[:count]),
        tuple(tuple(steps[d] for d in outer_dims) for steps in nest.strides[count:]),
        inner < 0 or merged_kinds[inner],
    )


def _kinds(shape: Sequence[int], kinds: Sequence[bool], strides: Sequence[Sequence[int]]) -> list[bool]:
    """Return for each merged dimension whether it is reduced: its number stands for it in one more operand."""
    merged: list[bool] = []
    for d, length in enumerate(shape):
        if length == 1:
            continue
        upto = merge(shape[: d + 1], [steps[: d + 1] for steps in strides], kinds[: d + 1])
        if len(upto.shape) > len(merged):
            merged.append(kinds[d])
    return merged


def _inner(nest: Nest, count: int) -> int:
    """Return the dimension with the smallest steps, unless it is short and another is long; -1 where there is none."""
    best, least = -1, -1
    for d in range(len(nest.shape)):
        weight = sum(abs(steps[d]) for steps in nest.strides[:count])
        if least < 0 or weight <= least:
            best, least = d, weight
    if best >= 0 and nest.shape[best] < 16:
        for d, length in enumerate(nest.shape):
            if length > 4 * nest.shape[best]:
                best = d
    return best


@record
class ReduceLayout(IndexWidth):
    """The key of a reduction's text.

    Parameters
    ----------
    n_kept, n_reduced : int
        Numbers of dimensions.
    inner : bool
        Whether work-items side by side take elements of one result, or of results side by side.
    lanes, columns : int
        Work-items that reduce one result together, and results of a group. On a CPU, lanes are the partial results of
        one work-item, or columns the results that it reduces at once.
    narrow, cpu : bool
        As for elementwise kernels.
    contiguous : tuple of bool
        For each input and kept result, whether elements lie one behind the other along the innermost dimension.
    many : bool
        Whether a work-item of a graphics card takes several elements of a result.
    vector : int
        How many of them it loads at once: all others have one element in a row, or neighbours side by side.
    warp : int
        Work-items that hand each other values without local memory; 1 where none do.
    """

    n_kept: int
    n_reduced: int
    inner: bool
    lanes: int
    columns: int
    narrow: bool
    cpu: bool
    contiguous: tuple[bool, ...]
    many: bool = True
    vector: int = 1
    warp: int = 1


def power_of_two(number: int) -> int:
    """Return the smallest power of two from a number up."""
    return 1 << max(number - 1, 0).bit_length()


def layout_of_reduction(
    split: Split, itemsizes: Sequence[int], properties: DeviceProperties, vectors: bool = False
) -> tuple[ReduceLayout, list[int], list[int], int]:
    """Choose the tasks of groups.

    Parameters
    ----------
    split : Split
    itemsizes : sequence of int
    properties : DeviceProperties
    vectors : bool
        Whether several elements may be loaded at once.

    Returns
    -------
    layout : ReduceLayout
    groups, local : list of int
    chunk : int
        Elements of each result that one group reduces; there are partial results if this is less than all.
    """
    n_kept, n_reduced = split.n_kept, split.n_reduced
    last = (split.reduced if split.inner else split.kept)[-1:] or (1,)
    position = len(split.kept) + len(split.reduced) - 1 if split.inner else len(split.kept) - 1
    contiguous = tuple(
        position >= 0 and steps[position] == size for steps, size in zip(split.strides, itemsizes, strict=True)
    )
    vector = 1
    if properties.cpu:
        lanes, columns, local = (16, 1, 1) if split.inner else (1, 64, 1)
        blocks = n_kept if split.inner else n_kept // last[0] * -(-last[0] // columns)
        target, fewest = 2 * properties.units, 32768
    else:
        local = 1 << (min(LOCAL, properties.max_local).bit_length() - 1)  # trees halve it
        if split.inner:
            vector = _row_vector_width(split, itemsizes, contiguous) if vectors else 1
            lanes = _lanes(n_kept, n_reduced // vector, local, properties.units)
            columns = local // lanes
        else:
            columns = min(COLUMNS, power_of_two(last[0]))
            lanes = min(local // columns, power_of_two(n_reduced))
        local = lanes * columns
        blocks = -(-n_kept // columns)
        target = GROUPS_OF_UNIT * properties.units
        fewest = lanes * (FEWEST if blocks < properties.units else FEWEST_IF_BUSY)
    splits = 1
    if 2 * blocks <= target:
        splits = max(1, min(n_reduced // fewest, -(-target // max(blocks, 1)), MOST_SPLITS))
    chunk = -(-n_reduced // (splits * vector)) * vector
    splits = -(-n_reduced // chunk) if chunk else 1
    groups = min(blocks, 8 * properties.units) if properties.cpu else blocks
    many = not split.inner or n_reduced > lanes * vector
    layout = ReduceLayout(
        *(len(split.kept), len(split.reduced), split.inner, lanes, columns, split.narrow, properties.cpu, contiguous),
        *(many, vector, WARP if properties.driver == "cuda" else 1),
    )
    return layout, [groups, splits], [local, 1], chunk


def _row_vector_width(split: Split, itemsizes: Sequence[int], contiguous: Sequence[bool]) -> int:
    """Return how many elements of a row are loaded at once; it depends on shapes and strides, not on addresses."""
    if not split.reduced:
        return 1
    if not all(neighbours or steps[-1] == 0 for neighbours, steps in zip(contiguous, split.strides, strict=True)):
        return 1
    width = VECTOR_BYTES // max((n for n, c in zip(itemsizes, contiguous, strict=True) if c), default=VECTOR_BYTES)
    while split.reduced[-1] % width:
        width //= 2
    return width


def _lanes(n_kept: int, n_reduced: int, local: int, units: int) -> int:
    """Return how many work-items share a row: more than a warp only where rows do not give all units enough work."""
    most = min(local, power_of_two(n_reduced))
    lanes = min(WARP, most)
    while lanes < most and n_kept * lanes < _ITEMS_OF_UNIT * units:
        lanes *= 2
    return lanes


__all__ = [
    "IndexWidth",
    "Layout",
    "Nest",
    "fits_narrow",
    "merge",
    "nest_of",
    "ReduceJob",
    "ReduceLayout",
    "Split",
    "Update",
    "arrange",
    "layout_of_reduction",
    "power_of_two",
]
