"""Opt-in rewrites, which modes include by name; implementations of convolutions on devices, by name."""

from __future__ import annotations

from functools import reduce
from typing import Any

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.modes import optdb
from theano_optimize import Fit, GraphRewriter, RewriteProfile, SequenceDatabase

from .._core._ops import Assert
from .._core._type import Tensor
from ..creation import Alloc
from ..elemwise import and_, dimshuffle, eq, ge, lt
from ..indexing import (
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    IncSubtensor,
    Subtensor,
)
from ..reduce import all as all_
from ..shape import ShapeI, shape_i
from ._language import can_replace, cast_to, rule
from .equations import Anything, Equations, Real, applied, arccosh, arctanh, cosh, equations, tanh, wide
from .indexing import same_index
from .shape import computed_shape, known_lengths

# ---- Opt-in rewrites, which modes include by name: right for programs without mistakes, they hide some mistakes of
# others
#
# An index that does not fit, rows that are given twice and numbers outside of the domain of a function are not looked
# at.

Found = list[Variable] | None
part, written = applied("part", Subtensor), applied("written", IncSubtensor)


@equations(
    Subtensor,
    tags=("local_subtensor_inc_subtensor",),
    key="local_subtensor_inc_subtensor_on_request",
    names=("local_subtensor_inc_subtensor",),
    fit=Fit.UNCHECKED,
)
def part_as_it_was_written(a: Anything, b: Anything) -> Equations:
    """A part that has been set is its new value, if that has the dimensions of the part; the index may not fit."""
    return [(part(written(a, b, ...), ...) >> wide(b)).when(is_part_that_was_set, has_dimensions_of_result)]


def is_part_that_was_set(node: Apply[Any, Tensor]) -> bool:
    """The part that is read is the one that was set."""
    write = node.inputs[0].owner
    return write is not None and same_index(node, write) and write.op.set_instead_of_inc


def has_dimensions_of_result(node: Apply[Any, Tensor], b: Tensor) -> bool:
    """The tensor `b` has the dimensions of the result."""
    return bool(b.type.broadcastable == node.outputs[0].type.broadcastable)


@rule(AdvancedSubtensor1, tags=("local_adv_sub1_adv_inc_sub1",), key="local_adv_sub1_adv_inc_sub1")
def rows_as_they_were_written(fgraph: FunctionGraph, node: Apply[AdvancedSubtensor1, Tensor]) -> Found:
    """``set_subtensor(x[i], y)[i] -> y`` for numbers i of rows; an assertion says that all fit."""
    write = node.inputs[0].owner
    if write is None or not isinstance(write.op, AdvancedIncSubtensor1) or not write.op.set_instead_of_inc:
        return None
    x, y, rows = write.inputs
    if rows is not node.inputs[1] or y.type.broadcastable != node.outputs[0].type.broadcastable:
        return None
    count = shape_i(x, 0)
    in_range = all_(and_(lt(rows, count), ge(rows, -count)))
    fits = [eq(shape_i(y, axis), shape_i(rows if axis == 0 else x, axis)) for axis in range(x.type.ndim)]
    checked = Assert("a number of a row is out of range, or rows do not fit")(y, in_range, *fits)
    return [cast_to(checked, node.outputs[0].type.dtype)]


@rule(
    IncSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    tags=("local_useless_inc_subtensor_alloc",),
    key="local_useless_inc_subtensor_alloc_on_request",
    names=("local_useless_inc_subtensor_alloc",),
)
def value_for_filled_part(
    fgraph: FunctionGraph, node: Apply[IncSubtensor | AdvancedIncSubtensor | AdvancedIncSubtensor1, Tensor]
) -> Found:
    """``inc_subtensor(x[i], alloc(value, n)) -> inc_subtensor(x[i], value)``; assertions compare lengths."""
    x, y, *inputs = node.inputs
    owner = y.owner
    if owner is None or not isinstance(owner.op, Alloc):
        return None
    part = _read(node)(x, *inputs)
    extra = part.type.ndim - y.type.ndim
    if extra < 0:
        return None
    shape = computed_shape(fgraph, known_lengths(fgraph), part)
    checks = []
    for axis, length_needed in enumerate(owner.inputs[1:], extra):
        length = None if shape is None else shape[axis]
        if not _is_same(length, length_needed) and not part.type.broadcastable[axis]:
            checks.append(eq(shape_i(part, axis), length_needed))
    value = owner.inputs[0]
    if checks:
        value = Assert("the value has not the shape of the part that it changes")(value, reduce(and_, checks))
    padded = dimshuffle(value, ["x"] * (part.type.ndim - value.type.ndim) + list(range(value.type.ndim)))
    new = node.op(x, padded, *inputs)
    return [new] if can_replace(node.outputs[0], new) else None


def _read(node: Apply[Any, Tensor]) -> Any:
    """Return the op that reads the part which a node changes."""
    if isinstance(node.op, IncSubtensor):
        return Subtensor(node.op.entries)
    return AdvancedSubtensor1() if isinstance(node.op, AdvancedIncSubtensor1) else AdvancedSubtensor(node.op.entries)


def _is_same(own: Any, wanted: Variable) -> bool:
    """Tell whether two lengths are one variable, or the same length of one tensor."""
    a, b = getattr(own, "owner", None), wanted.owner
    if a is None or b is None or not isinstance(a.op, ShapeI):
        return own is wanted
    return a.op == b.op and a.inputs[0] is b.inputs[0]


@equations(
    scalar.arccosh,
    scalar.tanh,
    tags=("local_func_inv",),
    key="local_func_inv_on_request",
    names=("local_func_inv",),
)
def function_of_its_inverse_somewhere(x: Real) -> Equations:
    """Functions of inverses that do not take every number."""
    return [arccosh(cosh(x)) >> x, tanh(arctanh(x)) >> x]


# ---- The rewrites that choose among implementations of convolutions on devices, by their names and tags
#
# The names are there from the start, so that modes may include and exclude them; their work is given by
# `theano_tensor.device`, which is loaded with the first device. Without devices they leave graphs as they are.

_LEVELS = ("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe")
#: Name, tags and position. Those without the usual levels run only where somebody includes them.
_STEPS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("cudnn", (), 1),
    ("conv_gemm_alone", ("conv_gemm",), 2),
    ("conv_meta", (), 3),
    ("low_memory", (*_LEVELS, "conv_dnn", "cudnn"), 4),
    ("conv_dnn", (*_LEVELS, "cudnn"), 5),
    ("conv_gemm", _LEVELS, 6),
    ("conv_check", _LEVELS, 7),
)


class DeviceChoice(GraphRewriter):
    """A step that does nothing until devices are loaded, and then the work given to :func:`give_choice`.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.rewriter: GraphRewriter | None = None

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile | None:
        """Change the graph as the rewriter does that was given."""
        return RewriteProfile(self.name) if self.rewriter is None else self.rewriter.apply(fgraph)


device_choices = SequenceDatabase("device_choices")
_CHOICES = {name: DeviceChoice(name) for name, _, _ in _STEPS}
for _name, _tags, _position in _STEPS:
    device_choices.register(_name, _CHOICES[_name], *_tags, position=_position)
optdb.register("device_choices", device_choices, *_LEVELS, "gpuarray", position=49.25)


def give_choice(rewriter: GraphRewriter) -> None:
    """Give the step of the rewriter's name its work.

    Parameters
    ----------
    rewriter : GraphRewriter

    Raises
    ------
    KeyError
        If there is no such step.
    """
    _CHOICES[rewriter.name].rewriter = rewriter
