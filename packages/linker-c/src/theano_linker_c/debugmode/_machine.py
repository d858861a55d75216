"""The machine of DebugMode: everything that the graph ever had is computed, in every way, and compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, Constant, CycleError, FunctionGraph, Variable, toposort

from .._instructions._data import Hooks, Instruction, Program
from .._machines._native import native_runner
from .._machines._run_errors import annotate
from ..program import HAS_RUNTIME, PythonMachine
from ..program._lower import encode_nodes
from ._errors import BadOptimization, InvalidValueError, name_of
from ._evaluate import Choices, NodeCheck, approximately, clone, implementations, is_finite, may_be_anything
from ._tracker import Replacement, ReplacementTracker


class DebugMachine(PythonMachine):
    """Runs a program with all checks of DebugMode.

    Every node works on copies, so neither arguments nor shared variables are ever overwritten.

    Parameters
    ----------
    program : Program
    hooks : Hooks
    fgraph : FunctionGraph
        The graph of the program; a :class:`ReplacementTracker` attached to it says what rewriting did.
    choices : Choices
    """

    def __init__(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, choices: Choices) -> None:
        super().__init__(program, hooks)
        self._choices = choices
        self._inputs = list(fgraph.inputs)
        tracker = next((f for f in fgraph.features if isinstance(f, ReplacementTracker)), None)
        self._replacements: Sequence[Replacement] = () if tracker is None else tracker.replacements
        own = {x.node: i for i, x in enumerate(program.instructions)}
        order = _order(fgraph, tracker, list(own))
        self._position = [own.get(node) for node in order]
        self._others = Program(tuple(encode_nodes(order)), 0, (), (), (), (), ())
        self._read = {v for node in order for v in node.inputs}
        self._reasons = {r.new.owner: name_of(r.reason) for r in self._replacements if r.new.owner is not None}
        self._checks = [self._check(x) for x in self._others.instructions]
        self._serial = threading.RLock()

    def _check(self, instruction: Instruction) -> NodeCheck:
        native: Callable[..., Any] | None = native_runner(instruction) if HAS_RUNTIME else None
        return NodeCheck(instruction, implementations(instruction, native, self._choices), self._choices, self._read)

    def _run(self, registers: list[Any]) -> None:
        with self._serial:
            values = self._begin(registers)
            for i, check in enumerate(self._checks):
                self._compute(i, check, values)
            self._compare(values)
        for x in self.program.instructions:
            for variable, register in zip(x.node.outputs, x.outputs, strict=True):
                registers[register] = clone(values[variable])

    def _begin(self, registers: Sequence[Any]) -> dict[Variable, Any]:
        # Registers are numbered beginning with the inputs of the graph.
        values = {variable: clone(registers[i]) for i, variable in enumerate(self._inputs)}
        for variable, value in values.items():
            if self._choices.check_isfinite and not may_be_anything(variable) and not is_finite(value):
                raise InvalidValueError(variable, value, specific_hint="an input has NaN or infinities in it")
        return values

    def _compute(self, i: int, check: NodeCheck, values: dict[Variable, Any]) -> None:
        node = check.node
        operands = [values[v] if v in values else _constant(v) for v in node.inputs]
        try:
            results = check.compute(operands)
        except Exception as error:
            position = self._position[i]
            if position is not None:
                self.position_of_error = self.program.position_of(position)
                self.view.note(position, operands)
            if node in self._reasons and len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (f"{error.args[0]}\n  the node was inserted by the rewrite {self._reasons[node]}",)
            annotate(error, self._others, i, operands)
            raise
        values.update(zip(node.outputs, results, strict=True))

    def _compare(self, values: dict[Variable, Any]) -> None:
        for r in self._replacements:
            old, new = (values[v] if v in values else _constant(v, values) for v in (r.old, r.new))
            if old is _UNKNOWN or new is _UNKNOWN:
                continue
            if not approximately(r.old, old, new):
                raise BadOptimization(r.old, r.new, old, new, r.reason, r.before, r.after)


class _Unknown:
    """Stands for the value of a variable that could not be computed."""


_UNKNOWN: Any = _Unknown()


def _constant(variable: Variable, values: dict[Variable, Any] | None = None) -> Any:
    return variable.data if isinstance(variable, Constant) else _UNKNOWN


def _order(fgraph: FunctionGraph, tracker: ReplacementTracker | None, own: list[Apply]) -> list[Apply]:
    """Return all nodes that the graph ever had in an order in which they can run, or else those that it has now."""
    if tracker is None:
        return own
    wanted = [v for v in tracker.variables if _is_reachable(v)]
    try:
        return list(toposort(fgraph.inputs, [*fgraph.outputs, *wanted]))
    except CycleError:
        # A node that has left the graph may have come to depend on what replaced its own results.
        return own


def _is_reachable(variable: Variable) -> bool:
    return variable.owner is not None
