"""Loops taken apart and put together again, and how rules about them are registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable, clone_replace, graph_inputs
from theano_linker_c.modes import optdb
from theano_optimize import NodeRewriter, Phase, node_rewriter

from .._loop._ops import Loop
from .._loop._plan import SUM, Plan

RUN_TAGS = ("fast_run", "o3", "o4", "unsafe", "scan")
#: These keep values of all steps that would otherwise not be kept.
MORE_MEMORY = (*RUN_TAGS, "more_mem")
Found = dict[Variable, Variable] | list[Variable] | None
Transform = Callable[[FunctionGraph, Apply], Found]


def rule(
    *tracks: Op | type[Op], name: str, tags: tuple[str, ...] = RUN_TAGS, aliases: tuple[str, ...] = ()
) -> Callable[[Transform], NodeRewriter]:
    """Return a decorator that makes a rule of a function and registers it with the rules of canonicalization."""

    def decorate(function: Transform) -> NodeRewriter:
        result = node_rewriter(list(tracks), phase=Phase.CANONICALIZE, name=name)(function)
        databases: Any = optdb
        databases[Phase.CANONICALIZE.tag].register(name, result, *tags, aliases=aliases)
        return result

    return decorate


class LoopBuilder:
    """A loop taken apart, to be put together again with other results.

    Attributes
    ----------
    rows, states, constants : list of pairs
        Inner variable and outer variable, or for `rows` the sequence.
    results : list of list
        Inner variable, its use, the inner variable that has its shape (or None), and the old output that
        it stands for (or None).
    twins : dict
        Old output -> the entry of `results` that it is equal to.
    """

    def __init__(self, node: Apply) -> None:
        op: Loop = node.op
        self.node, self.op, self.plan = node, op, op.plan
        inner: list[Any] = [v.type.make_variable(v.name) for v in op.fgraph.inputs]
        outs = op.inlined(inner)
        pairs = list(zip(inner, node.inputs[1:], strict=True))
        first, last = self.plan.sequences, self.plan.sequences + self.plan.states
        self.rows, self.states, self.constants = pairs[:first], pairs[first:last], pairs[last:]
        self.condition = outs[-1] if self.plan.until else None
        self.twins: dict[Variable, list[Any]] = {}
        self.results: list[list[Any]] = [
            [out, kind, inner[like] if kind == SUM else None, old]
            for out, kind, like, old in zip(outs, self.plan.kinds, self.plan.likes, node.outputs, strict=False)
        ]

    @property
    def bodies(self) -> list[Any]:
        """The inner outputs, with the condition, if there is one."""
        return [r[0] for r in self.results] + ([] if self.condition is None else [self.condition])

    def substitute(self, instead: Mapping[Any, Any]) -> None:
        """Let inner variables be computed of others."""
        bodies = clone_replace(self.bodies, instead)
        for r, body in zip(self.results, bodies, strict=False):
            r[0] = body
        if self.condition is not None:
            self.condition = bodies[-1]

    @property
    def others(self) -> list[list[Any]]:
        """The results that are no states."""
        return self.results[len(self.states) :]

    def build(self) -> tuple[dict[Variable, Variable], list[Any]]:
        """Return the replacements of old outputs, and all outputs of the new loop; unused inputs are left out."""
        outputs = self.bodies
        used = set(graph_inputs(outputs)) | {r[2] for r in self.results if r[2] is not None}
        rows = [p for p in self.rows if p[0] in used]
        constants = [p for p in self.constants if p[0] in used]
        pairs = [*rows, *self.states, *constants]
        positions = {inner: k for k, (inner, _) in enumerate(pairs)}
        plan: Plan = replace(
            self.plan,
            sequences=len(rows),
            states=len(self.states),
            kinds=tuple(r[1] for r in self.results),
            likes=tuple(-1 if r[2] is None else positions[r[2]] for r in self.results),
        )
        op = Loop([inner for inner, _ in pairs], outputs, plan, self.op.name, self.op.options, self.op.memory)
        results: list[Any] = op(self.node.inputs[0], *(outer for _, outer in pairs), return_list=True)
        new = {r[3]: results[k] for k, r in enumerate(self.results) if r[3] is not None}
        place_of = {id(r): k for k, r in enumerate(self.results)}
        new |= {old: results[place_of[id(r)]] for old, r in self.twins.items()}
        if self.plan.until:
            new[self.node.outputs[-1]] = results[-1]
        return new, results
