# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tensor.nnet._layer_ops import sparse_block_gemv as sparse_block_gemv
from theano.tensor.nnet._layer_ops import sparse_block_gemv_inplace as sparse_block_gemv_inplace
from theano.tensor.nnet._layer_ops import sparse_block_outer as sparse_block_outer
from theano.tensor.nnet._layer_ops import sparse_block_outer_inplace as sparse_block_outer_inplace
from theano_tensor.nnet.blocksparse import SparseBlockGemv as SparseBlockGemv
from theano_tensor.nnet.blocksparse import SparseBlockOuter as SparseBlockOuter
from theano_tensor.nnet.blocksparse import sparse_block_dot as sparse_block_dot
