"""Tensors in order, and their largest and smallest elements."""

from typing import TYPE_CHECKING

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

from .._lazy import lazy_names

# The historical names of the ops.
ArgSortOp = ArgSort
SortOp = Sort
TopKOp = TopK

__all__ = [
    "ArgSort",
    "ArgSortOp",
    "Sort",
    "SortOp",
    "TopK",
    "TopKOp",
    "argsort",
    "argtopk",
    "sort",
    "topk",
    "topk_and_argtopk",
]

if TYPE_CHECKING:
    from theano_tensor import (
        arange as arange,
        grad_undefined as grad_undefined,
        mul as mul,
        set_subtensor as set_subtensor,
    )
else:
    LAZY = {
        "theano": "theano",
        "theano_tensor": "arange grad_undefined mul set_subtensor",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
