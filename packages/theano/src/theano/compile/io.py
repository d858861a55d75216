"""Classes for the inputs and outputs of a function."""

from theano_linker_c import (
    In as In,
    Out as Out,
    SharedVariable as SharedVariable,
)

from .._lazy import lazy_names

SymbolicInput = In
SymbolicOutput = Out

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
