"""Tensors in order, and their largest and smallest elements."""

from ._sort import ArgSort as ArgSort, Sort as Sort, argsort as argsort, sort as sort
from ._top_k import TopK as TopK, argtopk as argtopk, topk as topk, topk_and_argtopk as topk_and_argtopk

__all__ = ["ArgSort", "Sort", "TopK", "argsort", "argtopk", "sort", "topk", "topk_and_argtopk"]
