"""The ops of `theano.tensor.nnet.blocksparse`, made."""

from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter

sparse_block_gemv = SparseBlockGemv(False)
sparse_block_gemv_inplace = SparseBlockGemv(True)
sparse_block_outer = SparseBlockOuter(False)
sparse_block_outer_inplace = SparseBlockOuter(True)
