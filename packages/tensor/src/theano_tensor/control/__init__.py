"""Control of what is computed."""

from ._ifelse import IfElse as IfElse, ifelse as ifelse

__all__ = ["IfElse", "ifelse"]
