"""States of NumPy's random generators: copies, types, shared variables, and arrays of words."""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from theano_graph import (
    Apply,
    Op,
    SingletonType,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c import SharedVariable, register_shared_constructor

from .._core._type import TensorType

# ---- Copies of the states of NumPy's random generators, without the slow parts
#
# NumPy reads and writes the 624 words of a Mersenne twister one by one, and seeds each new one. Copies that are made
# here
# move the words as one block, and use the memory of copies that nobody holds any more.

#: Length of the state of a Mersenne twister in words, and with its position.
WORDS = 624
#: So many copies are remembered, to be used again when they are given up.
POOL = 64


class _Blank(ISeedSequence):
    """A seed that costs nothing, for generators whose state is set right away."""

    _words: Mapping[Any, Any] = {np.uint32: np.ones(1024, np.uint32), np.uint64: np.ones(128, np.uint64)}

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        return self._words[dtype][:n_words]


_BLANK = _Blank()


class Mersenne(np.random.MT19937):
    """NumPy's Mersenne twister, with a state that is read and written as one block.

    Parameters
    ----------
    seed : optional
        As for ``numpy.random.MT19937``.

    Invariants
    ----------
    Pickles and deep copies are ``numpy.random.MT19937``.
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        self._words = _words_of(self)

    @property
    def state(self) -> Any:
        """The words and the position of the next one."""
        words = self._words
        return {"bit_generator": "MT19937", "state": {"key": words[:WORDS].copy(), "pos": int(words[WORDS])}}

    @state.setter
    def state(self, value: Any) -> None:
        if not isinstance(value, Mapping) or value.get("bit_generator") != "MT19937":
            raise ValueError(
                format_error(f"{value!r:.60} is no state of MT19937", hint="pass the value of its attribute `state`")
            )
        key = value["state"]["key"]
        if isinstance(key, np.ndarray) and key.shape == (WORDS,) and key.dtype == np.uint32:
            self._words[:WORDS] = key
            self._words[WORDS] = value["state"]["pos"]
        else:
            # NumPy converts many objects; it goes by the name of the class.
            np.random.MT19937.state.__set__(self, {**value, "bit_generator": type(self).__name__})  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return np.random.MT19937, (0,), self.state


def _words_of(bits: np.random.MT19937) -> Any:
    """Return the memory of a twister as an array: its words, then the position."""
    block: Any = (ctypes.c_uint32 * (WORDS + 1)).from_address(bits.ctypes.state_address)
    return np.frombuffer(block, np.uint32)


def _is_one_block() -> bool:
    """Tell whether NumPy keeps the words and the position as is thought here."""
    plain = np.random.MT19937(7)
    plain.random_raw(10)
    words, state_words = _words_of(plain), plain.state["state"]
    return bool(np.array_equal(words[:WORDS], state_words["key"]) and words[WORDS] == state_words["pos"])


_ONE_BLOCK = _is_one_block()
_spares: deque[np.random.RandomState] = deque()


def _references(state: np.random.RandomState) -> tuple[int, int]:
    return sys.getrefcount(state), sys.getrefcount(state._bit_generator)


def _twister() -> np.random.RandomState:
    """Return a generator that nobody else holds, in any state."""
    for _ in range(min(len(_spares), 4)):
        try:
            spare = _spares.popleft()
        except IndexError:  # another thread took it
            break
        if _references(spare) == _ALONE:
            return spare
        _spares.append(spare)
    return np.random.RandomState(Mersenne(_BLANK))


def _alone() -> tuple[int, int]:
    state = np.random.RandomState(Mersenne(_BLANK))
    return _references(state)


_ALONE = _alone()


def copy_state(state: Any) -> Any:
    """Return a generator that draws the same numbers as `state` will, and goes on for itself.

    ``copy.copy`` is no such thing: the copy draws from the very same bit generator.

    Parameters
    ----------
    state : numpy.random.RandomState or numpy.random.Generator
    """
    if isinstance(state, np.random.Generator):
        kind: Any = type(state.bit_generator)
        bits = kind(_BLANK)
        bits.state = state.bit_generator.state
        return np.random.Generator(bits)
    legacy_bits: Any = type(state._bit_generator)
    if _ONE_BLOCK and issubclass(legacy_bits, np.random.MT19937):
        twin = _twister()
        twin.set_state(state.get_state(legacy=False))
        _spares.append(twin)
        while len(_spares) > POOL:
            _spares.popleft()
        return twin
    twin = np.random.RandomState(legacy_bits(_BLANK))
    twin.set_state(state.get_state(legacy=False))
    return twin


# ---- Types of the states of NumPy's random generators, and shared variables that hold such states

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


# ---- States of generators as arrays of words: values that programs take, hand on and return

#: A state of PCG64: high and low words of the state and of the increment, and the half word that is left over.
KEY_WORDS = 6
_WORD = 2**64
#: NumPy has a protocol for seeds, which its types of arguments do not know.
_UNSEEDED: Any = _BLANK
KEY_TYPE = TensorType("uint64", (KEY_WORDS,))


def key_of(generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the state of a generator over PCG64 as six words."""
    state: Any = generator.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise TypeError(
            format_error(
                f"a key is a state of PCG64, not of {state['bit_generator']}", hint="use numpy.random.default_rng(seed)"
            )
        )
    words = [*divmod(state["state"]["state"], _WORD), *divmod(state["state"]["inc"], _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], "uint64")


def generator_of(key: Any) -> np.random.Generator:
    """Return a generator of NumPy in the state that six words say."""
    words = [int(word) for word in key]
    bits = np.random.PCG64(_UNSEEDED)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": words[0] * _WORD + words[1], "inc": words[2] * _WORD + words[3]},
        "has_uint32": words[4],
        "uinteger": words[5],
    }
    return np.random.Generator(bits)


class GeneratorOfKey(Op):
    """A generator in the state that a vector of six words says."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to a vector of uint64.

        Raises
        ------
        TypeError
            If it is another variable.
        """
        (key,) = inputs
        if not isinstance(key.type, TensorType) or key.type.dtype != "uint64" or key.type.ndim != 1:
            raise TypeError(
                format_error(
                    "the key of a generator is a vector of six uint64",
                    context=[describe(key)],
                    hint="take it from theano.random.default_rng(seed).key",
                )
            )
        return Apply(self, [key], [generator_type()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Make the generator."""
        output_storage[0][0] = generator_of(inputs[0])


class KeyOfGenerator(Op):
    """The state of a generator as a vector of six words."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to a generator."""
        return Apply(self, list(inputs), [KEY_TYPE()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Read the state."""
        output_storage[0][0] = key_of(inputs[0])


generator_of_key, key_of_generator = GeneratorOfKey(), KeyOfGenerator()


for _op_class in (GeneratorOfKey, KeyOfGenerator):
    batch_rule.declare_absent(_op_class, "a generator is the same for all entries")


@pullback.register(GeneratorOfKey, KeyOfGenerator)
def _pullback(node: Apply[Any], cotangents: list[Variable]) -> list[Variable | None]:
    return [None]


@pushforward.register(GeneratorOfKey, KeyOfGenerator)
def _pushforward(node: Apply[Any], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@shape_rule.register(GeneratorOfKey)
def _no_shape(node: Apply[GeneratorOfKey], input_shapes: list[Any]) -> list[Any]:
    return [None]


@shape_rule.register(KeyOfGenerator)
def _shape(node: Apply[KeyOfGenerator], input_shapes: list[Any]) -> list[Any]:
    return [(KEY_WORDS,)]
