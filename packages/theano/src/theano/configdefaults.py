"""The one configuration object."""

from theano_graph import (
    config as config,
)
