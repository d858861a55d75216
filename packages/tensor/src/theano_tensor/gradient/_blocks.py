"""Identity ops that change the propagated cotangent: nothing, zero, an error, a clipped or a scaled gradient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from theano_graph import Apply, Op, Variable, batch_rule, format_error, pullback, pushforward

from .._core._dtypes import TensorLike
from ._supports import zeros_for
from ._types import DisconnectedType, grad_undefined

VariableT = TypeVar("VariableT", bound=Variable)


class GradientGate(Op):
    """The value of its input, as a view. Rewriting removes it once gradients have been taken.

    Subclasses differ in their gradient only.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: TensorLike) -> Apply[Self]:
        """Apply the op to one variable.

        Raises
        ------
        TypeError
            If there is not exactly one input, or it is no variable.
        """
        if len(inputs) != 1 or not isinstance(inputs[0], Variable):
            raise TypeError(format_error(f"{self} takes one variable, got {inputs!r}", hint="pass a symbolic variable"))
        return Apply(self, [inputs[0]], [inputs[0].type()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pass the value on."""
        output_storage[0][0] = inputs[0]

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the input."""
        return list(shapes)


class DisconnectedGrad(GradientGate):
    """A gate that disconnects: the cost does not depend on the variables behind it."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the output does not depend on the input differentiably."""
        return [[False]]


class ZeroGrad(GradientGate):
    """A gate that passes a gradient of zero."""


class UndefinedGrad(GradientGate):
    """A gate whose gradient is an error."""


class GradClip(GradientGate):
    """A gate that clips each element of the gradient to an interval."""

    __props__ = ("lower", "upper")

    def __init__(self, lower: float, upper: float) -> None:
        if not lower <= upper:
            raise ValueError(
                format_error(f"grad_clip: the lower bound {lower} is above the upper bound {upper}", hint="swap them")
            )
        self.lower = lower
        self.upper = upper


class GradScale(GradientGate):
    """A gate that multiplies the gradient by a number."""

    __props__ = ("multiplier",)

    def __init__(self, multiplier: float) -> None:
        self.multiplier = multiplier


@batch_rule.register(GradientGate)
def _batch(node: Apply[GradientGate], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [node.op(inputs[0])]


@pullback.register(DisconnectedGrad)
def _pullback_disconnected(node: Apply[DisconnectedGrad], cotangents: list[Variable]) -> list[Variable | None]:
    return [DisconnectedType()()]


@pullback.register(ZeroGrad)
def _pullback_zero(node: Apply[ZeroGrad], cotangents: list[Variable]) -> list[Variable | None]:
    return [zeros_for(node.inputs[0])]


@pullback.register(UndefinedGrad)
def _pullback_undefined(node: Apply[UndefinedGrad], cotangents: list[Variable]) -> list[Variable | None]:
    return [grad_undefined(node.op, 0, node.inputs[0], "it was declared so with `undefined_grad`")]


@pullback.register(GradClip)
def _pullback_clip(node: Apply[GradClip], cotangents: list[Variable]) -> list[Variable | None]:
    gradient: Any = cotangents[0]
    return [gradient.clip(node.op.lower, node.op.upper).astype(gradient.type.dtype)]


@pullback.register(GradScale)
def _pullback_scale(node: Apply[GradScale], cotangents: list[Variable]) -> list[Variable | None]:
    gradient: Any = cotangents[0]
    return [(gradient * node.op.multiplier).astype(gradient.type.dtype)]


@pushforward.register(DisconnectedGrad)
def _pushforward_disconnected(node: Apply[DisconnectedGrad], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@pushforward.register(ZeroGrad)
def _pushforward_zero(node: Apply[ZeroGrad], tangents: list[Variable | None]) -> list[Variable | None]:
    return [zeros_for(node.outputs[0])]


@pushforward.register(UndefinedGrad)
def _pushforward_undefined(node: Apply[UndefinedGrad], tangents: list[Variable | None]) -> list[Variable | None]:
    return list(_pullback_undefined(node, []))


@pushforward.register(GradClip, GradScale)
def _pushforward_same(node: Apply[GradClip | GradScale], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


def disconnected_grad(x: VariableT) -> VariableT:
    """Return the value of `x`, cut off from differentiation.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the type of `x`. A cost depends on `x` through it in value only: by default `grad` raises
        DisconnectedInputError where there is no other way.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(x * theano.gradient.disconnected_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return _gate(DisconnectedGrad(), x)


def zero_grad(x: VariableT) -> VariableT:
    """Return the value of `x`, with a gradient of zero.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        Of the type of `x`. Unlike :func:`disconnected_grad` it stays connected.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(x * theano.gradient.zero_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return _gate(ZeroGrad(), x)


def undefined_grad(x: VariableT) -> VariableT:
    """Return the value of `x`; asking for a gradient through it raises :class:`GradUndefinedError`.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.gradient.undefined_grad(x).eval({x: 3.0})
    array(3.)
    """
    return _gate(UndefinedGrad(), x)


def grad_clip(x: VariableT, lower_bound: float, upper_bound: float) -> VariableT:
    """Return the value of `x`; each element of a gradient through it is clipped.

    Parameters
    ----------
    x : Variable
    lower_bound, upper_bound : float

    Returns
    -------
    Variable
        Of the type of `x`.

    Raises
    ------
    ValueError
        If the bounds are in the wrong order.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> gx = T.grad(T.grad_clip(x, -1, 1) ** 2, x)
    """
    return _gate(GradClip(lower_bound, upper_bound), x)


def grad_scale(x: VariableT, multiplier: float) -> VariableT:
    """Return the value of `x`; a gradient through it is multiplied.

    Parameters
    ----------
    x : Variable
    multiplier : float
        For instance -1.0 to negate the gradient.

    Returns
    -------
    Variable
        Of the type of `x`.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(theano.gradient.grad_scale(x, 10.0), x).eval({x: 3.0})
    array(10.)
    """
    return _gate(GradScale(multiplier), x)


def consider_constant(x: VariableT) -> VariableT:
    """Return the value of `x`, with a gradient of zero. Deprecated: use :func:`zero_grad` or :func:`disconnected_grad`.

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> theano.grad(x * theano.gradient.consider_constant(x), x).eval({x: 3.0})
    array(3.)
    """
    warnings.warn(
        "consider_constant is deprecated; use zero_grad or disconnected_grad", DeprecationWarning, stacklevel=2
    )
    return zero_grad(x)


def _gate(op: GradientGate, x: VariableT) -> VariableT:
    gated: VariableT = op(x)
    return gated
