"""Jacobians and Hessians, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from theano_graph import Variable, batch_rule, config, describe, format_error, toposort

from ..._core._type import tensor_type
from ..._core._typing import Outputs
from ..._protocols._operations import call
from .._accumulation._grad import OnDisconnected, check_option, format_as, grad, report_disconnected
from .._rules._arrays import dtype_of, static_shape, zeros_for
from .._rules._errors import DerivativeTypeError
from ._map_rows import STACK
from ._map_rows_build import map_rows, row_number


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
