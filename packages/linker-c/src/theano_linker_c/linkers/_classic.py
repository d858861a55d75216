"""The linkers of the manual by the names of their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, config, format_error

from ..program import Hooks, Machine, Program, Thunk
from ..targets import PYTHON, C
from . import _flags as _flags
from ._linker import Linker
from ._step import StepMachine
from ._wrap import WrapLinker


class PerformLinker(Linker):
    """Runs the Python code of each op, with all of its inputs.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate results are freed; by default the flag `allow_gc`.
    """

    __slots__ = ()

    def __init__(self, allow_gc: bool | None = None) -> None:
        Linker.__init__(self, "py", PYTHON, allow_gc=allow_gc, lazy=False)


class _Scheduled(Linker):
    """Base of linkers to which a program can say in which order nodes should run."""

    __slots__ = ("schedule",)
    schedule: Callable[[FunctionGraph], Iterable[Apply]] | None

    @property
    def preferred(self) -> Callable[[FunctionGraph], Iterable[Apply]] | None:
        """The function that the program has given."""
        return self.schedule


class OpWiseCLinker(_Scheduled):
    """Runs the native code of each op, and its Python code where it has no other.

    Parameters
    ----------
    fallback_on_perform : bool
        False makes an op without native code an error.
    allow_gc : bool, optional
        Whether intermediate results are freed; by default the flag `allow_gc`.
    nice_errors : bool
        Errors always name the node here.
    schedule : callable, optional
        Gives the nodes of a graph in the order in which they should run, as far as their dependencies permit.
    """

    __slots__ = ()

    def __init__(
        self,
        fallback_on_perform: bool = True,
        allow_gc: bool | None = None,
        nice_errors: bool = True,
        schedule: Callable[[FunctionGraph], Iterable[Apply]] | None = None,
    ) -> None:
        name = "c|py_nogc" if allow_gc is False else "c|py"
        Linker.__init__(self, name, allow_gc=allow_gc, native_only=not fallback_on_perform, lazy=False)
        object.__setattr__(self, "schedule", schedule)


class CLinker(Linker):
    """Runs native code only."""

    __slots__ = ()

    def __init__(self) -> None:
        Linker.__init__(self, "c", allow_gc=False, native_only=True, lazy=False)


class VM_Linker(_Scheduled):
    """For machines that evaluate lazily.

    Parameters
    ----------
    allow_gc : bool, optional
        Whether intermediate results are freed; by default the flag `allow_gc`.
    use_cloop : bool
        True: the machine in C with native kernels. False: the machine in Python.
    callback : callable, optional
        Called after every node with the keywords `node`, `thunk`, `storage_map` (variable -> one-element list with its
        value) and `compute_map` (variable -> one-element list: 1 where the value is there). The nodes then run one by
        one.
    lazy : bool, optional
        Whether operations may leave inputs uncomputed; by default the flag `vm.lazy`, and if that is None, yes.
    schedule : callable, optional
        Gives the nodes of a graph in the order in which they should run, as far as their dependencies permit.
    c_thunks : bool, optional
        Whether native kernels are used; by default as `use_cloop`.
    allow_partial_eval : bool, optional
        Subsets of the outputs (``f(..., output_subset=[0])``) can always be computed; nothing depends on this argument.

    Raises
    ------
    ValueError
        If both `use_cloop` and `callback` are given.
    """

    __slots__ = ("callback",)
    callback: Callable[..., Any] | None

    def __init__(
        self,
        allow_gc: bool | None = None,
        use_cloop: bool = False,
        callback: Callable[..., Any] | None = None,
        lazy: bool | None = None,
        schedule: Callable[[FunctionGraph], Iterable[Apply]] | None = None,
        c_thunks: bool | None = None,
        allow_partial_eval: bool | None = None,
    ) -> None:
        _check_machine(use_cloop, callback)
        name = ("cvm" if use_cloop else "vm") + ("_nogc" if allow_gc is False else "")
        lazily = config.vm.lazy != "False" if lazy is None else lazy
        native = use_cloop if c_thunks is None else c_thunks
        Linker.__init__(self, name, C if native else PYTHON, allow_gc, lazy=lazily)
        object.__setattr__(self, "callback", callback)
        object.__setattr__(self, "schedule", schedule)

    @property
    def clusters(self) -> bool:
        """Whether nodes may run together: not where a callback follows each of them."""
        return self.frees and self.target.overwrites and self.callback is None

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine, one that calls the callback after each node where there is one."""
        if self.callback is None:
            return super().machine(program, hooks, fgraph, thread_scale=thread_scale)
        callback = self.callback

        def around(i: int, node: Apply, thunk: Thunk) -> None:
            thunk()
            storage = machine.view.storage_map
            computed = {variable: [int(cell[0] is not None)] for variable, cell in storage.items()}
            callback(node=node, thunk=thunk, storage_map=storage, compute_map=computed)

        machine = StepMachine(program, hooks, around, [self.target], allow_gc=self.frees)
        return machine


def _check_machine(use_cloop: bool, callback: Any) -> None:
    if callback is not None and use_cloop:
        raise ValueError(
            format_error(
                "VM_Linker: the machine in C calls nobody between nodes",
                hint="leave out use_cloop with callback=..., and pass c_thunks=True for native kernels.",
            )
        )


class DualLinker(WrapLinker):
    """Runs every node twice, in native code and in Python, and compares.

    Parameters
    ----------
    checker : callable, optional
        ``checker(a, b)`` raises if two results differ, which stand in the lists `a` and `b` of one element; by default
        they have to be equal up to rounding.
    allow_gc : bool, optional
        Whether intermediate results are freed; by default the flag `allow_gc`.
    """

    __slots__ = ()

    def __init__(self, checker: Callable[[Any, Any], None] | None = None, allow_gc: bool | None = None) -> None:
        compare = _equal_or_raise if checker is None else checker

        def wrapper(i: int, node: Apply, native: Thunk, python: Thunk) -> None:
            native()
            python()
            for a, b in zip(native.outputs, python.outputs, strict=True):
                compare(a, b)

        WrapLinker.__init__(self, [OpWiseCLinker(allow_gc=allow_gc), PerformLinker(allow_gc)], wrapper, "dual")


def _equal_or_raise(a: Any, b: Any) -> None:
    first, second = np.asarray(a[0]), np.asarray(b[0])
    same = first.shape == second.shape and first.dtype == second.dtype
    if not same or not np.allclose(first, second, equal_nan=True):
        raise ValueError(
            format_error(
                f"native code and Python code differ: {first!r} and {second!r}",
                hint="correct one of the two implementations.",
            )
        )
