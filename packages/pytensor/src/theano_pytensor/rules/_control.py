"""Conditions, checks, and graphs inside ops."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano.tensor as T
from theano.ifelse import ifelse
from theano_tensor import CheckAndRaise

from .._table import NoRule, Site, rule


@rule("compile.OpFromGraph")
def _graph(site: Site) -> Any:
    """The graph takes the place of the op, so that all is rewritten together."""
    return site.translation.graph(site.op.fgraph, site.inputs)


@rule("tensor.OpWithCoreShape")
def _with_core_shape(site: Site) -> Any:
    """The graph again; PyTensor hands it the shape of the result besides, which we work out ourselves."""
    return site.translation.graph(site.op.fgraph, site.inputs)


@rule("ifelse.IfElse")
def _ifelse(site: Site) -> Any:
    condition, *values = site.inputs
    count = site.op.n_outs
    if any(value is None for value in values):
        raise NoRule("a choice of None")
    results = ifelse(T.neq(condition, 0), values[:count], values[count:])
    return list(results) if isinstance(results, list | tuple) else [results]


@rule("raise_op.CheckAndRaise")
def _check(site: Site) -> Any:
    value, *conditions = site.inputs
    return CheckAndRaise(site.op.exc_type, site.op.msg)(value, *(T.neq(condition, 0) for condition in conditions))


@rule("pymc.CheckParameterValue")
def _check_parameter(site: Site) -> Any:
    """A density is minus infinity where a parameter is out of its range, as a rewrite of PyMC has it."""
    if not site.op.can_be_replaced_by_ninf:
        return _check(site)
    value, *conditions = site.inputs
    valid = T.neq(conditions[0], 0)
    for condition in conditions[1:]:
        valid = T.and_(valid, T.neq(condition, 0))
    return T.switch(valid, value, T.constant(np.array(-np.inf, value.dtype)))
