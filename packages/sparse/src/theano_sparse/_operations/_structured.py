"""Functions of the stored elements, and sums of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_tensor import alloc, as_tensor_variable

from .._core._conversion import SparseFromDense, without_duplicates
from .._core._op import SparseOp, as_sparse_variable, dense
from .._core._structure import csm_data, csm_shape, stored_positions, with_data
from .._core._type import Operand, _Operators

# ---- Functions of the stored elements alone. All have structured gradients: only stored elements have one


def structured_monoid(
    function: Callable[..., Any], name: str | None = None, doc: str | None = None
) -> Callable[..., Any]:
    """Return the function of sparse matrices that applies `function` to the stored elements.

    Elements stored several times at one position are added up before.

    Parameters
    ----------
    function : callable
        Of a vector and maybe numbers to a vector of the same length.
    name, doc : str, optional
        Name and docstring of the result.

    Examples
    --------
    >>> from theano import sparse
    >>> cube = sparse.structured_monoid(lambda v: v**3)
    >>> cube(sparse.csr_matrix("x")).type
    SparseType('csr', 'float64')
    """

    def apply(x: Any, *numbers: Any) -> Any:
        matrix = without_duplicates(x)
        arguments = [as_tensor_variable(number) for number in numbers]
        for number in arguments:
            if number.type.ndim:
                raise TypeError(
                    format_error(
                        f"{name or 'this function'} of a sparse matrix takes numbers beside it",
                        context=[describe(number)],
                        hint="pass a scalar",
                    )
                )
        return with_data(matrix, function(csm_data(matrix), *arguments))

    if name:
        apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc or "Apply a function to the stored elements of a sparse matrix. Structured gradient."
    return apply


#: Docstring of a function of stored elements.
_DESCRIBED = """Return {value} of each stored element, a sparse matrix. Structured gradient.

Parameters
----------
x : sparse matrix
*numbers : scalar tensor_like
    Further operands of the function, where it has some.

Returns
-------
SparseVariable
    In the format of `x`, with the same stored positions.

Examples
--------
>>> import theano
>>> x = theano.sparse.csr_matrix("x", dtype="float64")
>>> theano.sparse.{name}(x{operand}).type
SparseType('csr', 'float64')
"""


def _named(name: str, function: Callable[..., Any], what: str) -> Callable[..., Any]:
    operand = ", 2.0" if "number" in what else ""
    return structured_monoid(function, name, _DESCRIBED.format(value=what, name=name, operand=operand))


structured_sigmoid = _named("structured_sigmoid", T.sigmoid, "the logistic function")
structured_exp = _named("structured_exp", T.exp, "the exponential")
structured_log = _named("structured_log", T.log, "the natural logarithm")
structured_pow = _named("structured_pow", T.pow, "a power (the exponent is a number)")
structured_minimum = _named("structured_minimum", T.minimum, "the smaller one of it and a number")
structured_maximum = _named("structured_maximum", T.maximum, "the larger one of it and a number")
structured_add = _named("structured_add", T.add, "the sum with a number")
sin = _named("sin", T.sin, "the sine")
arcsin = _named("arcsin", T.arcsin, "the inverse sine")
tan = _named("tan", T.tan, "the tangent")
arctan = _named("arctan", T.arctan, "the inverse tangent")
sinh = _named("sinh", T.sinh, "the hyperbolic sine")
arcsinh = _named("arcsinh", T.arcsinh, "the inverse hyperbolic sine")
tanh = _named("tanh", T.tanh, "the hyperbolic tangent")
arctanh = _named("arctanh", T.arctanh, "the inverse hyperbolic tangent")
rad2deg = _named("rad2deg", T.rad2deg, "the angle in degrees")
deg2rad = _named("deg2rad", T.deg2rad, "the angle in radians")
rint = _named("rint", T.round_half_to_even, "the nearest integer")
ceil = _named("ceil", T.ceil, "the next larger integer")
floor = _named("floor", T.floor, "the next smaller integer")
trunc = _named("trunc", T.trunc, "the integer towards zero")
sgn = _named("sgn", T.sgn, "the sign")
log1p = _named("log1p", T.log1p, "log(1 + x)")
expm1 = _named("expm1", T.expm1, "exp(x) - 1")
sqr = _named("sqr", T.sqr, "the square")
sqrt = _named("sqrt", T.sqrt, "the square root")
abs_ = _named("abs_", T.abs_, "the absolute value")
real = _named("real", T.real, "the real part")
conjugate = _named("conj", T.conj, "the conjugate")

_Operators.table |= {"abs": abs_, "real": real}


# ---- Sums of sparse matrices


def sp_sum(x: Operand, axis: int | None = None, sparse_grad: bool = False) -> Any:
    """Return the sum of a sparse matrix along an axis, dense.

    Parameters
    ----------
    x : sparse matrix
    axis : {None, 0, 1}
        None: over all elements.
    sparse_grad : bool
        Whether the gradient is structured; regular by default. It is sparse in the format of `x` either way.

    Returns
    -------
    Tensor
        A number, or a vector.

    Raises
    ------
    ValueError
        For another axis.
    """
    return SpSum(axis, sparse_grad)(x)


class SpSum(SparseOp):
    """The sum of a sparse matrix along an axis, dense; see :func:`sp_sum`.

    Parameters
    ----------
    axis : {None, 0, 1}
    sparse_grad : bool
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("axis", "sparse_grad")

    def __init__(self, axis: int | None = None, sparse_grad: bool = True) -> None:
        if axis not in (None, 0, 1):
            raise ValueError(format_error(f"sp_sum: a matrix has no axis {axis!r}", hint="pass None, 0 or 1"))
        self.axis = axis
        self.sparse_grad = bool(sparse_grad)

    def make_node(self, x: Operand) -> Apply[Self]:
        """Apply to a sparse matrix."""
        matrix = as_sparse_variable(x)
        return Apply(self, [matrix], [dense(matrix.type.dtype, 0 if self.axis is None else 1)])

    def compute(self, node: Apply[Self], *values: Any) -> Any:
        """Add up."""
        total = values[0].sum(self.axis)
        return total if self.axis is None else np.asarray(total).ravel()


@pullback.register(SpSum)
def _pullback_sum(node: Apply[SpSum], cotangents: list[Variable]) -> list[Variable | None]:
    (x,), g = node.inputs, as_tensor_variable(cotangents[0])
    op, matrix = node.op, as_sparse_variable(x)
    if op.sparse_grad:
        matrix = without_duplicates(matrix)
        rows, columns = stored_positions(matrix)
        spread = csm_data(matrix).zeros_like() + g if op.axis is None else g[columns if op.axis == 0 else rows]
        return [with_data(matrix, spread)]
    lengths = csm_shape(matrix)
    value = g if op.axis is None else g.dimshuffle("x", 0) if op.axis == 0 else g.dimshuffle(0, "x")
    return [SparseFromDense(matrix.type.format)(alloc(value, lengths[0], lengths[1]))]


@pushforward.register(SpSum)
def _pushforward_sum(node: Apply[SpSum], tangents: list[Variable | None]) -> list[Variable | None]:
    result: Variable | None = None if tangents[0] is None else node.op(tangents[0])
    return [result]


@shape_rule.register(SpSum)
def _shape_sum(node: Apply[SpSum], input_shapes: list[Any]) -> list[Any]:
    lengths = csm_shape(node.inputs[0])
    return [() if node.op.axis is None else (lengths[1 - node.op.axis],)]


_Operators.table |= {"sum": sp_sum}
