# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import OrderedSet as OrderedSet
from theano.misc._tools import T as T
