"""Linkers of native code."""

from typing import TYPE_CHECKING

from theano_linker_c.cop import CLinkerType as CLinkerType
from theano_linker_c.linkers import CLinker as CLinker, DualLinker as DualLinker, OpWiseCLinker as OpWiseCLinker

from .._lazy import lazy_names
from .cmodule import get_module_cache as get_module_cache

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import config as config

    from ..compat import PY3 as PY3
    from . import cmodule as cmodule, graph as graph, link as link, utils as utils
    from ._c_contract import HideC as HideC
    from ._historical_utils import string_types as string_types
    from .callcache import CallCache as CallCache
    from .compilelock import get_lock as get_lock, release_lock as release_lock
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            ".callcache": "CallCache",
            "..compat": "PY3",
            "theano_graph": "config",
            ".compilelock": "get_lock release_lock",
            ".": "cmodule graph link utils",
            "._c_contract": "HideC",
            "._historical_utils": "string_types",
            "theano": "theano",
        },
    )
