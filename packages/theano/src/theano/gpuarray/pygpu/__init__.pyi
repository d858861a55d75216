# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray.pygpu import blas as blas
from theano.gpuarray.pygpu import gpuarray as gpuarray
from theano_gpuarray import get_include as get_include
from theano_gpuarray.arrays import GpuArray as GpuArray
from theano_gpuarray.arrays import array as array
from theano_gpuarray.arrays import asarray as asarray
from theano_gpuarray.arrays import ascontiguousarray as ascontiguousarray
from theano_gpuarray.arrays import empty as empty
from theano_gpuarray.arrays import zeros as zeros
