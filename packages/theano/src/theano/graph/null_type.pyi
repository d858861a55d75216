# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.null_type import NullType as NullType
from theano.gof.null_type import null_type as null_type
