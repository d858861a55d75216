"""Programs in plain Python: compiled for the arguments that they are called with, and differentiated as functions."""

from ._arguments import ArgumentKindError as ArgumentKindError
from ._derivatives import (
    DerivativeError as DerivativeError,
    checkpoint as checkpoint,
    grad as grad,
    hessian as hessian,
    jacobian as jacobian,
    jvp as jvp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from ._jit import Jitted as Jitted, jit as jit
from ._lowered import Lowered as Lowered
from ._trees import (
    Parts as Parts,
    StructureError as StructureError,
    flatten as flatten,
    parts as parts,
    unflatten as unflatten,
)

__all__ = [
    "ArgumentKindError",
    "DerivativeError",
    "Jitted",
    "Lowered",
    "Parts",
    "StructureError",
    "checkpoint",
    "flatten",
    "grad",
    "hessian",
    "jacobian",
    "jit",
    "jvp",
    "parts",
    "unflatten",
    "value_and_grad",
    "vjp",
]
