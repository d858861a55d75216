"""Draws that move a state itself, where nobody else will ask for it."""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import Apply
from theano_linker_c import optdb
from theano_optimize import InplaceRewriter, Phase

from ._function import RandomFunction
from .mrg import MRGUniform


def _in_place(node: Apply) -> Iterable[RandomFunction]:
    op = node.op
    return [] if op.inplace else [RandomFunction(op.fn, op.outtype, True, op.ndim_added)]


#: States in shared variables are copied all the same: a call that fails must leave them as they were.
random_make_inplace = InplaceRewriter(_in_place, [RandomFunction], "random_make_inplace")
optdb.register(
    "random_make_inplace",
    random_make_inplace,
    "fast_run",
    "inplace",
    "o4",
    position=Phase.INPLACE,
    aliases=("inplace_random",),
)


def _streams_in_place(node: Apply) -> Iterable[MRGUniform]:
    op = node.op
    return [] if op.inplace else [MRGUniform(op.output_type, True)]


mrg_random_make_inplace = InplaceRewriter(_streams_in_place, [MRGUniform], "mrg_random_make_inplace")
optdb.register(
    "random_make_inplace_mrg",
    mrg_random_make_inplace,
    "fast_run",
    "inplace",
    "o4",
    position=Phase.INPLACE,
    aliases=("inplace_random",),
)
