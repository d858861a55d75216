# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as tensor
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import Op as Op
from theano.gof import TopoOptimizer as TopoOptimizer
from theano.gof import copy_stack_trace as copy_stack_trace
from theano.tensor import DisconnectedType as DisconnectedType
from theano.tensor.nnet._conv_rewrites import DiagonalSubtensor as DiagonalSubtensor
from theano.tensor.nnet._conv_rewrites import IncDiagonalSubtensor as IncDiagonalSubtensor
from theano.tensor.nnet._conv_rewrites import diagonal_subtensor as diagonal_subtensor
from theano.tensor.nnet._conv_rewrites import get_diagonal_subtensor_view as get_diagonal_subtensor_view
from theano.tensor.nnet._conv_rewrites import inc_diagonal_subtensor as inc_diagonal_subtensor
from theano.tensor.nnet._conv_rewrites import local_inplace_DiagonalSubtensor as local_inplace_DiagonalSubtensor
from theano_tensor.nnet.convolution import conv3d2d as _conv3d2d
conv3d = _conv3d2d
