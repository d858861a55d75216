"""Programs in plain Python: compiled for the arguments that they are called with, and differentiated as functions."""

from ._custom import CustomVJP as CustomVJP, custom_vjp as custom_vjp
from ._derivatives import (
    DerivativeError as DerivativeError,
    checkpoint as checkpoint,
    grad as grad,
    hessian as hessian,
    jacobian as jacobian,
    jvp as jvp,
    value_and_grad as value_and_grad,
    vjp as vjp,
    vmap as vmap,
)
from ._jit import Jitted as Jitted, jit as jit
from ._loops import LoopError as LoopError, fori_loop as fori_loop, scan as scan, while_loop as while_loop
from ._programs import LeakError as LeakError, Lowered as Lowered
from ._trees import (
    ArgumentKindError as ArgumentKindError,
    Parts as Parts,
    StructureError as StructureError,
    flatten as flatten,
    parts as parts,
    unflatten as unflatten,
)

__all__ = [
    "ArgumentKindError",
    "CustomVJP",
    "DerivativeError",
    "Jitted",
    "LeakError",
    "LoopError",
    "Lowered",
    "Parts",
    "StructureError",
    "checkpoint",
    "custom_vjp",
    "flatten",
    "fori_loop",
    "grad",
    "hessian",
    "jacobian",
    "jit",
    "jvp",
    "parts",
    "scan",
    "unflatten",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
