"""Databases of rewrites."""

from theano_optimize import (
    EquilibriumDatabase as EquilibriumDB,
    RewriteDatabase as DB,
    RewriteQuery as Query,
    SequenceDatabase as SequenceDB,
)

__all__ = [
    "DB",
    "EquilibriumDB",
    "Query",
    "SequenceDB",
]
