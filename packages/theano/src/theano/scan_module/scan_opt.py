"""Rewrites of loops."""

from theano_scan.rewrites import (
    scan_merge as scan_merge,
    scan_merge_inouts as scan_merge_inouts,
    scan_push_constants as remove_constants_and_unused_inputs_scan,
    scan_pushout_dot1 as scan_pushout_dot1,
    scan_pushout_output as scan_pushout_output,
    scan_pushout_seqs_ops as scan_pushout_seqs_ops,
    scan_remove_unused as scan_remove_unused,
    scan_save_mem as scan_save_mem,
)

__all__ = [
    "remove_constants_and_unused_inputs_scan",
    "scan_merge",
    "scan_merge_inouts",
    "scan_pushout_dot1",
    "scan_pushout_output",
    "scan_pushout_seqs_ops",
    "scan_remove_unused",
    "scan_save_mem",
]
