"""The base class of ops."""

from theano_graph import (
    Op as Op,
    get_test_value as get_test_value,
)
