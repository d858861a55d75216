"""Ops on matrices applied to stacks of them, with stacks that broadcast against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import theano
import theano.tensor as T

from .._table import NoRule, Site, find_rule, name_of, rule
from ._linear import STACKED


@rule("tensor.Blockwise")
def _blockwise(site: Site) -> Any:
    """Apply the rule of the op inside to whole stacks where it takes them, else to each element in a loop."""
    op = site.op
    kind = type(op.core_op)
    core_rule = find_rule(kind)
    if core_rule is None:
        raise NoRule(f"there is no rule for {kind.__name__}")
    depths = [v.type.ndim - len(signature) for v, signature in zip(site.node.inputs, op.inputs_sig, strict=True)]
    depth = max(depths, default=0)
    if name_of(kind) == "tensor.Dot":
        return T.matmul(*site.inputs)
    core_node = op._create_dummy_core_node(site.node.inputs)
    inner = Site(core_node, site.inputs, site.translation)
    if not depth:
        return core_rule(inner)
    fronts = [_front(v, depth) for v in site.node.inputs]
    if name_of(kind) in STACKED and all(count == depth for count in depths):
        return core_rule(Site(core_node, _same_stacks(site, depth, fronts), site.translation))
    if any(v.type.ndim != depth + len(s) for v, s in zip(site.outputs, op.outputs_sig, strict=True)):
        raise NoRule("results that are no stacks")
    return _loop(site, core_node, depth, fronts)


def _front(variable: Any, depth: int) -> tuple[int | None, ...]:
    """Return the lengths of a stack that the type tells."""
    shape: tuple[int | None, ...] = variable.type.shape[:depth]
    return shape


def _lengths(inputs: Sequence[Any], depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Return the lengths of stacks after broadcasting: those of one that does not broadcast, axis by axis."""
    lengths: list[Any] = []
    for axis in range(depth):
        static = next((front[axis] for front in fronts if front[axis] not in (None, 1)), None)
        owner = next((x for x, front in zip(inputs, fronts, strict=True) if front[axis] != 1), None)
        length = 1 if owner is None else owner.shape[axis]
        lengths.append(length if static is None else static)
    return lengths


def _same_stacks(site: Site, depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Return the inputs, stacks that broadcast as copies of the common lengths."""
    lengths = _lengths(site.inputs, depth, fronts)
    broadcast = [any(front[axis] == 1 and lengths[axis] != 1 for axis in range(depth)) for front in fronts]
    return [
        T.alloc(x, *lengths, *(x.shape[axis] for axis in range(depth, x.ndim))) if copied else x
        for x, copied in zip(site.inputs, broadcast, strict=True)
    ]


def _loop(site: Site, core_node: Any, depth: int, fronts: Sequence[tuple[int | None, ...]]) -> list[Any]:
    """Apply the op inside in a loop over the stacks, which are put one behind the other."""
    lengths = _lengths(site.inputs, depth, fronts)
    single = [all(length == 1 for length in front) for front in fronts]
    stacks = _same_stacks(site, depth, fronts)
    flat = []
    for x, full, alone in zip(site.inputs, stacks, single, strict=True):
        source = x if alone else full
        tail = [source.shape[axis] for axis in range(depth, source.ndim)]
        lead = [] if alone else [-1]
        flat.append(T.reshape(source, _vector([*lead, *tail]), ndim=len(lead) + len(tail)))
    if all(single):
        results = site.translation.node(core_node, flat)
        return [T.shape_padleft(result, depth) for result in results]
    along = [x for x, alone in zip(flat, single, strict=True) if not alone]
    fixed = [x for x, alone in zip(flat, single, strict=True) if alone]

    def step(*values: Any) -> list[Any]:
        rows, constants = iter(values[: len(along)]), iter(values[len(along) :])
        return site.translation.node(core_node, [next(constants if alone else rows) for alone in single])

    results, _ = theano.scan(step, sequences=along, non_sequences=fixed, return_list=True)
    stacks = []
    for result in results:
        tail = [result.shape[axis] for axis in range(1, result.ndim)]
        stacks.append(T.reshape(result, _vector([*lengths, *tail]), ndim=depth + len(tail)))
    return stacks


def _vector(lengths: Sequence[Any]) -> Any:
    return T.stack(list(lengths)) if lengths else T.constant([], dtype="int64")
