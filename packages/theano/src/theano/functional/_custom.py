"""Derivatives that the user writes: they replace the derivatives of the computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from inspect import signature
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward
from theano_tensor.batching import run_in_a_loop
from theano_tensor.gradient import DisconnectedType, GradientGate, grad as grad_of

from ._derivatives import DerivativeError
from ._jit import Jitted
from ._programs import as_array
from ._trees import Parameters, flatten, is_leaf, leaves_like, n_leaves, unflatten

#: The functions whose `forward` is being called: they act then as plain functions.
_computed: ContextVar[frozenset[Any]] = ContextVar("theano_custom_vjp", default=frozenset())


class DifferentiatedAs(GradientGate):
    """The value of the first input, with the derivatives of the second one.

    The second is not computed where no derivative is taken: rewriting removes gates, and leaves their first input.
    """

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op to a value and an expression of the same type."""
        value, other = inputs
        return Apply(self, [value, other], [value.type()])

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the value."""
        return [shapes[0]]

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Say that derivatives are those of the second input."""
        return [[False], [True]]


@pullback.register(DifferentiatedAs)
def _pullback_of_gate(node: Apply[DifferentiatedAs], cotangents: list[Variable]) -> list[Variable | None]:
    return [DisconnectedType()(), cotangents[0]]


@pushforward.register(DifferentiatedAs)
def _pushforward_of_gate(node: Apply[DifferentiatedAs], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[1]]


def differentiated_as(value: Any, other: Any) -> Any:
    """Return a value with the derivatives of another expression for it."""
    return DifferentiatedAs()(value, value.type.narrow_variable(other))


class GivenPullback(Op):
    """Stands for results in derivatives: its pullback is a function of the user.

    The inputs are `n_points` variables that derivatives are with respect to, then the results' values, then the
    residuals of the function.
    """

    __props__ = ("n_points", "n_results", "rule")

    def __init__(self, rule: Callable[..., Any], n_points: int, n_results: int) -> None:
        self.rule, self.n_points, self.n_results = rule, n_points, n_results

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op."""
        return Apply(self, list(inputs), [value.type() for value in self.values(inputs)])

    def values(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the values of the results among inputs."""
        return inputs[self.n_points : self.n_points + self.n_results]

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy the values."""
        for storage, value in zip(output_storage, self.values(inputs), strict=True):
            storage[0] = value.copy()

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shapes of the values."""
        return self.values(shapes)

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Say that results depend on the points."""
        return [[k < self.n_points] * self.n_results for k in range(len(node.inputs))]


batch_rule.register(GivenPullback)(run_in_a_loop)


@pullback.register(GivenPullback)
def _pullback_given(node: Apply[GivenPullback], cotangents: list[Variable]) -> list[Variable | None]:
    op = node.op
    seeds = [
        value.zeros_like() if isinstance(g.type, DisconnectedType) else g
        for g, value in zip(cotangents, op.values(node.inputs), strict=True)
    ]
    slopes = op.rule(node.inputs[: op.n_points], node.inputs[op.n_points + op.n_results :], seeds)
    return [*slopes, *(DisconnectedType()() for _ in node.inputs[op.n_points :])]


@pushforward.register(GivenPullback)
def _pushforward_given(node: Apply[GivenPullback], tangents: list[Variable | None]) -> list[Variable | None]:
    # The pullback is linear in cotangents; the derivative of its product with the tangents is that in the direction.
    op = node.op
    seeds: list[Any] = [value.zeros_like().copy() for value in op.values(node.inputs)]
    slopes = op.rule(node.inputs[: op.n_points], node.inputs[op.n_points + op.n_results :], seeds)
    terms = [(slope * v).sum() for slope, v in zip(slopes, tangents[: op.n_points], strict=True) if v is not None]
    if not terms:
        return [None] * len(seeds)
    return list(grad_of(sum(terms[1:], terms[0]), seeds, disconnected_inputs="ignore"))


class CustomVJP(Jitted):
    """A function whose gradient is written by the user; made by :func:`custom_vjp`."""

    __slots__ = ("_backward", "_first", "_forward", "_function")

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int]) -> None:
        self._function = function
        self._first = frozenset(nondiff_argnums)
        self._forward: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        names = [name.strip() for k, name in enumerate(Parameters(function, (), ()).names) if k in self._first]
        super().__init__(function, self._applied, Parameters(function, names, ()), {"mode": None})

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Say how the gradient is computed.

        Parameters
        ----------
        forward : callable
            It takes the arguments of the function, and returns the pair of its result and the residuals for
            `backward`, a container of values.
        backward : callable
            It takes the arguments in `nondiff_argnums`, the residuals of `forward`, and the cotangent of the result,
            in its structure. It returns the tuple of gradients by the other arguments, each in the structure of the
            argument; None stands for zeros.
        """
        self._forward, self._backward = forward, backward
        self.clear()

    def _applied(self, *args: Any, **kwargs: Any) -> Any:
        computed = _computed.get()
        if self in computed:
            return self._function(*args, **kwargs)
        if self._forward is None or self._backward is None:
            raise DerivativeError(
                format_error(
                    f"custom_vjp: {self._name} has no derivative yet",
                    hint=f"call {self._name}.defvjp(forward, backward)",
                )
            )
        call = signature(self._function).bind(*args, **kwargs)
        call.apply_defaults()
        leaves, structure = flatten([x for k, x in enumerate(call.args) if k not in self._first])
        leaves = [as_array(x) if is_leaf(x) else x for x in leaves]
        remaining = iter(unflatten(structure, leaves))
        arranged = [x if k in self._first else next(remaining) for k, x in enumerate(call.args)]
        token = _computed.set(computed | {self})
        try:
            pair = self._forward(*arranged, **call.kwargs)
        finally:
            _computed.reset(token)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise DerivativeError(
                format_error("custom_vjp: forward returned no pair", hint="return (result, residuals for backward)")
            )
        residuals, residual_structure = flatten(pair[1])
        values, result_structure = flatten(pair[0])
        values = [as_array(y) for y in values]
        chosen = [k for k, x in enumerate(leaves) if is_leaf(x) and np.dtype(x.dtype).kind in "fc"]
        variables = [k for k, x in enumerate(residuals) if isinstance(x, Variable)]
        first = [x for k, x in enumerate(call.args) if k in self._first]
        backward = self._backward

        def rule(points: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            filled = list(residuals)
            for k, x in zip(variables, inputs, strict=True):
                filled[k] = x
            slopes = backward(*first, unflatten(residual_structure, filled), unflatten(result_structure, cotangents))
            by_leaf = _slopes(slopes, structure, len(leaves))
            return [_fitted(by_leaf[k], x) for k, x in zip(chosen, points, strict=True)]

        inputs = [*(leaves[k] for k in chosen), *values, *(residuals[k] for k in variables)]
        others = GivenPullback(rule, len(chosen), len(values))(*inputs, return_list=True) if values else []
        return unflatten(result_structure, list(map(differentiated_as, values, others)))


def _slopes(slopes: Any, structure: Any, n: int) -> list[Any]:
    """Return the gradient that `backward` returned for each leaf of the arguments; None for zeros."""
    children: Sequence[Any] = structure[1]
    if not isinstance(slopes, (tuple, list)) or len(slopes) != len(children):
        raise DerivativeError(
            format_error(
                f"custom_vjp: backward returned {type(slopes).__name__}, no tuple of {len(children)} gradients",
                hint="return one gradient for each argument, None for zeros",
            )
        )
    by_leaf: list[Any] = []
    for slope, child in zip(slopes, children, strict=True):
        if slope is None:
            by_leaf += [None] * n_leaves(child)
        else:
            by_leaf += leaves_like(child, slope, "custom_vjp: backward", "the argument")
    assert len(by_leaf) == n, "there is one for each leaf"
    return by_leaf


def _fitted(slope: Any, point: Any) -> Any:
    if slope is None:
        return point.zeros_like()
    slope = as_array(slope)
    if slope.ndim != point.ndim:
        raise DerivativeError(
            format_error(
                f"custom_vjp: backward returned a gradient of {slope.ndim} dimensions, not {point.ndim}",
                context=[describe(slope), describe(point)],
                hint="a gradient has the shape of its argument",
            )
        )
    return slope.astype(point.dtype)


def custom_vjp(function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> CustomVJP:
    """Return a function whose gradient is written by the user.

    Parameters
    ----------
    function : callable
    nondiff_argnums : sequence of int
        Positions of static arguments, which `backward` gets first.

    Returns
    -------
    CustomVJP
        Its method `defvjp` takes the functions `forward` and `backward`.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> from theano.functional import custom_vjp
    >>> log1pexp = custom_vjp(lambda x: T.log(1 + T.exp(x)))
    >>> log1pexp.defvjp(lambda x: (T.log(1 + T.exp(x)), x), lambda x, g: (g * T.sigmoid(x),))
    >>> float(theano.grad(log1pexp)(1000.0))
    1.0
    """
    return CustomVJP(function, nondiff_argnums)
