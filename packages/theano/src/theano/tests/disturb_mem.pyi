# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.tests._historical import _kept as _kept
from theano.tests._historical import disturb_mem as disturb_mem
