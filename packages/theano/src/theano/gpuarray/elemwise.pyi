# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import GpuCAReduce as GpuCAReduce
from theano_tensor.device import GpuCAReduceCPY as GpuCAReduceCPY
from theano_tensor.device import GpuCAReduceCuda as GpuCAReduceCuda
from theano_tensor.device import GpuDimShuffle as GpuDimShuffle
from theano_tensor.device import GpuElemwise as GpuElemwise
from theano_tensor.device import GpuErfcinv as GpuErfcinv
from theano_tensor.device import GpuErfinv as GpuErfinv
from theano_tensor.device import SupportCodeError as SupportCodeError
from theano_tensor.device import gpu_ca_reduce_cuda as gpu_ca_reduce_cuda
from theano_tensor.device import gpu_erfcinv as gpu_erfcinv
from theano_tensor.device import gpu_erfinv as gpu_erfinv
from theano_tensor.device import max_inputs_to_GpuElemwise as max_inputs_to_GpuElemwise
