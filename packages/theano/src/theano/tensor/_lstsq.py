"""The name `lstsq`: a function here, and the class of an op in Theano 1.0."""

from __future__ import annotations

from typing import Any

from theano_tensor.linalg import Lstsq, lstsq as _solution


class lstsq(Lstsq):
    """Least squares: ``lstsq(a, b, rcond)`` gives the results, ``lstsq()`` the op that does.

    Examples
    --------
    >>> lstsq()([[1.0], [1.0]], [1.0, 3.0], -1.0)[0].eval()
    array([2.])
    >>> lstsq([[1.0], [1.0]], [1.0, 3.0])[0].eval()
    array([2.])
    """

    __props__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an op, or with arguments its results."""
        return _solution(*args, **kwargs) if args or kwargs else super().__new__(cls)
