"""Databases to which programs for Theano 1.0 add rewriters of loops; they run early, and before BLAS.

The rules of loops themselves are with the rules of canonicalization, since they work hand in hand with them.
"""

from __future__ import annotations

from ..compile import optdb
from ..gof import EquilibriumDB, SequenceDB

#: Runs before shapes are known.
scan_eqopt1 = EquilibriumDB()
#: Its sequence.
scan_seqopt1 = SequenceDB()
#: Runs before matrix products become BLAS.
scan_eqopt2 = EquilibriumDB()

scan_eqopt1.register("all_pushout_opt", scan_seqopt1, 1, "fast_run", "scan")
optdb.register("scan_eqopt1", scan_eqopt1, 0.05, "fast_run", "scan")
optdb.register("scan_eqopt2", scan_eqopt2, 1.59, "fast_run", "scan")
