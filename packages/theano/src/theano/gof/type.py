"""The base class of types."""

from theano_graph import (
    Generic as Generic,
    SingletonType as SingletonType,
    Type as Type,
    generic as generic,
)
