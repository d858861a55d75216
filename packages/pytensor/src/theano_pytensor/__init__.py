"""The graphs of PyTensor and PyMC, compiled with Theano: importing this registers a linker and a mode.

>>> import pytensor
>>> import pytensor.tensor as pt
>>> import theano_pytensor
>>> x = pt.dvector("x")
>>> f = pytensor.function([x], pt.grad(pt.exp(x).sum(), x), mode="THEANO")
>>> f([0.0]).tolist()
[1.0]
"""

import pytensor

from theano_graph import register_library

from ._linker import (
    THEANO as THEANO,
    PerformWarning as PerformWarning,
    Report as Report,
    TheanoLinker as TheanoLinker,
    VersionWarning as VersionWarning,
    c_pointer as c_pointer,
    check_version,
    engine_function as engine_function,
    register,
    report as report,
)
from ._translation import NoRule as NoRule, Site as Site, rule as rule

#: The build reads the version here, without an import.
__version__ = "0.1.0"

__all__ = [
    "NoRule",
    "PerformWarning",
    "Report",
    "Site",
    "THEANO",
    "TheanoLinker",
    "VersionWarning",
    "c_pointer",
    "engine_function",
    "report",
    "rule",
]

register_library(__file__)
# Frames of PyTensor are no lines of the program.
register_library(pytensor.__file__)
register()
check_version(pytensor.__version__)
