"""Derivatives of exported functions, which a higher layer knows how to make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from theano_graph import format_error, record

from .._function import Function
from .._lazy import import_straight_rules
from ..straight import NoStraightForm

__all__ = ["Jacobian", "JacobianMaker", "jacobian_of", "set_jacobian_maker"]


@record
class Jacobian:
    """Derivatives of the outputs of a function with respect to its inputs.

    Attributes
    ----------
    fn : Function
        Has the inputs of the function, and shared variables as constants. Each output is one block: the matrix of
        derivatives of one output by one input, as a vector. Elements of inputs, outputs and blocks are counted in
        Fortran order.
    blocks : tuple of (int, int)
        For each output of `fn`, the numbers of the output and of the input that it is about. The derivatives that are
        not there are zero.
    """

    fn: Function
    blocks: tuple[tuple[int, int], ...]


#: Called with a function and the number of elements of each output.
JacobianMaker: TypeAlias = Callable[[Function, Sequence[int]], Jacobian]

_makers: list[JacobianMaker] = []


def set_jacobian_maker(maker: JacobianMaker) -> None:
    """Say how functions are differentiated.

    Parameters
    ----------
    maker : callable
        Called with a function and the number of elements of each output; returns a :class:`Jacobian`.
    """
    _makers[:] = [maker]


def jacobian_of(fn: Function, sizes: Sequence[int]) -> Jacobian:
    """Return the derivatives of a function.

    Raises
    ------
    NoStraightForm
        If no layer that differentiates is loaded.
    """
    import_straight_rules()
    if not _makers:
        raise NoStraightForm(
            format_error("nothing is loaded that differentiates", hint="import theano, or use derivatives=0")
        )
    derivatives: Any = _makers[0](fn, sizes)
    return derivatives  # type: ignore[no-any-return]
