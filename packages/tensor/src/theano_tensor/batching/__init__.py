"""Expressions of one entry are applied to batches of entries; and parts of rules of ops for batches."""

from .._core._ops import (
    all_stacked as all_stacked,
    batch_length as batch_length,
    batch_of_expression as batch_of_expression,
    on_stacks as on_stacks,
    run_in_a_loop as run_in_a_loop,
    stack_of as stack_of,
)
from .._errors import BatchError as BatchError
from ._functions import vectorize as vectorize, vmap as vmap
from ._graph import batch_entries as batch_entries, vectorize_graph as vectorize_graph
