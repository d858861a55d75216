"""In which forms a node can run: each instruction has one of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from theano_graph import record

from .._perform import OwnThunk
from ..cop import CThunk
from ..kernels import Kernel
from ._schedule import Branch


@record
class KernelForm:
    """A kernel, and its target's build of it.

    Attributes
    ----------
    kernel : Kernel
    code : object
        Machine code: of the target in C a :class:`LoadedKernel`, or None where the machine needs no code besides its
        own; other targets keep their launches here.
    """

    kernel: Kernel
    code: Any = None


@record
class PerformForm:
    """The Python code of the op."""


#: A kernel; the op's own C code, compiled; the thunk of the op's own `make_thunk`; a choice between inputs, which the
#: machine makes itself; or the op's Python code.
Form: TypeAlias = KernelForm | CThunk | OwnThunk | Branch | PerformForm

PERFORM = PerformForm()
