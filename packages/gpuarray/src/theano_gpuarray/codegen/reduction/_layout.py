"""How reductions are laid out: which dimensions are kept and reduced, and what work-groups do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from theano_graph import record
from theano_linker_c.kernels import Reduction
from theano_linker_c.scalar import OneOp, ScalarProgram

from .._form import DeviceProperties
from ..elementwise import IndexWidth, Nest, fits_narrow, merge
from ..text import VECTOR_BYTES

__all__ = ["ReduceJob", "ReduceLayout", "Split", "Update", "arrange", "layout_of_reduction", "power_of_two"]

#: Work-items of a group on a graphics card, and columns of those that stand side by side.
LOCAL = 256
COLUMNS = 32
#: Elements that a work-item reduces at least before the elements are split among groups: where groups are fewer than
#: units, and elsewhere, where a second launch costs more than it gains.
FEWEST, FEWEST_IF_BUSY = 16, 64
MOST_SPLITS = 1024
#: Groups that a unit runs at a time: with fewer, too few loads are under way.
GROUPS_OF_UNIT = 8
#: Work-items that share a result at least, where it has so many elements: those that need no barrier on CUDA.
WARP = 32
#: Work-items that a unit runs at a time.
_ITEMS_OF_UNIT = 2048


@record
class Update:
    """What is computed of each result of a reduction, in place of storing it.

    Parameters
    ----------
    program : ScalarProgram or OneOp
    inputs : tuple of int
        What its inputs are: -1 the result, or the number of a further operand, which has the shape of the result.
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
    """What is computed: a program, of whose results the first are kept, and the others reduced.

    Where there is an update, there is one reduction.
    """

    program: ScalarProgram | OneOp
    input_dtypes: tuple[str, ...]
    kept_dtypes: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    update: Update | None = None

    @property
    def result_dtypes(self) -> tuple[str, ...]:
        """The dtypes of what is stored for each result."""
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
    """Sort dimensions, and merge those that lie like one; `result_strides` are for the kept dimensions in order."""
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
    """What the text of a reduction depends on.

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
    """Choose what groups do.

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
            vector = _vector_width(split, itemsizes, contiguous) if vectors else 1
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


def _vector_width(split: Split, itemsizes: Sequence[int], contiguous: Sequence[bool]) -> int:
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
