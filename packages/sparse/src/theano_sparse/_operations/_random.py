"""Random sparse matrices, drawn anew at each call from NumPy's global generator. None of these has a gradient."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward
from theano_tensor import as_tensor_variable
from theano_tensor.gradient import grad_undefined

from .._core._op import SparseOp, as_sparse_variable
from .._core._type import Operand, SparseType


class _Draw(SparseOp):
    """Base of the draws: each application is one of its own, so that two of them are never merged."""

    __props__: ClassVar[tuple[str, ...] | None] = None

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: each call draws anew."""
        return False


class Poisson(_Draw):
    """Poisson numbers whose means are the stored elements of a sparse matrix; 0 where nothing is stored."""

    like: ClassVar[int | None] = 0

    def make_node(self, x: Operand) -> Apply:
        """Apply to a sparse matrix of means."""
        matrix = as_sparse_variable(x)
        return Apply(Poisson(), [matrix], [matrix.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Draw."""
        result = values[0].copy()
        result.data = np.random.poisson(result.data).astype(result.dtype)  # noqa: NPY002  # seeded by np.random.seed, as documented
        result.eliminate_zeros()
        return result


class Binomial(_Draw):
    """Numbers of successes, most of them none.

    Parameters
    ----------
    format : {"csc", "csr"}
    dtype : str
        Of the result.
    """

    def __init__(self, format: str, dtype: str) -> None:
        SparseType(format, dtype)
        self.format = format
        self.dtype = dtype

    def make_node(self, n: Operand, p: Operand, shape: Operand) -> Apply:
        """Apply to the number of trials, the chance of success, and the two lengths."""
        inputs = [as_tensor_variable(part) for part in (n, p, shape)]
        for variable, ndim in zip(inputs, (0, 0, 1), strict=True):
            if variable.type.ndim != ndim:
                raise TypeError(
                    format_error(
                        "Binomial takes two numbers and the two lengths of a matrix",
                        context=[describe(variable)],
                        hint="pass n, p and (rows, columns)",
                    )
                )
        return Apply(Binomial(self.format, self.dtype), inputs, [SparseType(self.format, self.dtype).make_variable()])

    def lengths(self, node: Apply[Self]) -> Any:
        """Return the last input."""
        return node.inputs[2]

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Draw."""
        n, p, shape = values
        drawn = np.random.binomial(int(n), float(p), size=tuple(int(length) for length in shape))  # noqa: NPY002  # seeded by np.random.seed, as documented
        return scipy.sparse.csr_matrix(drawn).asformat(self.format)


class Multinomial(_Draw):
    """For each row, how many of n trials fall on each stored element of a csr matrix of chances."""

    like: ClassVar[int | None] = 1

    def make_node(self, n: Operand, p: Operand) -> Apply:
        """Apply to the number of trials, one for all rows or one for each, and a csr matrix whose rows sum to 1."""
        trials, chances = as_tensor_variable(n), as_sparse_variable(p)
        if chances.type.format != "csr":
            raise TypeError(
                format_error(
                    "Multinomial works on rows", context=[describe(chances)], hint="pass the chances as a csr matrix"
                )
            )
        if trials.type.ndim > 1:
            raise TypeError(format_error("Multinomial: n is a number or a vector", context=[describe(trials)]))
        return Apply(Multinomial(), [trials, chances], [chances.type.make_variable()])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Draw row by row."""
        n, p = values
        result = p.copy()
        trials = np.broadcast_to(n, (p.shape[0],))
        for row, (start, stop) in enumerate(zip(p.indptr[:-1], p.indptr[1:], strict=True)):
            if start < stop:
                result.data[start:stop] = np.random.multinomial(int(trials[row]), p.data[start:stop])  # noqa: NPY002  # seeded by np.random.seed, as documented
        return result


@pullback.register(_Draw)
def _pullback_draw(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [grad_undefined(node.op, i, x, "random numbers have no derivative") for i, x in enumerate(node.inputs)]


@pushforward.register(_Draw)
def _pushforward_draw(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


poisson = Poisson()
multinomial = Multinomial()
csc_fbinomial = Binomial("csc", "float32")
csc_dbinomial = Binomial("csc", "float64")
csr_fbinomial = Binomial("csr", "float32")
csr_dbinomial = Binomial("csr", "float64")
