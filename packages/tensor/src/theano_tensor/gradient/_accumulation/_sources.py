"""Reverse accumulation from any set of sources, with the gradients of everything on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano_graph import Variable, graph_inputs as leaves, variables_between

from .._rules._arrays import total
from ._backward import backward
from ._grad import known_gradient


def grad_sources_inputs(
    sources: Iterable[tuple[Variable, Variable]], graph_inputs: Sequence[Variable] | None = None
) -> dict[Variable, Variable]:
    """Return the gradients of all that some variables with known gradients are computed from.

    Most programs want :func:`grad` or :func:`subgraph_grad`.

    Parameters
    ----------
    sources : iterable of (Variable, Variable)
        Pairs of a variable and its gradient. Gradients of one variable, and contributions from others, add up.
    graph_inputs : sequence of Variable, optional
        Nothing is propagated back through these; by default the variables that nothing computes.

    Returns
    -------
    dict
        Variable -> its gradient, for each variable between these and the sources that one of them depends on
        differentiably.

    Raises
    ------
    TypeError
        If a pair holds no variables, or a gradient has another number of dimensions than its variable.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, g = T.dvector("x"), T.dvector("g")
    >>> x in theano.gradient.grad_sources_inputs([(T.exp(x) * 2, g)])
    True
    """
    seeds: dict[Variable, Variable] = {}
    for variable, gradient in sources:
        term = known_gradient(variable, gradient)
        seeds[variable] = term if variable not in seeds else total([seeds[variable], term])
    ends = leaves(list(seeds)) if graph_inputs is None else list(graph_inputs)
    between = variables_between(ends, list(seeds))
    gradients = backward(seeds, between, ends, additive=True)
    return {v: g for v, g in zip(between, gradients, strict=True) if g is not None}
