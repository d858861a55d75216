# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
import theano as theano
from theano.compile._historical import ops_with_inner_function as ops_with_inner_function
from theano.compile._pfunc import rebuild_collect_shared as rebuild_collect_shared
from theano_graph import Variable as Variable
from theano_graph import io_connection_pattern as io_connection_pattern
from theano_linker_c import SharedVariable as SharedVariable
from theano_linker_c import orig_function as orig_function
from theano_linker_c.modes import optdb as optdb
from theano_tensor.builders import Checkpoint as Checkpoint
from theano_tensor.builders import ComparedGraphOp as ComparedGraphOp
from theano_tensor.builders import GraphOp as GraphOp
from theano_tensor.builders import OpFromGraph as OpFromGraph
from theano_tensor.builders import checkpoint as checkpoint
from theano_tensor.builders import inline_ofg_expansion as inline_ofg_expansion
from theano_tensor.gradient import DisconnectedType as DisconnectedType
from theano_tensor.gradient import NullType as NullType
