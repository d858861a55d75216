"""Rewrites of loops."""

from theano_optimize import DestroyHandler as DestroyHandler
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
from theano_tensor import (
    Alloc as Alloc,
    AllocEmpty as AllocEmpty,
    get_scalar_constant_value as get_scalar_constant_value,
)

from .._lazy import lazy_names
from ..compile import optdb as optdb
from ..compile.ops import deep_copy_op as deep_copy_op
from ..gof import InconsistencyError as InconsistencyError
from ..gof.opt import (
    Optimizer as Optimizer,
    pre_constant_merge as pre_constant_merge,
    pre_greedy_local_optimizer as pre_greedy_local_optimizer,
)
from ._databases import scan_eqopt1 as scan_eqopt1, scan_eqopt2 as scan_eqopt2, scan_seqopt1 as scan_seqopt1
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
    "Alloc",
    "AllocEmpty",
    "DestroyHandler",
    "InconsistencyError",
    "Optimizer",
    "PushOutDot1",
    "PushOutNonSeqScan",
    "PushOutScanOutput",
    "PushOutSeqScan",
    "ScanInplaceOptimizer",
    "ScanMerge",
    "ScanSaveMem",
    "deep_copy_op",
    "equal_computations",
    "get_scalar_constant_value",
    "has_duplicates",
    "info",
    "make_equiv",
    "optdb",
    "pre_constant_merge",
    "pre_greedy_local_optimizer",
    "remove_constants_and_unused_inputs_scan",
    "scan_args",
    "scan_eqopt1",
    "scan_eqopt2",
    "scan_merge",
    "scan_merge_inouts",
    "scan_pushout_dot1",
    "scan_pushout_nonseqs_ops",
    "scan_pushout_output",
    "scan_pushout_seqs_ops",
    "scan_remove_unused",
    "scan_save_mem",
    "scan_seqopt1",
    "warning",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
