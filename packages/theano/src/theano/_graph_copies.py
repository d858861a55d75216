"""Copies of expressions, with the arguments that programs for Theano 1.0 pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano_graph import Constant, Variable, clone_replace, graph_inputs


def clone(
    output: Variable | Sequence[Variable],
    replace: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
    strict: bool = True,
    share_inputs: bool = True,
    copy_inputs: bool | None = None,
) -> Any:
    """Return a copy of an expression in which some variables are replaced.

    Parameters
    ----------
    output : Variable or sequence of Variable
        The outputs of the graph to copy.
    replace : mapping or pairs, optional
        Variable -> its replacement.
    strict : bool
        Whether a replacement must have the type of its original, or be converted to it.
    share_inputs : bool
        Whether the copy has the same inputs. If not, it has new ones; a shared variable has a new one with the same
        storage.
    copy_inputs : bool, optional
        The older name of `share_inputs`.

    Returns
    -------
    Variable or list of Variable
        As `output`.

    Raises
    ------
    TypeError
        If a replacement does not fit and `strict` is true.
    GraphError
        If a key is no variable.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> float(theano.clone(x**2 + 1, {x: y * 2}).eval({y: 3.0}))
    37.0
    """
    copies = clone_replace(output, dict(replace or ()), strict)
    if share_inputs if copy_inputs is None else copy_inputs:
        return copies
    roots = graph_inputs([copies] if isinstance(copies, Variable) else list(copies))
    return clone_replace(copies, {root: root.clone() for root in roots if not isinstance(root, Constant)})
