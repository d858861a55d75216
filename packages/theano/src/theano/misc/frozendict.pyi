# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import FrozenOrderedDict as FrozenOrderedDict
from theano.misc._tools import frozendict as frozendict
