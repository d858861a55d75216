"""The user's graph is copied for the function, with `givens` put in their places."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, MissingInputError, Op, Variable, describe, format_error, toposort

from ...runtime._native_machine import HAS_RUNTIME, runtime
from ...runtime._storage import SharedVariable
from ._errors import GivensError
from ._updates import as_pairs, describe_any

#: Constants of so many bytes are compared when a graph is copied; larger ones are left to merging.
_SMALL = 64


def as_givens(givens: Any, inputs: Iterable[Variable], strict: bool, where: str) -> dict[Variable, Variable]:
    """Return the `givens` argument of `function`, checked.

    Parameters
    ----------
    givens : mapping or iterable of pairs
        Variable -> its substitute; plain values become constants.
    inputs : iterable of Variable
        The explicit inputs, which cannot be substituted.
    strict : bool
        Whether a substitute must have the type of the variable (or convert to it).

    Raises
    ------
    GivensError
        If one of these conditions is broken, or a variable has two substitutes.
    """
    explicit = set(inputs)
    checked: dict[Variable, Variable] = {}
    for old, new in as_pairs(givens, f"{where}: givens"):
        if not isinstance(old, Variable):
            raise GivensError(
                format_error(
                    f"{where}: givens can only replace variables, not {old!r} ({type(old).__name__})",
                    hint="use as key the very variable that stands in the expression.",
                )
            )
        if old in explicit:
            raise GivensError(
                format_error(
                    f"{where}: givens would replace `{old}`, which is also an input",
                    context=[describe(old), f"by {describe_any(new)}"],
                    hint=f"make a new input y, and write `function([y], ..., givens={{{old}: expression of y}})`.",
                )
            )
        if old in checked:
            raise GivensError(
                format_error(
                    f"{where}: givens has two substitutes for `{old}`",
                    context=[describe(old), describe(checked[old]), describe_any(new)],
                    hint="keep one of them.",
                )
            )
        checked[old] = _substitute(old, new, strict, where)
    return checked


def _substitute(old: Variable, new: Any, strict: bool, where: str) -> Variable:
    if isinstance(new, Variable) and (not strict or new.type.exact == old.type.exact):
        return new
    try:
        return old.type.narrow_variable(new)
    except (TypeError, ValueError) as error:
        raise GivensError(
            format_error(
                f"{where}: givens would replace a variable by one of another type",
                context=[describe(old), f"by {describe_any(new)}"],
                hint=f"convert the substitute to {old.type.describe()}; "
                f"or pass rebuild_strict=False to rebuild its dependents "
                "it with the new type.",
            )
        ) from error


class Rebuilder:
    """Copies expressions into the graph of one function.

    All copies of one rebuilder share their inputs; equal parts of the graph are copied once. So are equal numbers, and
    the views of them that a number in a long expression has beside it each time: merging would look at each of them.
    Substitution is simultaneous: substitutes are not themselves substituted.

    Parameters
    ----------
    inputs : sequence of Variable
        Explicit inputs; the graph above them is not entered.
    givens : mapping
        Variable -> substitute, from :func:`as_givens`.
    strict : bool
        Whether types must stay as they are.
    where : str
        Name of the function, for messages.
    """

    def __init__(
        self, inputs: Sequence[Variable], givens: Mapping[Variable, Variable], strict: bool, where: str
    ) -> None:
        self.inputs = [_clone_input(v) for v in inputs]
        self.shared: dict[SharedVariable, Variable] = {}
        self._met: dict[Apply, None] = {}
        self._where = where
        self._strict = strict
        pairs = dict(zip(inputs, self.inputs, strict=True))
        self._plain: dict[Variable, Variable] = dict(pairs)
        self._plain_nodes: dict[Apply, Apply] = {}
        self._numbers: dict[Hashable, Constant] = {}
        self._views: dict[Hashable, Variable] = {}
        # Without givens there is only one kind of copy.
        self._memo = dict(pairs) if givens else self._plain
        if givens:
            self.meet_shared(list(givens.values()))
            substitutes = self._copy(list(givens.values()), self._plain, strict=True)
            self._memo.update(zip(givens, substitutes, strict=True))

    def copy(self, expressions: Sequence[Variable]) -> list[Variable]:
        """Return copies of `expressions`, substituted.

        Raises
        ------
        MissingInputError
            If a leaf is neither an input nor a constant nor a shared variable.
        """
        return self._copy(expressions, self._memo, self._strict)

    def meet_shared(self, expressions: Sequence[Variable]) -> None:
        """Take up the shared variables in `expressions` in the order in which they are read there, left to right."""
        if HAS_RUNTIME:
            for variable in runtime.meet_nodes(list(expressions), self._memo, self._met, SharedVariable):
                self.shared_copy(variable)
            return
        memo, seen = self._memo, self._met
        waiting = list(reversed(expressions))
        while waiting:
            variable = waiting.pop()
            if variable in memo:
                continue
            node = variable.owner
            if node is None:
                if isinstance(variable, SharedVariable):
                    self.shared_copy(variable)
            elif node not in seen:
                seen[node] = None
                for used in reversed(node.inputs):
                    owner = used.owner
                    if isinstance(used, SharedVariable) if owner is None else owner not in seen:
                        waiting.append(used)

    @property
    def met(self) -> Collection[Apply]:
        """The nodes of the expressions in which shared variables have been looked for, in an order that is theirs."""
        return self._met.keys()

    def shared_copy(self, variable: SharedVariable) -> Variable:
        """Return the input that stands for a shared variable, made on first use."""
        copy = self.shared.get(variable)
        if copy is None:
            copy = self.shared[variable] = variable.clone()
        return copy

    def leaf(self, variable: Variable) -> Variable:
        """Return the copy of an input, a shared variable or a constant."""
        copy_of_leaf = self._memo.get(variable)
        return self._leaf(variable, None, self._memo) if copy_of_leaf is None else copy_of_leaf

    def _copy(self, expressions: Sequence[Variable], memo: dict[Variable, Variable], strict: bool) -> list[Variable]:
        is_only_kind = self._memo is self._plain
        for node in toposort(memo, expressions):
            inputs = [memo[v] if v in memo else self._leaf(v, node, memo) for v in node.inputs]
            if is_only_kind and len(node.outputs) == 1:  # it is met once, and then its output is known
                view = self._view_of_number(node, inputs[0]) if len(inputs) == 1 and inputs[0].owner is None else None
                if view is None:
                    memo[node.outputs[0]] = node.clone_with_new_inputs(inputs, strict=strict).outputs[0]
                else:
                    memo[node.outputs[0]] = view
                continue
            twin = self._plain_nodes.get(node)
            if twin is None or any(a is not b for a, b in zip(twin.inputs, inputs, strict=True)):
                twin = node.clone_with_new_inputs(inputs, strict=strict)
                if memo is self._plain:
                    self._plain_nodes[node] = twin
            for old, new in zip(node.outputs, twin.outputs, strict=True):
                memo.setdefault(old, new)
        return [memo[v] if v in memo else self._leaf(v, None, memo) for v in expressions]

    def _number(self, constant: Constant) -> Constant | None:
        """Return the copy that equal constants share; None for a large one, and for one with a name or a mark."""
        if constant.name is not None or constant.has_tag() or getattr(constant.data, "nbytes", _SMALL + 1) > _SMALL:
            return None
        key = (constant.type, constant.signature())
        try:
            copy = self._numbers.get(key)
        except TypeError:
            return None
        if copy is None:
            copy = self._numbers[key] = constant.clone()
        return copy

    def _view_of_number(self, node: Apply, copy: Variable) -> Variable | None:
        """Return the view that equal nodes on copies of equal numbers share; None where a node has to be copied."""
        op, output = node.op, node.outputs[0]
        source = node.inputs[0]
        if not isinstance(source, Constant) or source.name is not None or not _is_mere_view(op):
            return None
        if output.name is not None or output.has_tag() or node.has_tag():
            return None
        key = (op, copy, output.type.exact)
        try:
            view = self._views.get(key)
        except TypeError:
            return None  # ops and types of users that do not hash
        if view is None:
            view = self._views[key] = node.clone_with_new_inputs([copy], strict=True).outputs[0]
        return view

    def _leaf(self, variable: Variable, user: Apply | None, memo: dict[Variable, Variable]) -> Variable:
        if isinstance(variable, SharedVariable):
            copy = self.shared_copy(variable)
        elif isinstance(variable, Constant):
            # No `or`: symbolic scalars have no truth value.
            leaf = self._plain.get(variable)
            if leaf is None:
                leaf = self._number(variable)
            copy = self._plain[variable] = variable.clone() if leaf is None else leaf
        else:
            # Some types have no values at all, and say why.
            no_value = getattr(variable.type, "no_value", None)
            raise MissingInputError(_missing(variable, user, self._where)) if no_value is None else no_value()
        memo[variable] = copy
        return copy


def _is_mere_view(op: Op) -> bool:
    """Tell whether an op shows its input in another way and does nothing else, so that once is as good as twice."""
    folds = type(op).do_constant_folding is Op.do_constant_folding
    return folds and bool(op.view_map) and not op.destroy_map and bool(getattr(op, "mergeable", True))


def _clone_input(variable: Variable) -> Variable:
    # An input may be the result of a computation, or carry a test value: only type, name, tag and origin are kept.
    copy: Variable = variable.clone()
    return copy


def _missing(variable: Variable, user: Apply | None, where: str) -> str:
    lines = [describe(variable)]
    if user is None:
        use = "itself an output or an update"
    else:
        origin = f" at {user.origin}" if user.origin is not None else ""
        use = f"used to compute {user}{origin}"
    lines.append(use)
    label = f"`{variable}`" if variable.name else "an unnamed variable"
    return format_error(
        f"{where}: an input of the graph, {label}, {use.split(' at ')[0]}, was not provided and not given a value",
        context=lines,
        hint=f"add {label} to the inputs, give it a value with `givens`, or make it a shared variable.",
    )
