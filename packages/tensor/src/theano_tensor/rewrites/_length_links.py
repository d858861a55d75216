"""Which lengths operations take over from their operands, which they compare, and lengths of filled tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any, TypeAlias

from theano_graph import Apply, Constant, RuleTable, Variable, call_with_graph, shape_rule
from theano_linker_c import scalar

from .._core._convert import constant
from .._core._ops import CheckAndRaise
from .._core._type import Tensor, TensorType
from ..creation import Alloc, ARange
from ..elemwise import DimShuffle, Elemwise, cast
from ..indexing import IncSubtensor, Subtensor
from ..indexing.entries import as_python, known_number
from ..linear import BatchedDot, Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from ..reduce import Reduce
from ..shape import ShapeI, ShapeOf, SpecifyShape, is_length
from ._language import call, kind_of, operands

# ---- Which lengths operations take over from their operands, and which they compare
#
# A *term* is a length: a number that is known, or a dimension of a tensor. Dimension `VALUE` of a scalar is the length
# that the scalar holds.

Dimension: TypeAlias = tuple[Variable, int]
Term: TypeAlias = Dimension | int
#: Terms for the dimensions of one tensor; None for a length that only the value tells.
Terms: TypeAlias = Sequence[Term | None]
VALUE = -1


def is_plain(variable: Variable) -> bool:
    """Tell whether a variable is a tensor, the lengths of which are looked at here."""
    return isinstance(variable.type, TensorType)


def term_of(variable: Any, axis: int) -> Term:
    """Return the length of a dimension, as a number if its type tells it."""
    length: int | None = variable.type.shape[axis]
    return (variable, axis) if length is None else length


def compared_elementwise(node: Apply[Any, Tensor]) -> Iterator[list[Term]]:
    """Yield, for each dimension in which nothing broadcasts, the lengths of the operands."""
    return _of_one_length(node, node.inputs)


def equal_elementwise(node: Apply[Any, Tensor]) -> Iterator[list[Term]]:
    """Yield, for each dimension in which nothing broadcasts, the lengths of the operands and of the results."""
    return _of_one_length(node, [*node.inputs, *node.outputs])


def _of_one_length(node: Apply[Any, Tensor], variables: Sequence[Tensor]) -> Iterator[list[Term]]:
    shapes = [(v, v.type.shape) for v in variables]
    for axis, n in enumerate(node.outputs[0].type.shape):
        if n != 1:
            lengths_known = [(v, shape[axis]) for v, shape in shapes]
            yield [(v, axis) if length is None else length for v, length in lengths_known if length != 1]


def _pairs(*places: tuple[int, int]) -> Callable[[Apply[Any, Tensor]], list[list[Term]]]:
    """Return the sources of two lengths of operands, each by its operand and its dimension from the end."""

    def compared(node: Apply[Any, Tensor]) -> list[list[Term]]:
        ends = [(node.inputs[k], axis) for k, axis in places]
        ends_compared = [(v, v.type.ndim + axis if axis < 0 else axis) for v, axis in ends]
        return [[term_of(*a), term_of(*b)] for a, b in zip(ends_compared[::2], ends_compared[1::2], strict=True)]

    return compared


def _compared_by_dot(node: Apply[Any, Tensor]) -> list[list[Term]]:
    x, y = node.inputs
    if not x.type.ndim or not y.type.ndim:
        return []
    return [[term_of(x, x.type.ndim - 1), term_of(y, max(y.type.ndim - 2, 0))]]


def _specified(node: Apply[Any, Tensor]) -> list[list[Term]]:
    x, *lengths = node.inputs
    pairs = zip(node.op.axes, lengths, strict=True)
    return [[term_of(x, axis), (n, VALUE)] for axis, n in pairs if is_plain(x)]


def _promised(node: Apply[Any, Tensor]) -> list[list[Term]]:
    equal = [operands(condition, scalar.eq) for condition in node.inputs[1:]]
    return [[(n, VALUE) for n in pair] for pair in equal if pair is not None and not pair[0].type.ndim]


def _allocated(node: Apply[Any, Tensor]) -> list[list[Term]]:
    value, *lengths = node.inputs
    last = enumerate(lengths[len(lengths) - value.type.ndim :])
    return [[term_of(value, axis), (n, VALUE)] for axis, n in last if not value.type.broadcastable[axis]]


#: Class of ops -> result of :func:`compared_lengths`.
COMPARED: RuleTable[Callable[[Apply[Any, Tensor]], Iterable[list[Term]]]] = RuleTable("compared_lengths")
COMPARED.register(Elemwise)(compared_elementwise)
COMPARED.register(Dot)(_compared_by_dot)
for _op in (Dot22, Dot22Scalar):
    COMPARED.register(_op)(_pairs((0, 1), (1, 0)))
COMPARED.register(BatchedDot)(_pairs((0, 0), (1, 0), (0, 2), (1, 1)))
COMPARED.register(Gemm)(_pairs((0, 0), (2, 0), (0, 1), (3, 1), (2, 1), (3, 0)))
COMPARED.register(Gemv)(_pairs((0, 0), (2, 0), (2, 1), (3, 0)))
COMPARED.register(Ger)(_pairs((0, 0), (2, 0), (0, 1), (3, 0)))
COMPARED.register(SpecifyShape)(_specified)
COMPARED.register(Alloc)(_allocated)
COMPARED.register(CheckAndRaise)(_promised)


def compared_lengths(node: Apply[Any, Tensor]) -> Iterable[list[Term]]:
    """Return the lengths of operands that are compared when a node runs, in groups that are equal."""
    compare = COMPARED.get(node.op)
    return () if compare is None else compare(node)


def sources(node: Apply[Any, Tensor]) -> list[Terms | None]:
    """Return the sources of the lengths of the outputs of a node; None for other values than tensors."""
    op = node.op
    if isinstance(op, Elemwise):
        pattern = node.outputs[0].type.broadcastable
        positions_of_inputs = [1 if single else _first(node.inputs, axis) for axis, single in enumerate(pattern)]
        return [positions_of_inputs] * len(node.outputs)
    if isinstance(op, DimShuffle):
        return [[1 if isinstance(entry, str) else term_of(node.inputs[0], entry) for entry in op.order]]
    if isinstance(op, Reduce):
        (x,) = node.inputs
        gone = op.axes(x.type.ndim)
        return [[term_of(x, axis) for axis in range(x.type.ndim) if axis not in gone]]
    if isinstance(op, IncSubtensor):  # the answer of its shape rule, for a fraction of the time
        return [[term_of(node.inputs[0], axis) for axis in range(node.inputs[0].type.ndim)]]
    if isinstance(op, ARange):
        start, stop, step = node.inputs
        counts = known_number(start) == 0 and known_number(step) == 1 and is_length(stop)
        return [[(stop, VALUE) if counts else None]]
    return _by_rule(node)


def beginning_of(variable: Variable, axis: int) -> tuple[Term, Term] | None:
    """Return the length of a dimension and the end of a slice from its beginning, which may be all of it, or None."""
    node = variable.owner
    if node is None or not isinstance(node.op, Subtensor):
        return None
    index = as_python(node.op.entries, node.inputs[1:])
    places = [position for position, item in enumerate(index) if isinstance(item, slice)]
    if axis >= len(places):
        return None
    item = index[places[axis]]
    if item.start not in (None, 0) or item.step not in (None, 1) or not isinstance(item.stop, Variable):
        return None
    return term_of(node.inputs[0], places[axis]), (item.stop, VALUE)


def _first(inputs: Sequence[Any], axis: int) -> Term:
    return next(term_of(v, axis) for v in inputs if not v.type.broadcastable[axis])


def _by_rule(node: Apply[Any, Tensor]) -> list[Terms | None]:
    """Return the sources of lengths that the shape rule of an op hands on."""
    nothing: list[Terms | None] = [[None] * v.type.ndim if is_plain(v) else None for v in node.outputs]
    rule: Any = shape_rule.get(node.op, "infer_shape") or getattr(node.op, "infer_shape", None)
    if rule is None:
        return nothing
    stand_ins: dict[Variable, Term] = {}
    shapes: list[Any] = []
    for k, v in enumerate(node.inputs):
        tokens = [_token(k, axis) for axis in range(v.type.ndim)] if is_plain(v) else None
        shapes.append(None if tokens is None else tuple(tokens))
        stand_ins.update((token, term_of(v, axis)) for axis, token in enumerate(tokens or ()))
    try:
        shapes_by_rule = call_with_graph(rule, node.fgraph, node, shapes)
    except Exception:  # noqa: BLE001  (rules are written by anybody, and reported where a shape is worked out)
        return nothing
    return [
        unknown if unknown is None or shape is None else [_held(n, stand_ins) for n in shape]
        for unknown, shape in zip(nothing, shapes_by_rule, strict=True)
    ]


@lru_cache(maxsize=1024)
def _token(k: int, axis: int) -> Variable:
    """Return the term for the length of a dimension of an input."""
    return TensorType("int64", ()).make_variable(f"length_{k}_{axis}")


def _held(length: Any, stand_ins: dict[Variable, Term]) -> Term | None:
    """Return the term for a length that a shape rule returns."""
    if not isinstance(length, Variable):
        return None if length is None else int(length)
    if length in stand_ins:
        return stand_ins[length]
    # Results computed from lengths differ by their values alone.
    return held_by(length) if length.owner is not None or isinstance(length, Constant) else (length, VALUE)


def held_by(scalar_: Variable) -> Term | None:
    """Return the variable that a scalar length is read off, or None."""
    number = known_number(scalar_)
    if isinstance(number, int):
        return number
    node = scalar_.owner
    if node is None:
        return None
    if isinstance(node.op, ShapeI):
        return term_of(node.inputs[0], node.op.i) if is_plain(node.inputs[0]) else None
    if kind_of(scalar_) is type(scalar.cast("int64")) or kind_of(scalar_) is type(scalar.identity):
        return node.inputs[0], VALUE
    if isinstance(node.op, DimShuffle) and not node.inputs[0].type.ndim:
        return node.inputs[0], VALUE
    return _entry_of_shape(node)


def _entry_of_shape(node: Apply[Any, Tensor]) -> Term | None:
    """Return the length that ``shape(x)[i]`` is."""
    part = node.inputs[0].owner if isinstance(node.op, Subtensor) and len(node.op.entries) == 1 else None
    if part is None or not isinstance(part.op, ShapeOf) or not is_plain(part.inputs[0]):
        return None
    entry = node.op.entries[0]
    position = entry if isinstance(entry, int) else known_number(node.inputs[1]) if len(node.inputs) == 2 else None
    return term_of(part.inputs[0], position % part.inputs[0].type.ndim) if isinstance(position, int) else None


def length_of(term: Term) -> Any:
    """Return a scalar of int64 that holds a length."""
    if isinstance(term, int):
        return constant(term, dtype="int64")
    variable, axis = term
    return variable if axis == VALUE else ShapeI(axis)(variable)


# ---- Lengths of filled tensors that have left a graph: numbers that may be negative, or longer than any tensor can be

REFUSAL = CheckAndRaise(ValueError, "alloc: a length is negative, or there are more elements than a tensor can have")
_MOST = 2.0**60


def without_filled(group: Iterable[Term]) -> list[Term]:
    """Return lengths but for those of filled tensors, which by the user's leave fit without a look."""
    return [term for term in group if isinstance(term, int) or not _is_filled(term[0])]


def _is_filled(variable: Variable) -> bool:
    return variable.owner is not None and isinstance(variable.owner.op, Alloc)


def has_open_lengths(node: Apply[Any, Tensor]) -> bool:
    """Tell whether a tensor is filled by numbers that are not known to be lengths."""
    return not all(map(is_length, node.inputs[1:]))


def filled_by(nodes: Iterable[Apply[Any, Tensor]]) -> list[Variable]:
    """Return the numbers by which nodes fill tensors."""
    return [n for node in nodes if isinstance(node.op, Alloc) for n in node.inputs[1:]]


def are_lengths(
    node: Apply[Any, Tensor], is_open: Callable[[Variable], bool], length_of: Callable[[Variable], Tensor | None]
) -> Sequence[Tensor]:
    """Return conditions: the lengths of a filled tensor are not negative, and their product is a length.

    Parameters
    ----------
    node : Apply
    is_open : callable
        Tells whether nothing else looks at a number.
    length_of : callable
        Returns the number, computed from existing variables; None where that adds work.
    """
    if not any(map(is_open, node.inputs[1:])):
        return []
    numbers = [length_of(n) for n in node.inputs[1:]]
    static = [n for n in numbers if n is not None]
    conditions = [call(scalar.ge, n, constant(0, dtype="int64")) for n in dict.fromkeys(static) if not is_length(n)]
    if len(static) < len(numbers) or not conditions:
        return conditions
    count = reduce(lambda a, b: call(scalar.mul, a, b), [cast(n, "float64") for n in static])
    return [*conditions, call(scalar.le, count, constant(_MOST, dtype="float64"))]
