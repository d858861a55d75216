"""What the ops on sparse matrices have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Op, batch_rule, describe, format_error
from theano_linker_c.scalar import upcast
from theano_tensor import TensorType

from ._type import SparseType


class SparseOp(Op):
    """Base of the ops on sparse matrices: `compute` takes the values and returns those of the outputs.

    The cotangent of a sparse variable is sparse, in the format of the variable, or dense; pullbacks take both.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    #: Which input has the shape of the only output, where one has.
    like: ClassVar[int | None] = None

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the shape of a sparse output as a vector, worked out from the inputs; None where that cannot be."""
        return None

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Return the value of the only output, or a tuple of those of all."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute all outputs in the types of the node."""
        found = self.compute(node, *inputs)
        values = found if len(node.outputs) > 1 else (found,)
        for storage, variable, value in zip(output_storage, node.outputs, values, strict=True):
            storage[0] = fitted(variable.type, value)

    def __str__(self) -> str:
        return type(self).__name__


def fitted(kind: Any, value: Any) -> Any:
    """Return `value` in the format and dtype of a sparse or tensor type."""
    if isinstance(kind, SparseType):
        return kind.filter(value, allow_downcast=True)
    return np.asarray(value, dtype=kind.dtype)


def common_dtype(*variables: Any) -> str:
    """Return the dtype that holds the elements of all `variables`."""
    return str(upcast(*(variable.type.dtype for variable in variables)))


def dense(dtype: str, ndim: int) -> Any:
    """Return a new tensor variable with `ndim` dimensions that do not broadcast."""
    return TensorType(dtype, (None,) * ndim).make_variable()


def refuse_rank(op: Op, variable: Any, ndim: int, wanted: str) -> None:
    """Raise TypeError where a tensor variable has not `ndim` dimensions."""
    if variable.type.ndim != ndim:
        raise TypeError(format_error(f"{op}: {wanted}", context=[describe(variable)], hint=f"pass {ndim} dimensions"))


batch_rule.declare_absent(SparseOp, "sparse matrices have no dimension for a batch")
