"""Updates of shared variables, and the copy of the user's graph with `givens` in their places."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    MissingInputError,
    Op,
    Type,
    Variable,
    ancestors,
    describe,
    format_error,
    toposort,
)

from ..runtime._native_machine import HAS_RUNTIME, runtime
from ..runtime._storage import SharedVariable
from ._io import DuplicateUpdateError, GivensError, UpdateError

# ---- Updates of shared variables: the container type, and the checks that `function` makes


class OrderedUpdates(dict[SharedVariable, Any]):
    """A dictionary from shared variables to their new expressions; keys are checked and collisions refused.

    Examples
    --------
    >>> import theano
    >>> s = theano.shared("a", name="s")
    >>> both = theano.OrderedUpdates({s: s}) + {}
    >>> list(both)
    [s]
    """

    def __init__(self, *pairs: Any) -> None:
        super().__init__()
        for pairs_of_user in pairs:
            self.update(pairs_of_user)

    def __setitem__(self, key: SharedVariable, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            raise TypeError(
                format_error(
                    f"OrderedUpdates: a key must be a shared variable, not {type(key).__name__}",
                    context=[describe(key)] if isinstance(key, Variable) else [repr(key)],
                    hint="make it with `shared(value)`.",
                )
            )
        super().__setitem__(key, value)

    def update(self, other: Any = None, /, **_: Any) -> None:
        """Add the pairs of `other`.

        Raises
        ------
        KeyError
            If a variable has another expression already.
        """
        for key, value in _pairs(other, "OrderedUpdates.update"):
            if key in self and self[key] is not value:
                raise KeyError(
                    format_error(
                        "OrderedUpdates: one variable would have two different updates",
                        context=[describe(key)],
                        hint="combine the two expressions into one.",
                    )
                )
            self[key] = value

    def __add__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates(self, other)

    def __radd__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates(other, self)


def _pairs(pairs: Any, where: str) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of a mapping or of an iterable of pairs; None has none."""
    if pairs is None:
        return ()
    if isinstance(pairs, Mapping):
        return list(pairs.items())
    try:
        items = [tuple(item) for item in pairs]
    except TypeError:
        items = [()]
    for item in items:
        if len(item) != 2:
            raise UpdateError(
                format_error(
                    f"{where}: neither a dictionary nor a list of pairs: {pairs!r}",
                    hint="write `{variable: expression}` or `[(variable, expression)]`.",
                )
            )
    return [(item[0], item[1]) for item in items]


def as_pairs(pairs: Any, where: str) -> list[tuple[Any, Any]]:
    """Return `pairs`, a dictionary or an iterable of pairs or None, as a list of pairs.

    Raises
    ------
    UpdateError
        If it is anything else.
    """
    return list(_pairs(pairs, where))


def as_updates(updates: Any, where: str) -> dict[SharedVariable, Variable]:
    """Return the `updates` argument of `function`, checked.

    Raises
    ------
    UpdateError
        For a target that is not a shared variable, or an expression of another type.
    DuplicateUpdateError
        For two expressions for one variable.
    """
    checked: dict[SharedVariable, Variable] = {}
    for target, expression in as_pairs(updates, f"{where}: updates"):
        if not isinstance(target, SharedVariable):
            named = describe(target) if isinstance(target, Variable) else repr(target)
            raise UpdateError(
                format_error(
                    f"{where}: an update target must be a SharedVariable: it must be a shared variable, not "
                    f"{type(target).__name__}",
                    context=[named],
                    hint="make the target with `shared(value)`, or give an input that keeps its value between calls: "
                    "`In(x, value=..., update=...)`.",
                )
            )
        if target in checked:
            raise DuplicateUpdateError(
                format_error(
                    f"{where}: `{target}` has two update expressions: it already has an update expression",
                    context=[describe(target), describe(checked[target]), describe_any(expression)],
                    hint="combine them into one expression.",
                )
            )
        checked[target] = check_update(target, expression, where)
    return checked


def check_update(target: SharedVariable, expression: Any, where: str) -> Variable:
    """Return `expression` as a variable whose values can be stored in `target`.

    Raises
    ------
    UpdateError
        If the types differ; the message tells where a different dtype entered the expression.
    """
    try:
        return _of_same_pattern(target, target.type.narrow_variable(expression, allow_convert=False))
    except (TypeError, ValueError) as error:
        lines = [f"shared variable {describe(target)}", f"its update {describe_any(expression)}"]
        hint = f"give the update the type {target.type.describe()}."
        if isinstance(expression, Variable):
            target_dtype, expression_dtype = _dtype(target.type), _dtype(expression.type)
            if target_dtype is not None and expression_dtype is not None and target_dtype != expression_dtype:
                lines += _dtype_entries(expression, expression_dtype)
                update = f"({target}, new_value.astype({target_dtype!r}))"
                hint = f"cast the update: `{update}`, or cast what brings {expression_dtype} in."
            elif target_dtype is not None and target_dtype == expression_dtype:
                hint = (
                    f"give the update the shape of {target.type.describe()}: reduce or add axes; "
                    "for an axis of length 1, `unbroadcast` or `patternbroadcast`."
                )
        raise UpdateError(
            format_error(
                f"{where}: the update of `{target}` has another type: it must have the same type as the original",
                context=lines,
                hint=hint,
            )
        ) from error


def _of_same_pattern(target: SharedVariable, value: Variable) -> Variable:
    """Return `value`; refuse one that is known to broadcast where the variable is not: it would lose its shape."""
    if hasattr(target.type, "broadcastable") and value.type != target.type:
        raise TypeError(f"{value.type.describe()} differs from {target.type.describe()}")
    return value


def describe_any(value: Any) -> str:
    """Return :func:`describe` of a variable, and the representation of anything else."""
    return describe(value) if isinstance(value, Variable) else f"{value!r} ({type(value).__name__})"


def _dtype(type_: Type) -> str | None:
    dtype = getattr(type_, "dtype", None)
    return None if dtype is None else str(dtype)


def _dtype_entries(expression: Variable, dtype: str, limit: int = 3) -> list[str]:
    """Return lines that tell at which nodes or leaves `dtype` enters the graph of `expression`."""
    lines: list[str] = []
    # Only paths on which every variable has the dtype lead to where it entered.
    foreign = [v for v in ancestors([expression]) if _dtype(v.type) != dtype]
    for variable in ancestors([expression], blockers=foreign):
        if _dtype(variable.type) != dtype:
            continue
        node = variable.owner
        if node is None:
            kind = "constant" if isinstance(variable, Constant) else "variable"
            lines.append(f"{dtype} comes from the {kind} {describe(variable)}")
        elif not any(_dtype(v.type) == dtype for v in node.inputs):
            origin = f" made at {node.origin}" if node.origin is not None else ""
            operands = ", ".join(f"`{v}`: {v.type.describe()}" for v in node.inputs)
            lines.append(f"{dtype} comes from {node.op} of {operands}{origin}")
        if len(lines) == limit:
            break
    return lines


# ---- The user's graph is copied for the function, with `givens` put in their places

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
