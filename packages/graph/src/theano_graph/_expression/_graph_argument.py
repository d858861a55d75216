"""Methods that programs write in the forms of Theano 1.0 and of 1.1, which puts the graph before the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def takes_graph(method: Callable[..., Any], count: int) -> bool:
    """Tell whether a function asks for one argument more than `count`: the graph, before the others.

    A function that takes any number of arguments gets those of Theano 1.0.
    """
    function: Any = getattr(method, "__func__", method)
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    bound = function is not method
    required = code.co_argcount - len(function.__defaults__ or ()) - bound
    return bool(required == count + 1)


def call_with_graph(method: Callable[..., Any], fgraph: Any, *arguments: Any) -> Any:
    """Call a method of an op or a rule, with the graph before the other arguments where it asks for one more.

    Examples
    --------
    >>> from theano_graph import call_with_graph
    >>> call_with_graph(lambda node: [node], "graph", "node")
    ['node']
    >>> call_with_graph(lambda fgraph, node: [fgraph, node], "graph", "node")
    ['graph', 'node']
    """
    return method(fgraph, *arguments) if takes_graph(method, len(arguments)) else method(*arguments)
