"""What programs see as loops with several kinds of outputs becomes loops in the form that runs, before all else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import theano_tensor as T
from theano_graph import Apply, FunctionGraph, InconsistencyError, ReplaceValidate, Variable
from theano_linker_c.modes import optdb
from theano_optimize import GraphRewriter

from .._loop._buffers import reads_last_row, reads_rows_after, start_of
from .._loop._ops import Loop, Scan
from .._loop._plan import FINAL


def loop_of(node: Apply, op: Loop | None = None, start: Callable[[Any, int, int], Any] = start_of) -> list[Any]:
    """Return the outputs of the loop that runs, for a node of a Scan.

    Parameters
    ----------
    node : Apply
    op : Loop, optional
        ``node.op.loop`` by default.
    start : callable, optional
        ``start(buffer, place, depth)`` is the first value of a state.
    """
    scan: Scan = node.op
    made: list[Any] = (op or scan.loop)(*scan.loop_inputs(node.inputs, start), return_list=True)
    return made


def places_in_loop(op: Scan) -> list[int]:
    """Return for each output of a Scan which output of its loop has its rows, or its last value."""
    states = sum(op.depths) + op.n_shared_outs
    first = [sum(op.depths[:k]) for k in range(len(op.depths))]
    nit_sots = [states + k for k in range(op.n_nit_sot)]
    return [*first, *nit_sots, *(sum(op.depths) + k for k in range(op.n_shared_outs))]


class LowerScans(GraphRewriter):
    """Puts loops in the form that runs in the place of those with documented kinds of outputs."""

    def apply(self, fgraph: FunctionGraph) -> None:
        """Rewrite the graph."""
        if not any(type(node.op) is Scan for node in fgraph.apply_nodes):
            return
        if any(node.op.destroy_map for node in fgraph.apply_nodes) and not hasattr(fgraph, "replace_all_validate"):
            fgraph.attach_feature(ReplaceValidate())
        for node in fgraph.toposort():
            if type(node.op) is Scan:
                self._replace(fgraph, node)

    def _replace(self, fgraph: FunctionGraph, node: Apply) -> None:
        replace: Any = getattr(fgraph, "replace_all_validate", fgraph.replace_all)
        try:
            replace(_replacements(fgraph, node), reason=self)
        except InconsistencyError:
            # What has been copied into a buffer is overwritten before the loop can run, which reads the copy then.
            fgraph.replace_all(_replacements(fgraph, node, _row_of), reason=self)


def _row_of(buffer: Any, place: int, depth: int) -> Any:
    return buffer[place]


def _replacements(
    fgraph: FunctionGraph, node: Apply, start: Callable[[Any, int, int], Any] = start_of
) -> list[tuple[Variable, Variable]]:
    op: Scan = node.op
    places, buffers = places_in_loop(op), [*op.outer_mitsot(node), *op.outer_sitsot(node)]
    loop = op.loop.keeping(
        place
        for k, place in enumerate(places[: len(buffers)])
        if op.loop.plan.kinds[place] == FINAL and not _last_row_alone(fgraph, node.outputs[k])
    )
    made = loop_of(node, loop, start)
    pairs: list[tuple[Variable, Variable]] = []
    for k, (out, place) in enumerate(zip(node.outputs, places, strict=True)):
        if k >= len(buffers):
            pairs.append((out, made[place]))
            continue
        depth, kept_last = op.depths[k], loop.plan.kinds[place] == FINAL
        for client, i in fgraph.clients(out):
            if isinstance(client, Apply) and i == 0:
                if kept_last or reads_rows_after(client, depth):
                    pairs.append((client.outputs[0], made[place]))
        if any(True for client, _ in fgraph.clients(out) if not _is_reader(client, depth, kept_last)):
            pairs.append((out, T.join(0, buffers[k][:depth], made[place])))
    return [(old, old.type.narrow_variable(new)) for old, new in pairs if fgraph.has_clients(old)]


def _last_row_alone(fgraph: FunctionGraph, out: Variable) -> bool:
    return all(isinstance(client, Apply) and i == 0 and reads_last_row(client) for client, i in fgraph.clients(out))


def _is_reader(client: object, depth: int, kept_last: bool) -> bool:
    return isinstance(client, Apply) and (kept_last or reads_rows_after(client, depth))


#: Before equal nodes are merged, so that the loops of gradients find those that they were made of.
optdb.register("scan_lower", LowerScans(), "fast_run", "fast_compile", "scan_lower", position=-0.005)
