"""From uniform numbers to other distributions, as expressions of existing operations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import config, describe, format_error

from ..._core._convert import as_tensor_variable, constant
from ..._core._dtypes import DISCRETE_DTYPES, INTEGER_DTYPES, DTypeLike, ShapeLike, TensorLike, canonical_dtype
from ..._core._type import Tensor, TensorConstant
from ..._errors import DTypeError, ShapeError
from ...creation import ones
from ...elemwise import abs_, cast, cos, erfinv, floor, invert, log, maximum, minimum, sin, sqrt
from ...indexing import nonzero, take
from ...joining import concatenate
from ...shape import as_length, make_vector, reshape, static_int
from .._distributions import size_vector
from ._choose import ChoiceFromUniform, MultinomialFromUniform

StaticShape = Sequence[int | None]


def warn_unknown_size(size: ShapeLike, count: int) -> None:
    """Warn that the number of streams is a guess."""
    warnings.warn(
        format_error(
            f"MRG31k3p: {size!r} does not tell how many numbers are drawn; {count} streams are used",
            hint="say how many there are to be: nstreams=...",
        ),
        UserWarning,
        stacklevel=3,
    )


def _number(value: float, dtype: str) -> TensorConstant:
    return constant(np.asarray(value, dtype))


def _is(variable: Tensor, value: float) -> bool:
    """Tell whether a parameter is a constant with this value everywhere and no dimensions."""
    return isinstance(variable, TensorConstant) and variable.type.ndim == 0 and float(variable.data) == value


def between(draw: Tensor, low: Tensor, high: Tensor, dtype: str) -> Tensor:
    """Return numbers from 0 to 1 as numbers from `low` to `high`, none of which rounding takes to a bound."""
    if _is(low, 0.0) and _is(high, 1.0):
        return draw
    info = np.finfo(np.dtype(dtype))

    def inside(bound: Tensor) -> Tensor:
        # At least the distance to the next number on either side.
        return maximum(abs_(bound) * _number(float(info.eps), dtype), _number(float(info.tiny), dtype))

    first, last = minimum(low, high), maximum(low, high)
    scaled = low + draw * (high - low)
    return maximum(minimum(scaled, last - inside(last)), first + inside(first))


def scaled(sample: Tensor, mean: Tensor, std: Tensor, dtype: str) -> Tensor:
    """Return standard numbers with another mean and standard deviation."""
    if not _is(std, 1.0):
        sample = sample * std
    if not _is(mean, 0.0):
        sample = sample + mean
    return cast(sample, dtype)


def product(vector: Tensor) -> Tensor:
    """Return the number of elements of a shape, given as a vector of int64."""
    if isinstance(vector, TensorConstant):
        return constant(np.asarray(np.prod(vector.data, dtype="int64")))
    return vector.prod(dtype="int64")


def static_product(shape: StaticShape) -> int | None:
    """Return the number of elements where every length is known, else None."""
    lengths = [n for n in shape if n is not None]
    return math.prod(lengths) if len(lengths) == len(shape) else None


def flat_length(vector: Tensor, shape: StaticShape) -> tuple[int | None, Tensor]:
    """Return the number of elements of a shape, where that is known, and as a vector of length 1."""
    if len(shape) == 1:
        return shape[0], vector
    count = static_product(shape)
    return count, as_vector(product(vector)) if count is None else constant(np.array([count], "int64"))


def as_vector(length: TensorLike) -> Tensor:
    """Return an integer scalar as a vector of one int64."""
    return cast(make_vector(as_length(length)), "int64")


def prepended(length: Tensor, vector: Tensor) -> Tensor:
    """Return a shape with one more dimension in front."""
    return cast(concatenate([as_vector(length), vector]), "int64")


def pairs(vector: Tensor, shape: StaticShape) -> tuple[int | None, Tensor]:
    """Return how many pairs cover a shape, where that is known, and twice the number as a vector of length 1."""
    known = static_product(shape)
    if known is not None:
        count = (known + 1) // 2
        return count, constant(np.array([2 * count], "int64"))
    return None, as_vector((product(vector) + 1) // 2 * 2)


def box_muller(draw: Tensor, vector: Tensor, shape: StaticShape, dtype: str) -> Tensor:
    """Return standard normal numbers in a shape, from an even number of uniform ones."""
    half = draw.type.shape[0]
    middle: Any = draw.shape[0] // 2 if half is None else half // 2
    wide = "float32" if dtype == "float16" else dtype
    draw = cast(draw, wide)
    radius = _radius(draw[:middle], wide)
    turn, full = draw[middle:], _number(2 * math.pi, wide)
    # The sine is written as a cosine: compilers make one call of a sine and a cosine, which no vector unit has.
    both = concatenate([radius * cos(full * turn), radius * cos(full * (turn - _number(0.25, wide)))])
    count = static_product(shape)
    total: Any = product(vector) if count is None else count
    if half is None or total != half:
        both = both[:total]
    return cast(reshaped(both, vector, shape), dtype)


def reshaped(flat: Tensor, vector: Tensor, shape: StaticShape) -> Tensor:
    """Return a vector in the shape that another vector says."""
    if len(shape) == 1:
        return flat
    if all(n is not None for n in shape):
        return reshape(flat, tuple(n for n in shape if n is not None), ndim=len(shape))
    return reshape(flat, _lengths(vector, shape), ndim=len(shape))


#: The standard deviation of a standard normal distribution cut at two standard deviations.
TRUNCATED_DEVIATION = 0.87962566103423978


#: The probability that a standard normal number is between -2 and 2.
_WITHIN_TWO = 0.95449973610364158


def truncated(draw: Tensor, vector: Tensor, shape: StaticShape, dtype: str) -> Tensor:
    """Return standard normal numbers between -2 and 2 in a shape, one from each of as many uniform ones.

    The distribution function is inverted: that of the part is erf(z / sqrt(2)) / erf(sqrt(2)).
    """
    wide = "float32" if dtype == "float16" else dtype
    two = _number(2.0, wide)
    part = (two * cast(draw, wide) - _number(1.0, wide)) * _number(_WITHIN_TWO, wide)
    within = maximum(minimum(_number(math.sqrt(2), wide) * erfinv(part), two), -two)
    return cast(reshaped(within, vector, shape), dtype)


def truncated_by_replacement(
    draw: Tensor, radii: Callable[[Tensor], Tensor], vector: Tensor, shape: StaticShape, dtype: str
) -> Tensor:
    """Return standard normal numbers between -2 and 2 in a shape, from an even number of uniform ones.

    The draws of Theano 1.0: they are made as by :func:`box_muller`; those beyond the limits keep their angle, get
    another radius, and stand behind the others: neither all of them nor those of one place are truncated normal.

    Parameters
    ----------
    draw : Tensor
        Uniform numbers.
    radii : callable
        Gives as many uniform numbers as it is asked for, that are large enough for radii up to 2.
    vector, shape
        The shape of the result.
    dtype : str
    """
    middle: Any = draw.shape[0] // 2
    wide = "float32" if dtype == "float16" else dtype
    draw = cast(draw, wide)
    radius, angle = _radius(draw[:middle], wide), _number(2 * math.pi, wide) * draw[middle:]
    parts = [(rotated, radius * rotated) for rotated in (cos(angle), sin(angle))]
    beyond = [abs_(z) > _number(2.0, wide) for _, z in parts]
    places = [nonzero(found)[0] for found in beyond]
    first: Any = places[0].shape[0]
    other = _radius(cast(radii(first + places[1].shape[0]), wide), wide)
    joined = []
    for (rotated, z), outside, positions, chosen in zip(
        parts, beyond, places, (other[:first], other[first:]), strict=True
    ):
        joined += [z[nonzero(invert(outside))[0]], chosen * rotated[positions]]
    count = static_product(shape)
    samples = concatenate(joined)[: product(vector) if count is None else count]
    return cast(reshape(samples, _lengths(vector, shape), ndim=len(shape)), dtype)


def _radius(draw: Tensor, dtype: str) -> Tensor:
    return sqrt(_number(-2.0, dtype) * log(draw))


def _lengths(vector: Tensor, shape: StaticShape) -> list[Any]:
    return [vector[i] if n is None else n for i, n in enumerate(shape)]


def trials(n: Any) -> tuple[Tensor, int | None]:
    """Return a number of trials as an integer scalar, and its value where that is known.

    Raises
    ------
    ShapeError, DTypeError
        If it is no integer scalar, or negative.
    """
    variable = as_length(n, "the number of draws")
    value = static_int(variable)
    if value is not None and value < 0:
        raise ShapeError(format_error(f"the number of draws is negative: {value}", hint="pass an int from 0 up"))
    return variable, value


def rows_of(
    name: str, size: ShapeLike | None, ndim: int | None, pvals: Any, least: int = 1
) -> tuple[Any, Any, Any, StaticShape]:
    """Return probabilities as a matrix, and for a vector the number of its rows, the size and its static shape."""
    if pvals is None:
        raise TypeError(
            format_error(
                f"{name}: probabilities are missing", hint="pass a matrix with a row of probabilities for each draw"
            )
        )
    chances = as_tensor_variable(pvals)
    if chances.type.dtype in DISCRETE_DTYPES:
        chances = cast(chances, config.floatX)
    if not least <= chances.type.ndim <= 2:
        raise ShapeError(
            format_error(
                f"{name}: the probabilities have {chances.type.ndim} dimensions",
                context=[describe(chances)],
                hint="pass a matrix with a row of probabilities for each draw: p[None, :] for one",
            )
        )
    if chances.type.ndim == 2:
        if size is not None:
            raise useless_size(name, size)
        return chances, None, None, ()
    vector, shape = size_vector(name, size, ndim, ())
    count = static_product(shape)
    rows: Any = product(vector) if count is None else count
    row = chances.dimshuffle("x", 0)
    repeated = row if count == 1 else row * ones((rows, 1), dtype=chances.type.dtype)
    return repeated, rows, vector, shape


def useless_size(name: str, size: ShapeLike) -> Exception:
    """Return the error for a size where rows of probabilities say how many draws there are."""
    return ShapeError(
        format_error(
            f"{name}: size={size!r} was given, but the rows of the probabilities say how many draws there are",
            hint="leave size out; `n` says how many are drawn from each row",
        )
    )


def unrowed(counts: Tensor, rows: Any, vector: Any, shape: StaticShape) -> Tensor:
    """Return counts of a vector of probabilities in the shape that was asked for."""
    if rows is None:
        return counts
    lengths = [vector[i] if n is None else n for i, n in enumerate(shape)]
    return reshape(counts, [*lengths, counts.shape[1]], ndim=len(shape) + 1)


def counted(chances: Tensor, draw: Tensor, n: Tensor, dtype: DTypeLike) -> Tensor:
    """Return how often each category comes up."""
    counts: Tensor = MultinomialFromUniform(canonical_dtype(dtype, config.floatX))(chances, draw, n)
    return counts


def chosen(chances: Tensor, draw: Tensor, n: Tensor, dtype: DTypeLike, replace: TensorLike) -> Tensor:
    """Return which categories come up."""
    numbers: Tensor = ChoiceFromUniform(canonical_dtype(dtype, config.floatX), bool(replace))(chances, draw, n)
    return numbers


def pool_of(a: TensorLike, p: Any) -> tuple[Tensor, Tensor | None]:
    """Return the values to choose from, and probabilities as a vector.

    Raises
    ------
    ShapeError, DTypeError
        If one of them has other dimensions, or a scalar is no integer.
    """
    pool = as_tensor_variable(a)
    if pool.type.ndim > 1:
        raise ShapeError(
            format_error("choice: `a` is a scalar or a vector", context=[describe(pool)], hint="flatten it")
        )
    if pool.type.ndim == 0 and pool.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(
            format_error("choice: a scalar `a` is an integer", context=[describe(pool)], hint="pass an int")
        )
    chances = None if p is None else as_tensor_variable(p)
    if chances is not None and chances.type.ndim != 1:
        raise ShapeError(
            format_error(
                "choice: with `a`, `p` is a vector", context=[describe(chances)], hint="leave `a` out for a matrix"
            )
        )
    return pool, chances


def picked(
    pool: Tensor,
    chances: Tensor | None,
    draw: Tensor,
    total: Tensor,
    replace: TensorLike,
    vector: Tensor,
    shape: StaticShape,
    dtype: str,
) -> Tensor:
    """Return elements of a pool, chosen by uniform numbers, in the shape that a vector says."""
    count = pool if pool.type.ndim == 0 else pool.shape[0]
    if chances is None and replace:
        # Rounding cannot reach the upper bound: numbers have 31 bits, and so have lengths of pools in practice.
        numbers = cast(floor(draw * cast(count, "float64")), "int64")
    else:
        weights = ones((count,), dtype="float64") if chances is None else chances
        numbers = ChoiceFromUniform("int64", bool(replace))(weights.dimshuffle("x", 0), draw, total)[0]
    if pool.type.ndim:
        elements = take(pool, numbers)
        keeps = pool.type.dtype not in DISCRETE_DTYPES and dtype in DISCRETE_DTYPES
        numbers = elements if keeps else cast(elements, dtype)
    else:
        numbers = cast(numbers, dtype)
    lengths = [vector[i] if n is None else n for i, n in enumerate(shape)]
    return numbers if len(shape) == 1 else reshape(numbers, lengths, ndim=len(shape))
