"""Scalar ops from formulas of SymPy."""

from ..gof.utils import remove as remove
from ._from_sympy import (
    SymPyCCode as SymPyCCode,
    imported_sympy as imported_sympy,
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
