"""Rules as a pattern and a replacement, both written as ordinary expressions over wildcards."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    as_string,
    describe,
    format_error,
    graph_inputs,
    toposort,
)

from .._info import Exactness, PatternError, Phase, RewriteInfo, make_info
from ._match import Application, Guarded, Match, Pattern, compile_pattern, constant_scalar
from ._node_rewriter import NodeRewriter, Tracks, TransformResult, check_tracks

# ---- Patterns written as ordinary expressions over wildcards


def pattern_of(expression: Variable, wildcards: Sequence[Variable], *, typed: bool = False) -> object:
    """Return an expression as a pattern in nested tuples; see :class:`PatternRewriter`.

    Parameters
    ----------
    expression : Variable
    wildcards : sequence of Variable
        Variables of the expression that stand for anything. Each has a name; the pattern uses it.
    typed : bool
        Whether a wildcard fits only variables of its type or a more precise one.

    Raises
    ------
    PatternError
        If the expression needs a variable that is no wildcard, or a wildcard has no name or shares it.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> pattern_of(neg(neg(x)), [x]) == (neg, (neg, "x"))
    True
    """
    parts: dict[Variable, object] = _wildcard_parts(wildcards, typed)
    for node in toposort(parts, [expression]):
        for variable in node.inputs:
            _note_leaf(variable, parts)
        if len(node.outputs) == 1 or node.op.default_output is not None:
            parts[node.default_output()] = (node.op, *(parts[v] for v in node.inputs))
    _note_leaf(expression, parts)
    return parts[expression]


def _wildcard_parts(wildcards: Sequence[Variable], typed: bool) -> dict[Variable, object]:
    parts: dict[Variable, object] = {}
    names = set()
    for wildcard in wildcards:
        name = wildcard.name
        if name is None or name in names:
            raise PatternError(
                format_error(
                    "each wildcard of a pattern needs a name of its own",
                    context=[describe(wildcard)],
                    hint="give the variable a name when it is made",
                )
            )
        names.add(name)
        parts[wildcard] = {"pattern": name, "constraint": _has_type(wildcard)} if typed else name
    return parts


def _has_type(wildcard: Variable) -> Any:
    def fits(variable: Variable) -> bool:
        return wildcard.type.is_super(variable.type)

    fits.__name__ = str(wildcard.type)
    return fits


def _note_leaf(variable: Variable, parts: dict[Variable, object]) -> None:
    """Enter a constant; raise for a variable that a pattern cannot have."""
    if variable in parts:
        return
    if isinstance(variable, Constant):
        number = constant_scalar(variable.type, variable.data)
        parts[variable] = variable if number is None else number
        return
    what = "needs an output that is not the default output of its node" if variable.owner else "is no wildcard"
    raise PatternError(
        format_error(
            f"`{variable}` cannot stand in a pattern: it {what}",
            context=[describe(variable)],
            hint="list it among the wildcards, or write the rule as a function with node_rewriter",
        )
    )


def rebuilt(expression: Variable, bindings: Mapping[Variable, Variable]) -> Variable:
    """Return an expression with its wildcards replaced: the ops are applied anew, so that types follow.

    Parameters
    ----------
    expression : Variable
    bindings : mapping
        From wildcards to their variables.
    """
    table: dict[Variable, Variable] = dict(bindings)
    for node in toposort(table, [expression]):
        instance = node.op.make_node(*(table.get(v, v) for v in node.inputs))
        table.update(zip(node.outputs, instance.outputs, strict=True))
    return table.get(expression, expression)


# ---- Rules as a pattern and a replacement


class PatternRewriter(NodeRewriter):
    """Replace expressions that fit a pattern.

    Parameters
    ----------
    pattern : tuple
        ``(op, part, ...)``, where `op` is an op or a class of ops and a part is again a tuple, or

        - a string: a wildcard, which fits everything; used twice, it fits the same variable (or equal constants) twice;
        - a number: fits constants that stand for it, see :func:`constant_scalar`;
        - a variable: fits this variable, or a constant equal to it;
        - ``{"pattern": part, "constraint": function}``: fits where `part` fits and ``function(variable)`` is true.

        Where an op has a true attribute ``commutative``, its inputs are tried in all orders.
    replacement : tuple, str, number, Variable or callable
        The replacement: a tuple is the call of its first item (an op or any callable) on the rest; a
        string is the variable of the wildcard; a callable is called with the wildcards as keyword arguments and
        returns a variable, or None for no change.
    name : str, optional
        The text of the rule by default.
    allow_multiple_clients : bool
        Whether the rule fires when a node inside the pattern is also used outside of it, so that it stays in the graph.
    when : callable, optional
        Condition on the whole match, called with the wildcards as keyword arguments.
    see_through : callable, optional
        Gives the variable behind one that is an identity of it, or None; parts of the pattern below its root also fit
        behind identities.
    tracks : iterable of Op and op classes, optional
        Where the rule is asked instead of at the root of the pattern: a part of it that is rarer.
    candidates : callable, optional
        With `tracks`: gives the nodes that may be the root of the pattern for a tracked node.
    values_eq_approx : callable, optional
        The comparison of values before and after, for tools; put on the tag of the result.
    debug : bool
        Enter the debugger where the op at the root fits.
    phase, tags, exactness, reference
        See :class:`RewriteInfo`; `when` is the guard.

    Raises
    ------
    PatternError
        If the pattern is malformed or the replacement names a wildcard that the pattern does not have.

    Notes
    -----
    A rule speaks of values. Where the replacement has a type that cannot stand in place of the old one (a scalar for
    an array, say), the rule does not apply there and the node stays as it is.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> fgraph = FunctionGraph([x], [neg(neg(x))])
    >>> from theano_optimize import WalkRewriter
    >>> WalkRewriter(PatternRewriter((neg, (neg, "x")), "x")).rewrite(fgraph).changes
    1
    >>> fgraph.outputs
    [x]
    """

    def __init__(
        self,
        pattern: object,
        replacement: object,
        name: str | None = None,
        *,
        allow_multiple_clients: bool = False,
        when: Callable[..., object] | None = None,
        see_through: Callable[[Variable], Variable | None] | None = None,
        tracks: Iterable[Op | type[Op]] | None = None,
        candidates: Callable[[Apply], Iterable[object]] | None = None,
        values_eq_approx: Callable[..., object] | None = None,
        debug: bool = False,
        phase: Phase | str | None = None,
        tags: Iterable[str] = (),
        exactness: Exactness | str = Exactness.EXACT,
        reference: str | None = None,
    ) -> None:
        compiled = compile_pattern(pattern, see_through)
        root, constraint = (
            (compiled.pattern, compiled.constraint) if isinstance(compiled, Guarded) else (compiled, None)
        )
        if not isinstance(root, Application):
            raise PatternError(
                format_error(f"a pattern starts with an op, not with {pattern!r}", hint="write (op, part, ...)")
            )
        self.pattern: Pattern = compiled
        self._root = root
        self._constraint = constraint
        self.replacement = replacement
        self.allow_multiple_clients = allow_multiple_clients
        self.when = when
        self.candidates = candidates
        self.values_eq_approx = values_eq_approx
        self.debug = debug
        _check_replacement(replacement, set(compiled.wildcards()), top=True)
        rule = name or f"{compiled} -> {_replacement_text(replacement)}"
        info: RewriteInfo = make_info(
            rule, phase=phase, tags=tags, exactness=exactness, reference=reference, guard=when
        )
        super().__init__(info=info, reach=max(root.depth - 1, 0))
        self._tracks = check_tracks([root.op] if tracks is None else tracks, rule)

    @classmethod
    def from_expressions(
        cls,
        before: Variable,
        after: Variable,
        wildcards: Sequence[Variable],
        name: str | None = None,
        *,
        typed: bool = False,
        **options: Any,
    ) -> PatternRewriter:
        """Make a rule of two ordinary expressions over variables that serve as wildcards.

        Parameters
        ----------
        before, after : Variable
            The pattern, and its replacement. The ops of `after` are applied anew.
        wildcards : sequence of Variable
            The variables that stand for anything, each with a name.
        name : str, optional
        typed : bool
            Whether a wildcard fits only variables of its type or a more precise one.
        **options
            As for the class.

        Raises
        ------
        PatternError
            If an expression needs a variable that is no wildcard, or `after` one that `before` does not have.

        Examples
        --------
        >>> from theano_graph import Generic, Op
        >>> class Neg(Op):
        ...     __props__ = ()
        ...     itypes = otypes = (Generic(),)
        >>> neg, x = Neg(), Generic()("x")
        >>> PatternRewriter.from_expressions(neg(neg(x)), x, [x]).name
        'Neg(Neg(x)) -> x'
        """
        pattern = pattern_of(before, wildcards, typed=typed)
        used = set(compile_pattern(pattern).wildcards())
        for variable in graph_inputs([after], wildcards):
            if not isinstance(variable, Constant) and (variable not in wildcards or variable.name not in used):
                raise PatternError(
                    format_error(
                        f"the replacement needs `{variable}`, which the pattern does not have",
                        context=[describe(variable)],
                        hint="use the wildcards of the pattern",
                    )
                )

        def replacement(**bindings: Variable) -> Variable:
            return rebuilt(after, {w: bindings[w.name] for w in wildcards if w.name in bindings})

        (text,) = as_string(list(wildcards), [after])
        replacement.__name__ = text
        return cls(pattern, replacement, name, **options)

    def tracks(self) -> Tracks:
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        if self.candidates is None:
            return self._at(fgraph, node)
        for root in self.candidates(node):
            if isinstance(root, Apply):
                result = self._at(fgraph, root)
                if result is not None:
                    return result if isinstance(result, Mapping) else {root.outputs[0]: result[0]}
        return None

    def _at(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | dict[Variable, Variable] | None:
        """Return the answer for a node that may be the root of the pattern."""
        if len(node.outputs) > 1 and node.op.default_output is None:
            return None
        output: Variable = node.default_output()
        # Most nodes fail here, before any object is made.
        if not self._root.fits_op(node.op):
            return None
        if self.debug:
            breakpoint()
        if not self._root.may_match_inputs(node):
            return None
        if self._constraint is not None and not self._constraint(output):
            return None
        for match in self._root.matches_inputs(node, Match({}, (node,))):
            if not self.allow_multiple_clients and _used_outside(fgraph, match):
                continue
            if self.when is not None and not self.when(**match.bindings):
                continue
            new = self._build(self.replacement, match.bindings, output)
            if new is not None:
                return {output: new} if len(node.outputs) > 1 else [new]
        return None

    def _build(self, replacement: object, bindings: dict[str, Variable], output: Variable) -> Variable | None:
        """Return the replacement as a variable that fits in place of `output`, or None if it does not fit."""
        if callable(replacement) and not isinstance(replacement, Variable):
            offered: Any = replacement(**bindings)
        else:
            offered = _substituted(replacement, bindings)
        if offered is None:
            return None
        new: Variable
        if isinstance(offered, Variable) and output.type.is_super(offered.type):
            new = offered
        else:
            try:
                new = output.type.narrow_variable(offered)
            except (TypeError, ValueError):
                return None
        if self.values_eq_approx is not None:
            new.tag.values_eq_approx = self.values_eq_approx
        return new


def _substituted(replacement: object, bindings: dict[str, Variable]) -> Any:
    if isinstance(replacement, str):
        return bindings[replacement]
    if isinstance(replacement, tuple):
        build = replacement[0]
        return build(*(_substituted(part, bindings) for part in replacement[1:]))
    return replacement


def _used_outside(fgraph: FunctionGraph, match: Match) -> bool:
    """Tell whether a node below the root of a match has a client that is not part of the match."""
    matched = set(match.nodes)
    for node in match.nodes[1:]:
        for output in node.outputs:
            # A group may ask about nodes that are in no graph yet: only the match uses these.
            if output in fgraph.variables and any(client not in matched for client, _ in fgraph.clients(output)):
                return True
    return False


def _check_replacement(replacement: object, wildcards: set[str], *, top: bool = False) -> None:
    if isinstance(replacement, str):
        if replacement not in wildcards:
            raise PatternError(
                format_error(
                    f"the replacement uses the wildcard {replacement!r}, which the pattern does not have",
                    context=[f"wildcards of the pattern: {', '.join(sorted(wildcards)) or 'none'}"],
                    hint="use one of these, or add it to the pattern",
                )
            )
    elif isinstance(replacement, tuple):
        if not replacement or not callable(replacement[0]):
            raise PatternError(
                format_error(f"{replacement!r} cannot be called in a replacement", hint="write (op, part, ...)")
            )
        for part in replacement[1:]:
            _check_replacement(part, wildcards)
    elif not _is_plain(replacement) and not (top and callable(replacement) and not isinstance(replacement, Op)):
        raise PatternError(
            format_error(
                f"{replacement!r} cannot stand in a replacement",
                hint="use a tuple, a wildcard, a number, a variable or a function",
            )
        )


def _is_plain(replacement: object) -> bool:
    return isinstance(replacement, (Variable, numbers.Number))


def _replacement_text(replacement: object) -> str:
    if isinstance(replacement, tuple):
        return f"{_replacement_text(replacement[0])}({', '.join(map(_replacement_text, replacement[1:]))})"
    return str(getattr(replacement, "__name__", replacement))
