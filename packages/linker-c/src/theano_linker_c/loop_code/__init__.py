"""Loops of any body as one C function, for the shapes with which they run."""

from ._loops import LoopCodes as LoopCodes

__all__ = ["LoopCodes"]
