"""The distributions that streams offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import DTypeLike, ShapeLike, TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..shape import lengths_of
from ..sorting import along_axis
from . import _distributions as draws
from ._variable import RandomVariable, as_random_variable


class RandomStreamsBase(ABC):
    """The common part of all streams over NumPy's generators: a method for each distribution.

    All take `size`, the shape of the draw: an int, a sequence of ints and integer scalars, or a symbolic vector (with
    `ndim` where its length is not known). Without it, the common shape of the parameters decides. Draws follow NumPy.
    """

    @abstractmethod
    def gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the draw of ``op(state, *args, **kwargs)`` from a new state of this object."""

    def uniform(
        self,
        size: ShapeLike | None = (),
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> RandomVariable:
        """Draw from the uniform distribution over ``[low, high[``."""
        return self._gen(draws.uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(
        self,
        size: ShapeLike | None = (),
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> RandomVariable:
        """Draw from the normal distribution with mean `avg` and standard deviation `std`."""
        return self._gen(draws.normal, size, avg, std, ndim=ndim, dtype=dtype)

    def binomial(
        self,
        size: ShapeLike | None = (),
        n: TensorLike = 1,
        p: TensorLike = 0.5,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        prob: TensorLike | None = None,
    ) -> RandomVariable:
        """Draw how many of `n` trials succeed with probability `p` (also called `prob`)."""
        return self._gen(draws.binomial, size, n, p if prob is None else prob, ndim=ndim, dtype=dtype)

    def random_integers(
        self,
        size: ShapeLike | None = (),
        low: TensorLike = 0,
        high: TensorLike = 1,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw integers from `low` to `high`, both of them included; the bounds may be tensors."""
        return self._gen(draws.random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(
        self,
        size: ShapeLike | None = (),
        a: TensorLike = 2,
        replace: TensorLike = True,
        p: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw from the integers below a scalar `a` or from a vector, with probabilities `p`."""
        return self._gen(draws.choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(
        self,
        size: ShapeLike | None = (),
        lam: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw from the Poisson distribution with mean `lam`, 1 by default."""
        return self._gen(draws.poisson, size, lam, ndim=ndim, dtype=dtype)

    def permutation(
        self, size: ShapeLike | None = (), n: TensorLike = 1, ndim: int | None = None, dtype: DTypeLike = "int64"
    ) -> RandomVariable:
        """Draw permutations of the integers below `n`: ``size=(p, q)`` gives a draw of shape ``(p, q, n)``."""
        return self._gen(draws.permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(
        self,
        size: ShapeLike | None = (),
        n: TensorLike = 1,
        pvals: TensorLike = (0.5, 0.5),
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw counts of categories in `n` trials: ``size=(p, q)`` gives a draw of shape ``(p, q, len(pvals))``."""
        return self._gen(draws.multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    def shuffle_row_elements(self, input: TensorLike) -> RandomVariable:
        """Return `input` with the elements of every row (along the last dimension) in random order.

        Parameters
        ----------
        input : tensor_like
            Of at least one dimension.

        Returns
        -------
        RandomVariable
            Its attribute `permutation` is the draw by which the rows were shuffled.

        Raises
        ------
        ShapeError
            If `input` is a scalar.
        """
        x = as_tensor_variable(input)
        if not x.type.ndim:
            raise ShapeError(
                format_error(
                    "shuffle_row_elements: a scalar has no rows", context=[describe(x)], hint="pass a vector at least"
                )
            )
        *rows, last = lengths_of(x)
        permutation = self.permutation(size=tuple(rows) or None, n=last, ndim=len(rows) or None)
        shuffled = as_random_variable(permute_row_elements(x, permutation))
        shuffled.permutation = permutation
        return shuffled

    def _gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> RandomVariable:
        variable: RandomVariable = self.gen(op, *args, **kwargs)
        return variable


def permute_row_elements(x: TensorLike, permutation: TensorLike) -> Tensor:
    """Return `x` with the elements of each row (along the last dimension) in the order that a permutation gives.

    Parameters
    ----------
    x : tensor_like
    permutation : tensor_like of int
        A permutation for each row, or one for all.

    Returns
    -------
    Tensor
        Gradients go to the places that the elements came from.
    """
    variable, order = as_tensor_variable(x), as_tensor_variable(permutation)
    missing = variable.type.ndim - order.type.ndim
    if missing > 0:
        order = order.dimshuffle(["x"] * missing + list(range(order.type.ndim)))
    result: Tensor = variable[along_axis(variable, order, variable.type.ndim - 1)]
    return result
