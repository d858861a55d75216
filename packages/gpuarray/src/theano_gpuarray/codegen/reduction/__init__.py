"""Reductions on devices."""

from ._argmax import argmax_text as argmax_text
from ._cumulative import cumulative as cumulative
from ._layout import ReduceJob as ReduceJob
from ._reduction import ReductionUpdateKernel as ReductionUpdateKernel, reduce_elements as reduce_elements

__all__ = ["ReduceJob", "ReductionUpdateKernel", "argmax_text", "cumulative", "reduce_elements"]
