"""``x[index]``: views, copied parts, arrays with a part changed; arrays of indices that are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from theano_graph import record

from ..kernels import (
    ElementwiseKernel,
    IndexArray,
    Indexing,
    IndexInput,
    IndexReadKernel,
    IndexSlice,
    IndexViewKernel,
    IndexWriteKernel,
    ReductionKernel,
)
from ..runtime._instructions import Instruction, KernelForm, Program
from ..scalar import CValue, add, c_cast, c_type
from ._arrays import ONE, ZERO, CArray, Length, offset_text, straight_kernel
from ._block import Block

# ---- Arrays of indices that are known when code is written: elements found where they are read, sums in a better order

#: Elements that are read by more loops than this are copied together first.
_READERS = 2
#: The order of sums is changed within parts of so many terms, which stay in the cache.
_PART = 1024


def checked_indices(block: Block, array: CArray, length: Length) -> CArray | None:
    """Return a table of indices counted from the beginning; None where they are not known, or one is out of bounds.

    Parameters
    ----------
    block : Block
    array : CArray
        The indices.
    length : Length
        Of the dimension that is indexed.
    """
    if array.value is None or not length.known:
        return None
    values = np.asarray(array.value)
    if values.dtype.kind not in "iu" or length.factor > np.iinfo("int64").max:
        return None
    if values.size and not (values.min() >= -length.factor and values.max() < length.factor):
        return None
    return block.constant(_small(np.where(values < 0, values.astype("int64") + length.factor, values)))


def _small(indices: Any) -> Any:
    """Return indices as int32 where they are small enough."""
    dtype = "int32" if not indices.size or indices.max() <= np.iinfo("int32").max else "int64"
    return np.ascontiguousarray(indices, dtype)


def found_elements(block: Block, x: CArray, positions: CArray) -> CArray | None:
    """Return elements of a vector as an array that is looked up where it is read, if the present step allows that.

    Parameters
    ----------
    block : Block
    x : CArray
        The vector.
    positions : CArray
        A table of indices, one for each element.
    """
    assert block.step is not None, "indices belong to an instruction"
    fits = x.ndim == 1 and positions.ndim == 1 and x.strides[0] == ONE and x.positions is None
    if not fits or block.step.instruction.outputs[0] not in block.looked_up:
        return None
    return CArray(x.dtype, positions.shape, positions.strides, x.pointer, x.root, positions=positions)


def spread_order(indices: Any) -> Any:
    """Return an order of terms in which those of one sum are apart, so that none waits for the one before it.

    Terms of one sum keep their order among each other. None where the given order is as good.

    Parameters
    ----------
    indices : ndarray
        To which sum each term belongs.

    Examples
    --------
    >>> import numpy
    >>> spread_order(numpy.array([0, 0, 0, 1, 1, 2, 3])).tolist()
    [0, 3, 5, 6, 1, 4, 2]
    """
    order, near = np.arange(indices.size), False
    for begin in range(0, indices.size, _PART):
        part = indices[begin : begin + _PART]
        by_sum = np.argsort(part, kind="stable")
        first = np.flatnonzero(np.diff(part[by_sum], prepend=-1))
        counts = np.diff(first, append=part.size)
        ranks = np.empty(part.size, "int64")
        ranks[by_sum] = np.arange(part.size) - np.repeat(first, counts)
        found = np.lexsort((part, ranks))
        near = near or (len(counts) > 1 and _waits(part) > _waits(part[found]))
        order[begin : begin + part.size] = begin + found
    return order if near else None


def _waits(indices: Any) -> int:
    """Return how many terms are added to the sum to which one of the two terms before them was added."""
    return int(np.count_nonzero(indices[1:] == indices[:-1]) + np.count_nonzero(indices[2:] == indices[:-2]))


def written_in_order(block: Block, positions: CArray) -> tuple[CArray, CArray] | None:
    """Return tables of indices and of the terms for them, in an order in which sums are faster; None for the given one.

    Parameters
    ----------
    block : Block
    positions : CArray
        A table of indices, one for each term.
    """
    if positions.ndim != 1 or positions.value is None:
        return None
    order = spread_order(positions.value)
    if order is None:
        return None
    return block.constant(positions.value[order]), block.constant(_small(order))


def looked_up_registers(program: Program) -> frozenset[int]:
    """Return registers of elements that loops may look up one by one: nothing else reads them.

    Parameters
    ----------
    program : Program
    """
    needed = {*program.outputs, *(register for register, _ in program.updates)}
    readers: dict[int, list[Instruction]] = {}
    for instruction in program.instructions:
        for register in set(instruction.inputs):
            readers.setdefault(register, []).append(instruction)
    registers = []
    for instruction in program.instructions:
        kernel = _kernel(instruction)
        if isinstance(kernel, IndexReadKernel) and all(isinstance(entry, IndexArray) for entry in kernel.entries):
            mine = readers.get(instruction.outputs[0], [])
            looping = all(isinstance(_kernel(reader), (ElementwiseKernel, ReductionKernel)) for reader in mine)
            if looping and len(mine) <= _READERS and instruction.outputs[0] not in needed:
                registers.append(instruction.outputs[0])
    return frozenset(registers)


def _kernel(instruction: Instruction) -> object:
    return instruction.form.kernel if isinstance(instruction.form, KernelForm) else None


# ---- ``x[index]``: views, parts that are copied, and arrays of which a part is changed

__all__: list[str] = []

_OUT_OF_BOUNDS = "an index is out of bounds"
_LENGTHS_DIFFER = "arrays of indices differ in length"


@record
class _Source:
    """An array of indices of one dimension.

    Attributes
    ----------
    array : CArray
    broadcastable : tuple of bool
    length, stride : Length
        Of the dimension that is indexed.
    checked : bool
        Whether all indices are known to be there, counted from the beginning.
    mask : bool
        Whether they are where a mask is true: if that is one element, it broadcasts.
    """

    array: CArray
    broadcastable: tuple[bool, ...]
    length: Length
    stride: Length
    checked: bool = False
    mask: bool = False


@record
class _Region:
    """The meaning of an index for an array.

    Attributes
    ----------
    offset : str
        Of its first element.
    shape, strides : tuple of Length
        Dimensions that slices give.
    before : int
        How many of them stand before those of the arrays of indices.
    sources : tuple of _Source
    common : tuple of Length
        The shape that the arrays of indices have in common.
    """

    offset: str
    shape: tuple[Length, ...]
    strides: tuple[Length, ...]
    before: int
    sources: tuple[_Source, ...]
    common: tuple[Length, ...]

    @property
    def full_shape(self) -> tuple[Length, ...]:
        """The shape of the part."""
        return (*self.shape[: self.before], *self.common, *self.shape[self.before :])


class _Walk:
    """Goes through the entries of an index from the left."""

    def __init__(self, kernel: Indexing, block: Block, inputs: Sequence[CArray]) -> None:
        self.block, self.inputs, self.x = block, inputs, inputs[0]
        self.offsets: list[str] = []
        self.shape: list[Length] = []
        self.strides: list[Length] = []
        self.sources: list[_Source] = []
        advanced = [i for i, e in enumerate(kernel.entries) if isinstance(e, (IndexArray, int, IndexInput))]
        self.advanced = any(isinstance(e, IndexArray) for e in kernel.entries)
        self.adjacent = self.advanced and advanced == list(range(advanced[0], advanced[0] + len(advanced)))
        self.before, seen, axis = 0, False, 0
        for entry in kernel.entries:
            if isinstance(entry, IndexArray) or (self.advanced and isinstance(entry, (int, IndexInput))):
                seen = True
            elif self.adjacent and not seen:
                self.before += not isinstance(entry, (int, IndexInput))
            axis = self.enter(entry, axis)
        for rest in range(axis, self.x.ndim):
            self.shape.append(self.x.shape[rest])
            self.strides.append(self.x.strides[rest])

    def enter(self, entry: object, axis: int) -> int:
        """Take one entry; return the dimension that comes next."""
        if entry is None:
            self.shape.append(ONE)
            self.strides.append(ZERO)
            return axis
        length, stride = self.x.shape[axis], self.x.strides[axis]
        if isinstance(entry, IndexSlice):
            self.slice(entry, length, stride)
        elif isinstance(entry, IndexArray):
            return self.array(entry, axis)
        else:
            self.move(self.index(self.number(entry), length), stride)
        return axis + 1

    def number(self, entry: object) -> Length:
        """Return a whole number that is known, or that an input gives."""
        if isinstance(entry, IndexInput):
            return self.block.number(self.inputs[entry.position])
        assert isinstance(entry, int)
        return Length(entry)

    def index(self, number: Length, length: Length) -> Length:
        """Return an index counted from the beginning."""
        block = self.block
        if number.known and length.known:
            index = number.factor + (length.factor if number.factor < 0 else 0)
            if not 0 <= index < length.factor:
                raise block.refuse(f"index {number} is out of bounds for length {length}", "pass a smaller index")
            return Length(index)
        if number.known and number.factor >= 0:
            block.check(f"{number} < {length.atom}", _OUT_OF_BOUNDS)
            return number
        position = block.length(f"{number.atom} + ({number.atom} < 0 ? {length.atom} : 0)")
        block.check(f"{position} >= 0 && {position} < {length.atom}", _OUT_OF_BOUNDS)
        return position

    def move(self, index: Length, stride: Length) -> None:
        """Begin so many elements later along a dimension."""
        offset = index * stride
        if offset != ZERO:
            self.offsets.append(offset.atom)

    def slice(self, entry: IndexSlice, length: Length, stride: Length) -> None:
        """Take a dimension of a slice."""
        block = self.block
        bounds = [None if e is None else self.number(e) for e in (entry.start, entry.stop, entry.step)]
        if all(b is None for b in bounds):
            start, count, step = ZERO, length, ONE
        elif length.known and all(b is None or b.known for b in bounds):
            if bounds[2] == ZERO:
                raise block.refuse("the step of a slice is 0", "pass another step")
            positions = range(*slice(*(None if b is None else b.factor for b in bounds)).indices(length.factor))
            start, count, step = (
                Length(positions.start if positions else 0),
                Length(len(positions)),
                Length(positions.step),
            )
        else:
            start, count, step = self._slice_at_run_time(bounds, length)
        self.shape.append(count)
        self.strides.append(stride * step)
        self.move(start, stride)

    def _slice_at_run_time(self, bounds: Sequence[Length | None], length: Length) -> tuple[Length, Length, Length]:
        block = self.block
        step = bounds[2] or ONE
        if not step.known:
            block.check(f"{step} != 0", "the step of a slice is 0")
        elif step == ZERO:
            raise block.refuse("the step of a slice is 0", "pass another step")
        arguments = [f"{int(b is not None)}, {0 if b is None else b}" for b in bounds[:2]]
        block.routines.add("theano_slice")
        start, count = block.fresh("n"), block.fresh("n")
        text = f"theano_slice({arguments[0]}, {arguments[1]}, {step}, {length}, &{start})"
        both = f"int64_t {start};", f"const int64_t {count} = {text};"
        block.line(*both, defines=(start, count), total=True)
        return Length(1, (start,)), Length(1, (count,)), step

    def array(self, entry: IndexArray, axis: int) -> int:
        """Take an array of indices, or of truth values."""
        array = self.inputs[entry.position]
        if not entry.mask:
            length, stride = self.x.shape[axis], self.x.strides[axis]
            table = checked_indices(self.block, array, length)
            given = array if table is None else table
            self.sources.append(_Source(given, entry.broadcastable, length, stride, table is not None))
            return axis + 1
        ndim = array.ndim
        for k in range(ndim):
            text = f"a mask has not the length of dimension {axis + k} that it is for"
            self.block.same(array.shape[k], self.x.shape[axis + k], text)
        self.sources.append(self.mask(array, self.x.strides[axis : axis + ndim]))
        return axis + ndim

    def mask(self, mask: CArray, strides: Sequence[Length]) -> _Source:
        """Write down where the elements of a mask are true."""
        block = self.block
        count = block.fresh("n")
        block.variable("int64_t", count, "0")
        with block.loops(block.nest(mask.shape, (mask,)), independent=False) as (at,):
            block.line(f"{count} += {mask.load(at).text};", changes=(count,))
        # The number of true elements is known at run time only, so their memory is asked for there.
        places = block.allocate("int64", (Length(1, (count,)),), local=True)
        index = block.fresh("k")
        block.variable("int64_t", index, "0")
        with block.loops(block.nest(mask.shape, (), [mask.strides, strides]), independent=False) as (at, position):
            block.line(f"if ({mask.load(at).text}) {places.element(index + '++')} = {position};", changes=(index,))
        return _Source(places, (False,), ZERO, ONE, True, True)

    def common_shape(self) -> tuple[Length, ...]:
        """Return the shape that the arrays of indices have together; broadcast ones are repeated."""
        ndim = max((len(source.broadcastable) for source in self.sources), default=0)
        masks = [source for source in self.sources if source.mask]
        shape = []
        for axis in range(ndim):
            found: Length | None = None
            for source in self.sources:
                own_axis = axis - ndim + len(source.broadcastable)
                if own_axis < 0 or source.mask:
                    continue
                length = source.array.shape[own_axis]
                if source.broadcastable[own_axis]:
                    self.block.same(length, ONE, "an array of indices that broadcasts has not length 1")
                else:
                    found = length if found is None else self.block.same(found, length, _LENGTHS_DIFFER)
            if masks and axis == ndim - 1:
                found = self.spread_masks(masks, found)
            shape.append(ONE if found is None else found)
        return tuple(shape)

    def spread_masks(self, masks: Sequence[_Source], length: Length | None) -> Length:
        """Return the length that masks and other arrays of indices have together; a single true element is repeated."""
        block, counts = self.block, [source.array.shape[0] for source in masks]
        if len(counts) == 1 and length is None:
            return counts[0]
        if length is None:
            several = [f"{count} != 1 ? {count} : " for count in counts[:-1]]
            length = block.length("".join(several) + str(counts[-1]))
        for source, count in zip(masks, counts, strict=True):
            block.check(f"{count} == {length} || {count} == 1", _LENGTHS_DIFFER)
            array = source.array
            stride = block.length(f"{count} != 1")
            spread = CArray(array.dtype, (length,), (stride,), array.pointer, array.root)
            self.sources[self.sources.index(source)] = replace(source, array=spread)
        return length

    def region(self) -> _Region:
        """Return the meaning of the index."""
        offset = " + ".join(self.offsets) or "0"
        common = self.common_shape()
        return _Region(offset, tuple(self.shape), tuple(self.strides), self.before, tuple(self.sources), common)


@straight_kernel.register(IndexViewKernel)
def _view(kernel: IndexViewKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x = inputs[0]
    region = _Walk(kernel, block, inputs).region()
    numbers = None
    if x.numbers is not None and x.ndim == 1 and region.offset.isdigit() and all(s.known for s in region.shape):
        start, step = int(region.offset), region.strides[0].factor if region.strides else 0
        count = region.shape[0].factor if region.shape else 1
        numbers = tuple(x.numbers[start + k * step] for k in range(count))
    if not region.shape and x.root.kind != "constant":
        # An element is better off in a variable than in memory.
        variable = block.local(x.dtype, x.element(region.offset))
        return [CArray(variable.dtype, (), (), variable.pointer, variable.root, None, numbers)]
    view = block.view(x, region.shape, region.strides, region.offset)
    return [CArray(view.dtype, view.shape, view.strides, view.pointer, view.root, None, numbers)]


@contextmanager
def _elements(block: Block, region: _Region, others: Sequence[tuple[CArray, Sequence[Length]]]) -> Iterator[list[str]]:
    """Write loops over a part; gives the offset of the element in the array, and of that in each other operand."""
    shape = region.full_shape
    nothing = (ZERO,) * len(region.common)
    own = (*region.strides[: region.before], *nothing, *region.strides[region.before :])
    first, last = region.before, region.before + len(region.common)
    rows = []
    for source in region.sources:
        strides, missing = [], len(region.common) - len(source.broadcastable)
        for axis in range(len(region.common)):
            fixed = axis < missing or source.broadcastable[axis - missing]
            strides.append(ZERO if fixed else source.array.strides[axis - missing])
        rows.append((ZERO,) * first + tuple(strides) + (ZERO,) * (len(shape) - last))
    operands = [own, *rows, *(strides for _, strides in others)]
    indices = [block.fresh("i") for _ in shape]
    base: list[str] = [region.offset] if region.offset != "0" else []
    with ExitStack() as stack:
        for axis in range(len(shape) + 1):
            if axis == last:
                base += _source_offsets(block, region, rows, indices)
            if axis == len(shape):
                break
            if shape[axis] == ONE:
                indices[axis] = "0"
            else:
                stack.enter_context(block.loop(indices[axis], shape[axis]))
        inside = offset_text(indices, own)
        offset = " + ".join([*base, *([inside] if inside != "0" else [])]) or "0"
        yield [offset, *(offset_text(indices, row) for row in operands[1 + len(rows) :])]


def _source_offsets(
    block: Block, region: _Region, rows: Sequence[Sequence[Length]], indices: Sequence[str]
) -> list[str]:
    """Write the statements for arrays of indices in the loops so far, and return their terms of offsets."""
    offsets = []
    for source, row in zip(region.sources, rows, strict=True):
        value = source.array.load(offset_text(indices, row))
        name = block.fresh("k")
        if source.checked:
            block.let("int64_t", name, value.text)
        else:
            signed = not source.array.dtype.startswith(("u", "b"))
            wrap = f" + ({value.text} < 0 ? {source.length.atom} : 0)" if signed else ""
            block.let("int64_t", name, f"(int64_t){value.text}{wrap}")
            block.check(f"{name} >= 0 && {name} < {source.length.atom}", _OUT_OF_BOUNDS)
        offsets.append(name if source.stride == ONE else f"{name} * {source.stride.atom}")
    return offsets


@straight_kernel.register(IndexReadKernel)
def _read(kernel: IndexReadKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x = inputs[0]
    region = _Walk(kernel, block, inputs).region()
    if len(region.sources) == 1 and region.sources[0].checked and region.sources[0].length != ZERO:
        elements = found_elements(block, x, region.sources[0].array)
        if elements is not None:
            return [elements]
    target = block.result(0, x.dtype, region.full_shape)
    with block.scope(not region.full_shape), _elements(block, region, [(target, target.strides)]) as (a, b):
        block.move(x, a, target, b)
    return [target]


@straight_kernel.register(IndexWriteKernel)
def _write(kernel: IndexWriteKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, part = inputs[:2]
    region = _Walk(kernel, block, inputs).region()
    shape = region.full_shape
    strides, _ = block.spread(
        part, shape, kernel.broadcastable, "the values and the part they are for differ in length"
    )
    made = block.result(0, x.dtype, x.shape, (0,))
    if made.pointer != x.pointer:
        _copy_all(block, x, made)
    target = _moved(region, x, made, block, kernel, inputs)
    if not kernel.replace and len(shape) == 1 and len(target.sources) == 1 and target.sources[0].checked:
        tables = written_in_order(block, target.sources[0].array)
        if tables is not None:
            _add_in_order(block, target, made, part, strides[0], tables)
            return [made]
    with block.scope(not shape), _elements(block, target, [(part, strides)]) as (a, b):
        value = part.load(b)
        if not kernel.replace:
            value = CValue(f"({_sum(made.load(a), value, x.dtype)})", x.dtype)
        block.store(made, a, value)
    return [made]


def _add_in_order(
    block: Block, region: _Region, target: CArray, part: CArray, stride: Length, tables: tuple[CArray, CArray]
) -> None:
    """Write the sums of elements of a vector and terms for them, in the order of two tables."""
    positions, terms = tables
    step = region.sources[0].stride
    index, name = block.fresh("i"), block.fresh("k")
    start = [] if region.offset == "0" else [region.offset]
    with block.loop(index, positions.shape[0]):
        block.let("int64_t", name, positions.element(offset_text([index], positions.strides)))
        at = " + ".join([*start, name if step == ONE else f"{name} * {step.atom}"])
        term = "0" if stride == ZERO else offset_text([terms.element(offset_text([index], terms.strides))], [stride])
        value = CValue(f"({_sum(target.load(at), part.load(term), target.dtype)})", target.dtype)
        block.store(target, at, value)


def _copy_all(block: Block, x: CArray, target: CArray) -> None:
    block.copy(x, target)


def _moved(
    region: _Region, x: CArray, target: CArray, block: Block, kernel: Indexing, inputs: Sequence[CArray]
) -> _Region:
    """Return the region of the copy, whose strides may be others."""
    if target.strides == x.strides:
        return region
    return _Walk(kernel, block, [target, *inputs[1:]]).region()


def _sum(a: CValue, b: CValue, dtype: str) -> str:
    if dtype == "bool":
        return f"{a.text} | {c_cast(b, 'bool')}"
    converted = CValue(c_cast(b, dtype), dtype)
    return f"({c_type(dtype)})({add.c_expression([a, converted], dtype)})"


__all__ = ["checked_indices", "found_elements", "looked_up_registers", "spread_order", "written_in_order"]
