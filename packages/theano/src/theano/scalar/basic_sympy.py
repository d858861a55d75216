"""Scalar ops from formulas of SymPy."""

import importlib.util

from ..gof.utils import remove as remove
from ._from_sympy import (
    SymPyCCode as SymPyCCode,
    include_line as include_line,
    sympy_dtype as sympy_dtype,
    theano_dtype as theano_dtype,
)
from .basic import (
    Apply as Apply,
    ScalarOp as ScalarOp,
    as_scalar as as_scalar,
    float32 as float32,
    float64 as float64,
    int64 as int64,
)

imported_sympy = importlib.util.find_spec("sympy") is not None
