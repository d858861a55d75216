"""The base class of ops."""

from theano_graph import (
    Op as Op,
)
