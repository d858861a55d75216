# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_scan import foldl as foldl
from theano_scan import foldr as foldr
from theano_scan import map as map
from theano_scan import reduce as reduce
from theano_scan import scan as scan
