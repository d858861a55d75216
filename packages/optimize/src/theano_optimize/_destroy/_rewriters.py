"""Graph rewriters for working in place: the one that attaches the handler, and one that puts in-place forms in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from theano_graph import Apply, FunctionGraph, Op, Variable, origin_from

from .._engines._application import RuleApplication
from .._engines._graph_rewriter import GraphRewriter, RewriteOptions
from .._info import RewriteInfo
from .._profile import RewriteProfile
from .._rules._node_rewriter import NodeRewriter, RewriterIndex, Tracks, TransformResult, check_tracks
from ._handler import DestroyHandler, require_handler

#: An in-place form of a node: an op for the same inputs, or the outputs of a node that has been made.
Form: TypeAlias = Op | Sequence[Variable]
Forms: TypeAlias = Callable[[Apply], Iterable[Form]]


class AddDestroyHandler(GraphRewriter):
    """Attach a :class:`DestroyHandler`: from here on each replacement is checked, and rewrites may work in place.

    Rewrites that put in-place forms in come after this one; engines undo changes that the handler refuses, so that a
    rule may offer an in-place form without asking. The handler itself keeps outputs of the graph from being
    overwritten; a :class:`Supervisor` names the caller's variables.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [x], clone=False)
    >>> AddDestroyHandler().rewrite(fgraph).changes
    0
    >>> fgraph.has_destroyers([x])
    False
    """

    def __init__(self, name: str = "add_destroy_handler", *, info: RewriteInfo | None = None) -> None:
        super().__init__(name, info=info)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        require_handler(fgraph)

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        return RewriteProfile(self.name)


class InplaceRewriter(GraphRewriter):
    """Put in-place forms of nodes in wherever that is safe, in topological order, the first safe form of each node.

    A form that would overwrite protected memory is passed over before a node is made of it; the others are
    put in, checked by the :class:`DestroyHandler`, and taken out again where it refuses. No try costs a walk over the
    graph.

    Parameters
    ----------
    forms : callable
        ``forms(node)`` gives the forms to try, best first: ops that take the inputs of the node, or lists with an
        output for each output of the node.
    tracks : iterable of Op and op classes, or None
        The nodes that have forms; None for all.
    name : str, optional

    Raises
    ------
    TypeError
        If `tracks` has something else than ops and op classes in it.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> from theano_optimize import Supervisor
    >>> class Step(Op):
    ...     __props__ = ("inplace",)
    ...     itypes = otypes = (Generic(),)
    ...     def __init__(self, inplace=False):
    ...         self.inplace = inplace
    ...         self.destroy_map = {0: [0]} if inplace else {}
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [Step()(Step()(x))], features=[Supervisor([x])], clone=False)
    >>> InplaceRewriter(lambda node: [Step(inplace=True)], [Step()], "steps_in_place").rewrite(fgraph).changes
    1
    >>> [node.op.inplace for node in fgraph.toposort()]
    [False, True]
    """

    def __init__(
        self, forms: Forms, tracks: Tracks, name: str | None = None, *, info: RewriteInfo | None = None
    ) -> None:
        super().__init__(name or getattr(forms, "__name__", None), info=info)
        self._forms = forms
        self._attempt = _Attempt(self.info, check_tracks(tracks, self.name))
        self._index = RewriterIndex([self._attempt])

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        require_handler(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        profile = RewriteProfile(self.name)
        handler = require_handler(fgraph)
        application = RuleApplication(fgraph, options)
        for node in options.sorted_nodes(fgraph) if self._index.any_for(fgraph.apply_nodes) else ():
            if self._index.for_op(node.op) and node in fgraph.apply_nodes:
                profile.visits += 1
                with origin_from(node):
                    if self._try_forms(application, handler, node):
                        profile.count(self.name)
        return profile

    def _try_forms(self, application: RuleApplication, handler: DestroyHandler, node: Apply) -> bool:
        for form in self._forms(node):
            if isinstance(form, Op) and not _is_promising(application.fgraph, handler, node, form):
                continue
            self._attempt.form = form
            answer = application.ask(self._attempt, node)
            if answer is not None and application.replace(answer[0], node, answer[1]):
                return True
        return False


class _Attempt(NodeRewriter):
    """The rule that replaces a node by one form of it."""

    def __init__(self, info: RewriteInfo, tracks: Tracks) -> None:
        super().__init__(info=info)
        self._tracks = tracks
        self.form: Form = ()

    def tracks(self) -> Tracks:
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Return the outputs of the form."""
        return self.form.make_node(*node.inputs).outputs if isinstance(self.form, Op) else self.form


def _is_promising(fgraph: FunctionGraph, handler: DestroyHandler, node: Apply, op: Op) -> bool:
    """Tell whether the inputs that `op` would overwrite are free, as far as look-ups can tell."""
    if node.op.view_map:
        return True  # nodes behind the outputs of the node are in the version now, and will not be in it then
    overwritten = {i for inputs in op.destroy_map.values() for i in inputs}
    return all(i < len(node.inputs) and handler.may_be_overwritten(fgraph, node.inputs[i], node) for i in overwritten)
