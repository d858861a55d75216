# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._nnet import GpuSparseBlockGemv as GpuSparseBlockGemv
from theano.gpuarray._nnet import GpuSparseBlockOuter as GpuSparseBlockOuter
from theano.gpuarray._nnet import _Blocks as _Blocks
from theano.gpuarray._nnet import _Outer as _Outer
from theano.gpuarray._nnet import _Product as _Product
from theano.gpuarray._nnet import gpu_sparse_block_gemv as gpu_sparse_block_gemv
from theano.gpuarray._nnet import gpu_sparse_block_gemv_inplace as gpu_sparse_block_gemv_inplace
from theano.gpuarray._nnet import gpu_sparse_block_outer as gpu_sparse_block_outer
from theano.gpuarray._nnet import gpu_sparse_block_outer_inplace as gpu_sparse_block_outer_inplace
