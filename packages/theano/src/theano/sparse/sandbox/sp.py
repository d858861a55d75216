"""Convolution-like operations by products with sparse matrices."""

from theano_sparse import (
    ConvolutionIndices as ConvolutionIndices,
    convolve as convolve,
    max_pool as max_pool,
)

__all__ = ["ConvolutionIndices", "convolve", "max_pool"]
