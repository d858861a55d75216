"""The type of None, and of slices, as variables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Generic, Op, SingletonType, Type, Variable, batch_rule, format_error
from theano_tensor import DisconnectedType, as_tensor_variable, lscalar
from theano_tensor.indexing import INDEX_FORMS

from ._historical import integer_dtypes


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
