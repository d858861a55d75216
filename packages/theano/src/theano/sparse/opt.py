"""Ops that rewrites put in where sparse matrices are multiplied and added."""

from theano_sparse import (
    StructuredDotLines as StructuredDotLines,
    UsmmCscDense as UsmmCscDense,
    UsmmLines as UsmmLines,
)

__all__ = ["StructuredDotLines", "UsmmCscDense", "UsmmLines"]
