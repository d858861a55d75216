# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._nnet import GpuConnectionistTemporalClassification as GpuConnectionistTemporalClassification
from theano.gpuarray._nnet import _Loss as _Loss
from theano.gpuarray._nnet import gpu_ctc as gpu_ctc
