"""The machine of DebugMode: everything that the graph ever had is computed, in every way, and compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, CycleError, FunctionGraph, Variable, ancestors, toposort

from ..program import HAS_RUNTIME, PythonMachine, branch_of, calls_of, encode_nodes
from ..runtime._errors import annotate
from ..runtime._instructions import Hooks, Instruction, Program
from ..runtime._native_machine import native_runner
from ._errors import BadOptimization, DebugModeError, InvalidValueError, name_of
from ._evaluate import (
    Choices,
    NodeCheck,
    approximately,
    clone,
    implementations,
    is_finite,
    may_be_anything,
    with_finite_of,
)
from ._shapes import blame_shape_rule
from ._tracker import Replacement, ReplacementTracker
from ._unrewritten import Unrewritten


class DebugMachine(PythonMachine):
    """Runs a program with all checks of DebugMode.

    Every node works on copies, so neither arguments nor shared variables are ever overwritten.

    Parameters
    ----------
    program : Program
    hooks : Hooks
    fgraph : FunctionGraph
        The graph of the program; a :class:`ReplacementTracker` attached to it records the rewriting.
    choices : Choices
    """

    def __init__(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, choices: Choices) -> None:
        super().__init__(program, hooks)
        self._choices = choices
        self._inputs = list(fgraph.inputs)
        tracker = next((f for f in fgraph.features if isinstance(f, ReplacementTracker)), None)
        self._replacements: Sequence[Replacement] = () if tracker is None else tracker.replacements
        self._unrewritten: Unrewritten | None = None
        if tracker is not None and tracker.unrewritten is not None:
            self._unrewritten = Unrewritten(tracker.unrewritten, choices)
        positions = {x.node: i for i, x in enumerate(program.instructions)}
        late = calls_of(list(positions), fgraph.outputs).numbers
        self._required = {node for node in positions if node not in late}
        self._outputs = list(fgraph.outputs)
        order = _order(fgraph, tracker, list(positions))
        self._position = [positions.get(node) for node in order]
        self._others = Program(tuple(encode_nodes(order)), 0, (), (), (), (), ())
        self._read = {v for node in order for v in node.inputs}
        self._reasons = {r.new.owner: name_of(r.reason) for r in self._replacements if r.new.owner is not None}
        self._unstable = _unstable(self._replacements)
        self._touched = _touched(self._replacements, order)
        self._checks = [self._check(x, positions) for x in self._others.instructions]
        self._serial = threading.RLock()

    def _check(self, instruction: Instruction, own: Collection[Apply]) -> NodeCheck:
        native: Callable[..., Any] | None = native_runner(instruction) if HAS_RUNTIME else None
        node = instruction.node
        may_overflow = node not in own and all(v in self._unstable for v in node.outputs)
        ways = implementations(instruction, native, self._choices)
        return NodeCheck(instruction, ways, self._choices, self._read, may_overflow)

    def _run(self, registers: list[Any]) -> None:
        with self._serial:
            values = self._begin(registers)
            for i, check in enumerate(self._checks):
                self._compute(i, check, values)
            self._raise_what_outputs_need(values)
            self._compare(values)
        for x in self.program.instructions:
            for variable, register in zip(x.node.outputs, x.outputs, strict=True):
                value = values[variable]
                registers[register] = None if isinstance(value, _Unknown) else clone(value)

    def _begin(self, registers: Sequence[Any]) -> dict[Variable, Any]:
        # Registers are numbered beginning with the inputs of the graph.
        values = {variable: clone(registers[i]) for i, variable in enumerate(self._inputs)}
        for variable, value in values.items():
            if self._choices.check_isfinite and not may_be_anything(variable) and not is_finite(value):
                raise InvalidValueError(variable, value, specific_hint="an input has NaN or infinities in it")
        return values

    def _compute(self, i: int, check: NodeCheck, values: dict[Variable, Any]) -> None:
        node = check.node
        operands = [_value(v, values) for v in node.inputs]
        if any(isinstance(v, _Unknown) for v in operands):
            values.update(zip(node.outputs, _chosen(node, operands), strict=True))
            return
        try:
            results = check.compute(operands, passes_on=self._position[i] is None)
        except Exception as error:
            position = self._position[i]
            if position is not None:
                self.position_of_error = self.program.position_of(position)
                self.view.note(position, operands)
            if node in self._reasons and len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (f"{error.args[0]}\n  the node was inserted by the rewrite {self._reasons[node]}",)
            annotate(error, self._others, i, operands)
            if node in self._required or isinstance(error, DebugModeError):
                raise
            results = [_Unknown(error)] * len(node.outputs)
        values.update(zip(node.outputs, results, strict=True))

    def _raise_what_outputs_need(self, values: dict[Variable, Any]) -> None:
        """Raise the error of a branch that is taken."""
        for v in self._outputs:
            value = _value(v, values)
            if isinstance(value, _Unknown) and value.error is not None:
                raise value.error

    def _compare(self, values: dict[Variable, Any]) -> None:
        different = [r for r in self._replacements if not self._agree(r, values)]
        if not different:
            return
        wrong = [r for r in different if r.old not in self._touched and r.new not in self._touched]
        if not wrong:
            outputs = self._wrong_outputs(values)
            if not outputs:
                return
            before = set(ancestors(outputs))
            wrong = [r for r in different if r.new in before]
        r = (wrong or different)[0]
        error = BadOptimization(r.old, r.new, values[r.old], _value(r.new, values), r.reason, r.before, r.after)
        raise blame_shape_rule(error, (x.node for x in self._others.instructions), lambda v: _value(v, values))

    def _agree(self, r: Replacement, values: dict[Variable, Any]) -> bool:
        old, new = _value(r.old, values), _value(r.new, values)
        if isinstance(old, _Unknown) or isinstance(new, _Unknown):
            return True
        return approximately(r.old, old, with_finite_of(old, new) if r.old in self._unstable else new)

    def _wrong_outputs(self, values: dict[Variable, Any]) -> list[Variable]:
        """Return the outputs that are not those of the graph before rewriting, as far as that can tell."""
        if self._unrewritten is None:
            return self._outputs
        inputs = [values[v] for v in self._inputs]
        results = [_value(v, values) for v in self._outputs]
        try:
            expected = self._unrewritten.outputs(inputs)
            if not all(map(approximately, self._outputs, expected, results)):
                results = self._unrewritten.explains(inputs, results)
        except Exception:  # noqa: BLE001  # ops raise anything; a failure before rewriting tells nothing
            return []
        return [v for v, a, b in zip(self._outputs, expected, results, strict=True) if not approximately(v, a, b)]


class _Unknown:
    """Stands for a value that could not be computed, because of `error`; None where a cycle was in the way."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


_UNKNOWN: Any = _Unknown()


def _value(variable: Variable, values: Mapping[Variable, Any]) -> Any:
    if variable in values:
        return values[variable]
    return variable.data if isinstance(variable, Constant) else _UNKNOWN


def _chosen(node: Apply, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results of a node of whose operands not all are known: those of a choice may be."""
    branch = branch_of(node)
    if branch is None:
        return [next(v for v in operands if isinstance(v, _Unknown))] * len(node.outputs)
    condition = operands[branch.condition]
    if isinstance(condition, _Unknown):
        return [condition] * len(node.outputs)
    return [operands[i] for i in (branch.chosen if condition else branch.otherwise)]


def _unstable(replacements: Sequence[Replacement]) -> set[Variable]:
    """Return the variables that became more accurate ones, and all that these were computed of."""
    variables: set[Variable] = set()
    for r in reversed(replacements):
        stack = [r.old] if r.stabilizes or r.new in variables else []
        while stack:
            v = stack.pop()
            if v not in variables:
                variables.add(v)
                stack += v.owner.inputs if v.owner is not None else ()
    return variables


def _touched(replacements: Sequence[Replacement], order: Sequence[Apply]) -> set[Variable]:
    """Return the variables that became more accurate ones, those, and all that is computed of both.

    Replacements for accuracy may have to be looked at together: the nodes between them have other values.
    """
    users: dict[Variable, list[Variable]] = {}
    for node in order:
        for v in node.inputs:
            users.setdefault(v, []).extend(node.outputs)
    for r in replacements:
        users.setdefault(r.old, []).append(r.new)
        users.setdefault(r.new, []).append(r.old)
    variables: set[Variable] = set()
    stack = [v for r in replacements if r.stabilizes for v in (r.old, r.new)]
    while stack:
        v = stack.pop()
        if v not in variables:
            variables.add(v)
            stack += users.get(v, ())
    return variables


def _order(fgraph: FunctionGraph, tracker: ReplacementTracker | None, own: list[Apply]) -> list[Apply]:
    """Return all nodes that the graph ever had in an order in which they can run, or else its present ones."""
    if tracker is None:
        return own
    variables = [v for v in tracker.variables if _is_reachable(v)]
    try:
        return list(toposort(fgraph.inputs, [*fgraph.outputs, *variables]))
    except CycleError:
        # A node that has left the graph may have come to depend on the replacement of its own results.
        return own


def _is_reachable(variable: Variable) -> bool:
    return variable.owner is not None
