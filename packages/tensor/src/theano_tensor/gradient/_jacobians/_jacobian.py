"""Jacobians and Hessians, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Variable, describe, format_error

from ..._core._typing import Outputs
from .._accumulation._grad import OnDisconnected, check_option, format_as, grad, report_disconnected
from .._rules._arrays import dtype_of, static_shape, zeros_for
from ._map_rows import STACK
from ._map_rows_build import map_rows, row_number


def jacobian(
    expression: Any,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
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
        What to do for a variable that `expression` does not depend on differentiably; its Jacobian is zero.

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
    variables = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    ndim = _ndim("the expression of a Jacobian", expression)
    if ndim > 1:
        raise TypeError(
            format_error(
                f"the Jacobian is that of a vector, but `{expression}` has {ndim} dimensions",
                context=[describe(expression)],
                hint="flatten it first: `jacobian(y.flatten(), x)`, and reshape the result",
            )
        )
    if ndim == 0:
        found = grad(expression, variables, consider_constant, disconnected_inputs, add_names=False)
    else:
        found = rows(expression, variables, consider_constant, disconnected_inputs)
    several = isinstance(wrt, (list, tuple))
    outputs: Outputs = format_as(isinstance(wrt, list), isinstance(wrt, tuple), found if several else found[0])
    return outputs


def hessian(
    cost: Any,
    wrt: Any,
    consider_constant: Sequence[Variable] | None = None,
    disconnected_inputs: OnDisconnected = "raise",
) -> Outputs:
    """Return the matrix of second derivatives of a cost, for each of `wrt`.

    Parameters
    ----------
    cost : scalar variable
    wrt : vector variable, or list or tuple of these
    consider_constant : sequence of Variable, optional
        Nothing is propagated back through these.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        What to do for a variable that `cost` does not depend on differentiably; its Hessian is zero.

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

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.hessian((x**3).sum(), x).eval({x: [1.0, 2.0]}).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    variables = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    for variable in variables:
        ndim = _ndim("what a Hessian is taken for", variable)
        if ndim != 1:
            raise TypeError(
                format_error(
                    f"the Hessian is taken with respect to vectors, but `{variable}` has {ndim} dimension(s)",
                    context=[describe(variable)],
                    hint="cut it from one vector, `W = v.reshape(...)`, or use jacobian(grad(cost, W).flatten(), W)",
                )
            )
    gradients = grad(cost, variables, consider_constant, disconnected_inputs, add_names=False)
    found = [
        rows(gradient, [variable], consider_constant, "ignore")[0]
        for gradient, variable in zip(gradients, variables, strict=True)
    ]
    several = isinstance(wrt, (list, tuple))
    outputs: Outputs = format_as(isinstance(wrt, list), isinstance(wrt, tuple), found if several else found[0])
    return outputs


def rows(
    vector: Any,
    variables: list[Any],
    consider_constant: Sequence[Variable] | None,
    disconnected_inputs: OnDisconnected,
) -> list[Any]:
    """Return for each of `variables` the gradients of the elements of `vector`, stacked."""
    index = row_number()
    found = grad(
        vector[index],
        variables,
        consider_constant,
        disconnected_inputs="ignore",
        add_names=False,
        return_disconnected="None",
    )
    connected = [k for k, g in enumerate(found) if g is not None]
    stacked: list[Any] = []
    if connected:
        likes = [variables[k] for k in connected]
        known = static_shape(vector)
        n = vector.shape[0] if known is None or known[0] is None else known[0]
        stacked = map_rows(n, index, {}, [found[k] for k in connected], [STACK] * len(connected), likes)
    results: list[Any] = [None] * len(variables)
    for k, result in zip(connected, stacked, strict=True):
        results[k] = result
    for k, variable in enumerate(variables):
        if results[k] is None:
            report_disconnected(variable, [vector], consider_constant or (), disconnected_inputs)
            results[k] = _zero_rows(vector, variable)
    return results


def _zero_rows(vector: Any, variable: Any) -> Any:
    zeros: Any = zeros_for(variable)
    column = vector.zeros_like(dtype=dtype_of(zeros)).dimshuffle([0, *["x"] * zeros.type.ndim])
    return column + zeros.dimshuffle(["x", *range(zeros.type.ndim)])


def _ndim(role: str, variable: Any) -> int:
    shape = static_shape(variable) if isinstance(variable, Variable) else None
    if shape is None:
        raise TypeError(format_error(f"{role} is {variable!r}, which is no tensor", hint="pass a tensor variable"))
    return len(shape)
