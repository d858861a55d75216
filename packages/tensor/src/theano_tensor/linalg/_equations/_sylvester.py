"""Sylvester's equation with matrices in the form of Schur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, pullback, shape_rule
from theano_linker_c.scalar import upcast

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import COMPLEX_DTYPES, TensorLike
from ..._core._type import Tensor, tensor_type
from ...creation import triu
from ...elemwise import cast
from ...linear import matmul
from .._matrices._lazy import scipy_linalg
from .._matrices._operands import MatrixOp, adjoint, as_matrices, check_square


class TriangularSylvester(MatrixOp):
    """The solution x of ``a @ x + x @ b == c``, where a and b are forms of Schur.

    What is below the blocks of the diagonals of a and b is not read, and has no gradient.

    Parameters
    ----------
    adjoint : bool
        Whether the equation is that of the adjoints of a and b.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import slinalg
    >>> slinalg.TriangularSylvester(adjoint=True)([[1.0]], [[2.0]], [[6.0]]).eval()
    array([[2.]])
    """

    __props__ = ("adjoint",)

    def __init__(self, adjoint: bool = False) -> None:
        self.adjoint = bool(adjoint)

    def make_node(self, a: TensorLike, b: TensorLike, c: TensorLike) -> Apply[Self, Tensor]:
        """Apply to matrices, or stacks of as many dimensions; ShapeError if a or b is known not to be square."""
        parts = [as_matrices("sylvester", x, square=k < 2) for k, x in enumerate((a, b, c))]
        dtype = upcast(*(part.type.dtype for part in parts))
        parts = [cast(part, dtype) for part in parts]
        return Apply(self, parts, [tensor_type(dtype, parts[2].type.shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Solve with LAPACK."""
        a, b, c = inputs
        check_square("sylvester", node, a)
        check_square("sylvester", node, b)
        result = np.zeros(c.shape, c.dtype)
        if c.size:
            (trsyl,) = scipy_linalg().get_lapack_funcs(("trsyl",), (a, b, c))
            trans = "N" if not self.adjoint else "C" if c.dtype.kind == "c" else "T"
            for place in np.ndindex(c.shape[:-2]):
                x, scale, _ = trsyl(a[place], b[place], c[place], trana=trans, tranb=trans)
                result[place] = x / scale
        output_storage[0][0] = result


@pullback.register(TriangularSylvester)
def _pullback(node: Apply[TriangularSylvester, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    a, b, _ = node.inputs
    x = as_tensor_variable(node.outputs[0])
    by_c: Tensor = TriangularSylvester(not node.op.adjoint)(a, b, cotangents[0])
    first = matmul(x, adjoint(by_c)) if node.op.adjoint else matmul(by_c, adjoint(x))
    second = matmul(adjoint(by_c), x) if node.op.adjoint else matmul(adjoint(x), by_c)
    # Real forms have blocks of two rows.
    below = 0 if x.type.dtype in COMPLEX_DTYPES else -1
    return [-triu(first, below), -triu(second, below), by_c]


@shape_rule.register(TriangularSylvester)
def _shape(node: Apply[TriangularSylvester, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[2]]


def solve_triangular_sylvester(a: TensorLike, b: TensorLike, c: TensorLike) -> Tensor:
    """Return the solution x of ``a @ x + x @ b == c``, where a and b are forms of Schur.

    Parameters
    ----------
    a : tensor_like, shape (..., M, M)
    b : tensor_like, shape (..., N, N)
    c : tensor_like, shape (..., M, N)

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.slinalg.solve_triangular_sylvester([[1.0, 1.0], [0.0, 2.0]], [[1.0]], [[4.0], [3.0]]).eval()
    array([[1.5],
           [1. ]])
    """
    result: Tensor = TriangularSylvester()(a, b, c)
    return result
