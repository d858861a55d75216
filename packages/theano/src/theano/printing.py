"""Text pictures of graphs and functions."""

from theano_graph import (
    debugprint as debugprint,
)
