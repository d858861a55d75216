"""Rules that are written as a pattern and a replacement."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable, compose

from ._errors import PatternError
from ._info import Exactness, Phase, RewriteInfo, make_info
from ._match import Application, Guarded, Match, Pattern, compile_pattern
from ._node_rewriter import NodeRewriter, Tracks, TransformResult


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
        What stands there afterwards: a tuple is the call of its first item (an op or any callable) on the rest; a
        string is what the wildcard stands for; a callable is called with the wildcards as keyword arguments and
        returns a variable, or None for no change.
    name : str, optional
        The text of the rule by default.
    allow_multiple_clients : bool
        Whether the rule fires when a node inside the pattern is also used outside of it, so that it stays in the graph.
    when : callable, optional
        Condition on the whole match, called with the wildcards as keyword arguments.
    phase, tags, exactness, reference
        See :class:`RewriteInfo`.

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
        phase: Phase | str | None = None,
        tags: Iterable[str] = (),
        exactness: Exactness | str = Exactness.EXACT,
        reference: str | None = None,
    ) -> None:
        compiled = compile_pattern(pattern)
        root, constraint = (
            (compiled.pattern, compiled.constraint) if isinstance(compiled, Guarded) else (compiled, None)
        )
        if not isinstance(root, Application):
            raise PatternError(
                compose(f"a pattern starts with an op, not with {pattern!r}", mend="write (op, part, ...)")
            )
        self.pattern: Pattern = compiled
        self._root = root
        self._constraint = constraint
        self.replacement = replacement
        self.allow_multiple_clients = allow_multiple_clients
        self.when = when
        _check_replacement(replacement, set(compiled.wildcards()), top=True)
        rule = name or f"{compiled} -> {_replacement_text(replacement)}"
        info: RewriteInfo = make_info(rule, phase=phase, tags=tags, exactness=exactness, reference=reference)
        super().__init__(info=info, reach=max(root.depth - 1, 0))

    def tracks(self) -> Tracks:
        return (self._root.op,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        if len(node.outputs) > 1 and node.op.default_output is None:
            return None
        output: Variable = node.default_output()
        # Most nodes fail here, before any object is made.
        if not self._root.fits_op(node.op) or not self._root.may_match_inputs(node):
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
            new: Any = replacement(**bindings)
        else:
            new = _substituted(replacement, bindings)
        if new is None:
            return None
        if isinstance(new, Variable) and output.type.is_super(new.type):
            return new
        try:
            return output.type.filter_variable(new)
        except (TypeError, ValueError):
            return None


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
            if any(client not in matched for client, _ in fgraph.clients(output)):
                return True
    return False


def _check_replacement(replacement: object, wildcards: set[str], *, top: bool = False) -> None:
    if isinstance(replacement, str):
        if replacement not in wildcards:
            raise PatternError(
                compose(
                    f"the replacement uses the wildcard {replacement!r}, which the pattern does not have",
                    where=[f"wildcards of the pattern: {', '.join(sorted(wildcards)) or 'none'}"],
                    mend="use one of these, or add it to the pattern",
                )
            )
    elif isinstance(replacement, tuple):
        if not replacement or not callable(replacement[0]):
            raise PatternError(
                compose(f"{replacement!r} cannot be called in a replacement", mend="write (op, part, ...)")
            )
        for part in replacement[1:]:
            _check_replacement(part, wildcards)
    elif not _is_plain(replacement) and not (top and callable(replacement) and not isinstance(replacement, Op)):
        raise PatternError(
            compose(
                f"{replacement!r} cannot stand in a replacement",
                mend="use a tuple, a wildcard, a number, a variable or a function",
            )
        )


def _is_plain(replacement: object) -> bool:
    return isinstance(replacement, (Variable, numbers.Number))


def _replacement_text(replacement: object) -> str:
    if isinstance(replacement, tuple):
        return f"{_replacement_text(replacement[0])}({', '.join(map(_replacement_text, replacement[1:]))})"
    return str(getattr(replacement, "__name__", replacement))
