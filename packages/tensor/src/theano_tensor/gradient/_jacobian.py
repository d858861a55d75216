"""Jacobians and Hessians, by loops over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Variable,
    batch_rule,
    clone_replace,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    toposort,
)

from .._core._convert import as_tensor_variable
from .._core._dtypes import Outputs
from .._core._type import TensorType, tensor_type
from .._errors import DerivativeTypeError
from .._graph_op import STACK, SUM, MapRows
from .._protocols._methods import call
from ._backward import backward
from ._grad import OnDisconnected, check_option, format_as, grad, report_disconnected
from ._products import forward
from ._supports import cast_to, cotangent_dtype, dtype_of, is_continuous, static_shape, zeros_for
from ._types import is_disconnected, is_null

# ---- Loops over rows are made of ordinary expressions, and differentiated


def map_rows(
    n: Any,
    index: Variable,
    rows: Mapping[Variable, Variable],
    outputs: Sequence[Variable],
    kinds: Sequence[str],
    likes: Sequence[Variable],
) -> list[Variable]:
    """Return the loop over ``index = 0 ... n - 1`` of some expressions.

    Work that does not depend on `index` and `rows` is done once, before the loop.

    Parameters
    ----------
    n : int or integer scalar variable
    index : int64 scalar variable
    rows : mapping
        Variable -> the sequence that it is a row of.
    outputs : sequence of Variable
        Expressions of `index`, `rows` and any other variables.
    kinds : sequence of {'stack', 'sum'}
    likes : sequence of Variable
        For each output, one of `rows`, or any variable outside of the loop, that has its shape.
    """
    changing: set[Variable] = {index, *rows}
    inner: list[Apply] = []
    for node in toposort([index, *rows], outputs):
        if any(v in changing for v in node.inputs):
            inner.append(node)
            changing.update(node.outputs)
    outside = dict.fromkeys(v for node in inner for v in node.inputs if v not in changing)
    outside.update(dict.fromkeys(v for v in (*outputs, *likes) if v not in changing))
    fixed = [v for v in outside if not isinstance(v, Constant) or v in likes]
    stand_ins = {v: v.type.make_variable(v.name) for v in fixed}
    bodies = clone_replace(list(outputs), stand_ins)
    inputs = [index, *rows, *stand_ins.values()]
    places = {v: k for k, v in enumerate([index, *rows, *stand_ins])}
    op = MapRows(inputs, bodies, len(rows), kinds, [places[v] for v in likes])
    results: list[Variable] = op(as_tensor_variable(n), *rows.values(), *fixed, return_list=True)
    return results


def row_number() -> Variable:
    """Return a variable for the number of a row; its test value is that of the first."""
    index: Variable = tensor_type("int64", ()).make_variable("i")
    index.tag.test_value = np.zeros((), "int64")
    return index


def _row_type(sequence: TensorType) -> TensorType:
    return tensor_type(sequence.dtype, sequence.shape[1:])


def stand_in(kind: Any, outer: Variable, is_row: bool, name: str | None = None) -> Variable:
    """Return a variable that stands for `outer`, or a row of it, inside of the loop; test values go along."""
    inner: Variable = kind.make_variable(name)
    test_value = getattr(outer.tag, "test_value", None) if outer.has_tag() else getattr(outer, "data", None)
    if test_value is not None and (not is_row or len(test_value)):
        inner.tag.test_value = test_value[0, ...] if is_row else test_value
    return inner


class Opened:
    """The inner graph of a loop on variables of its own, and how they belong to the node."""

    def __init__(self, node: Apply) -> None:
        self.op: MapRows = node.op
        graph = self.op.fgraph
        fresh: dict[Variable, Variable] = {graph.inputs[0]: row_number()}
        for k, (v, outer) in enumerate(zip(graph.inputs[1:], node.inputs[1:], strict=True)):
            fresh[v] = stand_in(v.type, outer, k < self.op.sequences, v.name)
        self.inputs = [fresh[v] for v in graph.inputs]
        self.outputs: list[Variable] = clone_replace(list(graph.outputs), fresh)
        self.n = node.inputs[0]
        self.sequences = dict(zip(self.rows, node.inputs[1:], strict=False))
        self.outside = dict(zip(self.constants, node.inputs[1 + len(self.rows) :], strict=True))

    @property
    def rows(self) -> list[Variable]:
        return self.inputs[1 : 1 + self.op.sequences]

    @property
    def constants(self) -> list[Variable]:
        return self.inputs[1 + self.op.sequences :]

    def loop(
        self,
        more: Mapping[Variable, Variable],
        outputs: Sequence[Variable],
        kinds: Sequence[str],
        likes: Sequence[Variable],
    ) -> list[Variable]:
        """Return the loop of expressions of the inner inputs, with `more` sequences."""
        bodies = clone_replace(list(outputs), self.outside)
        shapes = [self.outside.get(v, v) for v in likes]
        return map_rows(self.n, self.inputs[0], {**self.sequences, **more}, bodies, kinds, shapes)


@pullback.register(MapRows)
def _pullback(node: Apply[MapRows], cotangents: list[Variable]) -> list[Variable | None]:
    opened = Opened(node)
    seeds: dict[Variable, Variable] = {}
    more: dict[Variable, Variable] = {}
    for kind, output, cotangent in zip(opened.op.kinds, opened.outputs, cotangents, strict=True):
        if is_disconnected(cotangent):
            continue
        g: Any = cotangent
        if kind == STACK:
            row = stand_in(_row_type(g.type), g, True)
            more[row] = g
        else:
            # A variable of its own, since the sum's gradient may be computed from the constants themselves.
            row = stand_in(g.type, g, False)
            opened.outside[row] = g
        # Two outputs may be one variable inside; then their gradients add up.
        seeds[output] = row if output not in seeds else _sum_of(seeds[output], row)
    wrt = opened.inputs[1:]
    gradients = backward(seeds, wrt)
    positions = [k for k, g in enumerate(gradients) if g is not None and not is_null(g)]
    results: list[Variable | None] = [None, *(g if g is not None and is_null(g) else None for g in gradients)]
    terms = [_as_cotangent(wrt[k], gradients[k]) for k in positions]
    kinds = [STACK if k < opened.op.sequences else SUM for k in positions]
    if positions:
        looped = opened.loop(more, terms, kinds, [wrt[k] for k in positions])
        for k, result in zip(positions, looped, strict=True):
            results[1 + k] = result
    return results


def _sum_of(a: Any, b: Any) -> Variable:
    total: Variable = a + b
    return total


def _as_cotangent(variable: Variable, gradient: Variable | None) -> Variable:
    assert gradient is not None
    return cast_to(gradient, cotangent_dtype(variable))


@pushforward.register(MapRows)
def _pushforward(node: Apply[MapRows], tangents: list[Variable | None]) -> list[Variable | None]:
    opened = Opened(node)
    tangents_of_inputs: dict[Variable, Variable] = {}
    more: dict[Variable, Variable] = {}
    for k, (inner, tangent) in enumerate(zip(opened.inputs[1:], tangents[1:], strict=True)):
        if tangent is None:
            continue
        t: Any = tangent
        if k < opened.op.sequences:
            row = stand_in(_row_type(t.type), t, True)
            more[row] = t
        else:
            row = stand_in(t.type, t, False)
            opened.outside[row] = t
        tangents_of_inputs[inner] = row
    tangents_of_outputs = forward(opened.outputs, tangents_of_inputs)
    results: list[Variable | None] = [t if t is not None and is_null(t) else None for t in tangents_of_outputs]
    positions = [
        k
        for k, t in enumerate(tangents_of_outputs)
        if t is not None and not is_null(t) and is_continuous(opened.outputs[k])
    ]
    if positions:
        likes = [opened.inputs[opened.op.likes[k]] for k in positions]
        terms = [_as_cotangent(opened.outputs[k], tangents_of_outputs[k]) for k in positions]
        looped = opened.loop(more, terms, [opened.op.kinds[k] for k in positions], likes)
        for k, result in zip(positions, looped, strict=True):
            results[k] = result
    return results


# ---- Jacobians and Hessians, row by row


def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    vectorize: bool | Literal["auto"] = False,
) -> Outputs:
    """Return all derivatives of a vector.

    Parameters
    ----------
    expression : vector or scalar variable, of length n
    wrt : Variable, or list or tuple of Variable
        Of any number of dimensions.
    consider_constant : sequence of Variable, optional
        Nothing is propagated back through these.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        The reaction to a variable that `expression` does not depend on differentiably; its Jacobian is zero.
    vectorize : bool or 'auto'
        Whether the gradients of all elements are computed at once, as a batch, and not in a loop over the elements:
        products become larger and fewer, and intermediate results take n times the memory. 'auto' does so where each
        op on the way has a rule for batches.

    Returns
    -------
    Variable, or list or tuple of Variable
        As `wrt`. Element ``[i, ...]`` is the gradient of ``expression[i]``: of shape ``(n, *wrt.shape)``, of the
        dtype of `wrt`, or floatX where that is of integers. For a scalar: its gradient, of the shape of `wrt`.

    Raises
    ------
    TypeError
        If `expression` has more than one dimension, or something is no variable.
    DisconnectedInputError
        If `disconnected_inputs` is 'raise' and a variable is disconnected.
    NullTypeGradError
        If an op on the way has no gradient.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.jacobian(x**2, x).eval({x: [4.0, 5.0]}).tolist()
    [[8.0, 0.0], [0.0, 10.0]]
    """
    check_option("disconnected_inputs", disconnected_inputs, ("ignore", "warn", "raise"))
    check_option("vectorize", vectorize, (False, True, "auto"))
    variables = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    ndim = _ndim("the expression of a Jacobian", expression)
    if ndim > 1:
        raise DerivativeTypeError(
            format_error(
                f"the Jacobian is that of a vector, but `{expression}` has {ndim} dimensions",
                context=[describe(expression)],
                hint="flatten it first: `jacobian(y.flatten(), x)`, and reshape the result",
            )
        )
    if ndim == 0:
        gradients = grad(expression, variables, consider_constant, disconnected_inputs, add_names=False)
    else:
        gradients = rows(expression, variables, consider_constant, disconnected_inputs, vectorize)
    several = isinstance(wrt, (list, tuple))
    outputs: Outputs = format_as(isinstance(wrt, list), isinstance(wrt, tuple), gradients if several else gradients[0])
    return outputs


def hessian(
    cost: Any,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
    vectorize: bool | Literal["auto"] = False,
) -> Outputs:
    """Return the matrix of second derivatives of a cost, for each of `wrt`.

    Parameters
    ----------
    cost : scalar variable
    wrt : vector variable, or list or tuple of these
    consider_constant : sequence of Variable, optional
        Nothing is propagated back through these.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        The reaction to a variable that `cost` does not depend on differentiably; its Hessian is zero.
    vectorize : bool or 'auto'
        Whether all rows are computed at once, as for :func:`jacobian`.

    Returns
    -------
    Variable, or list or tuple of Variable
        As `wrt`: for each the matrix of shape ``(n, n)``, where n is its length. Derivatives with respect to two
        different variables are those of ``jacobian(grad(cost, a), b)``. It is zero where the gradient of `cost`
        does not depend on `wrt`.

    Raises
    ------
    TypeError
        If `cost` is no scalar, or one of `wrt` is no vector.
    DisconnectedInputError
        If `disconnected_inputs` is 'raise' and a variable is disconnected.
    NullTypeGradError
        If an op on the way has no gradient.
    ValueError
        If `vectorize` is unknown.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.hessian((x**3).sum(), x).eval({x: [1.0, 2.0]}).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    check_option("vectorize", vectorize, (False, True, "auto"))
    variables = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    if _ndim("the cost of a Hessian", cost):
        raise DerivativeTypeError(
            format_error(
                f"the cost of a Hessian must be a scalar, but `{cost}` is none",
                context=[describe(cost)],
                hint="reduce it first, for instance `cost.sum()`",
            )
        )
    for variable in variables:
        ndim = _ndim("what a Hessian is taken for", variable)
        if ndim != 1:
            raise DerivativeTypeError(
                format_error(
                    f"the Hessian is taken with respect to vectors, but `{variable}` has {ndim} dimension(s)",
                    context=[describe(variable)],
                    hint="cut it from one vector, `W = v.reshape(...)`, or use jacobian(grad(cost, W).flatten(), W)",
                )
            )
    gradients = grad(cost, variables, consider_constant, disconnected_inputs, add_names=False)
    blocks = [
        rows(gradient, [variable], consider_constant, "ignore", vectorize)[0]
        for gradient, variable in zip(gradients, variables, strict=True)
    ]
    several = isinstance(wrt, (list, tuple))
    outputs: Outputs = format_as(isinstance(wrt, list), isinstance(wrt, tuple), blocks if several else blocks[0])
    return outputs


def rows(
    vector: Any,
    variables: list[Any],
    consider_constant: Sequence[Variable] | None,
    disconnected_inputs: OnDisconnected,
    vectorize: bool | Literal["auto"] = False,
) -> list[Any]:
    """Return for each of `variables` the gradients of the elements of `vector`, stacked."""
    batched = _rows_at_once(vector, variables, consider_constant, vectorize == "auto") if vectorize else None
    if batched is not None:
        return _with_zero_rows(batched, vector, variables, consider_constant, disconnected_inputs)
    index = row_number()
    gradients = grad(
        vector[index],
        variables,
        consider_constant,
        disconnected_inputs="ignore",
        add_names=False,
        return_disconnected="None",
    )
    connected = [k for k, g in enumerate(gradients) if g is not None]
    stacked: list[Any] = []
    if connected:
        likes = [variables[k] for k in connected]
        shape = static_shape(vector)
        n = vector.shape[0] if shape is None or shape[0] is None else shape[0]
        stacked = map_rows(n, index, {}, [gradients[k] for k in connected], [STACK] * len(connected), likes)
    results: list[Any] = [None] * len(variables)
    for k, result in zip(connected, stacked, strict=True):
        results[k] = result
    return _with_zero_rows(results, vector, variables, consider_constant, disconnected_inputs)


def _with_zero_rows(
    results: list[Any],
    vector: Any,
    variables: list[Any],
    consider_constant: Sequence[Variable] | None,
    disconnected_inputs: OnDisconnected,
) -> list[Any]:
    for k, variable in enumerate(variables):
        if results[k] is None:
            report_disconnected(variable, [vector], consider_constant or (), disconnected_inputs)
            results[k] = _zero_rows(vector, variable)
    return results


def _rows_at_once(
    vector: Any, variables: list[Any], consider_constant: Sequence[Variable] | None, only_by_rules: bool
) -> list[Any] | None:
    """Return the gradients as a batch over the rows of a unit matrix, None for variables that are disconnected.

    Returns None where an op has no rule for batches and `only_by_rules` is true.
    """
    dtype = vector.type.dtype if vector.type.dtype.startswith(("float", "complex")) else config.floatX
    direction = tensor_type(dtype, vector.type.shape).make_variable("direction")
    gradients = grad(
        None,
        variables,
        consider_constant,
        disconnected_inputs="ignore",
        add_names=False,
        known_grads={vector: direction},
        return_disconnected="None",
    )
    connected = [k for k, g in enumerate(gradients) if g is not None]
    rows_of = [gradients[k] for k in connected]
    if only_by_rules and not _have_rules(direction, rows_of):
        return None
    (length,) = call("lengths", vector)
    units = call("eye", length, dtype=dtype)
    results: list[Any] = [None] * len(variables)
    for k, g, stack in zip(connected, rows_of, call("vectorize_graph", rows_of, {direction: units}), strict=True):
        is_same = stack.type.ndim == g.type.ndim
        results[k] = call("alloc", g, length, *call("lengths", g)) if is_same else stack
    return results


def _have_rules(direction: Variable, outputs: Sequence[Variable]) -> bool:
    reached: set[Variable] = {direction}
    for node in toposort([direction], outputs):
        if any(v in reached for v in node.inputs):
            if batch_rule.get(node.op) is None:
                return False
            reached.update(node.outputs)
    return True


def _zero_rows(vector: Any, variable: Any) -> Any:
    zeros: Any = zeros_for(variable)
    column = vector.zeros_like(dtype=dtype_of(zeros)).dimshuffle([0, *["x"] * zeros.type.ndim])
    return column + zeros.dimshuffle(["x", *range(zeros.type.ndim)])


def _ndim(role: str, variable: Any) -> int:
    shape = static_shape(variable) if isinstance(variable, Variable) else None
    if shape is None:
        raise DerivativeTypeError(
            format_error(f"{role} is {variable!r}, which is no tensor", hint="pass a tensor variable")
        )
    return len(shape)
