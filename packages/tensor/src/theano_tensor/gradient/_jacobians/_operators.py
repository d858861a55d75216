"""Products of Jacobians with vectors, and gradients of parts of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Variable, ancestors, describe, format_error

from ..._core._typing import Outputs
from .._accumulation._forward import forward
from .._accumulation._grad import (
    Disconnected,
    OnDisconnected,
    check_option,
    differentiate,
    format_as,
    grad,
    known_gradient,
    report_disconnected,
)
from .._rules._arrays import cast_to, cotangent_dtype, dtype_of, is_continuous, static_shape, total, zeros_for
from .._rules._errors import DerivativeValueError, DisconnectedInputError, NullTypeGradError
from .._rules._types import DisconnectedType, NullType
from ._evaluation_point import EvaluationPoint


def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
) -> Outputs:
    """Multiply the Jacobian of `f` with respect to `wrt` by `eval_points` from the left.

    Parameters
    ----------
    f : Variable, or list or tuple of Variable
    wrt : Variable, or list or tuple of Variable
    eval_points : Variable, or list or tuple of Variable
        One for each of `f`, of its shape.
    consider_constant : sequence of Variable, optional
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        As for :func:`grad`.

    Returns
    -------
    Variable, or list or tuple of Variable
        One for each of `wrt` and of its shape: ``sum_i eval_points[i] * d f[i] / d wrt[j]``.

    Raises
    ------
    ValueError
        If the numbers of `f` and `eval_points` differ.
    TypeError
        If an evaluation point has another number of dimensions than its `f`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, v = T.dvector("x"), T.dvector("v")
    >>> vJ = T.Lop(T.exp(x), x, v)
    """
    outputs, points = _listed(f), _listed(eval_points)
    _check_points(outputs, points, "f")
    check_option("disconnected_inputs", disconnected_inputs, ("ignore", "warn", "raise"))
    seeds: dict[Variable, Variable] = {}
    for output, point in zip(outputs, points, strict=True):
        term = known_gradient(output, point)
        seeds[output] = total([seeds[output], term]) if output in seeds else term
    results = differentiate(None, seeds, _listed(wrt), consider_constant, disconnected_inputs, additive=True)
    products: Outputs = _as_given(wrt, results)
    return products


def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: OnDisconnected = "raise",
    return_disconnected: Disconnected = "zero",
) -> Outputs:
    """Multiply the Jacobian of `f` with respect to `wrt` by `eval_points` from the right.

    Parameters
    ----------
    f : Variable, or list or tuple of Variable
    wrt : Variable, or list or tuple of Variable
    eval_points : Variable, or list or tuple of Variable
        One for each of `wrt`, of its shape.
    disconnected_outputs : {'raise', 'warn', 'ignore'}
        The reaction to an `f` that depends on none of `wrt`.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        The product of such an `f`.

    Returns
    -------
    Variable, or list or tuple of Variable
        One for each of `f` and of its shape: ``sum_j d f[i] / d wrt[j] * eval_points[j]``.

    Raises
    ------
    ValueError
        If the numbers of `wrt` and `eval_points` differ, or an evaluation point has another number of dimensions.
    DisconnectedInputError
        If an `f` depends on none of `wrt` and `disconnected_outputs` is 'raise'.
    NullTypeGradError
        If an op on the way has no derivative.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, v = T.dvector("x"), T.dvector("v")
    >>> Jv = T.Rop(T.exp(x), x, v)
    """
    sources, points = _listed(wrt), _listed(eval_points)
    check_option("disconnected_outputs", disconnected_outputs, ("ignore", "warn", "raise"))
    check_option("return_disconnected", return_disconnected, ("zero", "None", "Disconnected"))
    _check_points(sources, points, "wrt")
    outputs = _listed(f)
    tangents: dict[Variable, Variable] = {}
    for source, point in zip(sources, points, strict=True):
        direction = cast_to(point, cotangent_dtype(source)) if is_continuous(point) else point
        tangents[source] = EvaluationPoint()(direction, source)
    results: list[Variable | None] = []
    unanswered: set[Variable] = set()
    for output, tangent in zip(outputs, forward(outputs, tangents, unanswered), strict=True):
        if tangent is None:
            reached = set(ancestors([output]))
            if sources and is_continuous(output) and not reached.isdisjoint(sources) and reached.isdisjoint(unanswered):
                # A source is in the graph, but its value does not matter: the gradient of something linear.
                results.append(zeros_for(output))
                continue
            _report_output(output, sources, disconnected_outputs)
            results.append(_stand_in(output, return_disconnected))
        elif isinstance(tangent.type, NullType):
            raise tangent.type.error(
                format_error(f"the derivative of `{output}` cannot be computed: {tangent.type.reason}")
            )
        else:
            results.append(tangent)
    products: Outputs = _as_given(f, results)
    return products


def _report_output(output: Variable, sources: Sequence[Variable], policy: OnDisconnected) -> None:
    if not sources:
        raise DisconnectedInputError(
            format_error(f"Rop of `{output}` with respect to nothing", hint="give at least one `wrt`")
        )
    report_disconnected(sources[0], [output], (), policy)


def _stand_in(output: Variable, kind: Disconnected) -> Variable | None:
    if kind == "zero":
        return zeros_for(output)
    if kind == "None":
        return None
    disconnected: Variable = DisconnectedType()()
    return disconnected


def _listed(value: Any) -> list[Variable]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Variable):
            raise TypeError(
                format_error(f"{item!r} ({type(item).__name__}) is no variable", hint="pass symbolic variables")
            )
    return items


def _as_given(model: Any, results: list[Any]) -> Any:
    if isinstance(model, (list, tuple)):
        return format_as(isinstance(model, list), isinstance(model, tuple), results)
    return results[0]


def _check_points(variables: Sequence[Variable], points: Sequence[Variable], name: str) -> None:
    if len(variables) != len(points):
        raise DerivativeValueError(
            format_error(
                f"{len(points)} evaluation points for {len(variables)} variables in `{name}`", hint="give one for each"
            )
        )
    for variable, point in zip(variables, points, strict=True):
        expected, got = static_shape(variable), static_shape(point)
        if expected is not None and got is not None and len(expected) != len(got):
            raise ValueError(
                format_error(
                    f"the evaluation point of `{variable}` has {len(got)} dimensions, not {len(expected)}",
                    context=[describe(variable), describe(point)],
                    hint="give it the shape of its variable",
                )
            )
        if dtype_of(point) is None:
            raise NullTypeGradError(format_error(f"the evaluation point `{point}` of `{variable}` holds no numbers"))


def subgraph_grad(
    wrt: Sequence[Variable],
    end: Sequence[Variable],
    start: Mapping[Variable, Variable] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> Any:
    """Differentiate a part of a graph, from `cost` and `start` back to `end`.

    Parameters
    ----------
    wrt : sequence of Variable
    end : sequence of Variable
        Propagation stops at these.
    start : mapping, optional
        Variable -> its known gradient.
    cost : scalar Variable, optional
        May be None when `start` is given.
    details : bool
        Also return the parts of the gradients with respect to `wrt` that come from `start` and from `cost`.

    Returns
    -------
    tuple of lists of Variable
        Gradients with respect to `wrt` and `end`; with `details`, also those of `start` and of `cost` with
        respect to `wrt`. A disconnected variable gets zeros.

    Raises
    ------
    ValueError
        If neither `cost` nor `start` is given.
    """
    if cost is None and not start:
        raise DerivativeValueError(
            format_error(
                "subgraph_grad needs a cost or a start", hint="give the cost, or known gradients to start from"
            )
        )
    targets = [*wrt, *end]

    def part(of: Variable | None, known: Mapping[Variable, Variable] | None) -> list[Variable] | None:
        if of is None and not known:
            return None
        gradients: list[Variable] = grad(
            of,
            targets,
            consider_constant=list(end),
            disconnected_inputs="ignore",
            known_grads=known,
            add_names=False,
        )
        return gradients

    from_start, from_cost = part(None, start), part(cost, None)
    if from_start is None or from_cost is None:
        both = from_start or from_cost or []
    else:
        both = [total([a, b]) for a, b in zip(from_start, from_cost, strict=True)]
    n = len(wrt)
    if not details:
        return both[:n], both[n:]
    return both[:n], both[n:], (from_start or [])[:n], (from_cost or [])[:n]
