# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_gpuarray.arrays import GpuArray as GpuArray
from theano_gpuarray.arrays import SIZE as SIZE
from theano_gpuarray.arrays import SSIZE as SSIZE
from theano_gpuarray.arrays import array as array
from theano_gpuarray.arrays import asarray as asarray
from theano_gpuarray.arrays import ascontiguousarray as ascontiguousarray
from theano_gpuarray.arrays import dtype_to_ctype as dtype_to_ctype
from theano_gpuarray.arrays import dtype_to_typecode as dtype_to_typecode
from theano_gpuarray.arrays import empty as empty
from theano_gpuarray.arrays import may_share_memory as may_share_memory
from theano_gpuarray.arrays import zeros as zeros
from theano_gpuarray.contexts import GpuContext as GpuContext
from theano_gpuarray.contexts import open_context as _open_context
init = _open_context
from theano_gpuarray.contexts import open_context as open_context
from theano_gpuarray.kernel_base import GpuKernel as GpuKernel
