"""Targets: which native forms nodes have, how these are built, and which machine runs them.

A target derives from :class:`Target` and is handed to a linker: ``Linker("mine", target=MyTarget("mine"))``. Two are
here: `C`, with kernels, ops' own C code and the machine in C; and `PYTHON`, which runs the Python code of ops.
"""

from ._c import C as C, CTarget as CTarget
from ._target import PYTHON as PYTHON, Target as Target

__all__ = ["PYTHON", "C", "CTarget", "Target"]
