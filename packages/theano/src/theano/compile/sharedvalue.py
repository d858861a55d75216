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

generic_constructor = generic_shared_constructor
