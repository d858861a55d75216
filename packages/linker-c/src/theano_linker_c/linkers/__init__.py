"""Linkers, which choose the machine that runs a function, and machines that let others look at every node."""

from ._accepted import AcceptedGraph as AcceptedGraph
from ._classic import (
    CLinker as CLinker,
    DualLinker as DualLinker,
    OpWiseCLinker as OpWiseCLinker,
    PerformLinker as PerformLinker,
    VM_Linker as VM_Linker,
)
from ._linker import Linker as Linker
from ._step import StepMachine as StepMachine
from ._wrap import WrapLinker as WrapLinker, WrapLinkerMany as WrapLinkerMany

__all__ = [
    "AcceptedGraph",
    "CLinker",
    "DualLinker",
    "Linker",
    "OpWiseCLinker",
    "PerformLinker",
    "StepMachine",
    "VM_Linker",
    "WrapLinker",
    "WrapLinkerMany",
]
