# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import DoubleOp as DoubleOp
