# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.params_type import *
