# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tensor.nnet.conv import ConvOp as ConvOp
from theano.tensor.nnet.conv import conv2d as conv2d
