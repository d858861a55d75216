"""Known values of variables while the expression is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, describe, format_error
from theano_linker_c.scalar import Cast, Identity, ScalarOp, Second

from ._assert import Assert
from ._core._convert import as_tensor_variable
from ._core._typing import TensorLike
from ._errors import EmptyConstantError, NotScalarConstantError
from ._protocols._operations import operation
from ._scalar_bridge import ScalarFromTensor, TensorFromScalar
from .creation import Alloc
from .elemwise import DimShuffle, Elemwise
from .indexing import Subtensor
from .shape import MakeVector, Reshape, ShapeI, SpecifyShape, integers_in


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
