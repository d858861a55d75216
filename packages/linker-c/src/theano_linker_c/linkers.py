"""Linkers by the names of their classes, and machines that let others look at every node."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, FunctionGraph, config, format_error

from ._linker import AcceptedGraph, Linker
from .program import Hooks, Instruction, Machine, Program, PythonMachine, Thunk
from .runtime._errors import accept_results
from .runtime._thunks import MachineView
from .targets import PYTHON, C, Target

#: Modules of the former package are found under their earlier names, which pickles have.
__path__: list[str] = []

# ---- A machine that hands every node, as a thunk, to somebody who runs it: for looking at values as they are computed

Around = Callable[..., None]


class StepMachine(PythonMachine):
    """Runs a program node by node through thunks. Native kernels run one at a time, each in memory of its own.

    Parameters
    ----------
    program : Program
    hooks : Hooks
    around : callable
        ``around(i, node, *thunks)`` is called for each node that runs; it has to call the thunks itself.
    targets : sequence of Target
        For each thunk that a node has, its target. The first gives the results; the others compute the same on
        storage of their own.
    allow_gc : bool
        Whether storage is emptied when nothing reads it any more, and at the end of a call.
    on_call : callable, optional
        Called with the cells of all inputs before the first node runs.
    """

    def __init__(
        self,
        program: Program,
        hooks: Hooks,
        around: Around,
        targets: Sequence[Target] = (C,),
        *,
        allow_gc: bool = True,
        on_call: Callable[[MachineView], None] | None = None,
    ) -> None:
        super().__init__(program, hooks)
        self._around = around
        self._allow_gc = allow_gc
        self._on_call = on_call
        self._views = [
            MachineView(program, target.present.runner_of, [[None] for _ in range(program.n_registers)])
            for target in targets
        ]
        self.view = self._views[0]
        self._groups: list[tuple[Thunk, ...]] = list(zip(*(view.thunks_as_run for view in self._views), strict=True))
        self._lock = threading.Lock()

    def _run(self, registers: list[Any]) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                format_error(
                    "the function is being called already, and each of its values has one place while it is watched",
                    hint="call it from one thread at a time, or compile it in another mode.",
                )
            )
        try:
            self._begin(registers)
            super()._run(registers)
        finally:
            self._lock.release()
        if self._allow_gc:
            self._empty()

    def _begin(self, registers: list[Any]) -> None:
        self._empty()
        for number, view in enumerate(self._views):
            for cell, value in zip(view.cells, registers, strict=True):
                # The others have to see operands that one thunk overwrites as they were.
                cell[0] = value if number == 0 else copy.deepcopy(value)
        if self._on_call is not None:
            self._on_call(self.view)

    def _empty(self) -> None:
        for view in self._views:
            view.clear()

    def _results(
        self, index: int, instruction: Instruction, operands: list[Any], numbers: list[bool] | None
    ) -> Sequence[Any]:
        if numbers is not None:
            asked = super()._results(index, instruction, operands, numbers)
            if isinstance(asked, list):
                return asked
        thunks = self._groups[index]
        self._around(self.program.position_of(index), instruction.node, *thunks)
        for thunk in thunks:
            values = [cell[0] for cell in thunk.outputs]
            if all(value is None for value in values):
                continue  # nobody called it: a thunk that is called checks the results of its op
            accepted = accept_results(instruction, values)
            for cell, value in zip(thunk.outputs, accepted, strict=True):
                cell[0] = value
        results = tuple(cell[0] for cell in thunks[0].outputs)
        if self._allow_gc:
            self._let_go(instruction.release)
        return results

    def _accepted(self, instruction: Instruction, results: Sequence[Any]) -> Sequence[Any]:
        return results  # they have been looked at, and results that nobody computed are missing

    def _let_go(self, registers: Sequence[int]) -> None:
        for view in self._views:
            for register in registers:
                view.cells[register][0] = None


# ---- Linkers that call code of the user around every node

Wrapper = Callable[..., None]


class WrapLinker(Linker):
    """Runs graphs through a function that is called for every node.

    Parameters
    ----------
    linkers : Linker or sequence of Linker
        With several, each node has a thunk of each; the first one's results are those of the function, the others work
        on copies.
    wrapper : callable
        ``wrapper(i, node, *thunks)`` is called for node number i. It has to call the thunks, and may look at
        ``thunk.inputs`` and ``thunk.outputs``, lists of one-element lists, before and after.

    Examples
    --------
    >>> from theano_linker_c import Mode, function, generic, view_op
    >>> from theano_linker_c.linkers import PerformLinker, WrapLinker
    >>> def show(i, node, thunk):
    ...     thunk()
    ...     print(i, node.op, thunk.outputs[0][0])
    >>> x = generic("x")
    >>> mode = Mode(WrapLinker(PerformLinker(), show), None)
    >>> function([x], view_op(view_op(x)), mode=mode)(5)
    0 ViewOp 5
    1 ViewOp 5
    2 DeepCopyOp 5
    5
    """

    __slots__ = ("linkers", "wrapper")
    linkers: tuple[Linker, ...]
    wrapper: Wrapper

    def __init__(self, linkers: Linker | Sequence[Linker], wrapper: Wrapper, name: str | None = None) -> None:
        chosen = (linkers,) if isinstance(linkers, Linker) else tuple(linkers)
        if not chosen:
            raise ValueError(format_error("WrapLinker: there is no linker to wrap", hint="pass one linker or more."))
        first = chosen[0]
        name = name or f"wrapped {'+'.join(linker.name for linker in chosen)}"
        target = next((linker.target for linker in chosen if linker.target != PYTHON), PYTHON)
        Linker.__init__(self, name, target, first.allow_gc, first.native_only, first.lazy)
        object.__setattr__(self, "linkers", chosen)
        object.__setattr__(self, "wrapper", wrapper)

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine that runs each node through the wrapper."""
        targets = [linker.target for linker in self.linkers]
        return StepMachine(program, hooks, self.wrapper, targets, allow_gc=self.frees)


def WrapLinkerMany(linkers: Sequence[Linker], wrappers: Sequence[Wrapper]) -> WrapLinker:
    """Return a :class:`WrapLinker` that calls several functions for every node, one after the other.

    Parameters
    ----------
    linkers : sequence of Linker
    wrappers : sequence of callable
        Each is called ``wrapper(i, node, *thunks)``.
    """

    def wrapper(i: int, node: Apply, *thunks: Thunk) -> None:
        for each in wrappers:
            each(i, node, *thunks)

    return WrapLinker(linkers, wrapper)


# ---- The linkers of the manual by the names of their classes


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
