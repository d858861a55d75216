# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tensor.opt import Assert as Assert
from theano.tensor.opt import assert_op as assert_op
