"""Signatures of functions on arrays, as NumPy writes them: ``(n),(n,m)->(m)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error, record

from .._core._type import StaticShape, Tensor
from .._errors import BatchError
from ..shape import shape_i, specify_shape

_NAME = r"(?:[A-Za-z_]\w*|\d+)"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_LIST = rf"{_CORE}(?:,{_CORE})*"

#: A dimension: a name, or a length.
Dimension = str | int


@record
class Signature:
    """Which dimensions the arguments and results of a function have.

    Attributes
    ----------
    text : str
    inputs, outputs : tuple of tuple of (str or int)
        For each argument and result its dimensions: names, of which equal ones have equal lengths, or lengths.
    """

    text: str
    inputs: tuple[tuple[Dimension, ...], ...]
    outputs: tuple[tuple[Dimension, ...], ...]


def parse_signature(text: str) -> Signature:
    """Return a signature.

    Raises
    ------
    ValueError
        If the text is none.

    Examples
    --------
    >>> parse_signature("(n),(n,3)->()").inputs
    (('n',), ('n', 3))
    """
    compact = re.sub(r"\s+", "", text)
    if re.fullmatch(rf"{_LIST}->{_LIST}", compact) is None:
        raise ValueError(
            format_error(
                f"{text!r} is no signature",
                hint="write the dimensions of each argument and result, as in '(n),(n,m)->(m)'",
            )
        )
    arguments, results = compact.split("->")
    return Signature(compact, _cores(arguments), _cores(results))


def _cores(text: str) -> tuple[tuple[Dimension, ...], ...]:
    cores = []
    for core in re.findall(_CORE, text):
        names = [name for name in core[1:-1].split(",") if name]
        cores.append(tuple(int(name) if name.isdigit() else name for name in names))
    return tuple(cores)


class Lengths:
    """The lengths of the dimensions of one call of a function with a signature.

    Parameters
    ----------
    signature : Signature
    """

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        #: Name -> its length, an int or a scalar variable, and the tensor that has it.
        self._lengths: dict[Dimension, tuple[Any, Tensor]] = {}

    def checked(self, tensors: Sequence[Tensor], cores: Sequence[tuple[Dimension, ...]]) -> list[Tensor]:
        """Return tensors whose last dimensions are those of `cores`, with checks of the lengths that are not known.

        Raises
        ------
        BatchError
            If a tensor has too few dimensions, or lengths are known and differ.
        """
        pairs = list(zip(tensors, cores, strict=True))
        for tensor, core in pairs:
            self._note(tensor, core)
        return [self._specified(tensor, core) for tensor, core in pairs]

    def _note(self, tensor: Tensor, core: tuple[Dimension, ...]) -> None:
        if tensor.type.ndim < len(core):
            raise BatchError(
                format_error(
                    f"`{tensor}` has {tensor.type.ndim} dimensions, {len(core)} at least are needed for "
                    f"{_core_text(core)} in {self.signature.text}",
                    context=[describe(tensor)],
                    hint="pass a tensor that has the dimensions of the signature last",
                )
            )
        first = tensor.type.ndim - len(core)
        for axis, name in enumerate(core):
            length = tensor.type.shape[first + axis]
            expected, source = self._lengths.get(name, (name if isinstance(name, int) else None, tensor))
            if length is not None and isinstance(expected, int) and length != expected:
                raise BatchError(
                    format_error(
                        f"dimension {name} of {self.signature.text} has length {expected}, and {length} in `{tensor}`",
                        context=[describe(v) for v in dict.fromkeys((source, tensor))],
                        hint="give the dimensions of one name one length",
                    )
                )
            if isinstance(expected, int):
                self._lengths[name] = expected, source
            elif length is not None:
                self._lengths[name] = length, tensor
            else:
                self._lengths.setdefault(name, (shape_i(tensor, first + axis), tensor))

    def _specified(self, tensor: Tensor, core: tuple[Dimension, ...]) -> Tensor:
        first = tensor.type.ndim - len(core)
        lengths: list[Any] = [None] * tensor.type.ndim
        for axis, name in enumerate(core):
            length, source = self._lengths[name]
            if tensor.type.shape[first + axis] is None and (isinstance(length, int) or source is not tensor):
                lengths[first + axis] = length
            elif name in core[:axis] and tensor.type.shape[first + axis] is None:
                # A name stands several times in one argument, as in "(n,n)->()".
                lengths[first + axis] = length
        return specify_shape(tensor, lengths) if any(n is not None for n in lengths) else tensor


def core_shape(tensor: Tensor, ndim: int) -> StaticShape:
    """Return the static lengths of the last dimensions of a tensor."""
    return tensor.type.shape[tensor.type.ndim - ndim :]


def _core_text(core: tuple[Dimension, ...]) -> str:
    return f"({','.join(map(str, core))})"
