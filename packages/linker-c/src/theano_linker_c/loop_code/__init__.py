"""Loops of any body, and functions, as one C function for the shapes with which they run."""

from ._functions import FunctionCodes as FunctionCodes
from ._loops import LoopCodes as LoopCodes

__all__ = ["FunctionCodes", "LoopCodes"]
