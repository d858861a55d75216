"""Products with Jacobians: forward accumulation, reverse accumulation from any sources, and both operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from theano_graph import (
    Apply,
    Op,
    PureOp,
    Variable,
    ancestors,
    batch_rule,
    connection_pattern,
    describe,
    format_error,
    graph_inputs as leaves,
    origin_from,
    pullback,
    pushforward,
    toposort,
    variables_between,
)

from .._core._dtypes import Outputs
from .._core._ops import all_stacked
from .._errors import DerivativeValueError, DisconnectedInputError, NullTypeGradError, PullbackError
from ._backward import backward, pull_back
from ._blocks import GradientGate
from ._grad import (
    Disconnected,
    OnDisconnected,
    check_option,
    differentiate,
    format_as,
    grad,
    known_gradient,
    report_disconnected,
)
from ._supports import cast_to, cotangent_dtype, dtype_of, is_continuous, static_shape, total, zeros_for
from ._types import DisconnectedType, NullType, add_method, is_disconnected, is_null, written_method

# ---- Forward accumulation over a graph: tangents of results from given tangents. Linear in its size


def forward(
    outputs: Sequence[Variable], tangents: Mapping[Variable, Variable], unanswered: set[Variable] | None = None
) -> list[Variable | None]:
    """Return the tangents of `outputs`, None for one that depends on nothing that has a tangent.

    Parameters
    ----------
    outputs : sequence of Variable
    tangents : mapping
        Variable -> its tangent. Contributions to such a variable from others are left out.
    unanswered : set of Variable, optional
        Filled with variables for which an op of a program answered None, though one of its inputs has a tangent.
    """
    tangent_of = dict(tangents)
    for node in toposort(list(tangents), outputs):
        _push(node, tangent_of, set() if unanswered is None else unanswered)
    return [tangent_of.get(output) for output in outputs]


def _push(node: Apply, tangents: dict[Variable, Variable], unanswered: set[Variable]) -> None:
    tangents_of_inputs: list[Variable | None] = [tangents.get(v) for v in node.inputs]
    if all(t is None for t in tangents_of_inputs):
        return
    null = next((t for t in tangents_of_inputs if is_null(t)), None)
    with origin_from(node):
        results = _pushed(node, tangents_of_inputs) if null is None else [null] * len(node.outputs)
    if len(results) != len(node.outputs):
        raise PullbackError(
            format_error(
                f"the R-op of {node.op} returned {len(results)} items for {len(node.outputs)} outputs",
                hint="return one each",
            )
        )
    for output, tangent in zip(node.outputs, results, strict=True):
        if tangent is not None and not is_disconnected(tangent):
            tangents.setdefault(output, tangent)
        elif pushforward.get(node.op, "R_op") is None and written_method(node.op, "R_op") is not None:
            unanswered.add(output)


def _pushed(node: Apply, tangents_of_inputs: list[Variable | None]) -> Sequence[Variable | None]:
    rule = pushforward.get(node.op, "R_op")
    if rule is not None:
        return rule(node, tangents_of_inputs)
    method = written_method(node.op, "R_op")
    if method is not None:
        results: Sequence[Variable | None] = method(list(node.inputs), tangents_of_inputs)
        return results
    return derived_pushforward(node, tangents_of_inputs)


def derived_pushforward(node: Apply, tangents: Sequence[Variable | None]) -> list[Variable | None]:
    """Return the tangents of the outputs of `node` by applying its pullback twice.

    The pullback is linear in its cotangent ``u``; its transpose, by ``d/du``, is the pushforward.
    """
    pattern = connection_pattern(node)
    results: list[Variable | None] = []
    for o, output in enumerate(node.outputs):
        depends = [i for i, t in enumerate(tangents) if t is not None and pattern[i][o]]
        if not depends:
            results.append(None)
            continue
        if not is_continuous(output):
            results.append(zeros_for(output))
            continue
        # Any value serves for u. A computed zero, not a free variable, keeps a result valid that still mentions u.
        u = zeros_for(output)
        cotangents: list[Variable | None] = [None] * len(node.outputs)
        cotangents[o] = u
        back = pull_back(node, cotangents, pattern)
        null = next((back[i] for i in depends if is_null(back[i])), None)
        if null is not None:
            results.append(null)
            continue
        seeds: dict[Variable, Variable] = {}
        for i in depends:
            b, t = back[i], tangents[i]
            if b is not None and t is not None:
                seeds[b] = t if b not in seeds else total([seeds[b], t])
        results.append(backward(seeds, [u], additive=True)[0])
    return results


def r_op_by_gradient(
    self: Op, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]
) -> list[Variable | None]:
    """Return the derivatives of the outputs along directions of the inputs, from the gradient of the op."""
    if pullback.get(self, "grad", "L_op") is None and not any(written_method(self, m) for m in ("grad", "L_op")):
        raise NotImplementedError(
            format_error(
                f"{self} ({type(self).__name__}) has neither an R-op nor a gradient", hint="define `R_op` or `grad`"
            )
        )
    node = self.make_node(*inputs)
    with origin_from(node):
        return derived_pushforward(node, list(eval_points))


add_method(PureOp, "R_op", r_op_by_gradient)


# ---- Reverse accumulation from any set of sources, with the gradients of everything on the way


def grad_sources_inputs(
    sources: Iterable[tuple[Variable, Variable]], graph_inputs: Sequence[Variable] | None = None
) -> dict[Variable, Variable]:
    """Return the gradients of all that some variables with known gradients are computed from.

    Most programs want :func:`grad` or :func:`subgraph_grad`.

    Parameters
    ----------
    sources : iterable of (Variable, Variable)
        Pairs of a variable and its gradient. Gradients of one variable, and contributions from others, add up.
    graph_inputs : sequence of Variable, optional
        Nothing is propagated back through these; by default the variables that nothing computes.

    Returns
    -------
    dict
        Variable -> its gradient, for each variable between these and the sources that one of them depends on
        differentiably.

    Raises
    ------
    TypeError
        If a pair holds no variables, or a gradient has another number of dimensions than its variable.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, g = T.dvector("x"), T.dvector("g")
    >>> x in theano.gradient.grad_sources_inputs([(T.exp(x) * 2, g)])
    True
    """
    seeds: dict[Variable, Variable] = {}
    for variable, gradient in sources:
        term = known_gradient(variable, gradient)
        seeds[variable] = term if variable not in seeds else total([seeds[variable], term])
    ends = leaves(list(seeds)) if graph_inputs is None else list(graph_inputs)
    between = variables_between(ends, list(seeds))
    gradients = backward(seeds, between, ends, additive=True)
    return {v: g for v, g in zip(between, gradients, strict=True) if g is not None}


# ---- The point at which a product with a Jacobian is evaluated: it belongs to a variable and has its shape


class EvaluationPoint(GradientGate):
    """The value of the first input, checked to have the shape of the second.

    :func:`Rop` makes it of the points that it gets, so that its result depends on the variables that it is taken with
    respect to. Rewriting removes it, as it removes all gates.
    """

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the op to a point and the variable that it belongs to.

        Raises
        ------
        TypeError
            If there are not exactly two inputs, or one is no variable.
        """
        if len(inputs) != 2 or not all(isinstance(v, Variable) for v in inputs):
            raise TypeError(
                format_error(f"{self} takes two variables, got {inputs!r}", hint="pass a point and its variable")
            )
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pass the point on, if the shapes are equal."""
        point, value = inputs
        if getattr(point, "shape", None) != getattr(value, "shape", None):
            raise ValueError(
                format_error(
                    f"the evaluation point `{node.inputs[0]}` has shape {point.shape}, its variable {value.shape}",
                    context=[describe(v) for v in node.inputs],
                    hint="give the point the shape of its variable",
                )
            )
        output_storage[0][0] = point

    def infer_shape(self, node: Apply[Self], shapes: Sequence[Any]) -> Sequence[Any]:
        """Return the shape of the point."""
        return [shapes[0]]

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Say that only the shape of the variable matters."""
        return [[True], [False]]


@batch_rule.register(EvaluationPoint)
def _batch(node: Apply[EvaluationPoint], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [node.op(*all_stacked(inputs, stacked))]


@pullback.register(EvaluationPoint)
def _pullback(node: Apply[EvaluationPoint], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], None]


@pushforward.register(EvaluationPoint)
def _pushforward(node: Apply[EvaluationPoint], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


# ---- Products of Jacobians with vectors, and gradients of parts of graphs


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
