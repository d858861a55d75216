"""Loops: a function applied to the elements of sequences, with results of earlier steps.

Examples
--------
>>> import theano_tensor as T
>>> from theano_linker_c import function
>>> x = T.dvector("x")
>>> sums, updates = scan(lambda v, total: total + v, sequences=x, outputs_info=T.zeros(()))
>>> function([x], sums)([1.0, 2.0, 3.0]).tolist()
[1.0, 3.0, 6.0]
"""

from theano_graph import announce_words, register_library
from theano_linker_c import announce_straight_rules, note_library

from . import _batches as _batches, rewrites
from ._call._arguments import until
from ._call._scan import fold, scan
from ._call._views import foldl, foldr, map, reduce, scan_checkpoints
from ._loop import _derivatives as _derivatives
from ._loop._derivatives import LowerScans
from ._loop._ops import Loop, Scan
from ._loop._plan import FINAL, LAST, STACK, SUM, Memory, Plan

#: The build reads the version here, without an import.
__version__ = "0.1.0"

register_library(__file__)
announce_words("theano_scan._words")
announce_straight_rules("theano_scan._straight")
note_library()

__all__ = [
    "FINAL",
    "LAST",
    "STACK",
    "SUM",
    "Loop",
    "LowerScans",
    "Memory",
    "Plan",
    "Scan",
    "__version__",
    "fold",
    "foldl",
    "foldr",
    "map",
    "reduce",
    "rewrites",
    "scan",
    "scan_checkpoints",
    "until",
]
