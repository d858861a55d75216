# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._ops import _single as _single
from theano.gpuarray._ops import cuifft as cuifft
from theano.gpuarray._ops import cuirfft as cuirfft
from theano.gpuarray._ops import curfft as curfft
