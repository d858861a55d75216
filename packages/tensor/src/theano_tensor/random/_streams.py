"""Streams: draws whose states live in shared variables and move by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Variable, describe, format_error
from theano_linker_c import optdb
from theano_optimize import InplaceRewriter, Phase

from .._core._convert import as_tensor_variable
from .._core._dtypes import DTypeLike, ShapeLike, TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..shape import lengths_of
from ..sorting import along_axis
from . import _distributions as draws
from ._function import RandomFunction, RandomVariable, as_random_variable
from ._states import GeneratorType, RandomStateSharedVariable, RandomStateType, generator_type, random_state_type
from .mrg import MRGUniform

# ---- The distributions that streams offer


class RandomStreamsBase(ABC):
    """The common part of all streams over NumPy's generators: a method for each distribution.

    All take `size`, the shape of the draw: an int, a sequence of ints and integer scalars, or a symbolic vector (with
    `ndim` where its length is not known). Without it, the common shape of the parameters decides. Draws follow NumPy.
    """

    @abstractmethod
    def gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the draw of ``op(state, *args, **kwargs)`` from a new state of this object."""

    def uniform(
        self,
        size: ShapeLike | None = (),
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> RandomVariable:
        """Draw from the uniform distribution over ``[low, high[``."""
        return self._gen(draws.uniform, size, low, high, ndim=ndim, dtype=dtype)

    def normal(
        self,
        size: ShapeLike | None = (),
        avg: TensorLike = 0.0,
        std: TensorLike = 1.0,
        ndim: int | None = None,
        dtype: DTypeLike | None = None,
    ) -> RandomVariable:
        """Draw from the normal distribution with mean `avg` and standard deviation `std`."""
        return self._gen(draws.normal, size, avg, std, ndim=ndim, dtype=dtype)

    def binomial(
        self,
        size: ShapeLike | None = (),
        n: TensorLike = 1,
        p: TensorLike = 0.5,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
        prob: TensorLike | None = None,
    ) -> RandomVariable:
        """Draw how many of `n` trials succeed with probability `p` (also called `prob`)."""
        return self._gen(draws.binomial, size, n, p if prob is None else prob, ndim=ndim, dtype=dtype)

    def random_integers(
        self,
        size: ShapeLike | None = (),
        low: TensorLike = 0,
        high: TensorLike = 1,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw integers from `low` to `high`, both of them included; the bounds may be tensors."""
        return self._gen(draws.random_integers, size, low, high, ndim=ndim, dtype=dtype)

    def choice(
        self,
        size: ShapeLike | None = (),
        a: TensorLike = 2,
        replace: TensorLike = True,
        p: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw from the integers below a scalar `a` or from a vector, with probabilities `p`."""
        return self._gen(draws.choice, size, a, replace, p, ndim=ndim, dtype=dtype)

    def poisson(
        self,
        size: ShapeLike | None = (),
        lam: TensorLike | None = None,
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw from the Poisson distribution with mean `lam`, 1 by default."""
        return self._gen(draws.poisson, size, lam, ndim=ndim, dtype=dtype)

    def permutation(
        self, size: ShapeLike | None = (), n: TensorLike = 1, ndim: int | None = None, dtype: DTypeLike = "int64"
    ) -> RandomVariable:
        """Draw permutations of the integers below `n`: ``size=(p, q)`` gives a draw of shape ``(p, q, n)``."""
        return self._gen(draws.permutation, size, n, ndim=ndim, dtype=dtype)

    def multinomial(
        self,
        size: ShapeLike | None = (),
        n: TensorLike = 1,
        pvals: TensorLike = (0.5, 0.5),
        ndim: int | None = None,
        dtype: DTypeLike = "int64",
    ) -> RandomVariable:
        """Draw counts of categories in `n` trials: ``size=(p, q)`` gives a draw of shape ``(p, q, len(pvals))``."""
        return self._gen(draws.multinomial, size, n, pvals, ndim=ndim, dtype=dtype)

    def shuffle_row_elements(self, input: TensorLike) -> RandomVariable:
        """Return `input` with the elements of every row (along the last dimension) in random order.

        Parameters
        ----------
        input : tensor_like
            Of at least one dimension.

        Returns
        -------
        RandomVariable
            Its attribute `permutation` is the draw by which the rows were shuffled.

        Raises
        ------
        ShapeError
            If `input` is a scalar.
        """
        x = as_tensor_variable(input)
        if not x.type.ndim:
            raise ShapeError(
                format_error(
                    "shuffle_row_elements: a scalar has no rows", context=[describe(x)], hint="pass a vector at least"
                )
            )
        *rows, last = lengths_of(x)
        permutation = self.permutation(size=tuple(rows) or None, n=last, ndim=len(rows) or None)
        shuffled = as_random_variable(permute_row_elements(x, permutation))
        shuffled.permutation = permutation
        return shuffled

    def _gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> RandomVariable:
        variable: RandomVariable = self.gen(op, *args, **kwargs)
        return variable


def permute_row_elements(x: TensorLike, permutation: TensorLike) -> Tensor:
    """Return `x` with the elements of each row (along the last dimension) in the order that a permutation gives.

    Parameters
    ----------
    x : tensor_like
    permutation : tensor_like of int
        A permutation for each row, or one for all.

    Returns
    -------
    Tensor
        Gradients go to the places that the elements came from.
    """
    variable, order = as_tensor_variable(x), as_tensor_variable(permutation)
    missing = variable.type.ndim - order.type.ndim
    if missing > 0:
        order = order.dimshuffle(["x"] * missing + list(range(order.type.ndim)))
    result: Tensor = variable[along_axis(variable, order, variable.type.ndim - 1)]
    return result


# ---- Streams: draws whose states live in shared variables and move by themselves

#: Seeds of states lie below this number.
SEED_LIMIT = 2**30


class SharedStreams(RandomStreamsBase):
    """Streams over states of one kind.

    Attributes
    ----------
    state_updates : list of tuple
        For each draw, its shared state and the expression for the state after the draw.
    """

    _kind: RandomStateType | GeneratorType

    def __init__(self) -> None:
        self.state_updates: list[tuple[RandomStateSharedVariable, Variable]] = []

    @abstractmethod
    def _fresh(self) -> Any:
        """Return the state of the next draw."""

    @abstractmethod
    def _reseeded(self, seed: Any, count: int) -> Sequence[Any]:
        """Return as many states as there are draws, from a seed."""

    def updates(self) -> list[tuple[RandomStateSharedVariable, Variable]]:
        """Return the pairs (state, new state) of all draws, as `function` takes them for `updates`."""
        return list(self.state_updates)

    def seed(self, seed: Any = None) -> None:
        """Give each draw that was made so far a state of its own, all worked out from one seed.

        Parameters
        ----------
        seed : int, optional
            By default the seed that this object was made with.
        """
        states = self._reseeded(seed, len(self.state_updates))
        for (variable, _), state in zip(self.state_updates, states, strict=True):
            variable.set_value(state, borrow=True)

    def gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> RandomVariable:
        """Draw by an op or function of one's own, from a new state of this object.

        Parameters
        ----------
        op : callable
            Called ``op(state, *args, **kwargs)``; gives the draw and the new state, in any order.

        Returns
        -------
        RandomVariable
            The draw, with the attributes `rng` and `update`. In each function that uses it the state moves on, unless
            `no_default_updates` says otherwise.

        Raises
        ------
        TypeError
            If `op` gives something else.
        """
        state = RandomStateSharedVariable(self._kind, self._fresh())
        draw, new_state = self._split(op, op(state, *args, **kwargs))
        variable = as_random_variable(draw)
        variable.rng, variable.update = state, (state, new_state)
        state.default_update = new_state
        self.state_updates.append(variable.update)
        return variable

    def _split(self, op: Callable[..., Any], results: Any) -> tuple[Any, Variable]:
        found = list(results) if isinstance(results, (tuple, list)) else [results]
        states = [v for v in found if isinstance(v, Variable) and v.type == self._kind]
        draws = [v for v in found if isinstance(v, Variable) and v.type != self._kind]
        if len(found) != 2 or len(states) != 1 or len(draws) != 1:
            raise TypeError(
                format_error(
                    f"gen: {getattr(op, '__name__', op)} gave no draw with a new state",
                    context=[describe(v) if isinstance(v, Variable) else repr(v) for v in found],
                    hint=f"let it return two variables: the draw, and a state of type {self._kind}",
                )
            )
        return draws[0], states[0]

    def _find(self, item: Any) -> RandomStateSharedVariable:
        for state, new_state in self.state_updates:
            if item is state or item is new_state or getattr(item, "rng", None) is state:
                return state
        raise KeyError(
            format_error(
                f"{item!r} is no state and no draw of these streams",
                context=[describe(item)] if isinstance(item, Variable) else [],
                hint="pass a result of one of the methods (uniform, normal, ...), or its `rng`",
            )
        )

    def __getitem__(self, item: Variable) -> Any:
        """Return the generator (not a copy) behind a draw, its state or its new state.

        Raises
        ------
        KeyError
            If it does not belong to these streams.
        """
        return self._find(item).get_value(borrow=True)

    def __setitem__(self, item: Variable, value: Any) -> None:
        """Put a generator (not a copy) behind a draw; KeyError, TypeError as for ``__getitem__`` and `set_value`."""
        self._find(item).set_value(value, borrow=True)


class RandomStreams(SharedStreams):
    """Streams over NumPy's legacy generator: each draw has a ``numpy.random.RandomState`` of its own.

    Parameters
    ----------
    seed : int, optional
        Seeds a temporary generator, which gives each state its seed. None takes entropy of the operating system.

    Raises
    ------
    TypeError, ValueError
        If NumPy cannot seed a generator with `seed`.

    Examples
    --------
    >>> import theano
    >>> from theano.tensor.shared_randomstreams import RandomStreams
    >>> streams = RandomStreams(seed=123)
    >>> f = theano.function([], streams.uniform(size=(1,)))
    >>> f().round(4), f().round(4)
    (array([0.728]), array([0.5904]))
    """

    _kind = random_state_type

    def __init__(self, seed: Any = None) -> None:
        super().__init__()
        self.default_instance_seed = seed
        self.gen_seedgen = _seeded(seed)

    def _fresh(self) -> np.random.RandomState:
        return np.random.RandomState(int(self.gen_seedgen.randint(SEED_LIMIT)))

    def _reseeded(self, seed: Any, count: int) -> Sequence[Any]:
        seeds = _seeded(self.default_instance_seed if seed is None else seed)
        return [np.random.RandomState(int(seeds.randint(SEED_LIMIT))) for _ in range(count)]


class GeneratorStreams(SharedStreams):
    """Streams over NumPy's present generators: each draw has a ``numpy.random.Generator`` of its own.

    Parameters
    ----------
    seed : int, sequence of int, or numpy.random.SeedSequence; optional
        The streams of the draws are spawned from it, so that they do not overlap.
    bit_generator : {"PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"}
        The source of the bits.

    Raises
    ------
    ValueError
        If there is no such bit generator, or NumPy cannot use the seed.

    Examples
    --------
    >>> from theano_linker_c import function
    >>> f = function([], GeneratorStreams(7, "Philox").normal(size=(2, 3)))
    >>> f().shape
    (2, 3)
    """

    _kind = generator_type
    _KINDS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")

    def __init__(self, seed: Any = None, bit_generator: str = "PCG64") -> None:
        super().__init__()
        if bit_generator not in self._KINDS:
            raise ValueError(
                format_error(
                    f"GeneratorStreams: there is no bit generator {bit_generator!r}",
                    hint=f"use one of {', '.join(self._KINDS)}",
                )
            )
        self.bit_generator = bit_generator
        self.default_instance_seed = seed
        self._sequence = _sequence(seed)

    def _fresh(self) -> np.random.Generator:
        return self._generator(self._sequence.spawn(1)[0])

    def _reseeded(self, seed: Any, count: int) -> Sequence[Any]:
        sequence = _sequence(self.default_instance_seed if seed is None else seed)
        return [self._generator(child) for child in sequence.spawn(count)]

    def _generator(self, sequence: np.random.SeedSequence) -> np.random.Generator:
        return np.random.Generator(getattr(np.random, self.bit_generator)(sequence))


def _sequence(seed: Any) -> np.random.SeedSequence:
    """Return a sequence that has not spawned yet."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise _bad_seed("GeneratorStreams", seed, error, "an int from 0 up, or a list of such") from error


def _seeded(seed: Any) -> np.random.RandomState:
    try:
        return np.random.RandomState(seed)
    except (TypeError, ValueError) as error:
        raise _bad_seed("RandomStreams", seed, error, "an int from 0 to 2**32 - 1, or a list of such") from error


def _bad_seed(name: str, seed: Any, error: Exception, wanted: str) -> Exception:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(format_error(f"{name}: {seed!r} is no seed", context=[str(error)], hint=f"pass {wanted}, or None"))


# ---- Draws that move a state itself, where nobody else will ask for it


def _in_place(node: Apply) -> Iterable[RandomFunction]:
    op = node.op
    return [] if op.inplace else [RandomFunction(op.fn, op.outtype, True, op.ndim_added)]


#: States in shared variables are copied all the same: a call that fails must leave them as they were.
random_make_inplace = InplaceRewriter(_in_place, [RandomFunction], "random_make_inplace")
optdb.register(
    "random_make_inplace",
    random_make_inplace,
    "fast_run",
    "inplace",
    "o4",
    position=Phase.INPLACE,
    aliases=("inplace_random",),
)


def _streams_in_place(node: Apply) -> Iterable[MRGUniform]:
    op = node.op
    return [] if op.inplace else [MRGUniform(op.output_type, True)]


mrg_random_make_inplace = InplaceRewriter(_streams_in_place, [MRGUniform], "mrg_random_make_inplace")
optdb.register(
    "random_make_inplace_mrg",
    mrg_random_make_inplace,
    "fast_run",
    "inplace",
    "o4",
    position=Phase.INPLACE,
    aliases=("inplace_random",),
)
