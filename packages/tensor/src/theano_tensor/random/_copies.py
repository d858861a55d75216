"""Copies of the states of NumPy's random generators, without the slow parts.

NumPy reads and writes the 624 words of a Mersenne twister one by one, and seeds each new one. Copies that are made here
move the words as one block, and use the memory of copies that nobody holds any more.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from theano_graph import format_error

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
