"""The name `lstsq`: a function here, and the class of an op in Theano 1.0."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply
from theano_tensor import ShapeError, TensorType, as_tensor_variable
from theano_tensor.linalg import Lstsq, lstsq as _solution


class lstsq(Lstsq):
    """Least squares: ``lstsq(a, b, rcond)`` gives the results, ``lstsq()`` the op that does.

    Examples
    --------
    >>> from theano.tensor import nlinalg
    >>> nlinalg.lstsq()([[1.0], [1.0]], [1.0, 3.0], -1.0)[0].eval()
    array([2.])
    >>> nlinalg.lstsq([[1.0], [1.0]], [1.0, 3.0])[0].eval()
    array([2.])
    """

    __props__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an op, or with arguments its results."""
        return _solution(*args, **kwargs) if args or kwargs else super().__new__(cls)

    def make_node(self, a: Any, b: Any, rcond: Any) -> Apply:
        """Apply to a matrix, a vector or matrix, and a number; LinAlgError at run time for other dimensions."""
        try:
            return super().make_node(a, b, rcond)
        except ShapeError:
            inputs = [as_tensor_variable(x) for x in (a, b, rcond)]
            kinds = (("float64", 2), ("float64", 1), ("int64", 0), ("float64", 1))
            return Apply(self, inputs, [TensorType(dtype, (None,) * ndim).make_variable() for dtype, ndim in kinds])
