"""Which inner and outer inputs and outputs of a loop belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: The four sets of variables of a loop.
_SETS = ("outer_inp", "inner_inp", "inner_out", "outer_out")


def var_mappings(sequences: int, states: int, inputs: int, outputs: int) -> dict[str, dict[int, Any]]:
    """Return which variables of a loop belong to the same sequence, state, constant or output.

    Parameters
    ----------
    sequences, states : int
        How many there are.
    inputs, outputs : int
        How many inner ones there are.

    Returns
    -------
    dict
        Twelve entries ``X_from_Y`` for each two of ``outer_inp, inner_inp, inner_out, outer_out``: a dictionary from
        indices in Y to an index in X, -1 for none, where X is a set of outer variables, and to a list of indices
        where it is a set of inner variables.
    """
    sizes = {"outer_inp": inputs + 1, "inner_inp": inputs, "inner_out": outputs, "outer_out": outputs}
    found: dict[str, dict[int, Any]] = {}
    for source in _SETS:
        for target in _SETS:
            if source == target:
                continue
            places = [_place(sequences, states, source, target, k) for k in range(sizes[source])]
            inner = target.startswith("inner")
            found[f"{target}_from_{source}"] = {k: ([] if p < 0 else [p]) if inner else p for k, p in enumerate(places)}
    return found


def _place(sequences: int, states: int, source: str, target: str, k: int) -> int:
    """Return the index in `target` of what is number k in `source`, or -1."""
    if source.endswith("inp") and target.endswith("inp"):
        return k + 1 if source == "inner_inp" else k - 1
    if source.endswith("out") and target.endswith("out"):
        return k
    if source.endswith("inp"):
        state = k - sequences - (source == "outer_inp")
        return state if 0 <= state < states else -1
    return k + sequences + (target == "outer_inp") if k < states else -1


@dataclass
class ScanArguments:
    """The inputs and outputs of a loop by their kinds.

    Parameters
    ----------
    outer_inputs, outer_outputs, inner_inputs, inner_outputs : sequence of Variable
    op : Scan
        That they belong to.

    Attributes
    ----------
    n_steps : Variable
    outer_in_seqs, inner_in_seqs, outer_in_sit_sot, inner_in_sit_sot, outer_in_non_seqs, inner_in_non_seqs : list
        Sequences, recurrent states and constants; states of several steps ago are states of their own here.
    outer_out_sit_sot, inner_out_sit_sot, outer_out_nit_sot, inner_out_nit_sot : list
        Recurrent and other outputs.
    cond : list
        The condition that ends the loop early, if there is one.
    """

    outer_inputs: Sequence[Any]
    outer_outputs: Sequence[Any]
    inner_inputs: Sequence[Any]
    inner_outputs: Sequence[Any]
    op: Any

    def __post_init__(self) -> None:
        plan = self.op.plan
        first, last, kept = plan.sequences, plan.sequences + plan.states, len(plan.kinds)
        self.n_steps = self.outer_inputs[0]
        outer, inner = list(self.outer_inputs[1:]), list(self.inner_inputs)
        self.outer_in_seqs, self.inner_in_seqs = outer[:first], inner[:first]
        self.outer_in_sit_sot, self.inner_in_sit_sot = outer[first:last], inner[first:last]
        self.outer_in_non_seqs, self.inner_in_non_seqs = outer[last:], inner[last:]
        self.outer_out_sit_sot = list(self.outer_outputs[: plan.states])
        self.inner_out_sit_sot = list(self.inner_outputs[: plan.states])
        self.outer_out_nit_sot = list(self.outer_outputs[plan.states : kept])
        self.inner_out_nit_sot = list(self.inner_outputs[plan.states : kept])
        self.cond = list(self.inner_outputs[kept:])

    @classmethod
    def of(cls, node: Any) -> ScanArguments:
        """Return those of a node."""
        inner = node.op.fgraph
        return cls(node.inputs, node.outputs, inner.inputs, inner.outputs, node.op)
