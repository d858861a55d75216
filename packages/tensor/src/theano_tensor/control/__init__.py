"""Control of what is computed."""

from . import _rewrites as _rewrites
from ._ifelse import IfElse as IfElse, ifelse as ifelse

__all__ = ["IfElse", "ifelse"]
