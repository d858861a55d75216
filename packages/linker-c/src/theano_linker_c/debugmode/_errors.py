"""The errors of DebugMode; a record of rewriting that it tells them from, and shape rules that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    TheanoError,
    Variable,
    debugprint,
    describe,
    format_error,
    record,
)
from theano_optimize import Exactness, RewriteInfo

from .._perform import as_host

# ---- The errors of DebugMode, with all that it knows


class DebugModeError(TheanoError):
    """DebugMode has found a fault; the base of its errors.

    Attributes
    ----------
    node : Apply or None
        The node at fault.
    """

    def __init__(self, text: str, node: Apply | None = None) -> None:
        super().__init__(text)
        self.node = node


class BadThunkOutput(DebugModeError):
    """An op computes different results from equal inputs: native code, Python code, or other memory for the result.

    Attributes
    ----------
    r : Variable
        The output that differs.
    thunk1, thunk2 : str
        The two ways in which it was computed.
    val1, val2 : object
        The two values.
    inputs_val : tuple
        The values of the inputs.
    """

    def __init__(
        self, r: Variable, thunk1: str, val1: Any, thunk2: str, val2: Any, inputs_val: Sequence[Any] = ()
    ) -> None:
        node = r.owner
        where = [
            describe_node(node),
            f"output {describe(r)}",
            f"{thunk1}: {show(val1)}",
            f"{thunk2}: {show(val2)}",
            *_difference(val1, val2),
            *(f"input {i}: {show(value)}" for i, value in enumerate(inputs_val)),
        ]
        advice = "correct the implementation that is wrong; it must depend on nothing but its inputs."
        super().__init__(
            format_error("an op computes different results from equal inputs", context=where, hint=advice), node
        )
        self.r = r
        self.thunk1, self.val1 = thunk1, val1
        self.thunk2, self.val2 = thunk2, val2
        self.inputs_val = tuple(inputs_val)

    def offending_op(self) -> Any:
        """Return the op at fault."""
        return None if self.node is None else self.node.op


class BadOptimization(DebugModeError):
    """A rewrite put a variable in the place of another, and their values differ.

    Attributes
    ----------
    old_r, new_r : Variable
        The variable that was replaced, and the one that took its place.
    old_r_val, new_r_val : object
        Their values.
    reason : object
        The rewrite, or its name.
    old_graph, new_graph : str
        The expressions of the two variables when the rewrite was applied.
    """

    def __init__(
        self,
        old_r: Variable,
        new_r: Variable,
        old_r_val: Any,
        new_r_val: Any,
        reason: object,
        old_graph: str = "",
        new_graph: str = "",
    ) -> None:
        where = [
            f"rewrite: {name_of(reason)}",
            f"replaced {describe(old_r)}, value {show(old_r_val)}",
            f"by {describe(new_r)}, value {show(new_r_val)}",
            *_difference(old_r_val, new_r_val),
            f"before:\n{_indented(old_graph)}",
            f"after:\n{_indented(new_graph)}",
        ]
        advice = f"correct the rewrite, or leave it out with `mode.excluding({name_of(reason)!r})`."
        super().__init__(
            format_error("a rewrite changed the value of a variable", context=where, hint=advice), new_r.owner
        )
        self.old_r, self.new_r = old_r, new_r
        self.old_r_val, self.new_r_val = old_r_val, new_r_val
        self.reason = reason
        self.old_graph, self.new_graph = old_graph, new_graph


class BadDestroyMap(DebugModeError):
    """An op changed an input without saying so in its `destroy_map`.

    Attributes
    ----------
    idx : int
        Number of the input.
    old_val, new_val : object
        Its values before and after.
    perform : str
        The implementation that did it.
    """

    def __init__(self, node: Apply, idx: int, old_val: Any, new_val: Any, perform: str) -> None:
        where = [
            describe_node(node),
            f"implementation: {perform}",
            f"destroy_map: {dict(node.op.destroy_map)}",
            f"input {idx}, {describe(node.inputs[idx])}",
            f"before: {show(old_val)}",
            f"after: {show(new_val)}",
            *_difference(old_val, new_val),
        ]
        advice = f"work on a copy, or declare it: `destroy_map = {{0: [{idx}]}}`."
        super().__init__(
            format_error(f"an op changed input {idx} without declaring it in destroy_map", context=where, hint=advice),
            node,
        )
        self.idx, self.old_val, self.new_val, self.perform = idx, old_val, new_val, perform


class BadViewMap(DebugModeError):
    """An output lies in the memory of an input, or of another output, without a `view_map` that says so.

    Attributes
    ----------
    output_idx : int
        Number of the output.
    out_storage : object
        Its value.
    in_alias_idx, out_alias_idx : list of int
        Numbers of the inputs and of the other outputs in whose memory it lies.
    perform : str
        The implementation that did it.
    """

    def __init__(
        self,
        node: Apply,
        output_idx: int,
        out_storage: Any,
        in_alias_idx: Sequence[int] = (),
        out_alias_idx: Sequence[int] = (),
        perform: str = "",
    ) -> None:
        where = [
            describe_node(node),
            f"implementation: {perform}",
            f"view_map: {dict(node.op.view_map)}",
            f"destroy_map: {dict(node.op.destroy_map)}",
            f"output {output_idx}: {show(out_storage)}",
        ]
        if in_alias_idx:
            where.append(f"shares memory with inputs {list(in_alias_idx)}")
        if out_alias_idx:
            where.append(f"shares memory with outputs {list(out_alias_idx)}")
        inputs = ", ".join(map(str, in_alias_idx)) or "..."
        advice = f"return a copy, or declare it: `view_map = {{{output_idx}: [{inputs}]}}`."
        super().__init__(
            format_error(
                f"output {output_idx} of an op shares memory without declaring it", context=where, hint=advice
            ),
            node,
        )
        self.output_idx, self.out_storage = output_idx, out_storage
        self.in_alias_idx, self.out_alias_idx = list(in_alias_idx), list(out_alias_idx)
        self.perform = perform


class StochasticOrder(DebugModeError):
    """Rewriting the same graph again did not do the same things in the same order."""


class InvalidValueError(DebugModeError):
    """A value is none of its variable's type, or not finite.

    Attributes
    ----------
    r : Variable
    v : object
        The value.
    client_node : Apply or None
        The node that was to use it.
    hint, specific_hint : str
        Its maker, and its fault.
    """

    def __init__(
        self, r: Variable, v: Any, client_node: Apply | None = None, hint: str = "", specific_hint: str = ""
    ) -> None:
        where = [describe(r), f"value: {show(v)}"]
        if r.owner is not None:
            where.insert(0, describe_node(r.owner))
        where += [f"computed by {hint}"] if hint else []
        where += [f"used by {client_node}"] if client_node is not None else []
        advice = "correct the op; to permit NaN and infinities, use DebugMode(check_isfinite=False)."
        what = f"a value does not fit its variable: {specific_hint or 'it is not of the type'}"
        super().__init__(format_error(what, context=where, hint=advice), r.owner)
        self.r, self.v, self.client_node = r, v, client_node
        self.hint, self.specific_hint = hint, specific_hint

    @property
    def type(self) -> Any:
        """Type of the variable."""
        return self.r.type


def name_of(reason: object) -> str:
    """Return the name of a rewrite."""
    return str(getattr(reason, "name", None) or reason)


def describe_node(node: Apply | None) -> str:
    """Return a line about a node: its text and where it was made."""
    if node is None:
        return "no node"
    return f"node {node}" + (f", made at {node.origin}" if node.origin is not None else "")


def show(value: Any) -> str:
    """Return a short text for a value."""
    value = as_host(value)
    if not isinstance(value, np.ndarray):
        text = repr(value)
        return text if len(text) <= 100 else f"{text[:97]}..."
    facts = f"{value.dtype} of shape {value.shape}, strides {value.strides}"
    if value.dtype.kind in "fiu" and value.size:
        facts += f", from {np.nanmin(value)} to {np.nanmax(value)}" if not np.isnan(value).all() else ", all NaN"
    beginning = np.array2string(value, threshold=6, edgeitems=2).replace("\n", " ")
    return f"{facts}: {beginning if len(beginning) <= 200 else beginning[:197] + '...'}"


def _difference(a: Any, b: Any) -> list[str]:
    a, b = as_host(a), as_host(b)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return []
    if a.shape != b.shape or a.dtype != b.dtype:
        return ["dtypes or shapes differ"]
    if a.dtype.kind not in "fiuc" or not a.size:
        return []
    with np.errstate(all="ignore"):
        distance = np.abs(a.astype("complex128") - b.astype("complex128"))
    if np.isnan(distance).all():
        return []
    return [f"largest difference {np.nanmax(distance)} in {int((a != b).sum())} of {a.size} elements"]


def snapshot(variable: Variable) -> str:
    """Return the expression of a variable as text, to a limited depth."""
    return str(debugprint(variable, depth=6, file="str", print_type=True))


def _indented(text: str) -> str:
    return "\n".join(f"      {line}" for line in text.rstrip().splitlines())


# ---- A record of rewriting: replaced variables, and the order of events


@record
class Replacement:
    """One variable that took the place of another.

    Attributes
    ----------
    old, new : Variable
    reason : str
        Name of the rewrite.
    before, after : str
        Their expressions at that time.
    stabilizes : bool
        Whether the rewrite says that it makes values more accurate.
    """

    old: Variable
    new: Variable
    reason: str
    before: str
    after: str
    stabilizes: bool


class ReplacementTracker(Feature):
    """Keeps all variables that a graph ever had, and which replaced which.

    Attributes
    ----------
    replacements : list of Replacement
        In the order in which they happened.
    variables : dict of Variable to None
        All variables ever, as keys.
    unrewritten : FunctionGraph or None
        The graph before rewriting, as a copy; None where no rewrite has made it more stable.
    """

    def __init__(self) -> None:
        self.unrewritten: FunctionGraph | None = None
        self.replacements: list[Replacement] = []
        self.variables: dict[Variable, None] = {}
        self._seen: set[tuple[Variable, Variable]] = set()
        self._texts: dict[Variable, str] = {}

    def clone(self) -> ReplacementTracker:
        """Return a tracker for a copy of the graph, which knows of nothing."""
        return ReplacementTracker()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note the variables that are there."""
        self.variables.update(dict.fromkeys(fgraph.outputs))
        for node in fgraph.toposort():
            self._note(node)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Note the variables of a node."""
        self._note(node)

    def _note(self, node: Apply) -> None:
        self.variables.update(dict.fromkeys((*node.inputs, *node.outputs)))
        # The expressions as they are now: parts of a rewrite's match may have changed when it is asked for it.
        self._texts.update((v, snapshot(v)) for v in node.outputs)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Note a replacement."""
        self.variables.update({old: None, new: None})
        if (old, new) not in self._seen:
            self._seen.add((old, new))
            before = self._texts.get(old) or snapshot(old)
            info = getattr(reason, "info", None)
            stabilizes = isinstance(info, RewriteInfo) and info.exactness is Exactness.STABILIZING
            # Rewrites themselves are no part of pickles.
            self.replacements.append(Replacement(old, new, name_of(reason), before, snapshot(new), stabilizes))


class EventLog(Feature):
    """Records the events of a graph without naming any object, so that two graphs can be compared.

    Variables are numbered in the order in which they come up.

    Attributes
    ----------
    events : list of tuple
    """

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self._numbers: dict[Variable, int] = {}

    def _number(self, variable: Variable) -> Any:
        if isinstance(variable, Constant):
            return "constant", str(variable.type), str(variable)
        return self._numbers.setdefault(variable, len(self._numbers))

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Number the present nodes."""
        for variable in fgraph.inputs:
            self._number(variable)
        for node in fgraph.toposort():
            for variable in (*node.inputs, *node.outputs):
                self._number(variable)

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Write down a node."""
        inputs = tuple(self._number(v) for v in node.inputs)
        outputs = tuple(self._number(v) for v in node.outputs)
        self.events.append(("import", str(node.op), inputs, outputs, name_of(reason)))

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Write down a replacement."""
        user = "output" if isinstance(node, str) else tuple(self._number(v) for v in node.outputs)
        self.events.append(("change", user, i, self._number(old), self._number(new), name_of(reason)))


# ---- Shape rules that are wrong: a rewrite that used one is not at fault

#: Takes a node, the values of its inputs and those of its outputs; returns for each output the shape that the op's rule
#: tells, None where there is none.
ShapesOf = Callable[[Apply, Sequence[Any], Sequence[Any]], Sequence[Any]]


class _Rules:
    """The evaluator of shape rules: the layer that has lengths as variables sets it."""

    shapes_of: ShapesOf | None = None


_rules = _Rules()


def set_shapes_of(function: ShapesOf) -> None:
    """Say how DebugMode evaluates the shape rules of ops."""
    _rules.shapes_of = function


class BadInferShape(BadOptimization):
    """The `infer_shape` of an op, or its shape rule, told another shape than that of the result.

    Attributes
    ----------
    node : Apply
        The node at fault.
    index : int
        Number of the output.
    shape, inferred : tuple of int
        The shape of the result, and the one that was told.
    """

    def __init__(
        self, error: BadOptimization, node: Apply, index: int, shape: tuple[int, ...], inferred: tuple[int, ...]
    ) -> None:
        vars(self).update(vars(error))
        where = [
            describe_node(node),
            f"output {index}, {describe(node.outputs[index])}: the result has the shape {shape}",
            f"infer_shape told {inferred}",
        ]
        advice = f"correct `infer_shape` of {type(node.op).__name__}, or leave it out."
        text = format_error("the infer_shape of an op is wrong", context=where, hint=advice)
        Exception.__init__(self, text)
        self.node, self.index, self.shape, self.inferred = node, index, shape, inferred


def blame_shape_rule(
    error: BadOptimization, nodes: Iterable[Apply], values: Callable[[Variable], Any]
) -> BadOptimization:
    """Return the error of a wrong shape rule, where one of `nodes` has one, or else `error`."""
    if _rules.shapes_of is None:
        return error
    for node in nodes:
        operands, results = ([values(v) for v in side] for side in (node.inputs, node.outputs))
        if not all(isinstance(getattr(value, "shape", ()), tuple) for value in (*operands, *results)):
            continue
        for i, inferred in enumerate(_rules.shapes_of(node, operands, results)):
            shape = getattr(results[i], "shape", None)
            if inferred is not None and shape is not None and tuple(inferred) != tuple(shape):
                return BadInferShape(error, node, i, tuple(shape), tuple(inferred))
    return error
