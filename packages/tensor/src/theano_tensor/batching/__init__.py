"""Expressions of one entry are applied to batches of entries."""

from ._errors import BatchError as BatchError
from ._functions import vectorize as vectorize, vmap as vmap
from ._graph import vectorize_graph as vectorize_graph
