"""Databases and optimizers of loops, by their documented names."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, FunctionGraph, is_in_ancestors
from theano_optimize import MergeRewriter, NodeRewriter, WalkRewriter
from theano_scan import LowerScans, rewrites
from theano_tensor import NotScalarConstantError, get_scalar_constant_value

from ..compile import optdb
from ..gof import EquilibriumDB, SequenceDB
from ..gof.opt import Optimizer
from ._helpers import equal_computations

# ---- Databases to which programs for Theano 1.0 add rewriters of loops; they run early, and before BLAS
#
# The rules of loops themselves are with the rules of canonicalization, since they work hand in hand with them.

#: Runs before shapes are known.
scan_eqopt1 = EquilibriumDB()
#: Its sequence.
scan_seqopt1 = SequenceDB()
#: Runs before matrix products become BLAS.
scan_eqopt2 = EquilibriumDB()

scan_eqopt1.register("all_pushout_opt", scan_seqopt1, 1, "fast_run", "scan")
optdb.register("scan_eqopt1", scan_eqopt1, 0.05, "fast_run", "scan")
optdb.register("scan_eqopt2", scan_eqopt2, 1.59, "fast_run", "scan")


# ---- The rewriters of loops by the names that programs for Theano 1.0 use; each brings loops into the form that runs

_logger = logging.getLogger("theano.scan_module.scan_opt")


class _LoopOptimizer(Optimizer):
    """Brings loops into the form that runs, merges equal nodes, and applies rules until nothing changes."""

    rules: tuple[NodeRewriter, ...] = ()

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the graph."""
        LowerScans().apply(fgraph)
        MergeRewriter().rewrite(fgraph)
        before = -1
        while before != fgraph.changes:
            before = fgraph.changes
            for rule in self.rules:
                WalkRewriter(rule).apply(fgraph)

    def process_node(self, fgraph: FunctionGraph, node: Apply) -> None:
        """Apply the rules to one loop that runs."""
        for rule in self.rules:
            replacement = rule.transform(fgraph, node) if node in fgraph.apply_nodes else None
            if isinstance(replacement, dict):  # rules of loops map variables to replacements
                fgraph.replace_all([(old, new) for old, new in replacement.items() if new is not None], reason=self)


class PushOutNonSeqScan(_LoopOptimizer):
    """Work that depends on constants alone is done once, before the loop."""

    rules = (rewrites.scan_pushout_nonseqs_ops,)


class PushOutSeqScan(_LoopOptimizer):
    """Work that depends on sequences and constants alone is done for all steps at once, before the loop."""

    rules = (rewrites.scan_pushout_seqs_ops,)


class PushOutScanOutput(_LoopOptimizer):
    """Outputs that are computed of kept values are computed for all steps at once, after the loop."""

    rules = (rewrites.scan_pushout_output,)


class PushOutDot1(_LoopOptimizer):
    """A sum over the steps of matrix products is one product of stacks of operands."""

    rules = (rewrites.scan_pushout_dot1,)


class ScanSaveMem(_LoopOptimizer):
    """Outputs that nobody uses are not kept, and only the last step of those of which nothing else is used."""

    rules = (rewrites.scan_save_mem, rewrites.scan_remove_unused)


class ScanInplaceOptimizer(_LoopOptimizer):
    """Loops overwrite their own arrays wherever that is safe, as they run: nothing has to be written into the graph.

    Parameters
    ----------
    typeInfer : callable, optional
    gpua_flag : bool
        Both without effect.
    """

    def __init__(self, typeInfer: Any = None, gpua_flag: bool = False) -> None:
        super().__init__()
        self.typeInfer, self.gpua_flag = typeInfer, gpua_flag


class ScanMerge(_LoopOptimizer):
    """Loops over the same steps that have something in common are one loop."""

    rules = (rewrites.scan_merge,)

    def belongs_to_set(self, node: Apply, set_nodes: Sequence[Apply]) -> bool:
        """Tell whether a loop has the steps and settings of others, and neither needs them nor is needed by them."""
        one: Any = node.op
        other: Any = set_nodes[0].op
        if (one.as_while, one.info["truncate_gradient"]) != (other.as_while, other.info["truncate_gradient"]):
            return False
        if one.info["mode"] != other.info["mode"] or _number(node.inputs[0]) != _number(set_nodes[0].inputs[0]):
            return False
        if any(_needs(node, other_node) or _needs(other_node, node) for other_node in set_nodes):
            return False
        if not one.as_while:
            return True
        return equal_computations([one.outputs[-1]], [other.outputs[-1]], one.inputs, other.inputs)


def _needs(node: Apply, other: Apply) -> bool:
    return any(is_in_ancestors(v, other) for v in node.inputs)


def _number(n: Any) -> Any:
    try:
        return int(get_scalar_constant_value(n))
    except NotScalarConstantError:
        return n


def has_duplicates(l: Sequence[Any]) -> bool:  # noqa: E741  # the documented name of the argument
    """Tell whether something is in a list twice."""
    return len(set(l)) < len(l)


def make_equiv(lo: Sequence[Any], li: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return inner inputs whose outer inputs were there before, and the inner inputs of those."""
    first: dict[Any, Any] = {}
    left, right = [], []
    for outer, inner in zip(lo, li, strict=True):
        if outer in first:
            left.append(inner)
            right.append(first[outer])
        else:
            first[outer] = inner
    return left, right


def warning(*msg: str) -> None:
    """Log a warning."""
    _logger.warning("WARNING theano.scan: %s", " ".join(msg))


def info(*msg: str) -> None:
    """Log the changes."""
    _logger.info("INFO theano.scan: %s", " ".join(msg))
