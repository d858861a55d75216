"""Products of some blocks of matrices and vectors."""

from theano_tensor.nnet.blocksparse import (
    SparseBlockGemm as SparseBlockGemm,
    SparseBlockGemv as SparseBlockGemv,
    SparseBlockOuter as SparseBlockOuter,
    sparse_block_dot as sparse_block_dot,
)

from ..._lazy import lazy_names
from ._blocks import (
    sparse_block_gemv as sparse_block_gemv,
    sparse_block_gemv_inplace as sparse_block_gemv_inplace,
    sparse_block_outer as sparse_block_outer,
    sparse_block_outer_inplace as sparse_block_outer_inplace,
)

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
