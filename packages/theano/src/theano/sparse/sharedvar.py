"""Shared variables that hold sparse matrices."""

from theano_linker_c import SharedVariable as SharedVariable, register_shared_constructor as shared_constructor
from theano_sparse import (
    SparseSharedVariable as SparseTensorSharedVariable,
    SparseType as SparseType,
    sparse_constructor as sparse_constructor,
)

__all__ = ["SharedVariable", "SparseTensorSharedVariable", "SparseType", "shared_constructor", "sparse_constructor"]
