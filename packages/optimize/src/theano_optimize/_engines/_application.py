"""Application of a rule to a node: the question, the checks of its answer, and the change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from theano_graph import (
    Apply,
    FunctionGraph,
    History,
    InconsistencyError,
    ReplaceValidate,
    Variable,
    describe,
    format_error,
    origin_from,
)

from .._info import RewriteError, expression_text, report_failure, tree_lines
from .._profile import count_new
from .._rules._node_rewriter import NodeRewriter, TransformResult
from ._graph_rewriter import DEFAULT_OPTIONS, RewriteOptions

# ---- Safe application of the answer of a rule
#
# All engines go through :class:`RuleApplication`: it checks the answer of a rule before the graph is touched, so that
# after an error the graph is as it was.

Pairs = list[tuple[Variable, Variable]]

#: Depth to which errors print the expression in question.
ERROR_DEPTH = 4


def is_unchanged(node: Apply, result: TransformResult) -> bool:
    """Tell whether the answer of a rule about `node` means that nothing is to be done."""
    if result is None or result is False:
        return True
    if isinstance(result, Mapping):
        return all(old is new for old, new in result.items())
    outputs = node.outputs
    return isinstance(result, (list, tuple)) and len(result) == len(outputs) and all(map(_is_same, result, outputs))


def _is_same(new: Variable | None, old: Variable) -> bool:
    return new is old


class RuleApplication:
    """Applies rules to nodes of one function graph under given options.

    Parameters
    ----------
    fgraph : FunctionGraph
    options : RewriteOptions
    """

    def __init__(self, fgraph: FunctionGraph, options: RewriteOptions) -> None:
        self.fgraph = fgraph
        self.options = options
        self.trace = options.trace
        self.details = options.details
        self._timed = options.trace is not None or options.details is not None
        self._seconds = 0.0
        #: Whether a feature checks the graph, so that replacements may be refused.
        self.validates = any(hasattr(feature, "validate") for feature in fgraph.features)
        if self.validates and not hasattr(fgraph, "replace_all_validate"):
            fgraph.attach_feature(ReplaceValidate())

    @property
    def may_refuse(self) -> bool:
        """Whether rewriting may go on after a replacement that was taken back."""
        options = self.options
        return self.validates or options.on_error in ("warn", "ignore") or options.on_failure is not None

    def ask(self, rewriter: NodeRewriter, node: Apply) -> tuple[NodeRewriter, Pairs] | None:
        """Return the rule that answered and the checked replacements that it offers, or None for no change.

        The caller has set the origin for new nodes.
        """
        return next(self.answers((rewriter,), node), None)

    def answers(self, rewriters: Iterable[NodeRewriter], node: Apply) -> Iterator[tuple[NodeRewriter, Pairs]]:
        """Ask rules in turn; yield the rules that answered, with their checked replacements.

        The caller has set the origin for new nodes.
        """
        fgraph, timed = self.fgraph, self._timed
        start = 0.0
        for rewriter in rewriters:
            if timed:
                start = perf_counter()
            try:
                direct = rewriter.direct
                if direct is None:
                    rule, result = rewriter.attempt(fgraph, node)
                else:
                    rule, result = rewriter, direct(fgraph, node)
            except Exception as error:  # noqa: BLE001  # the boundary to rules written by anybody; raised again below
                self._fail(error if isinstance(error, RewriteError) else _raised(rewriter, node, error))
                continue
            if timed:
                self._note(rule, perf_counter() - start)
            if result is None or result is False:
                continue
            pairs = self._pairs_of(rule, node, result)
            if pairs:
                yield rule, pairs

    def _note(self, rule: NodeRewriter, seconds: float) -> None:
        """Record how long a rule took to answer; a group that answers nothing is charged as a whole."""
        self._seconds = seconds
        for record in (self.trace, self.details):
            if record is not None:
                record.asked(rule.name, seconds)

    def _pairs_of(self, rule: NodeRewriter, node: Apply, result: TransformResult) -> Pairs | None:
        """Return the checked replacements of an answer; None where it changes nothing, or is wrong and errors pass."""
        if is_unchanged(node, result):
            return None
        try:
            return self._checked_pairs(rule, node, result)
        except RewriteError as error:
            self._fail(error)
            return None

    def replace(self, rule: NodeRewriter, node: Apply, pairs: Pairs) -> bool:
        """Carry out the result of :meth:`ask`.

        False, with the graph as it was, if a feature finds the result inconsistent (an in-place form where something
        is still needed), or raised an error and errors are warnings.
        """
        trace = self.trace
        if trace is not None:
            before = "\n".join(expression_text(old, trace.depth) for old, _ in pairs)
            where = describe(node.outputs[0]) if node.outputs else str(node)
        for old, new in pairs:
            if new.name is None and old.name is not None and new.owner is not None:
                new.name = old.name
        created = 0 if self.details is None else count_new(self.fgraph, (new for _, new in pairs))
        start = perf_counter()
        try:
            self._replace_all(pairs, rule)
        except InconsistencyError as error:
            refused = _raised(rule, node, error, "its replacement was refused:")
            if not self.validates:
                self._fail(refused)
            elif self.options.on_failure is not None:
                self.options.on_failure(refused)  # forms are tried here, but somebody wants to know
            return False
        except Exception as error:  # noqa: BLE001  # features are written by anybody; raised again below
            self._fail(_raised(rule, node, error, "its replacement was refused:"))
            return False
        if self.details is not None:
            self.details.replaced(rule.name, perf_counter() - start, created, len(self.fgraph.apply_nodes))
        if trace is not None:
            after = "\n".join(expression_text(new, trace.depth) for _, new in pairs)
            seconds = self._seconds + perf_counter() - start
            trace.fired(rule.info, where, before, after, seconds, rule.statement())
        return True

    def _replace_all(self, pairs: Pairs, reason: NodeRewriter) -> None:
        """Make all replacements or, where one of them fails or the result is inconsistent, none."""
        fgraph: Any = self.fgraph  # features lend it the methods used here
        if self.validates:
            fgraph.replace_all_validate(pairs, reason)
        elif len(pairs) == 1:
            fgraph.replace_all(pairs, reason)
        else:
            history = None if hasattr(fgraph, "revert") else History()
            try:
                if history is not None:
                    fgraph.attach_feature(history)
                mark = fgraph.checkpoint()
                try:
                    fgraph.replace_all(pairs, reason)
                except Exception:
                    fgraph.revert(mark)
                    raise
                except BaseException as interrupt:
                    try:
                        fgraph.revert(mark)
                    except Exception as error:  # noqa: BLE001  # nothing hides the interrupt
                        interrupt.add_note(f"the replacements could not be undone: {error}")
                    raise
            finally:
                if history in fgraph.features:
                    fgraph.remove_feature(history)

    def _fail(self, error: RewriteError) -> None:
        """Raise `error`, warn of it or drop it, as the options say."""
        on_failure = self.options.on_failure
        if on_failure is not None and on_failure(error):
            return
        on_error = self.options.on_error
        if on_error == "warn":
            report_failure(error.rewriter, error.node, error)
            return
        if on_error == "ignore":
            return
        if on_error == "pdb":
            breakpoint()
        raise error

    def _checked_pairs(self, rule: NodeRewriter, node: Apply, result: Any) -> Pairs:
        """Turn an answer into pairs of old and new variables that fit, leaving out unchanged ones."""
        if isinstance(result, Mapping):
            offered: Sequence[tuple[Any, Any]] = list(result.items())
            self._check_known(rule, node, offered)
        elif isinstance(result, (list, tuple)):
            if len(result) != len(node.outputs):
                raise _wrong(
                    rule,
                    node,
                    f"returned {len(result)} variables for a node with {len(node.outputs)} outputs",
                    "return one variable for each output, None where an output is not used, or a mapping",
                )
            offered = list(zip(node.outputs, result, strict=True))
        else:
            raise _wrong(
                rule,
                node,
                f"returned {type(result).__name__}",
                "return None, a list of variables, or a mapping of variables",
            )
        pairs = []
        for old, new in offered:
            if new is None:
                self._check_unused(rule, node, old)
            elif new is not old and self.fgraph.has_clients(old):
                fitting = self._fitting(rule, node, old, new)
                self._check_no_cycle(rule, node, old, fitting)
                _check_differs(rule, node, old, fitting)
                pairs.append((old, fitting))
        return pairs

    def _check_known(self, rule: NodeRewriter, node: Apply, offered: Sequence[tuple[Any, Any]]) -> None:
        for old, _ in offered:
            if not isinstance(old, Variable) or old not in self.fgraph.variables:
                raise _wrong(
                    rule, node, f"wants to replace {old!r}, which is not in the graph", "replace variables of the graph"
                )

    def _check_unused(self, rule: NodeRewriter, node: Apply, old: Variable) -> None:
        if self.fgraph.has_clients(old):
            raise _wrong(
                rule,
                node,
                f"returned None for output {old.index}, which is used",
                "return a replacement, or the output itself where it stays",
            )

    def _fitting(self, rule: NodeRewriter, node: Apply, old: Variable, new: Any) -> Variable:
        """Return `new`, converted if need be, as a variable that can stand in place of `old`."""
        if not isinstance(new, Variable):
            raise _wrong(
                rule,
                node,
                f"returned {new!r}, which is no variable",
                "return variables; make constants with make_constant",
            )
        if old.type.is_super(new.type):
            return new
        try:
            return old.type.narrow_variable(new)
        except (TypeError, ValueError) as error:
            raise _wrong(
                rule,
                node,
                f"wants to replace a variable of type {old.type.describe()} by one of type {new.type.describe()}",
                "return a variable of the same or a more precise type",
            ) from error

    def _check_no_cycle(self, rule: NodeRewriter, node: Apply, old: Variable, new: Variable) -> None:
        """Refuse a replacement that needs the variable it replaces.

        Only the new nodes and one level of old ones are looked at, so that this costs no more than importing the new
        nodes.
        """
        nodes = self.fgraph.apply_nodes
        stack = [new.owner] if new.owner is not None else []
        seen = set(stack)
        while stack:
            current = stack.pop()
            for variable in current.inputs:
                if variable is old:
                    raise _wrong(
                        rule,
                        node,
                        f"offers a replacement for `{old}` that is itself computed from `{old}`",
                        "build the replacement from the inputs of the node",
                    )
                owner = variable.owner
                if owner is not None and owner not in seen and current not in nodes:
                    seen.add(owner)
                    stack.append(owner)


def _check_differs(rule: NodeRewriter, node: Apply, old: Variable, new: Variable) -> None:
    """Refuse a replacement that does the same with the same inputs and the same type: nothing would be gained."""
    ours, theirs = old.owner, new.owner
    if ours is None or theirs is None or type(ours.op) is not type(theirs.op) or new.type.exact != old.type.exact:
        return
    if new.index == old.index and ours.inputs == theirs.inputs and ours.op == theirs.op:
        raise _wrong(
            rule,
            node,
            f"replaces `{old}` by itself: {theirs.op} on the same inputs",
            "return None where there is nothing to change",
        )


def _where(node: Apply) -> list[str]:
    """Return the lines that show a node in an error: its outputs with their origin, and its expression."""
    return [*map(describe, node.outputs), *tree_lines(node.outputs[:1], ERROR_DEPTH)]


def _wrong(rule: NodeRewriter, node: Apply, what: str, hint: str) -> RewriteError:
    text = format_error(
        f"rewrite `{rule.name}` {what}", context=_where(node), hint=f"in `{rule.name}`, {hint}; or exclude this rewrite"
    )
    return RewriteError(text, rewriter=rule.name, rule=rule, node=node)


def _raised(rule: NodeRewriter, node: Apply, error: Exception, how: str = "raised") -> RewriteError:
    text = format_error(
        f"rewrite `{rule.name}`: {how} {type(error).__name__}: {error}",
        context=_where(node),
        hint=f"repair `{rule.name}`, or exclude it; the graph is as it was before this rewrite",
    )
    result = RewriteError(text, rewriter=rule.name, rule=rule, node=node)
    result.__cause__ = error
    return result


# ---- One rule applied to one node, with all checks of the engines


def rewrite_node(
    rewriter: NodeRewriter, fgraph: FunctionGraph, node: Apply, options: RewriteOptions = DEFAULT_OPTIONS
) -> bool:
    """Ask a rule about one node and carry out its answer; for graph rewriters with an order of their own.

    Parameters
    ----------
    rewriter : NodeRewriter
    fgraph : FunctionGraph
    node : Apply
        A node of `fgraph`.
    options : RewriteOptions

    Returns
    -------
    bool
        Whether the graph has changed.

    Raises
    ------
    RewriteError
        If the rule fails and `options` do not say otherwise; the graph is as it was.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> from theano_optimize import RemoveOp
    >>> class Identity(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [Identity()(x)])
    >>> rewrite_node(RemoveOp(Identity()), fgraph, fgraph.outputs[0].owner)
    True
    """
    application = RuleApplication(fgraph, options)
    with origin_from(node):
        answer = application.ask(rewriter, node)
        return answer is not None and application.replace(answer[0], node, answer[1])
