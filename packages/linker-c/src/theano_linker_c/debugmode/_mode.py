"""DebugMode and its machine: everything that the graph ever had is computed, in every way, and compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    BoolFlag,
    Constant,
    CycleError,
    FunctionGraph,
    IntFlag,
    StrFlag,
    Variable,
    add_flag,
    ancestors,
    config,
    format_error,
    toposort,
)

from ..linkers import Linker
from ..modes import Mode
from ..program import (
    HAS_RUNTIME,
    Hooks,
    Instruction,
    Machine,
    Program,
    PythonMachine,
    branch_of,
    calls_of,
    encode_nodes,
)
from ..runtime._errors import annotate
from ..runtime._native_machine import native_runner
from ._errors import (
    BadOptimization,
    DebugModeError,
    EventLog,
    InvalidValueError,
    Replacement,
    ReplacementTracker,
    StochasticOrder,
    blame_shape_rule,
    name_of,
)
from ._evaluate import (
    LAYOUTS,
    Choices,
    NodeCheck,
    Unrewritten,
    approximately,
    chosen_layouts,
    clone,
    implementations,
    is_finite,
    may_be_anything,
    with_finite_of,
)

# ---- Flags of DebugMode

add_flag(
    "DebugMode.patience",
    "How many times DebugMode rewrites a graph to see that the same is done each time.",
    IntFlag(10, lambda n: n >= 0),
)
add_flag("DebugMode.check_c", "Whether DebugMode runs native code.", BoolFlag(True))
add_flag("DebugMode.check_py", "Whether DebugMode runs the Python code of ops.", BoolFlag(True))
add_flag("DebugMode.check_finite", "Whether DebugMode minds NaN and infinities.", BoolFlag(True))
add_flag(
    "DebugMode.check_strides",
    "DebugMode's reaction to results of native code and of Python code with different strides: 0 nothing, 1 a "
    "warning, 2 an error.",
    IntFlag(1, lambda n: n in (0, 1, 2)),
)
add_flag(
    "DebugMode.warn_input_not_reused",
    "Whether DebugMode warns of ops that say they use the memory of an input and do not.",
    BoolFlag(True),
)
add_flag(
    "DebugMode.check_preallocated_output",
    f"In which memory DebugMode has ops put their results, joined by ':': {', '.join(LAYOUTS)}, or ALL. Empty: none.",
    StrFlag("", lambda text: all(name in (*LAYOUTS, "ALL", "") for name in text.split(":"))),
)
add_flag(
    "DebugMode.check_preallocated_output_ndim",
    "For how many of the innermost axes 'strided' memory takes all combinations of strides.",
    IntFlag(4, lambda n: n > 0),
)


# ---- Whether rewriting does the same each time

SHOWN = 3


def check_stability(fgraph: FunctionGraph, rewrite: Callable[[FunctionGraph], Any], patience: int) -> None:
    """Rewrite copies of a graph and compare the events.

    Parameters
    ----------
    fgraph : FunctionGraph
        Left as it is.
    rewrite : callable
    patience : int
        How many copies are rewritten.

    Raises
    ------
    StochasticOrder
        If something else happened in one of them; the text shows the first difference.
    """
    first: list[tuple[Any, ...]] | None = None
    for attempt in range(patience):
        copy = fgraph.clone()
        log = EventLog()
        copy.attach_feature(log)
        rewrite(copy)
        if first is None:
            first = log.events
        elif log.events != first:
            raise StochasticOrder(_text(first, log.events, attempt))


def _text(first: Sequence[tuple[Any, ...]], other: Sequence[tuple[Any, ...]], attempt: int) -> str:
    pairs = zip(first, other, strict=False)
    same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(other)))
    return format_error(
        "rewriting the same graph again did not do the same in the same order",
        context=[
            f"the first {same} events are equal; {len(first)} events in attempt 0, {len(other)} in attempt {attempt}",
            *(f"attempt 0, event {same + k}: {event}" for k, event in enumerate(first[same : same + SHOWN])),
            *(f"attempt {attempt}, event {same + k}: {event}" for k, event in enumerate(other[same : same + SHOWN])),
        ],
        hint="let no rewrite depend on the order of a set, on id() or on chance.",
    )


# ---- The machine of DebugMode: everything that the graph ever had is computed, in every way, and compared


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


# ---- DebugMode


class DebugMode(Mode):
    """Verifies everything that it can about rewrites and ops, at a high price in time.

    A function compiled in this mode computes each node in Python and in native code and compares; it computes nodes
    that rewrites replaced and compares; it looks whether ops change inputs or share memory in ways that they do not
    declare; and it rewrites the graph several times and looks whether the same happens.

    A rewrite that is there for accuracy may change digits, and put numbers in the place of infinities and NaN, as long
    as the outputs of the function are those of the graph before rewriting, up to the errors that this graph has. A
    failure fails outside of the program that is left, or in a branch of a choice that is not taken, has no value to
    compare.

    Parameters
    ----------
    optimizer : str, RewriteQuery or GraphRewriter
        As for :class:`Mode`.
    stability_patience : int, optional
        How many times the graph is rewritten; by default the flag `DebugMode.patience`.
    check_c_code, check_py_code : bool, optional
        Whether native code and Python code of ops is run where there are both; by default the flags `DebugMode.check_c`
        and `DebugMode.check_py`.
    check_isfinite : bool, optional
        Whether NaN and infinities are errors; by default the flag `DebugMode.check_finite`.
    check_preallocated_output : list of str, optional
        In which memory ops are made to put results; by default the flag `DebugMode.check_preallocated_output`.
    require_matching_strides : int, optional
        0, 1 or 2: nothing, a warning or an error where results of both kinds of code have different strides; by default
        the flag `DebugMode.check_strides`.
    linker : optional
        Not used.

    Raises
    ------
    DebugModeError
        When the function is compiled or called: :class:`BadThunkOutput`, :class:`BadOptimization`,
        :class:`BadDestroyMap`, :class:`BadViewMap`, :class:`StochasticOrder` or :class:`InvalidValueError`.

    Examples
    --------
    >>> from theano_linker_c import DebugMode, function, generic, view_op
    >>> x = generic("x")
    >>> function([x], view_op(x), mode=DebugMode(stability_patience=2))(3)
    3
    """

    def __init__(
        self,
        optimizer: Any = "fast_run",
        stability_patience: int | None = None,
        check_c_code: bool | None = None,
        check_py_code: bool | None = None,
        check_isfinite: bool | None = None,
        check_preallocated_output: list[str] | None = None,
        require_matching_strides: int | None = None,
        linker: Any = None,
    ) -> None:
        self._given: dict[str, Any] = {
            "stability_patience": stability_patience,
            "check_c_code": check_c_code,
            "check_py_code": check_py_code,
            "check_isfinite": check_isfinite,
            "check_preallocated_output": check_preallocated_output,
            "require_matching_strides": require_matching_strides,
        }
        if check_preallocated_output is not None:
            self._given["check_preallocated_output"] = chosen_layouts(":".join(check_preallocated_output))
        super().__init__(DebugLinker(self), optimizer)

    def _chosen(self, name: str, default: Any) -> Any:
        value = self._given[name]
        return default if value is None else value

    @property
    def stability_patience(self) -> int:
        """How many times the graph is rewritten."""
        return int(self._chosen("stability_patience", config.DebugMode.patience))

    @stability_patience.setter
    def stability_patience(self, value: int) -> None:
        self._given["stability_patience"] = value

    @property
    def check_c_code(self) -> bool:
        """Whether native code is run."""
        return bool(self._chosen("check_c_code", config.DebugMode.check_c))

    @check_c_code.setter
    def check_c_code(self, value: bool) -> None:
        self._given["check_c_code"] = value

    @property
    def check_py_code(self) -> bool:
        """Whether the Python code of ops is run."""
        return bool(self._chosen("check_py_code", config.DebugMode.check_py))

    @check_py_code.setter
    def check_py_code(self, value: bool) -> None:
        self._given["check_py_code"] = value

    @property
    def check_isfinite(self) -> bool:
        """Whether NaN and infinities are errors."""
        return bool(self._chosen("check_isfinite", config.DebugMode.check_finite))

    @check_isfinite.setter
    def check_isfinite(self, value: bool) -> None:
        self._given["check_isfinite"] = value

    @property
    def check_preallocated_output(self) -> list[str]:
        """In which memory ops are made to put results."""
        flag = config.DebugMode.check_preallocated_output
        return list(self._chosen("check_preallocated_output", chosen_layouts(flag)))

    @check_preallocated_output.setter
    def check_preallocated_output(self, value: list[str]) -> None:
        self._given["check_preallocated_output"] = value

    @property
    def require_matching_strides(self) -> int:
        """The reaction to different strides: 0 nothing, 1 a warning, 2 an error."""
        return int(self._chosen("require_matching_strides", config.DebugMode.check_strides))

    @require_matching_strides.setter
    def require_matching_strides(self, value: int) -> None:
        self._given["require_matching_strides"] = value

    def choices(self) -> Choices:
        """Return the checks of calls of functions."""
        return Choices(
            self.check_c_code,
            self.check_py_code,
            self._given,
            self.require_matching_strides,
            bool(config.DebugMode.warn_input_not_reused),
            tuple(self.check_preallocated_output),
            int(config.DebugMode.check_preallocated_output_ndim),
        )

    def rewrite(self, fgraph: FunctionGraph) -> Any:
        """Apply the rewrites of this mode to `fgraph`, in place, and record them.

        Raises
        ------
        StochasticOrder
            If rewriting does not do the same each time.
        """
        rewrite = super().rewrite
        check_stability(fgraph, rewrite, self.stability_patience)
        unrewritten = FunctionGraph(fgraph.inputs, fgraph.outputs)
        tracker = ReplacementTracker()
        fgraph.attach_feature(tracker)
        profile = rewrite(fgraph)
        if any(r.stabilizes for r in tracker.replacements):
            tracker.unrewritten = unrewritten
        return profile

    def _like(self, linker: str | Linker, optimizer: Any) -> DebugMode:
        return type(self)(optimizer, **self._given)


class DebugLinker(Linker):
    """Runs graphs with the checks of a :class:`DebugMode`."""

    __slots__ = ("mode",)
    mode: DebugMode

    def __init__(self, mode: DebugMode) -> None:
        Linker.__init__(self, "DebugMode", allow_gc=False, lazy=False)
        object.__setattr__(self, "mode", mode)

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine that checks everything."""
        return DebugMachine(program, hooks, fgraph, self.mode.choices())
