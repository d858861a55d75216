"""Tensors in which a part, given by arrays of integers and truth values, is incremented or replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Op, Variable
from theano_linker_c.program import overwriting_form

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._ops import TensorOp
from ..._core._type import Tensor
from .._parts import check_values, fitting_part, index_pattern, out_of_range
from ..entries import Entries, Symbol, entries_text, fill_in
from ._read import (
    AdvancedBooleanSubtensor,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    as_index,
    check_index,
    check_vector,
    indexed,
    split_index,
)


class AdvancedIncSubtensor(TensorOp):
    """A copy of a tensor in which the part at an index with arrays in it is incremented, or replaced.

    Parameters
    ----------
    inplace : bool
        Whether the tensor itself is changed.
    set_instead_of_inc : bool
        Whether the part is replaced. Of several values for one element the last one stays.
    ignore_duplicates : bool
        Whether an element that is indexed several times is incremented once only, by the last value; by default
        increments add up.
    entries : tuple of (int, SYMBOL, NEWAXIS or Slice), optional
        Which part; see :class:`AdvancedSubtensor`.
    """

    __props__: ClassVar[tuple[str, ...]] = ("inplace", "set_instead_of_inc", "ignore_duplicates", "entries")

    def __init__(
        self,
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        ignore_duplicates: bool = False,
        entries: Entries | None = None,
    ) -> None:
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        self.ignore_duplicates = bool(ignore_duplicates) and not self.set_instead_of_inc
        self.entries: Any = None if entries is None else tuple(entries)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x: TensorLike, y: TensorLike, *inputs: TensorLike) -> Apply:
        """Apply to a tensor, the new part (broadcast to it) and the values of the symbols.

        Raises
        ------
        TypeError
            If the dtype of the part does not fit into that of the tensor.
        ShapeError
            If shapes are known not to fit.
        IndexingError, IndexError
            If the index cannot be used.
        """
        if self.entries is None:
            op, operands = self.with_index(inputs)
            return op.make_node(x, y, *operands)
        variable, part = as_tensor_variable(x), as_tensor_variable(y)
        index = [as_index(i) for i in inputs]
        target, shape = indexed(variable, self.entries, index)
        part = fitting_part(target, part, shape, replaces=self.set_instead_of_inc)
        return Apply(self, [target, part, *index], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy, then change the part; IndexError or ValueError if something does not fit."""
        x, y, *numbers = inputs
        index = fill_in(self.entries, numbers)
        try:
            check_index(self.entries, node.inputs[2:], numbers, x)
            # One byte, seen in the shape of x: the shape of the part without the part.
            shape = np.broadcast_to(np.zeros((), dtype="bool"), x.shape)[index].shape
        except IndexError as error:
            raise out_of_range(error, node, x) from error
        check_values(node, y, shape)
        result = x if self.inplace else x.copy()
        if self.set_instead_of_inc:
            result[index] = y
        elif self.ignore_duplicates:
            result[index] += y
        else:
            np.add.at(result, index, y)
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 2)

    def with_index(self, index: Sequence[Any]) -> tuple[AdvancedIncSubtensor, list[Variable]]:
        """Return an op with entries, and its inputs, for an index that is given with its slices and numbers."""
        entries, inputs = split_index(index)
        return type(self)(self.inplace, self.set_instead_of_inc, self.ignore_duplicates, entries), inputs

    def in_place(self) -> AdvancedIncSubtensor:
        """Return the op that changes the tensor itself."""
        return type(self)(True, self.set_instead_of_inc, self.ignore_duplicates, self.entries)

    def _what(self) -> str:
        what = "Set" if self.set_instead_of_inc else "IncOnce" if self.ignore_duplicates else "Inc"
        return f"{'Inplace' * self.inplace}{what}"

    def __str__(self) -> str:
        if self.entries is None:
            return f"{type(self).__name__}{{{self._what()}}}"
        return f"{type(self).__name__}{{{self._what()};{entries_text(self.entries)}}}"


class AdvancedBooleanIncSubtensor(AdvancedIncSubtensor):
    """A copy of a tensor with a part changed where at least one mask says so; see :class:`AdvancedIncSubtensor`."""


class AdvancedIncSubtensor1(AdvancedIncSubtensor):
    """A copy of a tensor with the rows of a vector of integers incremented, or replaced.

    Parameters
    ----------
    inplace, set_instead_of_inc, ignore_duplicates : bool
        See :class:`AdvancedIncSubtensor`.
    """

    __props__ = ("inplace", "set_instead_of_inc", "ignore_duplicates")

    def __init__(
        self, inplace: bool = False, set_instead_of_inc: bool = False, ignore_duplicates: bool = False
    ) -> None:
        super().__init__(inplace, set_instead_of_inc, ignore_duplicates, (Symbol.SYMBOL,))

    def make_node(self, x: TensorLike, y: TensorLike, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor, the new rows and a vector of integers."""
        check_vector(x, inputs)
        return super().make_node(x, y, *inputs)

    def in_place(self) -> AdvancedIncSubtensor:
        """Return the op that changes the tensor itself."""
        return AdvancedIncSubtensor1(True, self.set_instead_of_inc, self.ignore_duplicates)

    def __str__(self) -> str:
        what = "set" if self.set_instead_of_inc else "inc_once" if self.ignore_duplicates else "inc"
        return f"AdvancedIncSubtensor1{{{'inplace' if self.inplace else 'no_inplace'},{what}}}"


@overwriting_form.register(AdvancedIncSubtensor)
def _overwriting(op: Op, given: int) -> Op | None:
    return op.in_place() if isinstance(op, AdvancedIncSubtensor) and not given else None


def change_of(
    op: AdvancedSubtensor, set_instead_of_inc: bool = False, ignore_duplicates: bool = False, inplace: bool = False
) -> Op:
    """Return the op that changes the part that `op` reads."""
    if isinstance(op, AdvancedSubtensor1):
        return AdvancedIncSubtensor1(inplace, set_instead_of_inc, ignore_duplicates)
    masked = isinstance(op, AdvancedBooleanSubtensor)
    op_class = AdvancedBooleanIncSubtensor if masked else AdvancedIncSubtensor
    return op_class(inplace, set_instead_of_inc, ignore_duplicates, op.entries)


def read_of(op: AdvancedIncSubtensor) -> AdvancedSubtensor:
    """Return the op that reads the part that `op` changes."""
    if isinstance(op, AdvancedIncSubtensor1):
        return AdvancedSubtensor1()
    masked = isinstance(op, AdvancedBooleanIncSubtensor)
    return (AdvancedBooleanSubtensor if masked else AdvancedSubtensor)(op.entries)
