"""Types of the states of NumPy's random generators, and shared variables that hold such states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from theano_graph import SingletonType, format_error
from theano_linker_c import SharedVariable, register_shared_constructor

from ._copies import copy_state

_State = TypeVar("_State", np.random.RandomState, np.random.Generator)


def state_contents(state: Any) -> Mapping[str, Any]:
    """Return everything that decides which numbers a generator draws next, as nested dictionaries."""
    if isinstance(state, np.random.Generator):
        found: Mapping[str, Any] = state.bit_generator.state
        return found
    return dict(state.get_state(legacy=False))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a == b)


def _bits(state: Any) -> Any:
    return state.bit_generator if isinstance(state, np.random.Generator) else state._bit_generator


class _StateType(SingletonType, Generic[_State]):
    """The common part of the two types of states."""

    _values: type[_State]

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> _State:
        """Return `value` itself if it is a generator.

        Raises
        ------
        TypeError
            If it is anything else; seeds are not turned into generators.
        """
        if isinstance(value, self._values):
            return value
        name = f"numpy.random.{self._values.__name__}"
        raise TypeError(
            format_error(
                f"a value of type {type(value).__name__} is no {name}",
                context=[f"value: {value!r:.60}"],
                hint=f"pass a {name}: {self._hint()}",
            )
        )

    def _hint(self) -> str:
        return "numpy.random.RandomState(seed)"

    def is_valid_value(self, value: object) -> bool:
        """Tell whether `value` is a generator of this kind."""
        return isinstance(value, self._values)

    def values_eq(self, a: object, b: object) -> bool:
        """Tell whether two generators will draw the same numbers."""
        return _same(state_contents(a), state_contents(b))

    def values_eq_approx(self, a: object, b: object) -> bool:
        """Tell the same as :meth:`values_eq`: states are not nearly equal."""
        return self.values_eq(a, b)

    def may_share_memory(self, a: object, b: object) -> bool:
        """Tell whether drawing from one generator moves the other."""
        mine = isinstance(a, self._values) and isinstance(b, self._values)
        return mine and _bits(a) is _bits(b)

    def get_shape_info(self, value: Any) -> None:
        """Return nothing: a state has no shape."""

    def get_size(self, shape_info: Any) -> int:
        """Return the bytes of a state: those of the largest of NumPy's bit generators."""
        return 2504


class RandomStateType(_StateType[np.random.RandomState]):
    """The type of variables whose values are ``numpy.random.RandomState`` objects.

    Examples
    --------
    >>> from theano.tensor import raw_random
    >>> import numpy
    >>> raw_random.random_state_type.is_valid_value(numpy.random.RandomState(1))
    True
    >>> raw_random.RandomStateType() == raw_random.random_state_type
    True
    """

    _values = np.random.RandomState

    def __str__(self) -> str:
        return "RandomStateType"


class GeneratorType(_StateType[np.random.Generator]):
    """The type of variables whose values are ``numpy.random.Generator`` objects, over any bit generator.

    Examples
    --------
    >>> import numpy
    >>> generator_type.is_valid_value(numpy.random.default_rng(1))
    True
    """

    _values = np.random.Generator

    def _hint(self) -> str:
        return "numpy.random.default_rng(seed)"

    def __str__(self) -> str:
        return "GeneratorType"


#: The type itself; called, it makes a variable: ``random_state_type(name=None)``.
random_state_type = RandomStateType()
#: The type itself; called, it makes a variable.
generator_type = GeneratorType()


class RandomStateSharedVariable(SharedVariable):
    """A shared variable that holds the state of a generator; made by ``shared(numpy.random.RandomState(seed))``.

    Values that go in and come out are copied unless `borrow` is true.
    """

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the generator; a copy that goes on for itself, unless `borrow` is true."""
        value = self.container.value
        return value if borrow else copy_state(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the generator by a copy of another one, or by that itself where `borrow` is true.

        Raises
        ------
        TypeError
            If it is no generator of the right kind; the old one stays.
        """
        try:
            value = self.type.filter(new_value)
        except TypeError as error:
            error.add_note(f"  new value of the shared variable `{self}`")
            raise
        self.container.value = value if borrow else copy_state(value)


@register_shared_constructor
def random_state_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
) -> RandomStateSharedVariable:
    """Share a generator.

    Parameters
    ----------
    value : numpy.random.RandomState or numpy.random.Generator
    name : str, optional
    strict, allow_downcast
        Accepted for the sake of the other constructors; nothing is ever converted.
    borrow : bool
        Whether the generator itself is stored, not a copy.

    Raises
    ------
    TypeError
        If `value` is no generator, so that other constructors are tried.
    """
    if isinstance(value, np.random.RandomState):
        kind: Any = random_state_type
    elif isinstance(value, np.random.Generator):
        kind = generator_type
    else:
        raise TypeError(format_error(f"{type(value).__name__} is no generator of random numbers"))
    return RandomStateSharedVariable(kind, value if borrow else copy_state(value), name, strict, allow_downcast)
