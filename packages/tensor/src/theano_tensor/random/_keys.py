"""States of generators as arrays of words: values that programs take, hand on and return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

from .._core._type import TensorType
from ._copies import _BLANK
from ._states import generator_type

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
