"""Control flow."""

from ._ifelse import IfElse as IfElse, ifelse as ifelse
from ._rewrites import cond_make_inplace as cond_make_inplace

__all__ = ["IfElse", "cond_make_inplace", "ifelse"]
