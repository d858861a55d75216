"""Helpers: digests of arrays, and the shapes of all variables of a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable, call_with_graph, describe, format_error, shape_rule

from ._core._convert import constant
from ._core._type import TensorType
from .shape import ShapeI, ShapeOf

__all__ = ["hash_from_ndarray", "shape_of_variables"]


def hash_from_ndarray(data: Any) -> str:
    """Return a digest of an array: of its elements, shape and dtype; a view and its copy have the same one.

    Parameters
    ----------
    data : numpy.ndarray

    Returns
    -------
    str

    Examples
    --------
    >>> import theano.tensor.utils
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> T.utils.hash_from_ndarray(np.zeros((2, 3))) == T.utils.hash_from_ndarray(np.zeros((3, 2)))
    False
    """
    array = np.asarray(data)
    digest = hashlib.sha256(f"{array.shape} {array.dtype.str}".encode())
    digest.update(array.tobytes())
    return digest.hexdigest()


def shape_of_variables(
    fgraph: FunctionGraph, input_shapes: Mapping[Variable, Sequence[int]]
) -> dict[Variable, tuple[Any, ...]]:
    """Work out the shape of each variable of a graph from the shapes of its inputs, without computing the variables.

    Parameters
    ----------
    fgraph : FunctionGraph
    input_shapes : dict
        From inputs of the graph to their shapes. Inputs without dimensions may be left out.

    Returns
    -------
    dict
        From each tensor variable of the graph to the tuple of its lengths, arrays without dimensions.

    Raises
    ------
    ValueError
        If the shape of an input is missing, does not fit it, or if a shape depends on values of inputs.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor.utils
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> y = x[512:]
    >>> shapes = T.utils.shape_of_variables(theano.FunctionGraph([x], [y], clone=False), {x: (1024, 1024)})
    >>> [int(n) for n in shapes[y]]
    [512, 1024]
    """
    shapes: dict[Variable, tuple[int, ...]] = {}
    for variable in fgraph.inputs:
        if isinstance(variable.type, TensorType):
            shapes[variable] = tuple(_given(variable, input_shapes))
    values: dict[Variable, Any] = {}
    for node in fgraph.toposort():
        _add_node(shapes, values, node)
    return {variable: tuple(np.asarray(n) for n in shape) for variable, shape in shapes.items()}


def _given(variable: Any, input_shapes: Mapping[Variable, Sequence[int]]) -> list[int]:
    ndim = variable.type.ndim
    shape = input_shapes.get(variable, () if ndim == 0 else None)
    if shape is None or len(shape) != ndim:
        raise ValueError(
            format_error(
                f"the shape of `{variable}` is missing" if shape is None else f"{tuple(shape)} is not its shape",
                context=[describe(variable)],
                hint=f"give a sequence of {ndim} lengths for each input",
            )
        )
    return [int(n) for n in shape]


def _add_node(shapes: dict[Variable, tuple[int, ...]], values: dict[Variable, Any], node: Apply) -> None:
    """Put the shapes of the outputs of a node on the table, by the rule of its op where there is one."""
    for variable in node.inputs:
        if isinstance(variable, Constant) and isinstance(variable.type, TensorType):
            shapes[variable] = variable.data.shape
    shapes_of_inputs = [tuple(constant(np.asarray(n)) for n in shapes.get(v, ())) for v in node.inputs]
    rule: Any = shape_rule.get(node.op) or getattr(node.op, "infer_shape", None)
    shapes_by_rule = (
        [None] * len(node.outputs) if rule is None else call_with_graph(rule, node.fgraph, node, shapes_of_inputs)
    )
    for output, shape in zip(node.outputs, shapes_by_rule, strict=True):
        if isinstance(output.type, TensorType):
            lengths = [None] * output.type.ndim if shape is None else shape
            shapes[output] = tuple(_number(shapes, values, output, i, n) for i, n in enumerate(lengths))


def _number(shapes: Mapping[Variable, Any], values: dict[Variable, Any], variable: Variable, i: int, n: Any) -> int:
    if n is None:
        return int(_value(shapes, values, variable).shape[i])
    return int(_value(shapes, values, n)) if isinstance(n, Variable) else int(n)


def _value(shapes: Mapping[Variable, Any], values: dict[Variable, Any], wanted: Variable) -> Any:
    """Return the value of a variable that is computed of constants and shapes alone."""
    stack = [wanted]
    while stack:
        variable = stack[-1]
        node = variable.owner
        if variable in values:
            stack.pop()
        elif isinstance(variable, Constant):
            values[variable] = variable.data
        elif node is None:
            raise ValueError(
                format_error(
                    f"a shape depends on the value of `{variable}`, not only on shapes",
                    context=[describe(wanted), describe(variable)],
                    hint="compute it with a function: theano.function(inputs, y.shape)",
                )
            )
        elif isinstance(node.op, (ShapeI, ShapeOf)) and node.inputs[0] in shapes:
            shape = shapes[node.inputs[0]]
            values[variable] = np.asarray(shape[node.op.i] if isinstance(node.op, ShapeI) else shape, dtype="int64")
        elif all(v in values for v in node.inputs):
            storage: list[list[Any]] = [[None] for _ in node.outputs]
            node.op.perform(node, [values[v] for v in node.inputs], storage)
            values.update(zip(node.outputs, (cell[0] for cell in storage), strict=True))
        else:
            stack.extend(v for v in node.inputs if v not in values)
    return values[wanted]
