"""Random numbers in NumPy's spelling, from generators whose state is a value: an argument of a jitted function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import TheanoError, Variable, config, format_error
from theano_tensor import TensorType, as_tensor_variable, constant, exp
from theano_tensor.builders import traced
from theano_tensor.random import (
    RandomFunction,
    generator_of,
    generator_of_key,
    key_of,
    key_of_generator,
    permutation_helper,
    size_vector,
)

from .functional import Parts, parts

__all__ = ["Generator", "GeneratorError", "default_rng"]


class GeneratorError(TheanoError, TypeError):
    """A generator is used where its state would not move."""


def default_rng(seed: Any = None) -> Generator:
    """Return a generator, whose draws are those of ``numpy.random.default_rng(seed)``.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.SeedSequence, or numpy.random.Generator over PCG64; optional
        As for NumPy. None takes entropy of the operating system.

    Returns
    -------
    Generator

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> rng = theano.random.default_rng(3)
    >>> bool(rng.normal() == np.random.default_rng(3).normal())
    True
    """
    key = key_of(np.random.default_rng(seed))
    return Generator(key if traced() is None else constant(key))


class Generator:
    """A generator of NumPy whose state is a value.

    It is a container of its key. A jitted function gets a copy, whose state moves with each draw; that of the caller
    stays as it was. So the function returns the generator to go on with it, or gets a child of its own each time.

    Parameters
    ----------
    key : vector of six uint64
        The state of PCG64: of a generator `rng` of this class or of another program, ``rng.key``.

    Notes
    -----
    Without variables among the arguments, and outside of functions that are compiled, draws are values, as NumPy's.
    Draws are of dtype ``floatX`` or int64. Gradients go to the parameters of `uniform`, `normal`, `lognormal`,
    `exponential`, `gamma` (its scale), `laplace`, `logistic` and `gumbel`.

    Examples
    --------
    >>> import theano
    >>> @theano.jit
    ... def noisy(rng, x):
    ...     return x + rng.normal(size=x.shape), rng
    >>> rng = theano.random.default_rng(3)
    >>> first, rng = noisy(rng, 1.0)
    >>> second, rng = noisy(rng, 1.0)
    >>> bool(first != second)
    True
    """

    __slots__ = ("_key", "_state")

    def __init__(self, key: Any) -> None:
        self._key = key if isinstance(key, Variable) else np.asarray(key, "uint64")
        #: The generator as a variable, once there was a draw.
        self._state: Any = None

    @property
    def key(self) -> Any:
        """The state, as six words."""
        return self._key if self._state is None else key_of_generator(self._state)

    def spawn(self, n_children: int) -> list[Generator]:
        """Return new generators, whose keys are drawn by this one: four raw words each, the last of them odd."""
        keys = self._drawn(_child_keys, (int(n_children),), (), "uint64", added=1)
        return [Generator(keys[k]) for k in range(int(n_children))]

    def random(self, size: Any = None) -> Any:
        """Draw from the uniform distribution over [0, 1[."""
        return self._drawn("random", size, ())

    def standard_normal(self, size: Any = None) -> Any:
        """Draw from the normal distribution with mean 0 and deviation 1."""
        return self._drawn("standard_normal", size, ())

    def standard_exponential(self, size: Any = None) -> Any:
        """Draw from the exponential distribution with mean 1."""
        return self._drawn("standard_exponential", size, ())

    def standard_gamma(self, shape: Any, size: Any = None) -> Any:
        """Draw from the gamma distribution with scale 1."""
        return self._drawn("standard_gamma", size, (shape,))

    def standard_cauchy(self, size: Any = None) -> Any:
        """Draw from the Cauchy distribution."""
        return self._drawn("standard_cauchy", size, ())

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Draw from Student's distribution."""
        return self._drawn("standard_t", size, (df,))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw from the uniform distribution over [low, high[."""
        unit, (low, high) = self._unit("random", size, (low, high))
        return low + (high - low) * unit

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the normal distribution."""
        return self._scaled("standard_normal", loc, scale, size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Draw numbers whose logarithms are normal."""
        drawn = self.normal(mean, sigma, size)
        return exp(drawn) if isinstance(drawn, Variable) else np.exp(drawn)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the Laplace distribution."""
        return self._scaled("laplace", loc, scale, size, 0.0, 1.0)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the logistic distribution."""
        return self._scaled("logistic", loc, scale, size, 0.0, 1.0)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the Gumbel distribution."""
        return self._scaled("gumbel", loc, scale, size, 0.0, 1.0)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the exponential distribution."""
        unit, (scale,) = self._unit("standard_exponential", size, (scale,))
        return scale * unit

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw from the gamma distribution."""
        if size is None:
            shape = shape + 0 * scale
        return scale * self.standard_gamma(shape, size)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Draw from the beta distribution."""
        return self._drawn("beta", size, (a, b))

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Draw from the chi-square distribution."""
        return self._drawn("chisquare", size, (df,))

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Draw from the Weibull distribution."""
        return self._drawn("weibull", size, (a,))

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """Draw angles from the von Mises distribution."""
        return self._drawn("vonmises", size, (mu, kappa))

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Draw counts of a Poisson process."""
        return self._drawn("poisson", size, (lam,), "int64")

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Draw how many of `n` trials succeed."""
        return self._drawn("binomial", size, (n, p), "int64")

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Draw how many trials there are up to the first success."""
        return self._drawn("geometric", size, (p,), "int64")

    def integers(self, low: Any, high: Any = None, size: Any = None, *, endpoint: bool = False) -> Any:
        """Draw integers from `low` to `high`, or below `low`; the upper bound is one of them with `endpoint`."""
        low, high = (0, low) if high is None else (low, high)
        return self._drawn(_integers_to if endpoint else _integers_below, size, (low, high), "int64")

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Draw of the integers below `a`, or of the rows of an array, with probabilities `p`."""
        n = _rows(a)
        function = _choice_with if replace else _choice_without
        chosen = self._drawn(
            function, size if size is not None else (), (n,) if p is None else (n, p), "int64", plain=True
        )
        return chosen if np.ndim(a) == 0 else _taken(a, chosen)

    def permutation(self, x: Any) -> Any:
        """Return the integers below `x`, or the rows of an array, in random order."""
        order = self._drawn(permutation_helper, (), (_rows(x),), "int64", added=1)
        return order if np.ndim(x) == 0 else _taken(x, order)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Any:
        """Draw vectors from the normal distribution with a covariance matrix."""
        return self._drawn("multivariate_normal", () if size is None else size, (mean, cov), added=1, plain=True)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Draw vectors of probabilities from the Dirichlet distribution."""
        return self._drawn("dirichlet", () if size is None else size, (alpha,), added=1, plain=True)

    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        """Draw counts of categories in `n` trials."""
        return self._drawn("multinomial", () if size is None else size, (n, pvals), "int64", added=1, plain=True)

    def __repr__(self) -> str:
        return f"theano.random.Generator({self.key})"

    def _scaled(self, name: str, loc: Any, scale: Any, size: Any, *standard: float) -> Any:
        unit, (loc, scale) = self._unit(name, size, (loc, scale), standard)
        return loc + scale * unit

    def _unit(
        self, name: str, size: Any, params: Sequence[Any], standard: Sequence[float] = ()
    ) -> tuple[Any, Sequence[Any]]:
        """Return a draw with standard parameters, in the shape that others ask for, and these as arrays."""
        floats = [np.asarray(x, config.floatX)[()] if isinstance(x, (int, float)) else x for x in params]
        if self._is_value(params):
            size = np.broadcast_shapes(*map(np.shape, floats)) if size is None else size
            return self._drawn(name, size, standard), floats
        variables = list(map(as_tensor_variable, floats))
        if size is None:
            total = sum(variables[1:], variables[0])
            size = tuple(total.shape[k] for k in range(total.ndim))
        return self._drawn(name, size, standard), variables

    def _is_value(self, params: Sequence[Any]) -> bool:
        """Tell whether draws are values: without variables, and outside of functions that are compiled.

        Raises
        ------
        GeneratorError
            If a function that is compiled uses a generator that is none of its arguments.
        """
        if self._state is not None or isinstance(self._key, Variable):
            return False
        if traced() is not None:
            raise GeneratorError(
                format_error(
                    "a generator is used in a function that is compiled, and is none of its arguments: each call would "
                    "draw the same numbers",
                    hint="pass it as an argument, f(rng, x), and return it, or pass rng.spawn(1)[0]",
                )
            )
        return not any(isinstance(x, Variable) for x in params)

    def _drawn(
        self,
        method: str | Callable[..., Any],
        size: Any,
        params: Sequence[Any],
        dtype: str | None = None,
        added: int = 0,
        plain: bool = False,
    ) -> Any:
        """Return a draw by a method of NumPy's generators, or a function, and move the state.

        Parameters
        ----------
        method : str or callable
        size : None, int, sequence of int and scalars
        params : sequence of tensor_like
        dtype : str, optional
            floatX by default.
        added : int
            How many dimensions a draw has beyond those of the size.
        plain : bool
            Whether parameters do not broadcast against each other.
        """
        dtype = dtype or str(config.floatX)
        shape: Any
        if self._is_value([*params, *(size if isinstance(size, (tuple, list)) else [size])]):
            generator = generator_of(self._key)
            shape = None if size is None else tuple(np.atleast_1d(np.asarray(size, "int64")).tolist())
            call = (*params, shape or None)
            drawn = getattr(generator, method)(*call) if isinstance(method, str) else method(generator, *call)
            self._key = key_of(generator)
            return np.asarray(drawn).astype(dtype, copy=False)[()]
        variables = [as_tensor_variable(x) for x in params]
        vector, shape = size_vector(str(method), size, None, [] if plain or added else variables)
        if added:
            shape = (*shape, *(None,) * added)
        op = RandomFunction(method, TensorType(dtype, shape), ndim_added=added)
        state = generator_of_key(as_tensor_variable(self._key)) if self._state is None else self._state
        self._state, drawn = op.make_node(state, vector, *variables).outputs
        return drawn


@dataclass(frozen=True, slots=True)
class _Rebuild:
    """Makes a generator of its key."""

    def __call__(self, children: Sequence[Any]) -> Generator:
        return Generator(children[0])


@parts.register
def _(generator: Generator) -> Parts:
    return Parts((generator.key,), _Rebuild())


def _rows(x: Any) -> Any:
    return x if np.ndim(x) == 0 else (as_tensor_variable(x) if isinstance(x, Variable) else np.asarray(x)).shape[0]


def _taken(x: Any, index: Any) -> Any:
    return (as_tensor_variable(x) if isinstance(index, Variable) else np.asarray(x))[index]


def _child_keys(generator: np.random.Generator, size: tuple[int, ...]) -> Any:
    keys = np.zeros((*size, 6), "uint64")
    keys[..., :4] = generator.bit_generator.random_raw((*size, 4))
    keys[..., 3] |= np.uint64(1)
    return keys


def _integers_below(generator: np.random.Generator, low: Any, high: Any, size: Any) -> Any:
    return generator.integers(low, high, size)


def _integers_to(generator: np.random.Generator, low: Any, high: Any, size: Any) -> Any:
    return generator.integers(low, high, size, endpoint=True)


def _choice_with(generator: np.random.Generator, n: Any, *others: Any) -> Any:
    return generator.choice(int(n), others[-1], True, *others[:-1])


def _choice_without(generator: np.random.Generator, n: Any, *others: Any) -> Any:
    return generator.choice(int(n), others[-1], False, *others[:-1])
