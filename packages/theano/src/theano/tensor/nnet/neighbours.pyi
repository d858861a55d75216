# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as _tensor
T = _tensor
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import EnumList as EnumList
from theano.gof import Op as Op
from theano.tensor import grad_not_implemented as grad_not_implemented
from theano.tensor import grad_undefined as grad_undefined
from theano.tensor.nnet._layer_ops import Images2Neibs as Images2Neibs
from theano.tensor.nnet._layer_ops import images2neibs as images2neibs
from theano_tensor.nnet.neighbours import neibs2images as neibs2images
