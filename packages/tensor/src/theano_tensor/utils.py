"""Helpers: digests of arrays, and the shapes of all variables of a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable, ancestors, compose, describe, shape_rule
from theano_linker_c import function

from ._constructors_typed import lscalar
from ._convert import as_tensor_variable
from ._type import TensorType
from .shape import shape_i

__all__ = ["hash_from_ndarray", "shape_of_variables"]


def hash_from_ndarray(data: Any) -> str:
    """Return a digest of an array: of its elements, shape, strides and dtype.

    Parameters
    ----------
    data : numpy.ndarray

    Returns
    -------
    str

    Examples
    --------
    >>> hash_from_ndarray(np.zeros((2, 3))) == hash_from_ndarray(np.zeros((3, 2)))
    False
    """
    array = np.asarray(data)
    digest = hashlib.sha256(f"{array.shape} {array.strides} {array.dtype.str}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())
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
    >>> from theano_tensor import dmatrix
    >>> x = dmatrix("x")
    >>> y = x[512:]
    >>> shapes = shape_of_variables(FunctionGraph([x], [y], clone=False), {x: (1024, 1024)})
    >>> [int(n) for n in shapes[y]]
    [512, 1024]
    """
    table: dict[Variable, tuple[Any, ...]] = {}
    symbols: list[Any] = []
    numbers: list[int] = []
    for variable in fgraph.inputs:
        if not isinstance(variable.type, TensorType):
            continue
        shape = _given(variable, input_shapes)
        fresh = [lscalar() for _ in shape]
        symbols += fresh
        numbers += shape
        table[variable] = tuple(fresh)
    for node in fgraph.toposort():
        _add_node(table, node)
    flat = [n for shape in table.values() for n in shape]
    _refuse_values(fgraph, flat)
    found = iter(function(symbols, flat, mode="FAST_COMPILE", on_unused_input="ignore")(*numbers))
    return {variable: tuple(np.asarray(next(found)) for _ in shape) for variable, shape in table.items()}


def _given(variable: Any, input_shapes: Mapping[Variable, Sequence[int]]) -> list[int]:
    ndim = variable.type.ndim
    shape = input_shapes.get(variable, () if ndim == 0 else None)
    if shape is None or len(shape) != ndim:
        raise ValueError(
            compose(
                f"the shape of `{variable}` is missing" if shape is None else f"{tuple(shape)} is not its shape",
                where=[describe(variable)],
                mend=f"give a sequence of {ndim} lengths for each input",
            )
        )
    return [int(n) for n in shape]


def _lengths(table: dict[Variable, tuple[Any, ...]], variable: Variable) -> tuple[Any, ...]:
    if variable not in table and isinstance(variable, Constant) and isinstance(variable.type, TensorType):
        table[variable] = tuple(as_tensor_variable(np.asarray(n, dtype="int64")) for n in variable.data.shape)
    return table.get(variable, ())


def _add_node(table: dict[Variable, tuple[Any, ...]], node: Apply) -> None:
    """Put the shapes of the outputs of a node on the table, by the rule of its op where there is one."""
    shapes = [_lengths(table, v) for v in node.inputs]
    rule: Any = shape_rule.get(node.op, "infer_shape") or getattr(node.op, "infer_shape", None)
    found = [None] * len(node.outputs) if rule is None else rule(node, shapes)
    for output, shape in zip(node.outputs, found, strict=True):
        if isinstance(output.type, TensorType):
            lengths = [None] * output.type.ndim if shape is None else shape
            table[output] = tuple(_as_length(output, i, n) for i, n in enumerate(lengths))


def _as_length(variable: Variable, i: int, n: Any) -> Any:
    if n is None:
        return shape_i(variable, i)
    return as_tensor_variable(n if isinstance(n, Variable) else np.asarray(n, dtype="int64")).astype("int64")


def _refuse_values(fgraph: FunctionGraph, lengths: Sequence[Any]) -> None:
    inputs = set(fgraph.inputs)
    needed = [v for v in ancestors(lengths) if v in inputs]
    if needed:
        raise ValueError(
            compose(
                f"some shapes depend on the values of {', '.join(f'`{v}`' for v in needed)}, not only on shapes",
                where=[describe(v) for v in needed],
                mend="compute these shapes with a function: theano.function(inputs, y.shape)",
            )
        )
