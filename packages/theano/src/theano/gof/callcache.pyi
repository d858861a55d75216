# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof._linkers import CallCache as CallCache
from theano.gof._linkers import _logger as _logger
