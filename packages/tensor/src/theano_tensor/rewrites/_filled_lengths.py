"""Lengths of filled tensors that have left a graph: numbers that may be negative, or longer than any tensor can be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from theano_graph import Apply, Variable
from theano_linker_c import scalar

from .._core._convert import constant
from .._core._ops import CheckAndRaise
from .._core._type import Tensor
from ..creation import Alloc
from ..elemwise import cast
from ..shape import is_length
from ._language import call
from ._length_links import Term

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
