"""Conversions and choices that do nothing."""

from __future__ import annotations

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp

from .._core._type import Tensor
from ..elemwise import Elemwise
from ._conditions import is_false, is_true
from ._equations import Anything, Equations, Number, equations
from ._language import cast_to
from ._registry import rule
from ._terms import identity, switch

Found = list[Variable] | None


def is_cast(op: object) -> bool:
    """Tell whether an op converts the dtype of each element and does nothing else."""
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, _CAST)


_CAST: type[ScalarOp] = type(scalar.cast("float64"))


@rule(Elemwise, key="local_cast_cast")
def useless_cast(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``cast(x, its dtype) -> x``; of two casts the inner one goes if it loses nothing."""
    if not is_cast(node.op):
        return None
    x = node.inputs[0]
    dtype = node.outputs[0].type.dtype
    if x.type.dtype == dtype:
        return [x]
    inner = x.owner
    if inner is not None and is_cast(inner.op):
        source = inner.inputs[0]
        if np.can_cast(source.type.dtype, x.type.dtype, "safe"):
            return [cast_to(source, dtype)]
    return None


@equations(scalar.identity, reach=0, key="local_useless_identity", names=("local_useless_elemwise",))
def useless_identity(a: Anything) -> Equations:
    """The identity changes nothing."""
    return [identity(a) >> a]


@equations(scalar.switch, reach=0, key="local_remove_switch_const_cond", names=("local_useless_switch",))
def switch_on_constant(a: Anything, b: Anything, c: Anything, k: Number) -> Equations:
    """A choice that is known, or between equals, is none."""
    return [switch(c, a, a) >> a, (switch(k, a, b) >> a).when(is_true), (switch(k, a, b) >> b).when(is_false)]
