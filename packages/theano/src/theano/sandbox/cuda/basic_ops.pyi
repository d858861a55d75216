# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sandbox._historical import as_cuda_ndarray_variable as as_cuda_ndarray_variable
from theano_graph import Variable as Variable
from theano_tensor.device import as_gpuarray_variable as as_gpuarray_variable
from theano_tensor.device import gpu_contiguous as gpu_contiguous
