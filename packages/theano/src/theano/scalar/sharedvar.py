"""Shared variables that hold one number, as scalars rather than as tensors without dimensions."""

from ..compile import SharedVariable as SharedVariable
from ._shared_numbers import ScalarSharedVariable as ScalarSharedVariable, shared as shared
from .basic import Scalar as Scalar, _scalar_py_operators as _scalar_py_operators, integer_types as integer_types
