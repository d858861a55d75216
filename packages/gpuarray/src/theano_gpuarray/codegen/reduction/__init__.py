"""Reductions on devices."""

from ._layout import ReduceJob as ReduceJob
from ._reduction import reduce_elements as reduce_elements

__all__ = ["ReduceJob", "reduce_elements"]
