# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof._historical_utils import null_type as null_type
from theano_graph import Type as Type
from theano_tensor.gradient import NullType as NullType
