"""Products of some blocks of matrices and vectors, under their older address."""

from theano_tensor.nnet.blocksparse import (
    SparseBlockGemv as SparseBlockGemv,
    SparseBlockOuter as SparseBlockOuter,
    sparse_block_dot as sparse_block_dot,
)

from ..tensor.nnet._blocks import (
    sparse_block_gemv as sparse_block_gemv,
    sparse_block_gemv_inplace as sparse_block_gemv_inplace,
    sparse_block_outer as sparse_block_outer,
    sparse_block_outer_inplace as sparse_block_outer_inplace,
)
