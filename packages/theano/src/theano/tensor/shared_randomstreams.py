"""Streams of random numbers: each random variable has a state of its own, in a shared variable that moves by itself."""

from theano_tensor.random import (
    GeneratorStreams as GeneratorStreams,
    RandomStateSharedVariable as RandomStateSharedVariable,
    RandomStreams as RandomStreams,
    RandomVariable as RandomVariable,
    random_state_constructor as randomstate_constructor,
)

from .._names import lazy_names

__all__ = [
    "GeneratorStreams",
    "RandomStateSharedVariable",
    "RandomStreams",
    "RandomVariable",
    "randomstate_constructor",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
