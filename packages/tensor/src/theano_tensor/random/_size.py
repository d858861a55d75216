"""The argument `size` of a draw: how many numbers in how many dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, describe, format_error

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, ShapeLike
from .._core._type import Tensor
from .._errors import DTypeError, ShapeError
from ..elemwise import cast
from ..shape import as_length, make_vector, static_int, static_lengths

StaticShape = tuple[int | None, ...]


def size_vector(
    name: str, size: ShapeLike | None, ndim: int | None, params: Sequence[Tensor], checked: bool = False
) -> tuple[Any, StaticShape]:
    """Return the size of a draw as a vector of int64, and the static shape of the result.

    Parameters
    ----------
    name : str
        Of the distribution, for errors.
    size : None, int, sequence of int and scalars, or integer vector
        None and ``()`` stand for the common shape of the parameters, and -1 for their length in that dimension.
    ndim : int, optional
        Number of dimensions, for a vector whose length is not known while the expression is built. Where the size is
        None the parameters decide in any case.
    params : sequence of Tensor
        Parameters of the distribution that broadcast against each other.
    checked : bool
        Whether the draw itself refuses parameters that are longer than `size` says, so that a length of 1 is certain.

    Returns
    -------
    tuple of Tensor and tuple
        The vector is empty where the parameters decide.

    Raises
    ------
    ShapeError
        If the number of dimensions cannot be told, contradicts `ndim`, or is below that of a parameter.
    DTypeError
        If a length is no integer.
    """
    if ndim is not None and (isinstance(ndim, bool) or not isinstance(ndim, (int, np.integer)) or ndim < 0):
        raise ShapeError(
            format_error(f"{name}: ndim={ndim!r} is no number of dimensions", hint="pass an int from 0 up")
        )
    if size is None or (isinstance(size, (tuple, list)) and not size):
        if size is not None:
            _check_ndim(name, ndim, 0, "size has")
        return constant(np.zeros(0, "int64")), _common_shape(name, params)
    if isinstance(size, Variable) and as_tensor_variable(size).type.ndim == 1:
        vector, shape = _given_vector(name, as_tensor_variable(size), ndim)
    else:
        given = _borrowed(name, _entries(name, size), params)
        lengths = [as_length(n, "a length of `size`") for n in given]
        _check_lengths(name, lengths)
        shape = static_lengths(lengths)
        fixed = all(n is not None for n in shape)
        vector = constant(np.array(shape, "int64")) if fixed else cast(make_vector(*lengths), "int64")
    _check_ndim(name, ndim, len(shape), "size has")
    return vector, _fitting(name, shape, params, checked)


def _borrowed(name: str, entries: Sequence[Any], params: Sequence[Tensor]) -> list[Any]:
    """Return the entries of a size, with the length of the parameters in place of each -1."""
    found = list(entries)
    for i, entry in enumerate(entries):
        if not isinstance(entry, (int, np.integer)) or entry != -1:
            continue
        places = [(p, i - len(entries) + p.type.ndim) for p in params]
        lengths = [p.shape[at] if p.type.shape[at] is None else p.type.shape[at] for p, at in places if at >= 0]
        if not lengths:
            raise ShapeError(
                format_error(
                    f"{name}: no parameter tells the length that -1 stands for in dimension {i} of `size`",
                    hint="write the length, or pass a parameter with this dimension",
                )
            )
        found[i] = next((n for n in lengths if not isinstance(n, int) or n != 1), 1)
    return found


def _fitting(name: str, shape: StaticShape, params: Sequence[Tensor], checked: bool) -> StaticShape:
    """Return the static shape that is left when parameters of the given shapes must not broadcast it."""
    lengths = list(shape)
    for param in params:
        if param.type.ndim > len(shape):
            raise ShapeError(
                format_error(
                    f"{name}: a parameter has {param.type.ndim} dimensions, the result only {len(shape)}",
                    context=[describe(param)],
                    hint="give `size` as many dimensions as the parameters have, or leave it out",
                )
            )
        for i, length in enumerate(param.type.shape, len(shape) - param.type.ndim):
            if shape[i] is not None and length not in (None, 1, shape[i]):
                raise ShapeError(
                    format_error(
                        f"{name}: a parameter has length {length} where `size` says {shape[i]}",
                        context=[describe(param)],
                        hint="leave `size` out: the parameters then say how much is drawn",
                    )
                )
            if shape[i] == 1 and length is None and not checked:
                # Not declared to be 1, so that a longer parameter is an error and does not repeat draws.
                lengths[i] = None
    return tuple(lengths)


def _entries(name: str, size: ShapeLike) -> Sequence[Any]:
    if isinstance(size, np.ndarray) and size.ndim == 1:
        return list(size)
    if isinstance(size, (tuple, list)):
        return size
    if isinstance(size, (int, np.integer, np.ndarray, Variable)) and not isinstance(size, bool):
        return [size]
    raise DTypeError(
        format_error(
            f"{name}: {size!r} ({type(size).__name__}) is no size",
            hint="pass an int, a tuple of ints and integer scalars, or the shape of a tensor",
        )
    )


def _given_vector(name: str, vector: Tensor, ndim: int | None) -> tuple[Tensor, StaticShape]:
    if vector.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error(f"{name}: `size` holds no integers", context=[describe(vector)], hint="T.cast(size, 'int64')")
        )
    length = vector.type.shape[0]
    if isinstance(vector, Constant):
        values = [int(n) for n in vector.data]
        _check_lengths(name, [constant(np.asarray(n, "int64")) for n in values])
        return cast(vector, "int64"), tuple(values)
    length = ndim if length is None else length
    if length is None:
        raise ShapeError(
            format_error(
                f"{name}: how many dimensions the result has is not known: `size` is a vector of unknown length",
                context=[describe(vector)],
                hint="add ndim=2 (or another number), or write the lengths as a tuple: (n, m)",
            )
        )
    node = vector.owner
    is_make_vector = node is not None and type(node.op).__name__ == "MakeVector"
    shape: StaticShape = static_lengths(node.inputs) if is_make_vector and node is not None else (None,) * length
    return cast(vector, "int64"), shape


def _check_lengths(name: str, lengths: Sequence[Tensor]) -> None:
    for length in lengths:
        value = static_int(length)
        if value is not None and value < 0:
            raise ShapeError(
                format_error(f"{name}: a length in `size` is negative: {value}", hint="lengths are integers from 0 up")
            )


def _check_ndim(name: str, ndim: int | None, found: int, whose: str) -> None:
    if ndim is not None and ndim != found:
        raise ShapeError(
            format_error(
                f"{name}: ndim={ndim}, but {whose} {found} dimension{'' if found == 1 else 's'}",
                hint="leave ndim out where `size` tells it",
            )
        )


def _common_shape(name: str, params: Sequence[Tensor]) -> StaticShape:
    """Return the static shape that parameters broadcast to."""
    ndim = max((p.type.ndim for p in params), default=0)
    common: list[int | None] = [1] * ndim
    for param in params:
        offset = ndim - param.type.ndim
        for i, length in enumerate(param.type.shape):
            have = common[offset + i]
            if have == 1:
                common[offset + i] = length
            elif length not in (None, 1):
                if have is not None and have != length:
                    raise ShapeError(
                        format_error(
                            f"{name}: the parameters do not fit together: lengths {have} and {length} in one dimension",
                            context=[describe(p) for p in params],
                            hint="broadcast them to one shape",
                        )
                    )
                common[offset + i] = length
    return tuple(common)
