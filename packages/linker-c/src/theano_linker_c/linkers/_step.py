"""A machine that hands every node, as a thunk, to somebody who runs it: for looking at values as they are computed."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import format_error

from ..program import Hooks, Instruction, Program, PythonMachine, Thunk
from .._machines._results import accept_results
from .._machines._thunks import MachineView
from ..targets import C, Target

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
