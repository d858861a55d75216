# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.scan_module.scan_views import *
