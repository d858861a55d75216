"""Theano: define expressions with arrays, differentiate them, and run them fast.

This package says under which documented name each thing is known; the layers below own them.

>>> import theano
>>> import theano.tensor as T
>>> x = T.dscalar("x")
>>> f = theano.function([x], T.grad(x**2, x))
>>> float(f(4.0))
8.0
"""

from theano_graph import (
    Apply as Apply,
    Constant as Constant,
    FunctionGraph as FunctionGraph,
    Generic as Generic,
    Op as Op,
    TheanoError as TheanoError,
    Type as Type,
    Variable as Variable,
    config as config,
    debugprint as debugprint,
    generic as generic,
    pp as pp,
    register_library,
)
from theano_linker_c import (
    Function as Function,
    FunctionMaker as FunctionMaker,
    In as In,
    Mode as Mode,
    Out as Out,
    SharedVariable as SharedVariable,
    function as function,
    function_dump as function_dump,
    shared as shared,
)
from theano_tensor import dot as dot, sparse_grad as sparse_grad
from theano_tensor.builders import OpFromGraph as OpFromGraph
from theano_tensor.gradient import Lop as Lop, Rop as Rop, grad as grad, subgraph_grad as subgraph_grad

from . import (
    compile as compile,
    configdefaults as configdefaults,
    configparser as configparser,
    gof as gof,
    gradient as gradient,
    ifelse as ifelse,
    misc as misc,
    printing as printing,
    scalar as scalar,
    tensor as tensor,
    typed_list as typed_list,
)
from ._version import __version__ as __version__

register_library(__file__)
configdefaults.start()
