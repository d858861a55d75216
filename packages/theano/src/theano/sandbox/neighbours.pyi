# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tensor.nnet._layer_ops import Images2Neibs as Images2Neibs
from theano.tensor.nnet._layer_ops import images2neibs as images2neibs
from theano_tensor.nnet.neighbours import neibs2images as neibs2images
