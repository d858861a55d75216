"""Helpers: digests of arrays, the shapes of all variables of a graph, and known values of variables."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable, call_with_graph, describe, format_error, shape_rule
from theano_linker_c.scalar import Cast, Identity, ScalarOp, Second

from ._core._convert import ScalarFromTensor, TensorFromScalar, as_tensor_variable, constant
from ._core._dtypes import TensorLike
from ._core._ops import Assert
from ._core._type import TensorType
from ._errors import EmptyConstantError, NotScalarConstantError
from ._protocols._methods import operation
from .creation import Alloc
from .elemwise import DimShuffle, Elemwise
from .indexing import Subtensor
from .shape import MakeVector, Reshape, ShapeI, ShapeOf, SpecifyShape, integers_in


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


# ---- Known values of variables while the expression is built


def constant_value(variable: Variable, depth: int = 10) -> Any:
    """Return the one number that all elements of `variable` are known to have, as an array without dimensions, or None.

    Looks through constants, fills, casts, checks and views, and computes elementwise operations of known numbers, at
    most `depth` of them in a row.
    """
    casts: list[str] = []
    current: Any = variable
    while not isinstance(current, Constant):
        following = _step(current, depth)
        if following is None:
            return None
        if isinstance(current.owner.op, Elemwise) and isinstance(current.owner.op.scalar_op, Cast):
            casts.append(current.type.dtype)
        if not isinstance(following, Variable):
            value = np.asarray(following, dtype=current.type.dtype)
            break
        current = following
    else:
        data = np.asarray(current.data)
        if data.size == 0 or not (data == data.flat[0]).all():
            return None
        value = np.asarray(data.flat[0])
    for dtype in reversed(casts):
        value = value.astype(dtype)
    return value


def _step(variable: Any, depth: int) -> Any:
    """Return the value of `variable`: a variable, a number, or None."""
    owner = variable.owner
    if owner is None:
        return None
    match owner.op:
        case DimShuffle() | Reshape() | SpecifyShape() | Alloc() | ScalarFromTensor() | TensorFromScalar():
            return owner.inputs[0]
        case Assert():
            met = [constant_value(condition) for condition in owner.inputs[1:]]
            return owner.inputs[0] if all(number is not None and number for number in met) else None
        case Elemwise(scalar_op=Cast() | Identity()):
            return owner.inputs[0]
        case Elemwise(scalar_op=Second()):
            return owner.inputs[1]
        case Elemwise(scalar_op=ScalarOp(nout=1) as op) if depth:
            return _computed(op, owner.inputs, depth - 1)
        case ShapeI(i=i):
            return owner.inputs[0].type.shape[i]
        case Subtensor():
            return _part(owner.op, owner.inputs[0], variable)
        case _:
            return None


def _part(op: Subtensor, source: Variable, variable: Any) -> Any:
    """Return an element of a constant, of scalars that were stacked, or of lengths."""
    if isinstance(source, Constant):
        return _element(np.asarray(source.data), op.entries)
    match op.entries:
        case (int() as i,) if source.owner is not None and isinstance(source.owner.op, MakeVector):
            return source.owner.inputs[i]
    number = integers_in(variable) if variable.type.ndim == 0 else None
    return number[0] if number else None


def _computed(op: ScalarOp, operands: Sequence[Variable], depth: int) -> Any:
    numbers = []
    for operand in operands:
        value = constant_value(operand, depth)
        if value is None:
            return None
        numbers.append(value)
    try:
        return op.impl(*(value[()] for value in numbers))
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        return None


def _element(data: Any, entries: tuple[Any, ...]) -> Any:
    if len(entries) != data.ndim or not all(isinstance(i, int) for i in entries):
        return None
    inside = all(-n <= i < n for i, n in zip(entries, data.shape, strict=True))
    return data[entries] if inside else None


@operation("get_scalar_constant_value")
def get_scalar_constant_value(x: TensorLike) -> Any:
    """Return the number that `x` is known to be.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    numpy.ndarray
        Without dimensions.

    Raises
    ------
    NotScalarConstantError
        If it is not known, or not all elements are the same. It is an `EmptyConstantError` for a constant without
        elements.

    Examples
    --------
    >>> import theano.tensor as T
    >>> int(T.get_scalar_constant_value(T.constant(3)))
    3
    """
    variable = as_tensor_variable(x)
    value = constant_value(variable)
    if value is None and isinstance(variable, Constant) and not np.size(variable.data):
        raise EmptyConstantError(format_error(f"`{variable}` has no element", context=[describe(variable)]))
    if value is None:
        raise NotScalarConstantError(
            format_error(f"`{variable}` is not known to be one number", context=[describe(variable)])
        )
    return value


__all__ = ["hash_from_ndarray", "shape_of_variables"]
