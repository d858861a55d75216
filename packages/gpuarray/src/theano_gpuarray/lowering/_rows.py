"""Fusion of work on each row of a matrix by itself, as a softmax with its loss and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from theano_graph import record
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    ElementwiseKernel,
    FullKernel,
    IndexArray,
    IndexInput,
    IndexReadKernel,
    IndexSlice,
    IndexViewKernel,
    IndexWriteKernel,
    Reduction,
    ReductionKernel,
    TransposeKernel,
)
from theano_linker_c.scalar import NoNativeForm, add, program_for

from ..codegen import DeviceOperand, NoDeviceForm, contiguous_strides
from ..codegen._index_regions import out_of_bounds
from ..region import Entry, Fusion, OnHost, Step, StepRecorder, entry_on_device
from ._elementwise import MakeFusion, Numbered, connected_groups, with_groups, with_sources
from ._row_program import Fixed, Load, Map, Node, Pick, Put, Reduce, Result, RowProgram, Store, dtype_of, per_element

#: On a graphics card, rows that are so long are left to kernels that share one among groups, if there are few.
_LONG, _FEW = 1 << 15, 64


class _NoFit(Exception):
    """Raised where a step is none of a row program."""


@record
class _Value:
    """A value while a program is made: a result and its shape, or the numbers from 0 up to that of the rows."""

    result: Result | None
    shape: tuple[int, ...]


def fuse_rows(
    steps: Sequence[Numbered], outputs: Collection[int], counting: Collection[int] = frozenset()
) -> list[Numbered]:
    """Put together steps that compute rows of matrices, with at least one reduction along the rows.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    counting : collection of int
        Values that are vectors of the numbers 0, 1, 2, ...
    """
    members = {i for i, (_, step) in enumerate(steps) if _is_member(step)}
    if not any(_reduces_rows(steps[i][1]) for i in members):
        return list(steps)
    singles = {i for i, (_, step) in enumerate(steps) if _is_single(step)}
    links = {v for i in members for v in steps[i][1].outputs}
    fusions: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for group in connected_groups(steps, members, links):
        if any(_reduces_rows(steps[i][1]) for i in group):
            whole = with_sources(steps, group, (members | singles) - taken, outputs)
            if sum(not isinstance(steps[i][1].task, (TransposeKernel, IndexViewKernel)) for i in whole) > 1:
                taken.update(whole)
                fusions.append((whole, partial(RowFusion, counting=counting)))
    return with_groups(steps, fusions, outputs)


def _reduces_rows(step: Step) -> bool:
    return isinstance(step.task, ReductionKernel)


def _is_single(step: Step) -> bool:
    """Tell whether a step computes one number of a matrix's dimensions, which each row may compute for itself."""
    task = step.task
    return isinstance(task, ElementwiseKernel) and task.ndim == 2 and all(all(pattern) for pattern in task.broadcast)


def _is_member(step: Step) -> bool:
    """Tell whether a step may compute rows, as far as its kernel tells."""
    match step.task:
        case ElementwiseKernel(ndim=ndim, broadcast=patterns):
            return ndim <= 1 or (ndim == 2 and not all(pattern[0] for pattern in patterns))
        case ReductionKernel(ndim=2, axes=(1,), broadcast=patterns):
            return not all(pattern[0] for pattern in patterns) and not all(pattern[1] for pattern in patterns)
        case TransposeKernel(order=order, drop=()):
            return order in ((0, None), (None,))
        case IndexReadKernel(entries=entries) | IndexWriteKernel(entries=entries):
            return _is_pick(entries) or (isinstance(step.task, IndexWriteKernel) and _takes_all(entries))
        case IndexViewKernel(entries=(IndexSlice() as whole, 0)):
            return _is_whole(whole)
        case FullKernel():
            return len(step.inputs) == 2
        case ArrayRoutineKernel(task="arange"):
            return True
    return False


def _is_pick(entries: Sequence[Any]) -> bool:
    """Tell whether an index is one position for each row."""
    return len(entries) == 2 and all(_is_vector(entry) for entry in entries)


def _is_vector(entry: Any) -> bool:
    return isinstance(entry, IndexArray) and not entry.mask and len(entry.broadcastable) == 1


def _takes_all(entries: Sequence[Any]) -> bool:
    """Tell whether an index of a vector may be that of all elements, in their order."""
    if len(entries) != 1:
        return False
    (entry,) = entries
    if isinstance(entry, IndexSlice):
        return _is_whole(entry)
    return _is_vector(entry)


def _is_whole(entry: IndexSlice) -> bool:
    return entry.start in (None, 0) and entry.step in (None, 1)


class RowFusion(Fusion):
    """Steps that compute rows; recorded at once where all matrices have the same shape.

    Parameters
    ----------
    parts : sequence of (int, Step)
    outputs : sequence of int
    counting : collection of int
        Values that are vectors of the numbers 0, 1, 2, ...
    """

    def __init__(self, parts: Sequence[Numbered], outputs: Sequence[int], counting: Collection[int] = ()) -> None:
        super().__init__(parts, outputs)
        self._counting = counting

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record the steps as one launch, if all of them fit."""
        try:
            return self._recorded(recorder, values)
        except (_NoFit, NoNativeForm, NoDeviceForm):
            return None

    def _recorded(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry]:
        builder = _Builder(recorder, values, self._counting, *self._extent(values))
        for number, step in self.parts:
            builder.add(number, step)
        return builder.finish(self.outputs)

    def _extent(self, values: Mapping[int, Entry]) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        for _, step in self.parts:
            task = step.task
            if isinstance(task, (ElementwiseKernel, ReductionKernel)) and task.ndim == 2:
                for v, pattern in zip(step.inputs, task.broadcast, strict=True):
                    entry = values.get(v)
                    if isinstance(entry, DeviceOperand) and not any(pattern):
                        rows, columns = entry.shape
                        return rows, columns
        raise _NoFit


class _Builder:
    """Makes the nodes of a row program of steps."""

    def __init__(
        self,
        recorder: StepRecorder,
        values: Mapping[int, Entry],
        counting: Collection[int],
        rows: int,
        columns: int,
    ) -> None:
        properties = recorder.properties
        if not rows or not columns or (not properties.cpu and columns > _LONG and rows < _FEW):
            raise _NoFit
        self._recorder = recorder
        self._known = values
        self._counting = counting
        self._rows, self._columns = rows, columns
        self._nodes: list[Node] = []
        self._values: dict[int, _Value] = {}
        self._loads: dict[Any, Result] = {}

    def add(self, number: int, step: Step) -> None:
        """Add a step."""
        task = step.task
        results: Sequence[_Value]
        if isinstance(task, ElementwiseKernel):
            results = self._elementwise(task, step)
        elif isinstance(task, ReductionKernel):
            results = self._reduction(task, step)
        elif isinstance(task, TransposeKernel):
            value = self._value(step.inputs[0])
            results = [_Value(value.result, (*value.shape, 1) if task.order == (0, None) else (1,))]
        elif isinstance(task, IndexReadKernel):
            results = [self._picked(number, step)]
        elif isinstance(task, IndexWriteKernel):
            results = [self._written(number, task, step)]
        elif isinstance(task, IndexViewKernel):
            results = [self._viewed(task, step)]
        elif isinstance(task, FullKernel):
            results = [self._full(step)]
        else:
            results = [self._counted(step)]
        self._values.update(zip(step.outputs, results, strict=True))

    def finish(self, outputs: Sequence[int]) -> dict[int, Entry]:
        """Launch the program; return the arrays of the values that leave."""
        stores: dict[Result, Store] = {}
        entries: dict[int, Entry] = {}
        for v in outputs:
            value = self._values[v]
            if value.result is None:
                raise _NoFit
            shape, dtype = value.shape, dtype_of(self._nodes, value.result)
            is_per_element = per_element(self._nodes[value.result.node])
            if shape not in (((self._rows, self._columns),) if is_per_element else ((self._rows,), (self._rows, 1))):
                raise _NoFit
            if value.result not in stores:
                stores[value.result] = Store(value.result, self._recorder.empty(dtype, shape), dtype)
            array = stores[value.result].operand
            entries[v] = array.view(shape, contiguous_strides(shape, array.itemsize))
        RowProgram(self._nodes, list(stores.values()), self._rows, self._columns).launch(self._recorder)
        return entries

    def _elementwise(self, task: ElementwiseKernel, step: Step) -> list[_Value]:
        args = [self._operand(v, pattern) for v, pattern in zip(step.inputs, task.broadcast, strict=True)]
        shape = self._shape(task.broadcast, task.ndim)
        node = self._map(task, args)
        return [_Value(Result(node, k), shape) for k in range(len(task.output_dtypes))]

    def _map(self, task: ElementwiseKernel | ReductionKernel, args: Sequence[Result]) -> int:
        program = program_for(task.scalar_op, task.input_dtypes)
        return self._add(Map(program, tuple(args), any(self._per_element(arg) for arg in args)))

    def _reduction(self, task: ReductionKernel, step: Step) -> list[_Value]:
        args = [self._operand(v, pattern) for v, pattern in zip(step.inputs, task.broadcast, strict=True)]
        if self._shape(task.broadcast, 2) != (self._rows, self._columns):
            raise _NoFit
        node, n_stored = self._map(task, args), len(task.kept_dtypes)
        values = [_Value(Result(node, k), (self._rows, self._columns)) for k in range(n_stored)]
        for k, reduction in enumerate(task.reductions):
            self._check(reduction)
            total = Result(self._add(Reduce(Result(node, n_stored + k), reduction)))
            values.append(_Value(total, (self._rows,)))
        return values

    def _check(self, reduction: Reduction) -> None:
        if reduction.acc_dtype == "float64" and not self._recorder.properties.doubles:
            raise _NoFit

    def _picked(self, number: int, step: Step) -> _Value:
        x, rows, positions = step.inputs[:3]
        self._count(rows)
        arg = self._operand(x, (False, False))
        index = self._operand(positions, (False,))
        return _Value(Result(self._add(Pick(arg, index, self._explain(), number))), (self._rows,))

    def _explain(self) -> Callable[[int, int, int], Exception]:
        shape = self._rows, self._columns
        return lambda axis, value, length: out_of_bounds(value, axis, length, shape)

    def _written(self, number: int, task: IndexWriteKernel, step: Step) -> _Value:
        x, y, *index = step.inputs
        value = self._operand(y, task.broadcastable)
        if len(task.entries) == 2:
            rows, positions = index
            self._count(rows)
            arg, at = self._operand(x, (False, False)), self._operand(positions, (False,))
            node: Node = Put(arg, value, at, task.replace, task.dtypes[0], self._explain(), number)
            return _Value(Result(self._add(node)), (self._rows, self._columns))
        if isinstance(task.entries[0], IndexSlice):
            self._reaches(task.entries[0], step)
        else:
            self._count(index[0])
        arg, dtype = self._operand(x, (False,)), task.dtypes[0]
        new = Result(self._add(Fixed(value, dtype, False)))
        if not task.replace:
            program = program_for(add, (dtype, dtype))
            new = Result(self._add(Map(program, (arg, new), False)))
        return _Value(new, (self._rows,))

    def _viewed(self, task: IndexViewKernel, step: Step) -> _Value:
        value = self._value(step.inputs[0])
        entry = task.entries[0]
        if value.shape != (self._rows, 1) or not isinstance(entry, IndexSlice):
            raise _NoFit
        self._reaches(entry, step)
        return _Value(value.result, (self._rows,))

    def _full(self, step: Step) -> _Value:
        value, length = step.inputs
        if self._number(length) != self._rows:
            raise _NoFit
        entry = self._known.get(value)
        ndim = len(self._values[value].shape if value in self._values else _array(entry).shape)
        return _Value(self._operand(value, (True,) * ndim), (self._rows,))

    def _counted(self, step: Step) -> _Value:
        start, stop, by = (self._number(v) for v in step.inputs)
        if (start, stop, by) != (0, self._rows, 1):
            raise _NoFit
        return _Value(None, (self._rows,))

    def _count(self, v: int) -> None:
        """Refuse an index that is not the number of the row."""
        if v in self._values:
            if self._values[v].result is not None:
                raise _NoFit
            return
        entry = self._known[v]
        if v in self._counting and isinstance(entry, DeviceOperand) and entry.shape == (self._rows,):
            return
        if not isinstance(entry, np.ndarray) or not np.array_equal(entry, np.arange(self._rows)):
            raise _NoFit

    def _reaches(self, entry: IndexSlice, step: Step) -> None:
        """Refuse a slice that leaves rows out."""
        stop = entry.stop
        if (
            stop is not None
            and (self._number(step.inputs[stop.position]) if isinstance(stop, IndexInput) else stop) < self._rows
        ):
            raise _NoFit

    def _number(self, v: int) -> int:
        entry = self._known.get(v)
        if isinstance(entry, OnHost):
            entry = entry.value
        if entry is None or isinstance(entry, DeviceOperand):
            raise _NoFit
        return int(entry)

    def _shape(self, patterns: Sequence[Sequence[bool]], ndim: int) -> tuple[int, ...]:
        extent = (self._rows, self._columns)[:ndim]
        return tuple(1 if all(pattern[d] for pattern in patterns) else extent[d] for d in range(ndim))

    def _operand(self, v: int, pattern: Sequence[bool]) -> Result:
        """Return a value as an operand that broadcasts along some dimensions, and has the extent along the others."""
        pattern_lengths = tuple(
            1 if fixed else length for fixed, length in zip(pattern, (self._rows, self._columns), strict=False)
        )
        if v in self._values:
            value = self._values[v]
            if value.shape != pattern_lengths or value.result is None:
                raise _NoFit
            return value.result
        array = entry_on_device(self._recorder, self._known[v])
        if array.shape != pattern_lengths or array.dtype.startswith("complex"):
            raise _NoFit
        strides = [0 if fixed else step for fixed, step in zip(pattern, array.strides, strict=True)] + [0, 0]
        is_row = len(pattern) == 2 and not pattern[1]
        key = (array, strides[0], strides[1], is_row)
        if key not in self._loads:
            self._loads[key] = Result(self._add(Load(array, strides[0], strides[1], is_row)))
        return self._loads[key]

    def _value(self, v: int) -> _Value:
        """Return a value that a step only looks at in another way."""
        if v in self._values:
            return self._values[v]
        array = entry_on_device(self._recorder, self._known[v])
        if array.ndim == 0:
            return _Value(self._operand(v, ()), ())
        pattern = (False,) if array.ndim == 1 else (False, True)
        return _Value(self._operand(v, pattern), array.shape)

    def _add(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _per_element(self, result: Result) -> bool:
        return per_element(self._nodes[result.node])


def _array(entry: Any) -> Any:
    if isinstance(entry, OnHost):
        return entry.operand
    return entry


__all__ = ["RowFusion", "fuse_rows"]
