"""From uniform numbers to other distributions, as expressions of existing operations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import compose, config, describe

from ..._convert import as_tensor_variable, constant
from ..._dtypes import DISCRETE_DTYPES, INTEGER_DTYPES, canonical_dtype
from ..._errors import DTypeError, ShapeError
from ..._variable import Tensor, TensorConstant
from ...creation import ones
from ...elemwise import abs_, cast, cos, floor, log, maximum, minimum, sqrt
from ...indexing import take
from ...joining import concatenate
from ...shape import as_length, make_vector, reshape, static_int
from .._size import size_vector
from ._choose import ChoiceFromUniform, MultinomialFromUniform

StaticShape = Sequence[int | None]


def warn_unknown_size(size: Any, count: int) -> None:
    """Warn that the number of streams is a guess."""
    warnings.warn(
        compose(
            f"MRG31k3p: {size!r} does not tell how many numbers are drawn; {count} streams are used",
            mend="say how many there are to be: nstreams=...",
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
    known = static_product(shape)
    return known, as_vector(product(vector)) if known is None else constant(np.array([known], "int64"))


def as_vector(length: Any) -> Tensor:
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
    radius = sqrt(_number(-2.0, wide) * log(draw[:middle]))
    turn, full = draw[middle:], _number(2 * math.pi, wide)
    # The sine is written as a cosine: compilers make one call of a sine and a cosine, which no vector unit has.
    both = concatenate([radius * cos(full * turn), radius * cos(full * (turn - _number(0.25, wide)))])
    known = static_product(shape)
    total: Any = product(vector) if known is None else known
    if half is None or total != half:
        both = both[:total]
    return cast(reshaped(both, vector, shape), dtype)


def reshaped(flat: Tensor, vector: Tensor, shape: StaticShape) -> Tensor:
    """Return a vector in the shape that another vector says."""
    if len(shape) == 1:
        return flat
    if all(n is not None for n in shape):
        return reshape(flat, tuple(n for n in shape if n is not None), ndim=len(shape))
    lengths = [vector[i] if n is None else n for i, n in enumerate(shape)]
    return reshape(flat, lengths, ndim=len(shape))


#: Between -2 and 2, the inverse of the normal distribution function is ``x h(w)`` for ``x = 2 p - 1`` and
#: ``w = -log(1 - x^2)``; these are the coefficients of h as a polynomial of ``2 w / w_max - 1``, fitted at Chebyshev
#: points to 2e-15 (the variable is that of M. Giles, "Approximating the erfinv function", GPU Computing Gems 2, 2011).
_QUANTILE = (
    1.668167920808722,
    0.4265976031137192,
    0.005763593871797645,
    -0.005702214137731444,
    0.00041594881721689346,
    0.0001186659231287912,
    -2.197298175978802e-05,
    -1.8980537074497764e-06,
    8.303368360884636e-07,
    -1.0618968815379055e-09,
    -2.6637661676431897e-08,
    1.929430482050521e-09,
    7.282324077095836e-10,
    -9.924860933097085e-11,
    -1.4188117347657685e-11,
)


def truncated(draw: Tensor, dtype: str) -> Tensor:
    """Return numbers of the standard normal distribution between -2 and 2, by the inverse distribution function."""
    wide = "float32" if dtype == "float16" else dtype
    inside = math.erf(math.sqrt(2))
    x = cast(draw, wide) * _number(2 * inside, wide) - _number(inside, wide)
    one = _number(1.0, wide)
    u = log(one - x * x) * _number(2 / math.log1p(-(inside**2)), wide) - one
    h: Tensor = _number(_QUANTILE[-1], wide)
    for coefficient in _QUANTILE[-2::-1]:
        h = h * u + _number(coefficient, wide)
    two = _number(2.0, wide)
    return cast(maximum(minimum(x * h, two), -two), dtype)


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
        raise ShapeError(compose(f"the number of draws is negative: {value}", mend="pass an int from 0 up"))
    return variable, value


def rows_of(name: str, size: Any, ndim: int | None, pvals: Any, least: int = 1) -> tuple[Any, Any, Any, StaticShape]:
    """Return probabilities as a matrix, and for a vector the number of its rows, the size and its static shape."""
    if pvals is None:
        raise TypeError(
            compose(
                f"{name}: probabilities are missing", mend="pass a matrix with a row of probabilities for each draw"
            )
        )
    chances = as_tensor_variable(pvals)
    if chances.type.dtype in DISCRETE_DTYPES:
        chances = cast(chances, config.floatX)
    if not least <= chances.type.ndim <= 2:
        raise ShapeError(
            compose(
                f"{name}: the probabilities have {chances.type.ndim} dimensions",
                where=[describe(chances)],
                mend="pass a matrix with a row of probabilities for each draw: p[None, :] for one",
            )
        )
    if chances.type.ndim == 2:
        if size is not None:
            raise useless_size(name, size)
        return chances, None, None, ()
    vector, shape = size_vector(name, size, ndim, ())
    known = static_product(shape)
    rows: Any = product(vector) if known is None else known
    row = chances.dimshuffle("x", 0)
    repeated = row if known == 1 else row * ones((rows, 1), dtype=chances.type.dtype)
    return repeated, rows, vector, shape


def useless_size(name: str, size: Any) -> Exception:
    """Return the error for a size where rows of probabilities say how many draws there are."""
    return ShapeError(
        compose(
            f"{name}: size={size!r} was given, but the rows of the probabilities say how many draws there are",
            mend="leave size out; `n` says how many are drawn from each row",
        )
    )


def unrowed(counts: Tensor, rows: Any, vector: Any, shape: StaticShape) -> Tensor:
    """Return counts of a vector of probabilities in the shape that was asked for."""
    if rows is None:
        return counts
    lengths = [vector[i] if n is None else n for i, n in enumerate(shape)]
    return reshape(counts, [*lengths, counts.shape[1]], ndim=len(shape) + 1)


def counted(chances: Tensor, draw: Tensor, n: Tensor, dtype: Any) -> Tensor:
    """Return how often each category comes up."""
    counts: Tensor = MultinomialFromUniform(canonical_dtype(dtype, config.floatX))(chances, draw, n)
    return counts


def chosen(chances: Tensor, draw: Tensor, n: Tensor, dtype: Any, replace: Any) -> Tensor:
    """Return which categories come up."""
    numbers: Tensor = ChoiceFromUniform(canonical_dtype(dtype, config.floatX), bool(replace))(chances, draw, n)
    return numbers


def pool_of(a: Any, p: Any) -> tuple[Tensor, Tensor | None]:
    """Return what is chosen from, and probabilities as a vector.

    Raises
    ------
    ShapeError, DTypeError
        If one of them has other dimensions, or a scalar is no integer.
    """
    pool = as_tensor_variable(a)
    if pool.type.ndim > 1:
        raise ShapeError(compose("choice: `a` is a scalar or a vector", where=[describe(pool)], mend="flatten it"))
    if pool.type.ndim == 0 and pool.type.dtype not in INTEGER_DTYPES:
        raise DTypeError(compose("choice: a scalar `a` is an integer", where=[describe(pool)], mend="pass an int"))
    chances = None if p is None else as_tensor_variable(p)
    if chances is not None and chances.type.ndim != 1:
        raise ShapeError(
            compose("choice: with `a`, `p` is a vector", where=[describe(chances)], mend="leave `a` out for a matrix")
        )
    return pool, chances


def picked(
    pool: Tensor,
    chances: Tensor | None,
    draw: Tensor,
    total: Tensor,
    replace: Any,
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
