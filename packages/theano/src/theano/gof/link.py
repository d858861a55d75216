"""Storage of values."""

from theano_linker_c import (
    Container as Container,
)
