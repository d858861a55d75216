"""Streams over MRG31k3p with NumPy's interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np

from theano_graph import Variable, config, describe, format_error
from theano_linker_c import shared
from theano_linker_c.scalar import upcast

from ..._core._convert import TensorSharedVariable, as_tensor_variable, constant
from ..._core._dtypes import DTypeLike, ShapeLike, TensorLike, canonical_dtype
from ..._core._type import Tensor, TensorConstant, tensor_type
from ..._errors import DTypeError
from ...elemwise import cast
from ...shape import shape as shape_of
from .._distributions import size_vector
from .._function import RandomVariable, as_random_variable
from . import _transforms as transforms
from ._uniform import DTYPES, STREAM, check_state, draw_uniform, jump, substreams

P = ParamSpec("P")
#: How many streams a draw uses at most, and where its size is not known.
MOST_STREAMS = 60 * 256


def guess_n_streams(size: ShapeLike, warn: bool = False) -> int:
    """Return a good number of streams for a draw.

    Parameters
    ----------
    size : tuple or list of int, or anything else
        Shape of the draw. Only Python's own integers count as known: draws stay as they always were.
    warn : bool
        Whether to warn where the number of elements is not known.

    Returns
    -------
    int
        About a sixth of the number of elements, from 1 to 60 * 256; the latter where that number is not known.

    Examples
    --------
    >>> from theano.sandbox import rng_mrg
    >>> rng_mrg.guess_n_streams((60, 10)), rng_mrg.guess_n_streams((2, 2)), rng_mrg.guess_n_streams((1000, 1000))
    (100, 4, 15360)
    """
    if not (isinstance(size, (tuple, list)) and all(isinstance(n, int) for n in size)):
        if warn:
            transforms.warn_unknown_size(size, MOST_STREAMS)
        return MOST_STREAMS
    total = math.prod(size)
    return max(1, min(total // 6 if total > 6 else total, MOST_STREAMS))


def _drawing(
    method: Callable[Concatenate[MRG_RandomStreams, P], tuple[Any, Tensor]],
) -> Callable[Concatenate[MRG_RandomStreams, P], RandomVariable]:
    """Wrap a sampler as a method that returns the samples and the updated generator.

    The result gets the states of the draw; and the states are where `target` says.
    """
    annotations = method.__annotations__

    @wraps(method)
    def draw(streams: MRG_RandomStreams, /, *args: P.args, **kwargs: P.kwargs) -> RandomVariable:
        target = kwargs.pop("target", None)
        unknown = [key for key in kwargs if key not in annotations]
        if unknown:
            text = f"{method.__name__}: unknown option {unknown[0]}={kwargs[unknown[0]]!r}"
            raise TypeError(format_error(text, hint='leave it out; besides those above, target="cpu" is understood'))
        before, streams._target = streams._target, target
        try:
            numbers, draws = method(streams, *args, **kwargs)
        finally:
            streams._target = before
        return _marked(draws, numbers.update)

    return draw


def _shared_at(target: Any, rows: Any) -> Any:
    """Share states, on the host or in a context; TypeError if there is none of the name."""
    if target is None:
        return shared(rows, borrow=True)
    try:
        return shared(rows, borrow=True, target=target)
    except (TypeError, ValueError) as error:
        text = f"draws cannot have target={target!r}, which names no context"
        raise TypeError(format_error(text, hint='use target="cpu", or the name of a context')) from error


class MRG_RandomStreams:
    """Streams of random numbers by the generator MRG31k3p, with an interface like that of ``numpy.random``.

    Each draw has streams of its own, 2**134 steps away from those of the draw before; within a draw they are 2**72
    steps apart and are advanced side by side. The numbers do not depend on the machine that runs the function.

    Parameters
    ----------
    seed : int or list of 6 int
        An int stands for six times itself. The first three numbers lie below M1 = 2147483647, the last three below
        M2 = 2147462579, and neither three are all 0.

    All draws take these arguments, and `target`: where the states are, "cpu" or the name of a context; that of other
    shared arrays by default.

    - `size`: the shape of the draw, a sequence of ints and integer scalars or an integer vector; None stands for the
      common shape of the parameters;
    - `ndim`: the number of dimensions, where `size` is a vector of unknown length;
    - `dtype`: of the draw; where parameters are floats, they are cast to it, and by default it is theirs, at least
      ``floatX``;
    - `nstreams`: how many streams to draw from; see :func:`guess_n_streams`.

    They raise ShapeError or DTypeError if the shape cannot be told or nothing can be drawn in this dtype.

    Attributes
    ----------
    rstate : ndarray of int32
        State of the next draw's first stream, of length 6.
    state_updates : list of tuple
        For each draw: its shared states, int32 of shape (streams, 6), the expression for their values after it, and
        the arguments `size` and `nstreams`.

    Raises
    ------
    TypeError, ValueError
        If `seed` is none.

    Examples
    --------
    >>> import theano
    >>> from theano.sandbox.rng_mrg import MRG_RandomStreams
    >>> f = theano.function([], MRG_RandomStreams(seed=12345).uniform((2,)))
    >>> f().round(4), f().round(4)
    (array([0.7353, 0.2586]), array([0.6142, 0.949 ]))
    """

    #: Where the states of the draw at hand are put.
    _target: Any = None

    def __init__(self, seed: Any = 12345) -> None:
        self.state_updates: list[tuple[TensorSharedVariable, Variable, Any, int | None]] = []
        self.default_instance_seed = seed
        self.rstate = check_state(seed)

    def set_rstate(self, seed: Any) -> None:
        """Start again from a seed: the draws that are made from now on; see `seed` for those made so far."""
        self.rstate = check_state(seed)

    def seed(self, seed: Any = None) -> None:
        """Give all draws made so far new states that are worked out from one seed.

        Parameters
        ----------
        seed : int or list of 6 int, optional
            By default the seed that this object was made with.

        Raises
        ------
        TypeError, ValueError
            If `seed` is none; all states stay as they were.
        """
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for states, *_ in self.state_updates:
            count = len(states.get_value(borrow=True))
            states.set_value(self.get_substream_rstates(count), borrow=True)

    def inc_rstate(self) -> None:
        """Move `rstate` to the next stream, 2**134 steps further."""
        self.rstate = jump(self.rstate, STREAM)

    def get_substream_rstates(self, n_streams: int, dtype: DTypeLike | None = None, inc_rstate: bool = True) -> Any:
        """Return states of streams that are 2**72 steps apart, the first at `rstate`.

        Parameters
        ----------
        n_streams : int
        dtype : str, optional
            Of the numbers that will be drawn; the states do not depend on it.
        inc_rstate : bool
            Whether to go on to the next stream.

        Returns
        -------
        ndarray of int32
            Of shape (n_streams, 6).

        Raises
        ------
        ValueError
            If `n_streams` is no positive integer, or nothing can be drawn in `dtype`.
        """
        if isinstance(n_streams, bool) or not isinstance(n_streams, (int, np.integer)) or n_streams < 1:
            raise ValueError(
                format_error(f"MRG31k3p: {n_streams!r} is no number of streams", hint="pass an int from 1 up")
            )
        if dtype is not None:
            _draw_dtype(dtype)
        states = substreams(self.rstate, int(n_streams))
        if inc_rstate:
            self.inc_rstate()
        return states

    def updates(self) -> list[tuple[TensorSharedVariable, Variable]]:
        """Return the pairs (states, new states) of all draws, as `function` takes them for `updates`."""
        return [(states, new_states) for states, new_states, *_ in self.state_updates]

    def n_streams(self, size: ShapeLike) -> int:
        """Return how many streams a draw uses that is not told it: :func:`guess_n_streams`, unless overridden."""
        return guess_n_streams(size)

    def pretty_return(
        self,
        node_rstate: TensorSharedVariable,
        new_rstate: Variable,
        sample: Any,
        size: ShapeLike,
        nstreams: int | None,
    ) -> Any:
        """Note a draw, let its states move by themselves, and return it with the attributes `rstate` and `update`."""
        sample.rstate = node_rstate
        sample.update = (node_rstate, new_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        node_rstate.default_update = new_rstate
        return sample

    def _flat(self, given: Any, size: Tensor, shape: Sequence[int | None], dtype: str, nstreams: int | None) -> Any:
        """Draw numbers between 0 and 1 in the shape that a vector says, from new states.

        `given` is the size as the caller of a method wrote it.
        """
        count = self.n_streams(given) if nstreams is None else nstreams
        rows = self.get_substream_rstates(count, dtype)
        # Not made as a tensor at once: on a device states stay there, as other shared arrays do.
        states = _shared_at(self._target, rows)
        states.tag.is_rng = True
        # Drawn as a vector and reshaped, so that one compiled form serves all numbers of dimensions.
        total, length = transforms.flat_length(size, shape)
        draw, new_states = draw_uniform(states, length, tensor_type(dtype, (total,)))
        draws = as_random_variable(transforms.reshaped(draw, size, shape))
        return self.pretty_return(states, new_states, draws, given, nstreams)

    @_drawing
    def uniform(
        self,
        size: ShapeLike | None = None,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
        nstreams: int | None = None,
    ) -> tuple[Any, Any]:
        """Draw from the uniform distribution between `low` and `high`, both excluded; gradients go through them."""
        (first, last), kind = _params(dtype, low, high)
        vector, shape = self._shape("uniform", size, ndim, first, last)
        draw = self._flat(size, vector, shape, kind, nstreams)
        return draw, transforms.between(draw, first, last, kind)

    def _shape(self, name: str, size: ShapeLike | None, ndim: int | None, *params: Tensor) -> tuple[Any, Any]:
        vector, shape = size_vector(name, size, ndim, params)
        if shape and vector.type.shape[0] == 0:
            return shape_of(sum(params[1:], params[0])), shape
        return vector, shape

    @_drawing
    def normal(
        self,
        size: ShapeLike | None = None,
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
        nstreams: int | None = None,
        truncate: bool = False,
    ) -> tuple[Any, Any]:
        """Draw from the normal distribution with mean `avg` and standard deviation `std`.

        Parameters
        ----------
        avg, std : tensor_like
            Gradients go through them.
        truncate : bool
            Draw from the part of the distribution within two standard deviations of the mean, so that the standard
            deviation of the draw is 0.8796 of `std`.

        Returns
        -------
        RandomVariable
            Pairs by the method of Box and Muller (Annals of Mathematical Statistics 29, 1958). Truncated ones are
            values of the inverse distribution function, or with the flag ``random.truncated_as_1_0`` the draws of
            Theano 1.0.
        """
        (mean, scale), kind = _params(dtype, avg, std)
        vector, shape = self._shape("normal", size, ndim, mean, scale)
        if truncate and not config.random.truncated_as_1_0:
            total, length = transforms.flat_length(vector, shape)
            draw = self._flat(None, length, (total,), kind, nstreams)
            return draw, transforms.scaled(transforms.truncated(draw, vector, shape, kind), mean, scale, kind)
        count, length = transforms.pairs(vector, shape)
        draw = self._flat(None, length, (None if count is None else 2 * count,), kind, nstreams)
        if truncate:
            radii = partial(self._radii, kind, nstreams)
            sample = transforms.truncated_by_replacement(draw, radii, vector, shape, kind)
        else:
            sample = transforms.box_muller(draw, vector, shape, kind)
        return draw, transforms.scaled(sample, mean, scale, kind)

    def _radii(self, dtype: str, nstreams: int | None, count: Tensor) -> Tensor:
        """Draw numbers whose radii do not exceed two standard deviations."""
        draw = self._flat(None, transforms.as_vector(count), (None,), dtype, nstreams)
        lowest, one = (constant(np.asarray(value, dtype)) for value in (math.e**-2, 1.0))
        within: Tensor = draw * (one - lowest) + lowest
        return within

    @_drawing
    def truncated_normal(
        self,
        size: ShapeLike | None = None,
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
        nstreams: int | None = None,
    ) -> tuple[Any, Any]:
        """Draw from a normal distribution that is cut off at both sides, so that `std` is the deviation of the draw.

        The limits are two standard deviations of the whole distribution, 2.2737 of the draw. See :meth:`normal`.
        """
        wider = as_tensor_variable(std) / transforms.TRUNCATED_DEVIATION
        draw = self.normal(size, avg, wider, ndim, dtype, nstreams, truncate=True)
        return draw, draw

    @_drawing
    def binomial(
        self,
        size: ShapeLike | None = None,
        n: TensorLike = 1,
        p: TensorLike = 0.5,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
        prob: TensorLike | None = None,
    ) -> tuple[Any, Any]:
        """Draw how many of `n` trials succeed with probability `p` (also called `prob`).

        Parameters
        ----------
        n : int or integer scalar
        p : tensor_like
        dtype : str

        Returns
        -------
        RandomVariable
            The cost grows with `n`, as each trial takes a number.

        Raises
        ------
        ShapeError, DTypeError
            If `n` is no integer scalar, or the shape cannot be told.
        """
        chance = as_tensor_variable(p if prob is None else prob)
        vector, shape = self._shape("binomial", size, ndim, chance)
        trials, static = transforms.trials(n)
        drawn = config.floatX
        if static == 1:
            draw = self._flat(size, vector, shape, drawn, nstreams)
            hits = draw < chance
        else:
            draw = self._flat(None, transforms.prepended(trials, vector), (static, *shape), drawn, nstreams)
            hits = (draw < chance).sum(axis=0)
        return draw, cast(hits, canonical_dtype(dtype, config.floatX))

    @_drawing
    def multinomial(
        self,
        size: ShapeLike | None = None,
        n: TensorLike = 1,
        pvals: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> tuple[Any, Any]:
        """Draw how often each category comes up in `n` draws, for each row of probabilities.

        Parameters
        ----------
        size : optional
            Only with a vector `pvals`: as in NumPy, the shape in which draws are repeated.
        n : int or integer scalar
        pvals : tensor_like
            Of shape (rows, k), or (k,). Not checked: ``[[-.2, .2]]`` gives ``[[0, 0]]``.
        ndim : int, optional
            Number of entries of `size`.
        dtype : str

        Returns
        -------
        RandomVariable
            Of the shape of `pvals`, or ``(*size, k)``.

        Raises
        ------
        TypeError
            If `pvals` is not given.
        ShapeError
            If `pvals` has other dimensions, or `size` comes with a matrix.
        """
        chances, rows, vector, shape = transforms.rows_of("multinomial", size, ndim, pvals)
        trials, static = transforms.trials(n)
        draw = self._numbers(chances, trials, static, nstreams)
        counts = transforms.counted(chances, draw, trials, dtype)
        return draw, transforms.unrowed(counts, rows, vector, shape)

    def _numbers(self, chances: Tensor, trials: Any, static: int | None, nstreams: int | None) -> Any:
        rows = chances.type.shape[0]
        total = None if rows is None or static is None else rows * static
        length = transforms.as_vector(trials * chances.shape[0])
        return self._flat(None, length, (total,), config.floatX, nstreams)

    @_drawing
    def choice(
        self,
        size: ShapeLike | None = 1,
        a: TensorLike | None = None,
        replace: bool = True,
        p: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> tuple[Any, Any]:
        """Draw categories by rows of probabilities, or elements as ``numpy.random.choice`` does.

        Parameters
        ----------
        size : int or integer scalar
            How many are drawn from each row. With `a`: the shape of the draw.
        a : tensor_like, optional
            A positive integer scalar or a vector to draw from; then `p` is a vector or left out.
        replace : bool
            Whether the same may be drawn more than once (from a row).
        p : tensor_like
            Probabilities of shape (rows, k). They are not checked: a row whose sum is not positive gives zeros.
        ndim : int, optional
            With `a`: number of dimensions of the draw.
        dtype : str

        Returns
        -------
        RandomVariable
            Of shape (rows, size): numbers of categories, from 0 up.

        Raises
        ------
        TypeError
            If neither `a` nor `p` is given.
        ShapeError, DTypeError
            If an argument has other dimensions or another dtype.
        """
        if a is not None:
            return self._choice_of(size, a, replace, p, ndim, dtype, nstreams)
        chances, _, _, _ = transforms.rows_of("choice", None, None, p, least=2)
        trials, static = transforms.trials(size)
        draw = self._numbers(chances, trials, static, nstreams)
        return draw, transforms.chosen(chances, draw, trials, dtype, replace)

    def _choice_of(
        self,
        size: ShapeLike | None,
        a: TensorLike,
        replace: TensorLike,
        p: TensorLike | None,
        ndim: int | None,
        dtype: DTypeLike,
        nstreams: int | None,
    ) -> tuple[Any, Any]:
        pool, chances = transforms.pool_of(a, p)
        vector, shape = size_vector("choice", size, ndim, ())
        total = transforms.product(vector)
        count = transforms.static_product(shape)
        draw = self._flat((count,), transforms.as_vector(total), (count,), "float64", nstreams)
        kind = canonical_dtype(dtype, config.floatX)
        return draw, transforms.picked(pool, chances, draw, total, replace, vector, shape, kind)

    @_drawing
    def multinomial_wo_replacement(
        self,
        size: ShapeLike | None = None,
        n: TensorLike = 1,
        pvals: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        nstreams: int | None = None,
    ) -> tuple[Any, Any]:
        """Draw `n` different categories from each row of probabilities: :meth:`choice` without replacement."""
        if size is not None:
            raise transforms.useless_size("multinomial_wo_replacement", size)
        draw = self.choice(n, None, False, pvals, ndim, dtype, nstreams)
        return draw, draw


def _marked(variable: Tensor, update: tuple[Any, Variable]) -> RandomVariable:
    random = as_random_variable(variable)
    random.rng = random.rstate = update[0]
    random.update = update
    return random


def _draw_dtype(dtype: DTypeLike) -> str:
    kind = canonical_dtype(dtype, config.floatX)
    if kind not in DTYPES:
        raise DTypeError(
            format_error(f"MRG31k3p draws no {kind}", hint=f"draw one of {', '.join(DTYPES)}, and cast it with astype")
        )
    return kind


def _params(dtype: DTypeLike | None, *values: Any) -> tuple[list[Tensor], str]:
    """Return parameters in the dtype of the draw, and this dtype."""
    params = [as_tensor_variable(value) for value in values]
    for param in params:
        if param.type.dtype.startswith("complex"):
            raise DTypeError(
                format_error("MRG31k3p: a parameter is complex", context=[describe(param)], hint="take x.real")
            )
    kind = upcast(config.floatX, *(p.type.dtype for p in params)) if dtype is None else dtype
    kind = _draw_dtype(kind)
    return [_in_dtype(p, kind) for p in params], kind


def _in_dtype(param: Tensor, dtype: str) -> Tensor:
    """Return a parameter in a dtype; a constant stays one, so that 0 and 1 can be told from others."""
    return constant(param.data.astype(dtype)) if isinstance(param, TensorConstant) else cast(param, dtype)
