"""Helpers of indexing, and printers of indices and of orders of dimensions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import theano.tensor as T
from theano_graph import Op, Variable, format_error, pprint
from theano_linker_c.scalar import ScalarConstant, ScalarType
from theano_tensor import (
    AdvancedSubtensor,
    DimShuffle,
    IndexingError,
    MakeVector,
    NotScalarConstantError,
    Subtensor,
    get_scalar_constant_value,
    printers,
)
from theano_tensor.indexing import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    sum_to,
)

from .type_other import MakeSlice, NoneConst, NoneTypeT, SliceType, make_slice

# ---- How programs for Theano 1.0 take indices apart: helpers of `theano.tensor.subtensor`

AdvancedIndexingError = IndexingError
AdvancedBooleanIndexingError = IndexingError
BaseAdvancedSubtensor = AdvancedSubtensor
BaseAdvancedIncSubtensor = AdvancedIncSubtensor

advanced_subtensor = AdvancedSubtensor()
advanced_subtensor1 = AdvancedSubtensor1()
advanced_inc_subtensor = AdvancedIncSubtensor()
advanced_inc_subtensor1 = AdvancedIncSubtensor1()
advanced_set_subtensor = AdvancedIncSubtensor(set_instead_of_inc=True)
advanced_set_subtensor1 = AdvancedIncSubtensor1(set_instead_of_inc=True)
advanced_boolean_subtensor = AdvancedBooleanSubtensor()
advanced_boolean_inc_subtensor = AdvancedBooleanIncSubtensor()
advanced_boolean_set_subtensor = AdvancedBooleanIncSubtensor(set_instead_of_inc=True)

#: Former names of imports for sparse gradients.
sparse_module_ref = None


def _known(value: Any) -> Any:
    """Return a bound that is a known number as an int, None as None, and others as they are."""
    if value is None or value is NoneConst:
        return None
    try:
        return int(get_scalar_constant_value(value))
    except NotScalarConstantError:
        return value


def get_canonical_form_slice(theslice: Any, length: Any) -> tuple[Any, Any]:
    """Return the elements of a dimension that a slice (or a number) selects as a slice that goes forwards, and 1 or -1.

    The slice has ``0 <= start <= stop <= length`` and a positive step; -1 says that the selection is to be reversed.

    Parameters
    ----------
    theslice : slice, int or integer scalar
    length : int or integer scalar

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.get_canonical_form_slice(slice(None), 5)
    (slice(0, 5, 1), 1)
    """
    if not isinstance(theslice, slice):
        value = _known(theslice)
        if isinstance(value, int):
            return (value if value >= 0 else value + length), 1
        return T.switch(T.lt(value, 0), value + length, value), 1
    start, stop, step, length = (_known(v) for v in (theslice.start, theslice.stop, theslice.step, length))
    step = 1 if step is None else step
    if all(isinstance(v, int | None) for v in (start, stop)) and isinstance(step, int) and isinstance(length, int):
        return _canonical_numbers(slice(start, stop, step), length)
    if isinstance(step, int) and step == 1:
        if start is None or (isinstance(start, int) and start == 0):
            full = stop is None or stop is length or (isinstance(stop, int) and stop == sys.maxsize)
            return slice(0, length if full else _clipped(stop, length, 0), 1), 1
        if stop is None or stop is length or (isinstance(stop, int) and stop == sys.maxsize):
            return slice(_clipped(start, length, 0), length, 1), 1
    return _canonical_expression(start, stop, step, length)


def _canonical_numbers(given: slice, length: int) -> tuple[slice, int]:
    numbers = range(length)[given]
    if not numbers:
        start = min(max(numbers.start, 0), length)
        return slice(start, start, abs(given.step)), 1 if given.step > 0 else -1
    if given.step > 0:
        return slice(numbers[0], min(numbers.stop, length), given.step), 1
    return slice(numbers[-1], numbers[0] + 1, -given.step), -1


def _clipped(bound: Any, length: Any, low: Any, high: Any = None) -> Any:
    """Return a bound counted from the left, and brought between `low` and `high` (the length by default)."""
    top = length if high is None else high
    if isinstance(bound, int) and bound >= 0:
        return T.switch(T.lt(bound, top), bound, top)
    counted = T.switch(T.lt(bound, 0), bound + length, bound)
    return T.switch(T.lt(counted, low), low, T.switch(T.lt(counted, top), counted, top))


def _canonical_expression(start: Any, stop: Any, step: Any, length: Any) -> tuple[slice, Any]:
    choose: Callable[[Any, Any], Any]
    size: Any
    sign: Any
    if isinstance(step, int):
        size, sign = abs(step), 1 if step > 0 else -1
        choose = (lambda backwards, forwards: forwards) if step > 0 else (lambda backwards, forwards: backwards)
    else:
        negative = T.lt(step, 0)
        size, sign = abs(step), T.sgn(step)
        choose = lambda backwards, forwards: T.switch(negative, backwards, forwards)  # noqa: E731
    first = (
        choose(length - 1, 0) if start is None else _clipped(start, length, choose(-1, 0), choose(length - 1, length))
    )
    end = choose(-1, length) if stop is None else _clipped(stop, length, choose(-1, 0), choose(length - 1, length))
    count = choose((first - end + size - 1) // size, (end - first + size - 1) // size)
    count = T.switch(T.lt(count, 0), 0, count)
    low = choose(first - (count - 1) * size, first)
    high = choose(first + 1, end)
    low = T.switch(T.lt(low, 0), 0, low)
    high = T.switch(T.lt(high, 0), 0, high)
    low = T.switch(T.lt(0, count), T.switch(T.lt(low, high), low, high), high)
    return slice(low, high, size), sign


def get_idx_list(inputs: Sequence[Any], idx_list: Sequence[Any], get_count: bool = False) -> Any:
    """Return an index in which the inputs of a node stand where `idx_list` has types of them.

    Parameters
    ----------
    inputs : sequence of Variable
        Of the node; the first is the tensor that is indexed.
    idx_list : sequence
        ``node.op.idx_list``.
    get_count : bool
        Return how many inputs were needed instead, the first included.
    """
    remaining = list(reversed(inputs[1:]))

    def given(entry: Any) -> Any:
        if isinstance(entry, slice):
            start, stop = given(entry.start), given(entry.stop)
            return slice(start, stop, given(entry.step))
        return remaining.pop() if hasattr(entry, "filter") and remaining else entry

    entries = tuple(given(entry) for entry in idx_list)
    return len(inputs) - len(remaining) if get_count else entries


def make_constant(args: Any) -> Any:
    """Return slices, numbers and scalars as scalar variables, in tuples like the given ones; None stays None."""
    if isinstance(args, slice):
        return slice(*(make_constant(v) for v in (args.start, args.stop, args.step)))
    if isinstance(args, tuple | list):
        return tuple(map(make_constant, args))
    if args is None or (isinstance(args, Variable) and not isinstance(args.type, ScalarType)):
        return args
    return ScalarConstant(ScalarType("int64"), args) if isinstance(args, int) else args


def as_index_variable(idx: Any) -> Any:
    """Return a part of an index as a variable: of a tensor, a slice, or None.

    Raises
    ------
    TypeError
        If it is no array of integers or truth values.
    """
    if idx is None or idx is NoneConst:
        return NoneConst.clone()
    if isinstance(idx, slice):
        return make_slice(idx)
    if isinstance(idx, Variable) and isinstance(idx.type, SliceType | NoneTypeT):
        return idx
    variable = T.as_tensor_variable(idx)
    if variable.type.dtype != "bool" and variable.type.dtype not in T.basic.integer_dtypes:
        raise TypeError(format_error("index must be integers or a boolean mask", hint="cast it"))
    return variable


def adv_index_broadcastable_pattern(a: Any, idx: Sequence[Any]) -> tuple[bool, ...]:
    """Return along which dimensions ``a[idx]`` is known to have length 1."""
    index = tuple(None if i is NoneConst else i for i in idx)
    pattern: tuple[bool, ...] = AdvancedSubtensor().make_node(a, *index).outputs[0].type.broadcastable
    return pattern


def check_advanced_indexing_dimensions(input: Any, idx_list: Sequence[Any]) -> None:
    """Refuse an index for more dimensions than a tensor has; IndexError where it does."""
    needed = 0
    for entry in idx_list:
        mask = str(getattr(entry, "dtype", "")) == "bool" and bool(getattr(entry, "ndim", None))
        needed += 0 if entry is None else entry.ndim if mask else 1
    if needed > input.ndim:
        raise IndexingError(format_error(f"too many indices for array: {needed} for {input.ndim} dimensions"))


def check_and_reject_bool(args_el: Any) -> None:
    """Refuse truth values in an index; TypeError where there are any."""
    parts = args_el if isinstance(args_el, tuple | list) else (args_el,)
    for part in parts:
        if isinstance(part, bool) or str(getattr(part, "dtype", "")) == "bool":
            raise TypeError(format_error("TensorType does not support Python bools for indexing", hint="use a mask"))


def _sum_grad_over_bcasted_dims(x: Any, gx: Any) -> Any:
    """Return a gradient summed over the dimensions along which `x` was broadcast."""
    return sum_to(gx, x)


# ---- Printers for `theano.printing.pprint` that also return whole texts


class _Process:
    """Adds the method by which printers return a whole text."""

    _ops: ClassVar[tuple[type[Op], ...]]

    def process(self, r: Variable, pstate: Any = None) -> str:
        """Return the formula of a variable; TypeError if another op makes it.

        Parameters
        ----------
        r : Variable
        pstate : PrinterState, optional
            Its attribute `pprinter` writes the operands.
        """
        node = r.owner
        if node is None or not isinstance(node.op, self._ops):
            raise TypeError(f"Can only print {self._ops[0].__name__}.")
        return str(getattr(pstate, "pprinter", pprint).clone_assign(type(node.op), self).process(r))


class SubtensorPrinter(_Process, printers.SubtensorPrinter):
    """Writes ``x[1:n, 0]``."""

    _ops = (Subtensor, AdvancedSubtensor)


class DimShufflePrinter(_Process, printers.DimShufflePrinter):
    """Writes ``x.T``, and nothing for dimensions that are only added in front."""

    _ops = (DimShuffle,)


class MakeVectorPrinter(_Process, printers.MakeVectorPrinter):
    """Writes ``[x, y]``."""

    _ops = (MakeVector,)


__all__ = ["MakeSlice", "get_canonical_form_slice", "get_idx_list"]
