"""Our types and constants for those of PyTensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.type import RandomGeneratorType
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

import theano.tensor as T
from theano import sparse, typed_list
from theano.tensor.type_other import slicetype
from theano_graph import Type, generic
from theano_tensor import constant_value
from theano_tensor.random import generator_type

from ._table import NoRule


def engine_type(kind: Any) -> Type:
    """Return our type for a type of PyTensor; the type of any object where there is no counterpart.

    Parameters
    ----------
    kind : pytensor.graph.type.Type

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> engine_type(pt.TensorType("float32", shape=(3, None)))
    TensorType(float32, (3, None))
    """
    if is_sparse(kind):
        sparse_type: Type = sparse.SparseType(kind.format, kind.dtype)
        return sparse_type
    if isinstance(kind, TensorType):
        return T.TensorType(kind.dtype, shape=kind.shape)
    if isinstance(kind, ScalarType):
        return T.TensorType(kind.dtype, shape=())
    if isinstance(kind, RandomGeneratorType):
        return generator_type
    if hasattr(kind, "ttype"):
        return typed_list.TypedListType(engine_type(kind.ttype))
    return slicetype if isinstance(kind, SliceType) else generic


def is_sparse(kind: Any) -> bool:
    """Tell whether a type of PyTensor is that of sparse matrices, without an import of its module."""
    return hasattr(kind, "format") and hasattr(kind, "dtype")


def engine_constant(constant: Constant) -> Any:
    """Return our constant for one of PyTensor; None stands for itself."""
    kind, value = constant.type, constant.data
    if isinstance(kind, NoneTypeT):
        return None
    if is_sparse(kind):
        return sparse.as_sparse_variable(value)
    if isinstance(kind, TensorType | ScalarType):
        return T.constant(np.asarray(value, dtype=kind.dtype))
    return engine_type(kind).make_constant(value)


def engine_variable(variable: Any) -> Any:
    """Return a new variable of ours for an input of a graph of PyTensor."""
    return None if isinstance(variable.type, NoneTypeT) else engine_type(variable.type).make_variable(variable.name)


def as_variable(value: Any) -> Any:
    """Return a result as a variable: None becomes a constant of the type of any object."""
    return generic.make_constant(value) if value is None else value


def narrowed(result: Any, kind: Any) -> Any:
    """Return one of our variables with the dtype and the lengths of 1 that a type of PyTensor promises.

    Parameters
    ----------
    result : Variable or None
    kind : pytensor.graph.type.Type
    """
    if is_sparse(kind) or not isinstance(kind, TensorType | ScalarType):
        return result
    if result.dtype != kind.dtype and not (result.dtype.startswith("complex") and kind.dtype.startswith("float")):
        # Factors of complex matrices are complex, even where PyTensor's type of them says otherwise.
        result = T.cast(result, kind.dtype)
    if isinstance(kind, ScalarType):
        return result
    ones = [axis for axis, length in enumerate(kind.shape) if length == 1 and not result.type.broadcastable[axis]]
    return T.addbroadcast(result, *ones) if ones else result


def known_integer(variable: Any, role: str) -> int:
    """Return a number that our graph knows without being run.

    Raises
    ------
    NoRule
        If it is only known when it runs.
    """
    value = constant_value(variable)
    if value is None:
        raise NoRule(f"the {role} is computed")
    return int(value)
