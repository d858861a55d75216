# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import scalar as scalar
from theano.scalar import BinaryScalarOp as BinaryScalarOp
from theano.scalar import UnaryScalarOp as UnaryScalarOp
from theano.scalar import eq as eq
from theano.scalar import log as log
from theano.scalar import switch as switch
from theano.scalar import upgrade_to_float as upgrade_to_float
from theano.tensor._expression_ops import XlogX as XlogX
from theano.tensor._expression_ops import XlogY0 as XlogY0
from theano.tensor._expression_ops import scalar_xlogx as scalar_xlogx
from theano.tensor._expression_ops import scalar_xlogy0 as scalar_xlogy0
from theano.tensor._expression_ops import xlogx as xlogx
from theano.tensor._expression_ops import xlogy0 as xlogy0
from theano_graph import Apply as Apply
from theano_tensor import Elemwise as Elemwise
