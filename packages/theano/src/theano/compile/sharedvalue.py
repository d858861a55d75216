"""Variables with a value that lives between calls."""

from theano_graph import Variable as Variable
from theano_linker_c import (
    Container as Container,
    SharedVariable as SharedVariable,
    constructors as constructors,
    generic as generic,
    generic_shared_constructor as generic_shared_constructor,
    shared as shared,
    shared_constructor as shared_constructor,
)

from .._lazy import lazy_names

generic_constructor = generic_shared_constructor

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
