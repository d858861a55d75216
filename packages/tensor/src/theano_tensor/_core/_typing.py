"""Types for type checkers: arguments for a tensor, a dtype, axes and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    import numpy as np

    from theano_graph import Apply, Variable

    from ._variable import Tensor

    class Outputs(Tensor, Any):  # type: ignore[misc]  # which of the two it is, checkers cannot know
        """One tensor, or the list of several: it has the attributes of a tensor and stands wherever a list does."""

    class SupportsArray(Protocol):
        """An object that NumPy can make an array of."""

        def __array__(self) -> np.ndarray[Any, Any]: ...

else:
    Outputs = Any

#: An array, or a NumPy number, while something is computed.
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
#: The arguments of :func:`as_tensor_variable`.
TensorLike: TypeAlias = "Variable | Apply | complex | SupportsArray | Sequence[Any]"
#: The name of a dtype, or NumPy's object for one.
DTypeLike: TypeAlias = "str | np.dtype[Any] | type[Any]"
#: One axis, several, or None where that means all of them.
AxisLike: TypeAlias = "int | np.integer[Any] | Variable | Array | Sequence[Any] | None"
#: A length, or several.
ShapeLike: TypeAlias = "TensorLike"
#: The index in ``x[...]``.
IndexLike: TypeAlias = "TensorLike | slice[Any, Any, Any] | EllipsisType | None"
