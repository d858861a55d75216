"""Preferences for the types of results: functions from the types of the inputs to those of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import TheanoError, format_error

from ._dtypes import is_complex, is_discrete, upcast, upcast_to_float
from ._type import ScalarType

TypePreference = Callable[..., Sequence[ScalarType]]


class ScalarTypeError(TheanoError, TypeError):
    """A scalar op was applied to a wrong number of inputs, or to dtypes that it does not work on."""


class ComplexError(ScalarTypeError, NotImplementedError):
    """An op that is for real numbers was applied to complex ones."""


def upcast_out(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs."""
    return (ScalarType(upcast(*(t.dtype for t in types))),)


def upcast_out_nobool(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; TypeError where that is bool."""
    (result,) = upcast_out(*types)
    if result.dtype == "bool":
        raise ScalarTypeError(format_error("bool is not supported", hint="cast to int8 first"))
    return (result,)


def upcast_out_min8(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; int8 for bool."""
    (result,) = upcast_out(*types)
    return (ScalarType("int8"),) if result.dtype == "bool" else (result,)


def same_out(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input."""
    return (first,)


def same_out_nobool(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where that is bool."""
    return upcast_out_nobool(first)


def upcast_out_no_complex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs; TypeError where one is complex."""
    return upcast_out(*map(_not_complex, types))


def same_out_nocomplex(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is complex."""
    return same_out(_not_complex(first))


def same_out_float_only(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; TypeError where it is no float."""
    if is_discrete(_not_complex(first).dtype):
        raise ScalarTypeError(
            format_error(f"only floats are supported, not {first.dtype}", hint="cast to a float first")
        )
    return (first,)


def same_out_min8(first: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the type of the input; int8 for bool."""
    return upcast_out_min8(first)


def upgrade_to_float(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer the common type of the inputs, where integers up to 16 bits count as float32 and others as float64."""
    return (ScalarType(upcast_to_float(*(t.dtype for t in types))),)


def upgrade_to_float64(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer float64; complex numbers stay."""
    (result,) = upcast_out(*types)
    return (result,) if is_complex(result.dtype) else (ScalarType("float64"),)


def upgrade_to_float_no_complex(*types: ScalarType) -> tuple[ScalarType, ...]:
    """Prefer a float as `upgrade_to_float`; TypeError for complex numbers."""
    return upgrade_to_float(*map(_not_complex, types))


def _not_complex(types: ScalarType) -> ScalarType:
    if is_complex(types.dtype):
        raise ScalarTypeError(format_error("complex numbers are not supported", hint="take the real part first"))
    return types


class transfer_type:  # used as a function, with values that compare
    """Prefer for each output the type of the input of the given number.

    Examples
    --------
    >>> transfer_type(1)(ScalarType("int8"), ScalarType("float32"))
    (Scalar(float32),)
    """

    def __init__(self, *transfer: int) -> None:
        self.transfer = transfer

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return tuple(types[i] for i in self.transfer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, transfer_type) and other.transfer == self.transfer

    def __hash__(self) -> int:
        return hash((transfer_type, self.transfer))


class specific_out:  # as above
    """Prefer given types, for all inputs.

    Examples
    --------
    >>> specific_out(ScalarType("int8"))(ScalarType("float32"))
    (Scalar(int8),)
    """

    def __init__(self, *spec: ScalarType) -> None:
        self.spec = spec

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        return self.spec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, specific_out) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash((specific_out, self.spec))


class unary_out_lookup:  # as above
    """Prefer the type that a table gives for that of the input.

    Parameters
    ----------
    type_table : mapping of ScalarType to (ScalarType or sequence of ScalarType)
    """

    def __init__(self, type_table: Any) -> None:
        self.type_table = dict(type_table)

    def __call__(self, *types: ScalarType) -> tuple[ScalarType, ...]:
        (given,) = types
        dtypes = self.type_table.get(given)
        if dtypes is None:
            raise ScalarTypeError(
                format_error(f"{given} is not supported", hint=f"cast to one of {', '.join(map(str, self.type_table))}")
            )
        return tuple(dtypes) if isinstance(dtypes, (list, tuple)) else (dtypes,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, unary_out_lookup) and other.type_table == self.type_table

    def __hash__(self) -> int:
        return hash((unary_out_lookup, frozenset(self.type_table)))
