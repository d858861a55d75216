# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as tensor
import theano as theano
from theano.tensor.nnet import conv as conv
from theano_tensor.signal.conv import conv2d as conv2d
