# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._nnet import GpuMaxPoolRop as GpuMaxPoolRop
from theano_tensor.device import GpuAveragePoolGrad as GpuAveragePoolGrad
from theano_tensor.device import GpuDownsampleFactorMaxGradGrad as GpuDownsampleFactorMaxGradGrad
from theano_tensor.device import GpuMaxPoolGrad as GpuMaxPoolGrad
from theano_tensor.device import GpuPool as GpuPool
