# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as _tensor
T = _tensor
from theano import gof as gof
from theano.gof import local_optimizer as local_optimizer
from theano.gof._compilers import GCC_compiler as GCC_compiler
from theano.tensor import cpu_contiguous as cpu_contiguous
from theano.tensor import grad_undefined as grad_undefined
from theano.tensor.nnet._layer_ops import ctc_available as ctc_available
from theano.tensor.nnet._layer_ops import ctc_present as ctc_present
from theano.tensor.opt import register_canonicalize as register_canonicalize
from theano_tensor.nnet.ctc import ConnectionistTemporalClassification as ConnectionistTemporalClassification
from theano_tensor.nnet.ctc import ctc as ctc
from theano_tensor.nnet.ctc import local_ctc_no_grad as local_ctc_no_grad
