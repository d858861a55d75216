"""Sorting on devices, and the largest or smallest elements."""

from . import _forms as _forms
from ._kernels import SortKernel as SortKernel, TopKKernel as TopKKernel
from ._merge_sort import sorted_pairs as sorted_pairs, sorted_rows as sorted_rows

__all__ = ["SortKernel", "TopKKernel", "sorted_pairs", "sorted_rows"]
