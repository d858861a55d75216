"""Expressions of one entry are applied to batches of entries."""

from ._errors import BatchError as BatchError
from ._graph import vectorize_graph as vectorize_graph
