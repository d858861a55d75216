"""What operations on sparse matrices take, as types for type checkers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from theano_graph import Apply, Variable

    class Matrix(Protocol):
        """A matrix of SciPy, as far as it matters here; SciPy has no types of its own."""

        format: str
        shape: tuple[int, ...]
        dtype: np.dtype[Any]
        nnz: int


#: A sparse or dense variable, or what becomes one.
Operand: TypeAlias = "Variable | Apply | Matrix | np.ndarray[Any, Any] | np.generic | complex | Sequence[Any]"
