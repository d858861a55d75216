# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import graph as graph
from theano.gof import utils as utils
from theano.gof._linkers import Cells as Cells
from theano.gof._linkers import LocalLinker as LocalLinker
from theano.gof._linkers import StorageMap as StorageMap
from theano.gof._linkers import add_clear_storage as add_clear_storage
from theano.gof._linkers import gc_helper as gc_helper
from theano.gof._linkers import map_storage as map_storage
from theano.gof._linkers import raise_with_op as raise_with_op
from theano.gof._linkers import streamline as streamline
from theano_graph import Type as Type
from theano_linker_c import Container as Container
from theano_linker_c.linkers import Linker as Linker
from theano_linker_c.linkers import PerformLinker as PerformLinker
from theano_linker_c.linkers import WrapLinker as WrapLinker
from theano_linker_c.linkers import WrapLinkerMany as WrapLinkerMany
