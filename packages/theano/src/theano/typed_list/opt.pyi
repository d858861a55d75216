# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import compile as compile
from theano import gof as gof
from theano.gof.opt import TopoOptimizer as TopoOptimizer
from theano.typed_list._list_rewrites import typed_list_inplace_opt as typed_list_inplace_opt
from theano_tensor.typed_list import Append as Append
from theano_tensor.typed_list import Extend as Extend
from theano_tensor.typed_list import Insert as Insert
from theano_tensor.typed_list import Remove as Remove
from theano_tensor.typed_list import Reverse as Reverse
