# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import _asarray as _asarray
from theano_graph import config as config
