# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import graph as graph
from theano.gof import toolbox as toolbox
from theano.gof._features import fast_inplace_check as fast_inplace_check
from theano.misc._tools import OrderedSet as OrderedSet
from theano_graph import InconsistencyError as InconsistencyError
from theano_graph import GraphError as _GraphError
ProtocolError = _GraphError
from theano_graph import config as config
from theano_optimize import DestroyHandler as DestroyHandler
from theano_optimize import Supervisor as Supervisor
