"""Classes say that they live where programs know them: ``theano.tensor.var.TensorVariable``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

#: Module -> classes that `type(x)`, profiles and pickles show with it.
HOMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "theano.gof.graph": ("Apply", "Constant", "Variable"),
        "theano.gof.op": ("Op",),
        "theano.gof.type": ("Generic", "Type"),
        "theano.gof.fg": ("FunctionGraph",),
        "theano.compile.builders": ("OpFromGraph",),
        "theano.compile.debugmode": (
            *("BadDestroyMap", "BadOptimization", "BadThunkOutput", "BadViewMap", "DebugMode", "DebugModeError"),
            *("InvalidValueError", "StochasticOrder"),
        ),
        "theano.compile.function_module": ("Function", "FunctionMaker", "UnusedInputError"),
        "theano.compile.io": ("In", "Out"),
        "theano.compile.mode": ("Mode",),
        "theano.compile.monitormode": ("MonitorMode",),
        "theano.compile.nanguardmode": ("NanGuardMode",),
        "theano.compile.ops": ("DeepCopyOp", "FromFunctionOp", "Rebroadcast", "SpecifyShape", "ViewOp"),
        "theano.compile.profiling": ("ProfileStats",),
        "theano.compile.sharedvalue": ("SharedVariable",),
        "theano.ifelse": ("IfElse",),
        "theano.printing": ("Print",),
        "theano.scan_module.scan_op": ("Scan",),
        "theano.tensor.basic": ("ARange", "Alloc", "AllocEmpty", "Dot", "Eye", "Join", "Nonzero", "Reshape", "Split"),
        "theano.tensor.blas": ("BatchedDot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger"),
        "theano.tensor.elemwise": ("All", "CAReduce", "DimShuffle", "Elemwise", "Prod", "Sum"),
        "theano.tensor.sharedvar": ("ScalarSharedVariable", "TensorSharedVariable"),
        "theano.tensor.subtensor": (
            *("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "AdvancedSubtensor", "AdvancedSubtensor1"),
            *("IncSubtensor", "Subtensor"),
        ),
        "theano.tensor.type": ("TensorType",),
        "theano.tensor.var": ("TensorConstant", "TensorVariable"),
    }
)


def settle() -> None:
    """Let the classes of other layers name the modules of this package as theirs, where they can be found there."""
    for module, names in HOMES.items():
        namespace = importlib.import_module(module)
        for name in names:
            cls = getattr(namespace, name, None)
            # Pickle could not look up an object that has another name elsewhere.
            if isinstance(cls, type) and cls.__qualname__ == name:
                cls.__module__ = module
