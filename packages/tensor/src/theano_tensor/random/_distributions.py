"""Draws from given states, as expressions: each function gives the state after the draw, and the draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, config, describe, format_error
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable
from .._core._dtypes import DISCRETE_DTYPES, DTypeLike, ShapeLike, TensorLike, canonical_dtype
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ._draws import choice_helper, multinomial_helper, permutation_helper, random_integers_helper
from ._function import RandomFunction
from ._size import size_vector

Drawn = list[Any]


def _float_dtype(dtype: DTypeLike | None, *params: Tensor) -> str:
    """Return the dtype of a draw: the one that is asked for, or that of the parameters, at least floatX."""
    if dtype is None:
        return upcast(config.floatX, *(p.type.dtype for p in params))
    return canonical_dtype(dtype, config.floatX)


def _draw(
    fn: str | Callable[..., Any],
    name: str,
    state: Variable,
    size: ShapeLike | None,
    ndim: int | None,
    dtype: str,
    *params: Tensor,
) -> Drawn:
    vector, shape = size_vector(name, size, ndim, params, checked=True)
    return _apply(RandomFunction(fn, tensor_type(dtype, shape)), state, vector, *params)


def _apply(op: RandomFunction, state: Variable, size: ShapeLike | None, *params: Tensor) -> Drawn:
    return list(op.make_node(state, size, *params).outputs)


def _integers(name: str, what: str, value: TensorLike) -> Tensor:
    variable = as_tensor_variable(value)
    if variable.type.dtype not in DISCRETE_DTYPES:
        raise DTypeError(
            format_error(
                f"{name}: {what} must be of an integer dtype",
                context=[describe(variable)],
                hint="T.cast(..., 'int64'), or pass an int",
            )
        )
    return variable


def uniform(
    random_state: Variable,
    size: ShapeLike | None = None,
    low: TensorLike = 0.0,
    high: TensorLike = 1.0,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
) -> Drawn:
    """Draw from the uniform distribution over ``[low, high[``.

    Parameters
    ----------
    random_state : variable of RandomStateType or GeneratorType
    size : int, sequence of int and scalars, or integer vector; optional
        Shape of the draw. None and ``()`` stand for the common shape of the parameters.
    low, high : tensor_like
        Bounds; they broadcast to `size`.
    ndim : int, optional
        Number of dimensions, where `size` is a vector of unknown length.
    dtype : str, optional
        By default the common dtype of the bounds, at least ``floatX``.

    Returns
    -------
    list
        The state after the draw, and the draw.

    Raises
    ------
    ShapeError, DTypeError
        If `size` and `ndim` do not tell the shape.

    Examples
    --------
    >>> import theano
    >>> from theano.tensor import raw_random
    >>> import numpy
    >>> after, draw = raw_random.uniform(theano.shared(numpy.random.RandomState(1)), (2,))
    >>> draw.eval().round(4)
    array([0.417 , 0.7203])
    """
    bounds = as_tensor_variable(low), as_tensor_variable(high)
    return _draw("uniform", "uniform", random_state, size, ndim, _float_dtype(dtype, *bounds), *bounds)


def normal(
    random_state: Variable,
    size: ShapeLike | None = None,
    avg: TensorLike = 0.0,
    std: TensorLike = 1.0,
    ndim: int | None = None,
    dtype: DTypeLike | None = None,
) -> Drawn:
    """Draw from the normal distribution with mean `avg` and standard deviation `std`; see :func:`uniform`."""
    params = as_tensor_variable(avg), as_tensor_variable(std)
    return _draw("normal", "normal", random_state, size, ndim, _float_dtype(dtype, *params), *params)


def binomial(
    random_state: Variable,
    size: ShapeLike | None = None,
    n: TensorLike = 1,
    p: TensorLike = 0.5,
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
    prob: TensorLike | None = None,
) -> Drawn:
    """Draw how many of `n` trials succeed with probability `p` (also called `prob`); see :func:`uniform`."""
    params = _integers("binomial", "the number of trials", n), as_tensor_variable(p if prob is None else prob)
    vector, shape = size_vector("binomial", size, ndim, params)
    # As in Theano 1.0, a length of 1 is not declared.
    kind = tensor_type(_float_dtype(dtype), tuple(None if n == 1 else n for n in shape))
    return _apply(RandomFunction("binomial", kind), random_state, vector, *params)


def poisson(
    random_state: Variable,
    size: ShapeLike | None = None,
    lam: TensorLike | None = None,
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
) -> Drawn:
    """Draw from the Poisson distribution with mean `lam`, 1 by default; see :func:`uniform`."""
    mean = as_tensor_variable(1.0 if lam is None else lam)
    if size is None and ndim not in (None, mean.type.ndim):
        raise TypeError(
            format_error(f"poisson: ndim={ndim}, but neither `size` nor `lam` tells the shape", hint="pass a size")
        )
    return _draw("poisson", "poisson", random_state, size, ndim, _float_dtype(dtype), mean)


def random_integers(
    random_state: Variable,
    size: ShapeLike | None = None,
    low: TensorLike = 0,
    high: TensorLike = 1,
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
) -> Drawn:
    """Draw integers from `low` to `high`, both of them included; see :func:`uniform`."""
    name = "random_integers"
    bounds = _integers(name, "a lower bound", low), _integers(name, "an upper bound", high)
    return _draw(random_integers_helper, name, random_state, size, ndim, _float_dtype(dtype), *bounds)


def choice(
    random_state: Variable,
    size: ShapeLike | None = None,
    a: TensorLike = 2,
    replace: TensorLike = True,
    p: TensorLike | None = None,
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
) -> Drawn:
    """Draw from the integers below a scalar `a`, or from the elements of a vector.

    Parameters
    ----------
    random_state : variable of RandomStateType or GeneratorType
    size, ndim
        As for :func:`uniform`; without a size, one element is drawn.
    a : tensor_like
        A positive integer scalar, or a vector.
    replace : bool or scalar
        Whether an element may be drawn more than once.
    p : tensor_like, optional
        A vector of probabilities; without it, or with an empty one, all are the same.
    dtype : str
        Dtype of the draw. Elements that are no integers keep their own.

    Returns
    -------
    list
        The state after the draw, and the draw.

    Raises
    ------
    ShapeError, DTypeError
        If `a` has more than one dimension or is a scalar that is no integer, or `p` is no vector.
    """
    pool = as_tensor_variable(a)
    if pool.type.ndim > 1:
        raise ShapeError(
            format_error("choice: `a` is a scalar or a vector", context=[describe(pool)], hint="flatten it")
        )
    kind = canonical_dtype(dtype, config.floatX)
    if pool.type.ndim == 0:
        _integers("choice", "a scalar `a`", pool)
    elif pool.type.dtype not in DISCRETE_DTYPES and kind in DISCRETE_DTYPES:
        kind = pool.type.dtype
    params = [pool, as_tensor_variable(np.bool_(replace) if isinstance(replace, bool) else replace)]
    if p is not None and not _is_nothing(p):
        params.append(as_tensor_variable(p))
        if params[-1].type.ndim != 1:
            raise ShapeError(format_error("choice: `p` is a vector", context=[describe(params[-1])], hint="flatten it"))
    vector, shape = size_vector("choice", size, ndim, ())
    return _apply(RandomFunction(choice_helper, tensor_type(kind, shape)), random_state, vector, *params)


def _is_nothing(p: Any) -> bool:
    """Tell whether probabilities were left out: None, an empty sequence, and as in Theano 1.0 zero and False."""
    if isinstance(p, Variable):
        return False
    return p is None or (not p.size if isinstance(p, np.ndarray) else not p)


def permutation(
    random_state: Variable,
    size: ShapeLike | None = None,
    n: TensorLike = 1,
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
) -> Drawn:
    """Draw permutations of the integers below `n`, as many as `size` has positions.

    Parameters
    ----------
    random_state : variable of RandomStateType or GeneratorType
    size : optional
        ``(p, q)`` gives a draw of shape ``(p, q, n)``; None gives one permutation.
    n : int or integer scalar
    ndim : int, optional
        Number of entries of `size`; the draw has one dimension more.
    dtype : str

    Returns
    -------
    list
        The state after the draw, and the draw.

    Raises
    ------
    ShapeError, DTypeError
        If `n` is no integer scalar, or `size` and `ndim` do not tell the shape.
    TypeError
        If there is no size, and `ndim` is neither None nor 1: one permutation has one dimension.
    """
    if isinstance(size, (tuple, list)) and not size:
        size = None
    if size is None and ndim not in (None, 1):
        raise TypeError(
            format_error(
                f"permutation: one permutation has one dimension, not ndim={ndim}",
                hint="pass a size for several of them, or leave ndim out",
            )
        )
    length = _integers("permutation", "`n`", n)
    if length.type.ndim:
        raise ShapeError(
            format_error("permutation: `n` is a scalar", context=[describe(length)], hint="index it: n[0]")
        )
    vector, shape = size_vector("permutation", size, ndim, ())
    last = int(length.data) if isinstance(length, Constant) and length.data >= 0 and length.data != 1 else None
    kind = tensor_type(_float_dtype(dtype), (*shape, last))
    return _apply(RandomFunction(permutation_helper, kind, ndim_added=1), random_state, vector, length)


def multinomial(
    random_state: Variable,
    size: ShapeLike | None = None,
    n: TensorLike = 1,
    pvals: TensorLike = (0.5, 0.5),
    ndim: int | None = None,
    dtype: DTypeLike = "int64",
    p_vals: TensorLike | None = None,
) -> Drawn:
    """Draw how often each of several categories comes up in `n` trials, as many times as `size` has positions.

    Parameters
    ----------
    random_state : variable of RandomStateType or GeneratorType
    size : optional
        ``(p, q)`` gives a draw of shape ``(p, q, len(pvals))``. Without it, the shape of `n` and the leading
        dimensions of `pvals` decide.
    n : tensor_like of int
        Numbers of trials.
    pvals : tensor_like
        Probabilities of the categories along the last dimension.
    ndim : int, optional
        Number of entries of `size`; the draw has one dimension more.
    dtype : str
    p_vals : tensor_like, optional
        Another name of `pvals`.

    Returns
    -------
    list
        The state after the draw, and the draw.

    Raises
    ------
    ShapeError, DTypeError
        If `pvals` is a scalar, `n` holds no integers, or `size` and `ndim` do not tell the shape.
    """
    trials, chances = _integers("multinomial", "`n`", n), as_tensor_variable(pvals if p_vals is None else p_vals)
    if not chances.type.ndim:
        raise ShapeError(
            format_error(
                "multinomial: the probabilities are a scalar", context=[describe(chances)], hint="pass a vector"
            )
        )
    rows = [trials]
    if chances.type.ndim > 1:
        rows.append(chances[..., 0])
    vector, shape = size_vector("multinomial", size, ndim, rows, checked=True)
    kind = tensor_type(_float_dtype(dtype), (*shape, chances.type.shape[-1]))
    return _apply(RandomFunction(multinomial_helper, kind, ndim_added=1), random_state, vector, trials, chances)
