# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import Op as Op
from theano.tensor import grad_undefined as grad_undefined
from theano.tensor.nnet._layer_ops import sparse_block_gemv as sparse_block_gemv
from theano.tensor.nnet._layer_ops import sparse_block_gemv_inplace as sparse_block_gemv_inplace
from theano.tensor.nnet._layer_ops import sparse_block_outer as sparse_block_outer
from theano.tensor.nnet._layer_ops import sparse_block_outer_inplace as sparse_block_outer_inplace
from theano_tensor.nnet.blocksparse import SparseBlockGemm as SparseBlockGemm
from theano_tensor.nnet.blocksparse import SparseBlockGemv as SparseBlockGemv
from theano_tensor.nnet.blocksparse import SparseBlockOuter as SparseBlockOuter
from theano_tensor.nnet.blocksparse import sparse_block_dot as sparse_block_dot
