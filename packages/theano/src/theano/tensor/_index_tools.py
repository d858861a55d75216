"""Slices and None as values of variables, helpers of indexing, and printers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar

import numpy as np

import theano.tensor as T
from theano_graph import Apply, Constant, Generic, Op, SingletonType, Type, Variable, batch_rule, format_error, pprint
from theano_linker_c.scalar import ScalarConstant, ScalarType
from theano_tensor import (
    AdvancedSubtensor,
    DimShuffle,
    DisconnectedType,
    IndexingError,
    MakeVector,
    NotScalarConstantError,
    Subtensor,
    as_tensor_variable,
    get_scalar_constant_value,
    lscalar,
    printers,
)
from theano_tensor.indexing import (
    INDEX_FORMS as INDEX_FORMS,
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor1,
    sum_to,
)

from ._historical import integer_dtypes

# ---- The type of None, and of slices, as variables


class NoneTypeT(Generic):
    """The type whose only value is None."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> None:
        """Return None, and refuse anything else."""
        if value is not None:
            raise TypeError(format_error(f"{value!r} is not None", hint="pass None"))

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Say that there is no memory to share."""
        return False


none_type_t = NoneTypeT()
#: The variable that stands for None. ``NoneConst.equals(x)`` tells whether x is one; `clone` makes another.
NoneConst = Constant(none_type_t, None, name="NoneConst")


def as_int_none_variable(x: Any) -> Variable:
    """Return the start, stop or step of a slice as a variable.

    Raises
    ------
    TypeError
        If it is neither None nor an integer.
    """
    if x is None:
        return NoneConst
    if NoneConst.equals(x):
        variable: Variable = x
        return variable
    number = as_tensor_variable(x, ndim=0)
    if number.type.dtype not in integer_dtypes:
        raise TypeError(
            format_error(f"{x!r} is {number.type.dtype}", hint="the bounds of a slice are integers or None")
        )
    return number


class SliceType(SingletonType):
    """The type of slices."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> slice:
        """Return a slice as it is, and refuse anything else."""
        if not isinstance(value, slice):
            raise TypeError(format_error(f"{value!r} is no slice", hint="pass slice(start, stop, step)"))
        return value

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Tell whether `a` and `b` are one slice."""
        return isinstance(a, slice) and a is b

    def __str__(self) -> str:
        return "slice"


class SliceConstant(Constant):
    """A slice that is known."""

    def __init__(self, type: Type, data: slice, name: str | None = None) -> None:
        plain = [int(bound) if isinstance(bound, np.ndarray) else bound for bound in (data.start, data.stop, data.step)]
        Constant.__init__(self, type, slice(*plain), name)

    def signature(self) -> Hashable:
        """Return the class and the bounds."""
        return SliceConstant, self.data.start, self.data.stop, self.data.step

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.data.start}, {self.data.stop}, {self.data.step}}}"


SliceType.constant_class = SliceConstant
SliceType.Constant = SliceConstant  # type: ignore[attr-defined]  # the name that it had
slicetype = SliceType()


class MakeSlice(Op):
    """A slice of symbolic bounds.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.tensor import type_other
    >>> import theano, theano.tensor as T
    >>> i = T.iscalar("i")
    >>> theano.function([i], type_other.make_slice(0, i))(3)
    slice(0, 3, None)
    """

    __props__ = ()

    def make_node(self, slc: Any, stop: Any = None, step: Any = None) -> Apply:
        """Apply to a slice, or to start, stop and step."""
        if isinstance(slc, slice) and (stop is not None or step is not None):
            raise TypeError(format_error("MakeSlice: a slice has its stop and step", hint="pass the slice alone"))
        bounds = [slc.start, slc.stop, slc.step] if isinstance(slc, slice) else [slc, stop, step]
        return Apply(self, [as_int_none_variable(bound) for bound in bounds], [slicetype()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Make the slice, of Python's integers."""
        output_storage[0][0] = slice(*(None if bound is None else int(bound) for bound in inputs))

    def grad(self, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list[Variable]:
        """Say that nothing depends smoothly on the bounds."""
        return [DisconnectedType()() for _ in inputs]


make_slice = MakeSlice()


class SliceBounds(Op):
    """Start, stop and step that select, of a dimension of a given length, the same elements as a slice.

    Examples
    --------
    >>> from theano.tensor import type_other
    >>> import theano
    >>> s = type_other.slicetype("s")
    >>> [int(bound) for bound in theano.function([s], type_other.SliceBounds()(s, 5))(slice(None, None, -2))]
    [4, -6, -2]
    """

    __props__ = ()

    def make_node(self, slc: Variable, length: Any) -> Apply:
        """Apply to a slice and a length."""
        return Apply(self, [slc, as_tensor_variable(length, ndim=0)], [lscalar() for _ in range(3)])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Ask the slice."""
        slc, length = inputs[0], int(inputs[1])
        start, stop, step = slc.indices(length)
        if stop < 0:
            # Before the first element; -1 would be the last one.
            stop = -length - 1
        for storage, bound in zip(output_storage, (start, stop, step), strict=True):
            storage[0] = np.asarray(bound, dtype="int64")

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Say that the bounds are scalars."""
        return [(), (), ()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing depends smoothly on a slice or a length."""
        return [[False] * 3, [False] * 3]


def _index_of_slice(variable: Variable) -> Any:
    """Return the index entry that a variable for a slice stands for."""
    if isinstance(variable, Constant):
        return variable.data
    if variable.owner is not None and isinstance(variable.owner.op, MakeSlice):
        return slice(*(None if isinstance(v, Constant) and v.data is None else v for v in variable.owner.inputs))
    return lambda length: slice(*SliceBounds()(variable, length))


INDEX_FORMS[SliceType] = _index_of_slice
#: As `newaxis`.
INDEX_FORMS[NoneTypeT] = lambda variable: None


for _op_class in (MakeSlice, SliceBounds):
    batch_rule.declare_absent(_op_class, "slices have no dimension for a batch")


# ---- Helpers of indexing, and printers of indices and of orders of dimensions

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
