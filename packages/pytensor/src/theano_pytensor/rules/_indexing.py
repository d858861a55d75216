"""Indexing of all kinds: reading, setting and incrementing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import theano.tensor as T
from theano.tensor.type_other import make_slice

from .._table import NoRule, Site, rule


def _entry(part: Any, indices: Iterator[Any], inputs: Sequence[Any]) -> Any:
    """Return one entry of an index from a template: types take the next input, integers name the input."""
    if isinstance(part, slice):
        return slice(*(_entry(bound, indices, inputs) for bound in (part.start, part.stop, part.step)))
    if part is None:
        return None
    return inputs[part] if isinstance(part, int) else next(indices)


def index_of(op: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index that an op has, in part as a template and in part as inputs."""
    template = getattr(op, "idx_list", None)
    if template is None:
        return tuple(inputs)
    indices = iter(inputs)
    return tuple(_entry(part, indices, inputs) for part in template)


@rule("tensor.MakeSlice")
def _slice(site: Site) -> Any:
    return make_slice(slice(*site.inputs))


@rule("tensor.Subtensor", "tensor.AdvancedSubtensor")
def _part(site: Site) -> Any:
    x, *indices = site.inputs
    return x[index_of(site.op, indices)]


@rule("tensor.IncSubtensor", "tensor.AdvancedIncSubtensor")
def _changed(site: Site) -> Any:
    """Set or increment a part; increments of entries that repeat add up, unless the op says otherwise."""
    x, y, *indices = site.inputs
    op = site.op
    part = x[index_of(op, indices)]
    if op.set_instead_of_inc:
        return T.set_subtensor(part, y)
    once = getattr(op, "ignore_duplicates", False)
    # Other forms overwrite what they may by themselves.
    return T.inc_subtensor(part, y, inplace=once and bool(site.overwritten), ignore_duplicates=once)


@rule("tensor.AdvancedSubtensor1")
def _rows(site: Site) -> Any:
    x, rows = site.inputs
    return x[rows]


@rule("tensor.AdvancedIncSubtensor1")
def _changed_rows(site: Site) -> Any:
    x, y, rows = site.inputs
    part = x[rows]
    return T.set_subtensor(part, y) if site.op.set_instead_of_inc else T.inc_subtensor(part, y)


@rule("tensor.Choose")
def _choose(site: Site) -> Any:
    which, *choices = site.inputs
    if len(choices) == 1:
        raise NoRule("choices from the first axis of one array")
    return T.choose(which, choices, mode=site.op.mode)
