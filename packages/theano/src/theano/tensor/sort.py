"""Tensors in order, and their largest and smallest elements."""

from theano_tensor.sorting import (
    ArgSort as ArgSort,
    Sort as Sort,
    TopK as TopK,
    argsort as argsort,
    argtopk as argtopk,
    sort as sort,
    topk as topk,
    topk_and_argtopk as topk_and_argtopk,
)

# The historical names of the ops.
ArgSortOp = ArgSort
SortOp = Sort
TopKOp = TopK
