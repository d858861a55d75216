"""Reductions on devices."""

from ._argmax import argmax_text as argmax_text
from ._cumulative import cumulative as cumulative
from ._layout import ReduceJob as ReduceJob
from ._reduction import reduce_elements as reduce_elements

__all__ = ["ReduceJob", "argmax_text", "cumulative", "reduce_elements"]
