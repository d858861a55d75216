"""Inverse pairs of operations, writes of the present values, and unused results."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import Composite, ScalarProgram
from theano_optimize import Context, Fit, Phase

from .._core._convert import ScalarFromTensor, TensorFromScalar, constant
from .._core._ops import assert_op
from .._core._type import Tensor
from ..creation import Alloc, alloc
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..indexing import AdvancedIncSubtensor, AdvancedIncSubtensor1, AdvancedSubtensor1, IncSubtensor, Subtensor
from ..indexing.entries import known_number
from ..linear import dot
from ..reduce import Sum
from ..shape import MakeVector, Reshape, ShapeI
from ._language import call, can_replace, number, operands, rule, scalar_constant, sole_client
from .allocs import is_filled_with_zeros
from .equations import Anything, Equations, applied, built, equations, view
from .indexing import FULL, index_of

Found = list[Variable] | None
as_scalar, as_tensor = applied("as_scalar", ScalarFromTensor), applied("as_tensor", TensorFromScalar)
reshape = applied("reshape", Reshape)
written, written_at = applied("written", IncSubtensor), applied("written_at", AdvancedIncSubtensor)
written_rows, rows_of = applied("written_rows", AdvancedIncSubtensor1), applied("rows", AdvancedSubtensor1)
ONLY_RUN = ("fast_run",)
BOTH = (Phase.CANONICALIZE, Phase.SPECIALIZE)


@equations(
    ScalarFromTensor,
    TensorFromScalar,
    phases=BOTH,
    tags=ONLY_RUN,
    key="local_scalar_tensor_scalar",
    names=("local_tensor_scalar_tensor",),
    fit=Fit.UNCHECKED,
)
def number_there_and_back(a: Anything) -> Equations:
    """A scalar that is made a tensor and a scalar again, and a tensor the other way round."""
    return [
        (as_scalar(as_tensor(a)) >> a).when(has_type_of_result),
        (as_tensor(as_scalar(a)) >> a).when(has_type_of_result),
    ]


def has_type_of_result(node: Apply[Any, Tensor], a: Variable) -> bool:
    """The variable `a` has the type of the result."""
    return bool(a.type == node.outputs[0].type)


@rule(Subtensor, tags=ONLY_RUN, phases=(Phase.SPECIALIZE,), key="local_subtensor_remove_broadcastable_index")
def only_element_of_dimension(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``x[:, 0] -> dimshuffle(x, 0)`` where the second dimension has length 1.

    After stabilisation, whose patterns the view would hide: it moves between a logarithm and the exponential below.
    """
    x = node.inputs[0]
    dropped = []
    for axis, item in enumerate(index_of(node)):
        if isinstance(item, slice):
            if item != FULL:
                return None
        elif known_number(item) in (0, -1) and x.type.shape[axis] == 1:
            dropped.append(axis)
        else:
            return None
    new = view_of(x, [axis for axis in range(x.type.ndim) if axis not in dropped])
    return [new] if dropped and can_replace(node.outputs[0], new) else None


def view_of(x: Tensor, order: list[int | str]) -> Tensor:
    """Return ``dimshuffle(x, order)``, of the base of x where x is a view."""
    inner = x.owner
    if inner is not None and isinstance(inner.op, DimShuffle):
        x, order = inner.inputs[0], [e if isinstance(e, str) else inner.op.order[e] for e in order]
    return x if order == list(range(x.type.ndim)) else dimshuffle(x, order)


@rule(AdvancedSubtensor1, tags=ONLY_RUN, key="local_rows_of_make_vector", names=("local_subtensor_make_vector",))
def elements_of_vector(fgraph: FunctionGraph, node: Apply[AdvancedSubtensor1, Tensor]) -> Found:
    """``make_vector(a, b, c)[[0, 2]] -> make_vector(a, c)``."""
    maker = node.inputs[0].owner
    places = getattr(node.inputs[1], "data", None)
    if maker is None or not isinstance(maker.op, MakeVector) or places is None or places.ndim != 1:
        return None
    count = len(maker.inputs)
    if not all(-count <= position < count for position in places):
        return None
    new = maker.op(*(maker.inputs[place] for place in places))
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Alloc, tags=ONLY_RUN, phases=BOTH, key="local_merge_alloc")
def alloc_of_alloc(fgraph: FunctionGraph, node: Apply[Alloc, Tensor]) -> Found:
    """``alloc(alloc(x, 1, m), n, m) -> alloc(x, n, m)``; lengths that may differ are compared when the graph runs."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Alloc):
        return None
    lengths = list(node.inputs[1:])
    value = inner.inputs[0]
    first, of_value = len(lengths) - len(inner.inputs[1:]), len(lengths) - value.type.ndim
    for axis, length in enumerate(inner.inputs[1:], first):
        length_outside = lengths[axis]
        if number(length) == 1 and number(length_outside) != 1:
            if axis >= of_value and not value.type.broadcastable[axis - of_value]:
                return None  # only the inner one declares that the value broadcasts
        elif length is not length_outside:
            if number(length) is not None and number(length) == number(length_outside):
                continue
            same = call(scalar.eq, length, length_outside)
            lengths[axis] = assert_op(length_outside, same)
    new = alloc(value, *lengths)
    return [new] if can_replace(node.outputs[0], new) else None


@equations(Reshape, tags=ONLY_RUN, key="local_useless_dimshuffle_in_reshape", fit=Fit.EXACT)
def reshape_of_view(a: Anything, shape: Anything) -> Equations:
    """A view with the elements in the same order makes no difference to a reshape."""
    return [(reshape(view(a), shape) >> reshape(a, shape)).when(keeps_order)]


def keeps_order(node: Apply[Any, Tensor], a: Tensor) -> bool:
    """The elements stay in order."""
    inner = node.inputs[0].owner
    order = [] if inner is None else inner.op.order
    entries = [e for e in order if not isinstance(e, str) and a.type.shape[e] != 1]
    return entries == sorted(entries)


@rule(Reshape, tags=("local_reshape_to_dimshuffle",), key="local_reshape_to_dimshuffle")
def reshape_around_single_elements(fgraph: FunctionGraph, node: Apply[Reshape, Tensor]) -> Found:
    """``reshape(x, (1, n)) -> dimshuffle(reshape(x, (n,)), 'x', 0)``: where it is asked for, as it gains nothing."""
    x, vector = node.inputs
    ndim = node.outputs[0].type.ndim
    lengths = _entries(vector, ndim)
    if lengths is None:
        return None
    axes = [axis for axis in range(ndim) if number(lengths[axis]) != 1]
    if len(axes) == ndim:
        return None
    data = getattr(vector, "data", None)
    inner = Reshape(len(axes))(x, [lengths[axis] for axis in axes] if data is None else constant(data[axes]))
    order = iter(range(len(axes)))
    new = dimshuffle(inner, [next(order) if axis in axes else "x" for axis in range(ndim)])
    return [new] if can_replace(node.outputs[0], new) else None


def _entries(vector: Any, ndim: int) -> list[Any] | None:
    data = getattr(vector, "data", None)
    if data is not None:
        return [scalar_constant(data[i], "int64", 0) for i in range(ndim)]
    owner = vector.owner
    return list(owner.inputs) if owner is not None and isinstance(owner.op, MakeVector) else None


@rule(Reshape, tags=ONLY_RUN, phases=BOTH, reach=2, key="local_useless_tile")
def reshape_to_known_lengths(fgraph: FunctionGraph, node: Apply[Reshape, Tensor]) -> Found:
    """``reshape(x, (1, n, m)) -> dimshuffle(x, 'x', 0, 1)`` where n and m are known to be the lengths of x."""
    x, vector = node.inputs
    lengths = _entries(vector, node.op.ndim)
    if lengths is None:
        return None
    source, dimensions = _dimensions(x)
    places = iter(
        [dimension for dimension in dimensions if isinstance(dimension, int) and source.type.shape[dimension] != 1]
    )
    order: list[int | str] = []
    for length in lengths:
        position = "x" if number(length) == 1 else next(places, None)
        if position is None or (isinstance(position, int) and not _is_length(length, source, position)):
            return None
        order.append(position)
    if next(places, None) is not None:
        return None
    new = source if order == list(range(source.type.ndim)) else dimshuffle(source, order)
    return [new] if can_replace(node.outputs[0], new) else None


def _dimensions(x: Tensor) -> tuple[Tensor, list[int | str]]:
    """Return the base of the view x, and which of its dimensions those of x are."""
    inner = x.owner
    if inner is not None and isinstance(inner.op, DimShuffle):
        return inner.inputs[0], list(inner.op.order)
    return x, list(range(x.type.ndim))


def _is_length(length: Variable, x: Tensor, axis: int) -> bool:
    owner = length.owner
    if owner is not None and owner.op == ShapeI(axis) and owner.inputs[0] is x:
        return True
    known = x.type.shape[axis]
    return known is not None and number(length) == known


@equations(
    IncSubtensor,
    AdvancedIncSubtensor,
    tags=("local_incsubtensor_of_zeros",),
    key="local_incsubtensor_of_zeros",
    names=("local_incsubtensor_of_allocs",),
    fit=Fit.EXACT,
)
def increment_by_zeros(a: Anything, b: Anything) -> Equations:
    """Increments by zeros: where it is asked for, since an index out of range is no longer noticed."""
    return [
        (written(a, b, ...) >> a).when(is_increment, are_zeros),
        (written_at(a, b, ...) >> a).when(is_increment, are_zeros),
    ]


def is_increment(node: Apply[Any, Tensor]) -> bool:
    """The written value is added."""
    return not node.op.set_instead_of_inc


def are_zeros(b: Tensor) -> bool:
    """The tensor `b` is filled with zeros."""
    return is_filled_with_zeros(b)


@equations(
    IncSubtensor,
    tags=("local_setsubtensor_of_constants",),
    key="local_setsubtensor_of_constants",
    names=("local_setsubtensor_of_allocs",),
    fit=Fit.EXACT,
)
def part_set_to_what_it_is(a: Anything, b: Anything) -> Equations:
    """Zeros set to zeros: where it is asked for, as above."""
    return [(written(a, b, ...) >> a).when(is_replacement, are_zeros, is_made_of_zeros)]


def is_replacement(node: Apply[Any, Tensor]) -> bool:
    """The written value replaces the element."""
    return bool(node.op.set_instead_of_inc)


def is_made_of_zeros(a: Tensor) -> bool:
    """The tensor `a` is filled with zeros."""
    return is_filled_with_zeros(a)


@equations(
    AdvancedIncSubtensor1,
    tags=ONLY_RUN,
    key="local_set_rows_to_inc_rows",
    names=("local_set_to_inc_subtensor",),
    fit=Fit.EXACT,
)
def rows_set_to_sum(a: Anything, b: Anything, rows: Anything) -> Equations:
    """A sum put into the known, different rows that it was taken from is an increment."""
    sums = written_rows(a, rows_of(a, rows) + b, rows) >> incremented_rows(a, b, rows)
    return [sums.when(is_replacement, are_different_rows)]


def are_different_rows(rows: Any) -> bool:
    """The numbers of the rows are known, and different."""
    indices = getattr(rows, "data", None)
    if indices is None:
        return False
    return not indices.size or bool(indices.min() >= 0 and len(np.unique(indices)) == indices.size)


@built("incremented_rows")
def incremented_rows(context: Context, a: Tensor, b: Tensor, rows: Tensor) -> Tensor:
    """Return a tensor with rows incremented."""
    return AdvancedIncSubtensor1(context.node.op.inplace)(a, b, rows)


@rule(Elemwise, tags=ONLY_RUN, phases=(Phase.CANONICALIZE,), reach=0, key="local_useless_composite")
def results_nobody_uses(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """A composite of several results computes the used ones."""
    if len(node.outputs) < 2 or not isinstance(node.op.scalar_op, Composite) or node.op.inplace_pattern:
        return None
    used = [i for i, output in enumerate(node.outputs) if fgraph.clients(output)]
    if len(used) == len(node.outputs) or not used:
        return None
    program: ScalarProgram = node.op.scalar_op.program
    smaller = ScalarProgram(
        program.input_dtypes, program.constants, program.steps, tuple(program.outputs[i] for i in used)
    )
    new = iter(Elemwise(Composite.from_program(smaller)).make_node(*node.inputs).outputs)
    return [next(new) if i in used else None for i in range(len(node.outputs))]  # type: ignore[misc]  # None: unused


@rule(Sum, tags=ONLY_RUN, phases=BOTH, reach=3, key="local_sumsqr2dot")
def sum_of_squared_outer_product(fgraph: FunctionGraph, node: Apply[Sum, Tensor]) -> Found:
    """``sum(sqr(w[None] * g[:, None]), axes 1 and 2) -> dot(sqr(g), sum(sqr(w), axis 0))`` for matrices."""
    squares = operands(node.inputs[0], scalar.sqr)
    if squares is None or sole_client(fgraph, node.inputs[0]) is None or tuple(node.op.axes(3)) != (1, 2):
        return None
    factors = operands(squares[0], scalar.mul)
    if factors is None or len(factors) != 2 or sole_client(fgraph, squares[0]) is None:
        return None
    found: dict[tuple[Any, ...], Tensor] = {}
    for factor in factors:
        if factor.owner is None or not isinstance(factor.owner.op, DimShuffle):
            return None
        found[tuple(factor.owner.op.order)] = factor.owner.inputs[0]
    w, g = found.get(("x", 0, 1)), found.get((0, "x", 1))
    dtype = node.outputs[0].type.dtype
    if w is None or g is None or w.type.dtype != dtype or g.type.dtype != dtype or "float" not in dtype:
        return None
    new = dot(call(scalar.sqr, g), Sum(0, node.op.dtype, node.op.acc_dtype)(call(scalar.sqr, w)))
    return [new] if can_replace(node.outputs[0], new) else None
