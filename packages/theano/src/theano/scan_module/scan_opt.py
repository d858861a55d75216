"""Rewrites of loops."""

from theano_scan.rewrites import (
    scan_merge as scan_merge,
    scan_merge_inouts as scan_merge_inouts,
    scan_push_constants as remove_constants_and_unused_inputs_scan,
    scan_pushout_dot1 as scan_pushout_dot1,
    scan_pushout_nonseqs_ops as scan_pushout_nonseqs_ops,
    scan_pushout_output as scan_pushout_output,
    scan_pushout_seqs_ops as scan_pushout_seqs_ops,
    scan_remove_unused as scan_remove_unused,
    scan_save_mem as scan_save_mem,
)

from ._helpers import equal_computations as equal_computations
from ._optimizers import (
    PushOutDot1 as PushOutDot1,
    PushOutNonSeqScan as PushOutNonSeqScan,
    PushOutScanOutput as PushOutScanOutput,
    PushOutSeqScan as PushOutSeqScan,
    ScanInplaceOptimizer as ScanInplaceOptimizer,
    ScanMerge as ScanMerge,
    ScanSaveMem as ScanSaveMem,
    has_duplicates as has_duplicates,
    info as info,
    make_equiv as make_equiv,
    warning as warning,
)
from ._parts import scan_args as scan_args

__all__ = [
    "PushOutDot1",
    "PushOutNonSeqScan",
    "PushOutScanOutput",
    "PushOutSeqScan",
    "ScanInplaceOptimizer",
    "ScanMerge",
    "ScanSaveMem",
    "equal_computations",
    "has_duplicates",
    "info",
    "make_equiv",
    "remove_constants_and_unused_inputs_scan",
    "scan_args",
    "scan_merge",
    "scan_merge_inouts",
    "scan_pushout_dot1",
    "scan_pushout_nonseqs_ops",
    "scan_pushout_output",
    "scan_pushout_seqs_ops",
    "scan_remove_unused",
    "scan_save_mem",
    "warning",
]
