# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sandbox._historical import CudaNdarray as CudaNdarray
from theano.sandbox._historical import GpuOp as GpuOp
from theano.sandbox._historical import cuda_available as cuda_available
from theano.sandbox._historical import cuda_enabled as cuda_enabled
from theano.sandbox.cuda import basic_ops as basic_ops
