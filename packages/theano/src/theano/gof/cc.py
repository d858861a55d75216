"""Linkers of native code."""

from theano_linker_c.cop import CLinkerType as CLinkerType
from theano_linker_c.linkers import CLinker as CLinker, DualLinker as DualLinker, OpWiseCLinker as OpWiseCLinker

from .cmodule import get_module_cache as get_module_cache
