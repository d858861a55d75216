"""Products of some blocks of matrices and vectors."""

from theano_tensor.nnet.blocksparse import (
    SparseBlockGemm as SparseBlockGemm,
    SparseBlockGemv as SparseBlockGemv,
    SparseBlockOuter as SparseBlockOuter,
    sparse_block_dot as sparse_block_dot,
)
