"""Parts of tensors: index less, index earlier, and change shared tables where they are.

Where a rule would change which error is raised, it does not apply: numbers out of range stay out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_optimize import Phase

from .._core._ops import at_once
from .._core._type import Tensor
from .._errors import ShapeError
from ..creation import Alloc
from ..elemwise import Elemwise
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Slice, Subtensor, slice_length
from ..indexing.entries import Entries, as_python, from_python, known_number
from ..linear import Dot
from ..shape import MakeVector, ShapeI, SpecifyShape, shape_i
from ._language import call, can_replace, lift, maker, operands, rule, sole_client
from .shape import is_traced_length, known_lengths
from .views import part_of_reversed

Found = list[Variable] | None
FULL = slice(None)
BACKWARDS = slice(None, None, -1)
ONLY_RUN = ("fast_run",)
BOTH = (Phase.CANONICALIZE, Phase.SPECIALIZE)


def unless_out_of_range(function: Callable[[FunctionGraph, Apply], Found]) -> Callable[[FunctionGraph, Apply], Found]:
    """Leave a node alone where the new form shows that an index cannot fit: that is for the call to say."""

    @wraps(function)
    def careful(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
        token = at_once.set(True)
        try:
            return function(fgraph, node)
        except (IndexError, ShapeError):
            return None
        finally:
            at_once.reset(token)

    return careful


def index_of(node: Apply[Any, Tensor], first: int = 1) -> tuple[Any, ...]:
    """Return the index of a node with variables in it."""
    return as_python(node.op.entries, node.inputs[first:])


def part_of(x: Tensor, index: Sequence[Any]) -> Tensor:
    """Return ``x[index]`` for a basic index with variables in it."""
    items = list(index)
    while items and items[-1] == FULL:
        items.pop()
    if not items:
        return x
    entries, inputs = from_python(items)
    return Subtensor(entries)(x, *inputs)


def is_static(item: Any) -> bool:
    """Tell whether a part of an index has no variables in it, but constants."""
    bounds = (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)
    return all(b is None or isinstance(known_number(b), int) for b in bounds)


def _numbers(item: slice) -> tuple[int | None, int | None, int | None]:
    return known_number(item.start), known_number(item.stop), known_number(item.step)


def _is_whole(fgraph: FunctionGraph, item: Any, x: Tensor, axis: int) -> bool:
    """Tell whether a part of an index takes all of an axis, in its order."""
    if not isinstance(item, slice):
        return False
    start, stop, step = _numbers(item)
    if step not in (None, 1):
        return False
    length = x.type.shape[axis]
    if length is not None and is_static(item):
        return range(length)[slice(start, stop, step)] == range(length)
    return start in (None, 0) and (stop is None or _is_length(fgraph, item.stop, x, axis))


def _is_length(fgraph: FunctionGraph, bound: Any, x: Tensor, axis: int) -> bool:
    owner = bound.owner if isinstance(bound, Variable) else None
    return owner is not None and isinstance(owner.op, ShapeI) and is_traced_length(fgraph, owner, x, axis)


@rule(
    Subtensor,
    phases=BOTH,
    key="local_useless_subtensor",
    names=("local_useless_slice",),
)
@unless_out_of_range
def whole_part(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``x[0:n] -> x`` for a dimension of length n, and slices that take all of a dimension become ``:``."""
    x, index = node.inputs[0], index_of(node)
    new = [FULL if _is_whole(fgraph, item, x, axis) else item for axis, item in enumerate(index)]
    if all(item == FULL for item in new):
        return [x] if can_replace(node.outputs[0], x) else None
    if new == list(index) and new[-1] != FULL:
        return None
    return _if_it_fits(node, part_of(x, new))


def _if_it_fits(node: Apply[Any, Tensor], new: Tensor) -> Found:
    return [new] if can_replace(node.outputs[0], new) else None


@rule(Subtensor, phases=BOTH, key="local_subtensor_merge")
@unless_out_of_range
def part_of_part(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``x[a:][b:] -> x[a+b:]``, where that is known to be the same for tensors of all lengths."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Subtensor):
        return None
    x, outer = inner.inputs[0], list(index_of(node))
    merged: list[Any] = []
    for axis, item in enumerate(index_of(inner)):
        if isinstance(item, slice) and outer:
            found = _merged(item, outer.pop(0), x.type.shape[axis])
            if found is None:
                return None
            merged.append(found)
        else:
            merged.append(item)
    return _if_it_fits(node, part_of(x, [*merged, *outer]))


def _merged(inner: slice, outer: Any, length: int | None) -> Any:
    if inner == FULL:
        return outer
    if outer == FULL:
        return inner
    if length is None and isinstance(inner, slice) and _is_backwards(inner):
        return part_of_reversed(outer)
    if not is_static(inner) or not is_static(outer):
        return None
    if length is not None:
        return _merged_known(range(length)[slice(*_numbers(inner))], outer)
    a, b, s = _numbers(inner)
    a, s = a or 0, 1 if s is None else s
    if a < 0 or s < 0 or (b is not None and b < 0):
        return None
    if not isinstance(outer, slice):
        number = a + known_number(outer) * s
        return number if known_number(outer) >= 0 and (b is None or number < b) else None
    p, q, t = _numbers(outer)
    if (p, q, t, b, s) == (None, None, -1, None, 1):
        return slice(None, a - 1 if a else None, -1)
    p, t = p or 0, 1 if t is None else t
    if p < 0 or t < 0 or (q is not None and q < 0):
        return None
    stops = [stop for stop in (b, None if q is None else a + q * s) if stop is not None]
    return slice(a + p * s, min(stops) if stops else None, s * t)


def _is_backwards(item: slice) -> bool:
    return item.start is None and item.stop is None and item.step is not None and known_number(item.step) == -1


def _merged_known(elements: range, outer: Any) -> Any:
    if not isinstance(outer, slice):
        number = known_number(outer)
        return elements[number] if -len(elements) <= number < len(elements) else None
    left = elements[slice(*_numbers(outer))]
    if not left:
        return slice(0, 0)
    stop = left[-1] + (1 if left.step > 0 else -1)
    return slice(left[0], None if stop < 0 else stop, left.step)


#: How many nodes are looked at for a part that will come down.
LOOK_UP = 32


@rule(Subtensor, phases=(Phase.SPECIALIZE,), tags=ONLY_RUN, key="local_subtensor_lift")
@unless_out_of_range
def part_before_elementwise(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``f(x)[i] -> f(x[i])`` where nothing else uses f(x); other arguments of f must have length 1 where i takes parts.

    This runs after stabilisation, whose patterns it would hide. A part that another one will come down to waits for
    it, so that both go on as one: otherwise each part of a chain would pass all that is below on its own.
    """
    source = node.inputs[0]
    inner = source.owner
    if inner is None or not node.op.entries or sole_client(fgraph, source) is not node:
        return None
    index = index_of(node)
    large = _large_input(inner, index)
    if large is None or _another_comes(fgraph, node):
        return None
    one = [0 if not isinstance(item, slice) else FULL for item in index]
    inputs = inner.inputs
    new = inner.op.make_node(*(part_of(v, index if v is large else one) for v in inputs))
    return _if_it_fits(node, new.outputs[0])


def _large_input(node: Apply[Any, Tensor], index: Sequence[Any]) -> Variable | None:
    """Return the input of an elementwise node that alone has more than one element where an index takes a part.

    It must have the length of the output there. Elsewhere all inputs stay as they are, so that lengths are checked.
    """
    if type(node.op) is not Elemwise or len(node.outputs) != 1:
        return None
    touched = [axis for axis, item in enumerate(index) if item != FULL]
    large = [v for v in node.inputs if not all(v.type.broadcastable[d] for d in touched)]
    pattern = node.outputs[0].type.broadcastable
    fits = len(large) == 1 and all(large[0].type.broadcastable[d] == pattern[d] for d in touched)
    return large[0] if fits else None


def _another_comes(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """Tell whether a part further up can pass all that lies between. Looks up a bounded number of nodes."""
    variable = node.outputs[0]
    passed: list[tuple[Apply, Variable]] = []
    for _ in range(LOOK_UP):
        user = sole_client(fgraph, variable)
        if user is None:
            return False
        if isinstance(user.op, Subtensor):
            if not passed or not user.op.entries or user.inputs[0] is not variable:
                return False
            index = index_of(user)
            return all(_large_input(between, index) is below for between, below in passed)
        if type(user.op) is not Elemwise or len(user.outputs) != 1:
            return False
        passed.append((user, variable))
        variable = user.outputs[0]
    return False


def _is_in_range(item: Any, length: int | None) -> bool:
    """Tell whether a number is known to be the place of an element of a dimension."""
    return length is not None and isinstance(n := known_number(item), int) and -length <= n < length


@rule(Subtensor, tags=ONLY_RUN, key="local_subtensor_of_alloc")
@unless_out_of_range
def part_of_alloc(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``alloc(value, n, m)[i:] -> alloc(value, n - i, m)``."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, Alloc):
        return None
    value, *lengths = inner.inputs
    whole = node.inputs[0].type.shape
    extra = len(lengths) - value.type.ndim
    untouched, taken = list[Any](), list[Any]()
    index = [*index_of(node), *[FULL] * (len(lengths) - len(node.op.entries))]
    for axis, item in enumerate(index):
        broadcasted = axis < extra or value.type.broadcastable[axis - extra]
        if item != FULL and not broadcasted and value.type.shape[axis - extra] is None:
            return None  # it could turn out to have length 1
        if isinstance(item, slice):
            untouched.append(slice_length(lengths[axis], item))
        elif broadcasted and not _is_in_range(item, whole[axis]):
            return None  # only the whole can tell
        if axis >= extra:
            taken.append(item if not broadcasted else FULL if isinstance(item, slice) else 0)
    return _if_it_fits(node, Alloc()(part_of(value, taken), *untouched))


@rule(Subtensor, key="local_subtensor_make_vector")
@unless_out_of_range
def element_of_vector(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``make_vector(a, b, c)[1] -> b``, and parts of such vectors are vectors of fewer scalars."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, MakeVector) or len(node.op.entries) != 1:
        return None
    (item,) = index_of(node)
    if not is_static(item):
        return None
    dtype = inner.op.dtype
    if isinstance(item, slice):
        return _if_it_fits(node, MakeVector(dtype)(*inner.inputs[slice(*_numbers(item))]))
    chosen = inner.inputs[known_number(item)]
    return _if_it_fits(node, chosen.astype(dtype))


@rule(Subtensor, phases=BOTH, tags=ONLY_RUN, key="local_subtensor_of_dot")
@unless_out_of_range
def part_of_product(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``dot(A, B)[i, j] -> dot(A[i], B[:, j])`` where nothing else uses the product."""
    product = node.inputs[0]
    inner = product.owner
    if inner is None or not isinstance(inner.op, Dot) or sole_client(fgraph, product) is not node:
        return None
    a, b = inner.inputs
    if a.type.ndim not in (1, 2) or b.type.ndim not in (1, 2):
        return None
    index = [*index_of(node), FULL, FULL]
    left, right = index[: a.type.ndim - 1], index[a.type.ndim - 1 : a.type.ndim + b.type.ndim - 2]
    if all(item == FULL for item in left) and all(item == FULL for item in right):
        return None
    return _if_it_fits(node, Dot()(part_of(a, left), part_of(b, [FULL, *right] if right else [])))


def same_index(read: Apply[Any, Tensor], write: Apply[Any, Tensor]) -> bool:
    """Tell whether one node reads the very part that another writes."""
    mine, theirs = read.inputs[1:], write.inputs[2:]
    same = len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))
    return same and bool(read.op.entries == write.op.entries)


@rule(Subtensor, tags=ONLY_RUN, key="local_subtensor_inc_subtensor")
@unless_out_of_range
def part_that_was_written(fgraph: FunctionGraph, node: Apply[Subtensor, Tensor]) -> Found:
    """``set_subtensor(x[i], y)[i] -> y``, and ``inc_subtensor(x[i], y)[i] -> x[i] + y``.

    A number could be out of range, which y alone would not tell. Where a length could differ, y is filled into the
    shape of x[i].
    """
    write = node.inputs[0].owner
    if write is None or not isinstance(write.op, IncSubtensor) or not same_index(node, write):
        return None
    x, y = write.inputs[:2]
    part, y = node.op(x, *node.inputs[1:]), y
    if y.type.ndim < part.type.ndim:
        y = y.dimshuffle(["x"] * (part.type.ndim - y.type.ndim) + list(range(y.type.ndim)))
    if not write.op.set_instead_of_inc:
        return _if_it_fits(node, call(scalar.add, part, y))
    if not all(isinstance(item, slice) for item in index_of(write, 2)):
        return None
    return _if_it_fits(node, y if _known_to_fit(node, y) else call(scalar.second, part, y))


def _known_to_fit(node: Apply[Any, Tensor], y: Tensor) -> bool:
    shape = node.outputs[0].type.shape
    return None not in shape and shape == y.type.shape


@rule(IncSubtensor, tags=ONLY_RUN, key="local_set_to_inc_subtensor")
@unless_out_of_range
def set_of_sum(fgraph: FunctionGraph, node: Apply[IncSubtensor, Tensor]) -> Found:
    """``set_subtensor(x[i], x[i] + y) -> inc_subtensor(x[i], y)``.

    Not for arrays of numbers, in which duplicates would add up.
    """
    if not node.op.set_instead_of_inc:
        return None
    x, y = node.inputs[:2]
    terms = operands(y, scalar.add)
    if terms is None or len(terms) != 2:
        return None
    for read, other in (terms, reversed(terms)):
        owner = read.owner
        if owner is not None and isinstance(owner.op, Subtensor) and owner.inputs[0] is x and same_index(owner, node):
            return _if_it_fits(node, IncSubtensor(node.op.entries)(x, other, *node.inputs[2:]))
    return None


@rule(IncSubtensor, tags=ONLY_RUN, key="local_useless_inc_subtensor")
@unless_out_of_range
def whole_written(fgraph: FunctionGraph, node: Apply[IncSubtensor, Tensor]) -> Found:
    """A tensor that is replaced or incremented as a whole needs no index.

    Where a new value of the whole is not known to have its shape, lengths are compared when the graph runs. Its rows
    may be in the opposite order.
    """
    x, y = node.inputs[:2]
    index = index_of(node, 2)
    flips = [item if item == BACKWARDS else FULL for item in index]
    is_set = node.op.set_instead_of_inc
    if not all(
        item == BACKWARDS and is_set if item != FULL else _is_whole(fgraph, flip, x, axis)
        for axis, (item, flip) in enumerate(zip(flips, index, strict=True))
    ):
        return None
    if y.type.ndim < x.type.ndim:
        y = y.dimshuffle(["x"] * (x.type.ndim - y.type.ndim) + list(range(y.type.ndim)))
    if not is_set:
        return _if_it_fits(node, call(scalar.add, x, y))
    if y.type.broadcastable == x.type.broadcastable and not _equally_long(fgraph, x, y):
        if BACKWARDS in flips:
            return None
        filled: Any = Alloc()(y, *(shape_i(x, axis) for axis in range(x.type.ndim)))  # compares lengths
    else:
        filled = call(scalar.second, x, y)
    return _if_it_fits(node, part_of(filled, flips))


def _equally_long(fgraph: FunctionGraph, x: Tensor, y: Tensor) -> bool:
    """Tell whether two tensors of equal patterns are known to have one shape."""
    if same_shape(x, y):
        return True
    table = known_lengths(fgraph)
    return all(
        alike or table.length(fgraph, x, axis) is table.length(fgraph, y, axis)
        for axis, alike in enumerate(x.type.broadcastable)
    )


@rule(IncSubtensor, tags=ONLY_RUN, key="local_useless_inc_subtensor_alloc")
@unless_out_of_range
def filled_part(fgraph: FunctionGraph, node: Apply[IncSubtensor, Tensor]) -> Found:
    """``inc_subtensor(x[i], alloc(value, n)) -> inc_subtensor(x[i], value)`` where the lengths are known to fit."""
    x, y, *inputs = node.inputs
    owner = y.owner
    if owner is None or not isinstance(owner.op, Alloc):
        return None
    part = Subtensor(node.op.entries)(x, *inputs)
    if None in part.type.shape or part.type.shape != y.type.shape:
        return None
    return _if_it_fits(node, node.op(x, owner.inputs[0], *inputs))


def is_zeros(variable: Tensor) -> bool:
    """Tell whether all elements of a tensor are known to be 0."""
    owner = variable.owner
    value: Variable | None = variable
    if owner is not None and isinstance(owner.op, Alloc):
        value = owner.inputs[0]
    elif owner is not None:
        fill = operands(variable, scalar.second)
        value = None if fill is None else fill[1]
    data = getattr(value, "data", None)
    return isinstance(data, np.ndarray) and not data.any()


def shape_source(variable: Tensor) -> Tensor:
    """Return a variable of the same shape, as near to the inputs as can be seen at a glance."""
    while (owner := variable.owner) is not None:
        if isinstance(owner.op, (IncSubtensor, AdvancedIncSubtensor)) or owner.op == lift(scalar.second):
            variable = owner.inputs[0]
        elif isinstance(owner.op, (Alloc, SpecifyShape)) and _is_shape_of(owner.inputs[1:]):
            variable = maker(owner.inputs[1]).inputs[0]
        elif (
            type(owner.op) is Elemwise
            and len(large := [v for v in owner.inputs if has_all_dimensions(v, variable)]) == 1
        ):
            variable = large[0]
        else:
            break
    return variable


def has_all_dimensions(operand: Tensor, result: Tensor) -> bool:
    """Tell whether an operand of an elementwise op has all dimensions of the result."""
    pattern = getattr(result.type, "broadcastable", ())
    return bool(getattr(operand.type, "broadcastable", None) == pattern and not all(pattern))


def _is_shape_of(lengths: Sequence[Tensor]) -> bool:
    owners = [n.owner for n in lengths]
    first = owners[0] if owners else None
    if first is None or not isinstance(first.op, ShapeI) or first.inputs[0].type.ndim != len(lengths):
        return False
    return all(o is not None and o.op == ShapeI(i) and o.inputs[0] is first.inputs[0] for i, o in enumerate(owners))


def same_shape(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors are known to have one shape, so that none of them is needed to check the other."""
    static = getattr(a.type, "shape", (None,))
    return shape_source(a) is shape_source(b) or (None not in static and static == getattr(b.type, "shape", None))


def _adds(node: Apply[Any, Tensor] | None) -> bool:
    """Tell whether a node adds to a part, once for each time that an element is indexed."""
    if node is None or not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)):
        return False
    return not node.op.set_instead_of_inc and not getattr(node.op, "ignore_duplicates", False)


def _increments(
    fgraph: FunctionGraph, node: Apply[Any, Tensor], total: Tensor
) -> Iterator[tuple[int, Apply[Any, Tensor]]]:
    """Yield the terms of a sum that are increments used nowhere else."""
    for i, term in enumerate(node.inputs):
        owner = term.owner
        if owner is not None and _adds(owner) and sole_client(fgraph, term) is node and can_replace(total, term):
            yield i, owner


@rule(scalar.add, tags=ONLY_RUN, key="local_IncSubtensor_serialize")
def sum_of_increments(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``inc(a, b, i) + inc(c, d, j) -> inc(inc(a + c, b, i), d, j)``, without those of a and c that are zeros."""
    total = node.outputs[0]
    increments = dict(_increments(fgraph, node, total))
    others = [term for i, term in enumerate(node.inputs) if i not in increments]
    bases = [inner.inputs[0] for inner in increments.values()]
    needed = [base for base in bases if not is_zeros(base)]
    bases_kept = (others or needed or bases)[:1]
    if not all(base in needed or same_shape(base, bases_kept[0]) for base in bases):
        return None
    if not increments or (len(increments) == 1 and needed):
        return None
    if not all(can_replace(total, term) for term in (*others, *bases)):
        return None
    terms = [*others, *needed] or bases[:1]
    tip = terms[0] if len(terms) == 1 else lift(scalar.add)(*terms)
    for inner in increments.values():
        tip = inner.op(tip, *inner.inputs[1:])
    return _if_it_fits(node, tip)


def _chain(fgraph: FunctionGraph, last: Apply[Any, Tensor]) -> tuple[list[Apply[Any, Tensor]], Tensor]:
    """Return the increments that follow each other up to `last`, in order, and the base of the first one."""
    chain = [last]
    while True:
        base = chain[-1].inputs[0]
        inner = base.owner
        if inner is None or not _adds(inner) or sole_client(fgraph, base) is not chain[-1]:
            return chain[::-1], base
        chain.append(inner)


@rule(scalar.sub, tags=ONLY_RUN)
def difference_with_increments(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``x - inc(zeros, y, i) -> inc(x, -y, i)``, for several increments too: no tensor of the size of x is made."""
    x, term = node.inputs
    inner = term.owner
    if inner is None or not _adds(inner) or sole_client(fgraph, term) is not node:
        return None
    chain, base = _chain(fgraph, inner)
    if not is_zeros(base) or not can_replace(node.outputs[0], x) or not same_shape(x, term):
        return None
    tip = x
    for part in chain:
        tip = part.op(tip, call(scalar.neg, part.inputs[1]), *part.inputs[2:])
    return _if_it_fits(node, tip)


@rule(scalar.mul, scalar.neg, tags=ONLY_RUN)
def scaled_increments(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``c * inc(zeros, y, i) -> inc(zeros, c * y, i)`` for finite numbers c, for several increments too."""
    increments = dict(_increments(fgraph, node, node.outputs[0]))
    if len(increments) != 1:
        return None
    ((position, inner),) = increments.items()
    others = [v for i, v in enumerate(node.inputs) if i != position]
    chain, tip = _chain(fgraph, inner)
    if not is_zeros(tip) or not all(_is_finite_number(v) for v in others):
        return None
    for part in chain:
        y, *index = part.inputs[1:]
        ndim = y.type.ndim
        factors = [v.dimshuffle(["x"] * ndim) if _needs(v, ndim) else v for v in map(_bare, others)]
        scaled = node.op.make_node(*factors[:position], y, *factors[position:]).outputs[0]
        tip = part.op(tip, scaled, *index)
    return _if_it_fits(node, tip)


def _bare(variable: Tensor) -> Tensor:
    return variable.dimshuffle([]) if variable.type.ndim else variable


def _needs(variable: Tensor, ndim: int) -> bool:
    return variable.type.ndim != ndim


def _is_finite_number(variable: Tensor) -> bool:
    data = getattr(variable, "data", None)
    return isinstance(data, np.ndarray) and data.size == 1 and bool(np.isfinite(data).all())


@rule(AdvancedSubtensor, tags=(*ONLY_RUN, "local_useless_subtensor"))
def all_rows_in_order(fgraph: FunctionGraph, node: Apply[AdvancedSubtensor, Tensor]) -> Found:
    """``x[[0, 1, ..., n - 1]] -> x`` for a dimension of known length n."""
    x, *inputs = node.inputs
    if len(inputs) != 1 or node.op.entries[-1] == Slice() or not _takes_one_axis(node.op.entries):
        return None
    axis = len(node.op.entries) - 1
    data, length = getattr(inputs[0], "data", None), x.type.shape[axis]
    if not isinstance(data, np.ndarray) or data.dtype == np.bool_ or data.ndim != 1 or length is None:
        return None
    return [x] if np.array_equal(data, np.arange(length)) and can_replace(node.outputs[0], x) else None


def _takes_one_axis(entries: Entries) -> bool:
    return all(entry == Slice() for entry in entries[:-1])
