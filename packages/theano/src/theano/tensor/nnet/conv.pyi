# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import OpenMPOp as OpenMPOp
from theano.tensor import NotScalarConstantError as NotScalarConstantError
from theano.tensor import as_tensor_variable as as_tensor_variable
from theano.tensor import blas as blas
from theano.tensor import get_scalar_constant_value as get_scalar_constant_value
from theano.tensor import patternbroadcast as patternbroadcast
from theano.tensor.nnet._corr import imported_scipy_signal as imported_scipy_signal
from theano.tensor.nnet.abstract_conv import get_conv_output_shape as get_conv_output_shape
from theano.tensor.nnet.abstract_conv import get_conv_shape_1axis as get_conv_shape_1axis
from theano_tensor.nnet.convolution import ConvOp as ConvOp
from theano_tensor.nnet.convolution import former_conv2d as _former_conv2d
conv2d = _former_conv2d
