"""Applying one rule to one node, with all the checks of the engines."""

from __future__ import annotations

from theano_graph import Apply, FunctionGraph, origin_from

from .._rules._node_rewriter import NodeRewriter
from ._application import RuleApplication
from ._graph_rewriter import DEFAULT_OPTIONS, RewriteOptions


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
