# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tensor._old_ops import Raise as Raise
