"""Theano: define expressions with arrays, differentiate them, and run them fast.

This package says under which documented name each thing is known; the layers below own them.

>>> import theano
>>> import theano.tensor as T
>>> x = T.dscalar("x")
>>> f = theano.function([x], T.grad(x**2, x))
>>> float(f(4.0))
8.0
"""

import os as _os
from typing import TYPE_CHECKING

from theano_graph import collector_paused

# A collector that walks over imported objects again and again takes a sixth of the time.
with collector_paused(lasting=True):
    from theano_graph import (
        Apply as Apply,
        Constant as Constant,
        FunctionGraph as FunctionGraph,
        Generic as Generic,
        InconsistencyError as InconsistencyError,
        TheanoError as TheanoError,
        Type as Type,
        Variable as Variable,
        announce_words,
        debugprint as debugprint,
        generic as generic,
        pp as pp,
        pprint as pprint,
        register_library,
        shorten_tracebacks,
    )
    from theano_linker_c import (
        Container as Container,
        Function as Function,
        FunctionMaker as FunctionMaker,
        In as In,
        Linker as Linker,
        Mode as Mode,
        OrderedUpdates as OrderedUpdates,
        Out as Out,
        ProfileStats as ProfileStats,
        SharedVariable as SharedVariable,
        function_dump as function_dump,
        get_default_mode as get_default_mode,
        get_mode as get_mode,
        note_library as _note_library,
        predefined_linkers as predefined_linkers,
        predefined_modes as predefined_modes,
        predefined_optimizers as predefined_optimizers,
        shared_constructor as shared_constructor,
    )
    from theano_linker_c.linkers import (
        CLinker as CLinker,
        DualLinker as DualLinker,
        OpWiseCLinker as OpWiseCLinker,
        PerformLinker as PerformLinker,
    )
    from theano_linker_c.ops import as_op as as_op
    from theano_scan import (
        foldl as foldl,
        foldr as foldr,
        map as map,
        reduce as reduce,
        scan as scan,
        scan_checkpoints as scan_checkpoints,
    )
    from theano_tensor import (
        dot as _dot,
        get_scalar_constant_value as get_scalar_constant_value,
        sparse_grad as sparse_grad,
        vectorize_graph as vectorize_graph,
    )
    from theano_tensor.builders import OpFromGraph as OpFromGraph
    from theano_tensor.gradient import (
        Lop as Lop,
        Rop as Rop,
        differentiate_functions_by,
        grad as grad,
        subgraph_grad as subgraph_grad,
    )

    from . import (
        compile as compile,
        configdefaults as configdefaults,
        configparser as configparser,
        gof as gof,
        gradient as gradient,
        ifelse as ifelse,
        misc as misc,
        printing as printing,
        sandbox as sandbox,
        scalar as scalar,
        scan_module as scan_module,
        tensor as tensor,
        typed_list as typed_list,
    )
    from ._names import also_called, announce, functions_of_gradients, lazy_names, load_shadowed_modules, settle
    from ._nose import test as test
    from ._version import __version__ as __version__
    from .compile import SymbolicInput as SymbolicInput, SymbolicOutput as SymbolicOutput
    from .compile._pfunc import Param as Param, pfunc as pfunc
    from .configdefaults import (
        disable_log_handler as disable_log_handler,
        has_handlers as has_handlers,
        logging_default_handler as logging_default_handler,
        theano_logger as theano_logger,
    )
    from .configparser import change_flags as change_flags
    from .gof._linkers import LocalLinker as LocalLinker
    from .misc._tools import _asarray as _asarray
    from .scan_module._helpers import clone as clone

import theano as theano  # programs write `from theano import theano`

if TYPE_CHECKING:
    from ._typed import Op as Op, config as config, function as function, shared as shared
else:
    from theano_graph import Op as Op, config as config
    from theano_linker_c import function as function, shared as shared

dot = also_called(__name__, "dot", _dot, x="a", y="b")

register_library(__file__)
announce_words("theano._words")
configdefaults.start()
announce()
settle()
load_shadowed_modules()
_note_library()
differentiate_functions_by(functions_of_gradients)
shorten_tracebacks()

PY3 = True
#: Where the package is, and the folder that it is in.
rpath = _os.path.realpath(__path__[0])
p = _os.path.dirname(rpath)

if TYPE_CHECKING:
    from theano_linker_c.export import export_c as export_c

    from . import (
        assert_op as assert_op,
        compat as compat,
        distributed as distributed,
        export as export,
        functional as functional,
        gpuarray as gpuarray,
        graph as graph,
        pathparse as pathparse,
        raise_op as raise_op,
        random as random,
        tests as tests,
        updates as updates,
        version as version,
    )
    from .functional import jit as jit
    from .gof import OpenMPOp as OpenMPOp, object2 as object2, opt as opt, toolbox as toolbox, utils as utils
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            ".": "assert_op distributed export functional gpuarray graph pathparse random tests",
            ".export": "export_c",
            ".functional": "jit",
            ".gof": "opt toolbox utils OpenMPOp object2",
        },
    )
