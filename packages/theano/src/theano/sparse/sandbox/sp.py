"""Convolution-like operations by products with sparse matrices."""

from theano_sparse import (
    ConvolutionIndices as ConvolutionIndices,
    convolve as convolve,
    max_pool as max_pool,
)

from ..._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})

__all__ = ["ConvolutionIndices", "convolve", "max_pool"]
