"""Rewrites of loops: unused results go, and expressions that all steps can share leave the loop.

`_builder` takes loops apart and puts them together again, and registers rules. `_merging` joins loops with common
parts, `_pruning` drops unused results, and `_pushout` moves out expressions that need not be computed in each step.
"""

from ._builder import LoopBuilder as LoopBuilder
from ._pushout import (
    scan_pushout_dot1 as scan_pushout_dot1,
    scan_pushout_nonseqs_ops as scan_pushout_nonseqs_ops,
    scan_pushout_output as scan_pushout_output,
    scan_pushout_seqs_ops as scan_pushout_seqs_ops,
    scan_pushout_sums as scan_pushout_sums,
    scan_split_sums as scan_split_sums,
)
from ._simplify import (
    scan_merge as scan_merge,
    scan_merge_inouts as scan_merge_inouts,
    scan_push_constants as scan_push_constants,
    scan_remove_plain as scan_remove_plain,
    scan_remove_unused as scan_remove_unused,
    scan_save_mem as scan_save_mem,
)
