# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import compile as compile
from theano import gof as gof
from theano import tensor as tensor
from theano.compile import ops as ops
from theano.scan_module import scan_op as scan_op
from theano.scan_module import scan_utils as scan_utils
from theano.scan_module._helpers import safe_new as safe_new
from theano.scan_module._helpers import traverse as traverse
from theano.tensor import opt as opt
from theano_graph import config as config
from theano_linker_c import OrderedUpdates as OrderedUpdates
from theano_linker_c import SharedVariable as SharedVariable
from theano_linker_c import function as function
from theano_scan import scan as scan
from theano_scan import until as until
