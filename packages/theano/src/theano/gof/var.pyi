# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_graph import Constant as Constant
from theano_graph import Variable as Variable
