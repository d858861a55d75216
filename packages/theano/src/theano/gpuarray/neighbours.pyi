# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._nnet import GpuImages2Neibs as GpuImages2Neibs
