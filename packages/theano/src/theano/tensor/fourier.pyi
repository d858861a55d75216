# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano import tensor as tensor
from theano.tensor._expression_ops import Fourier as Fourier
from theano.tensor._expression_ops import _INTEGERS as _INTEGERS
from theano.tensor._expression_ops import fft as fft
from theano_graph import Apply as Apply
from theano_graph import Op as Op
from theano_graph import Variable as Variable
from theano_graph import batch_rule as batch_rule
from theano_graph import describe as describe
from theano_graph import format_error as format_error
from theano_tensor import Tensor as Tensor
from theano_tensor import TensorConstant as TensorConstant
from theano_tensor import as_tensor_variable as as_tensor_variable
from theano_tensor.batching import run_in_a_loop as run_in_a_loop
