"""Draws from given states, as expressions; how many numbers in how many dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, config, describe, format_error
from theano_linker_c.scalar import upcast

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import DISCRETE_DTYPES, INTEGER_DTYPES, DTypeLike, ShapeLike, TensorLike, canonical_dtype
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..elemwise import cast
from ..shape import as_length, make_vector, static_int, static_lengths
from ._function import RandomFunction, choice_helper, multinomial_helper, permutation_helper, random_integers_helper

# ---- The argument `size` of a draw: how many numbers in how many dimensions

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


# ---- Draws from given states, as expressions: each function gives the state after the draw, and the draw

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
