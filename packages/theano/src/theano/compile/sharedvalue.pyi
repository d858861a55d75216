# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof import utils as utils
from theano_graph import Variable as Variable
from theano_linker_c import Container as Container
from theano_linker_c import SharedVariable as SharedVariable
from theano_linker_c import constructors as constructors
from theano_linker_c import generic as generic
from theano_linker_c import generic_shared_constructor as _generic_shared_constructor
generic_constructor = _generic_shared_constructor
from theano_linker_c import generic_shared_constructor as generic_shared_constructor
from theano_linker_c import shared as shared
from theano_linker_c import shared_constructor as shared_constructor
