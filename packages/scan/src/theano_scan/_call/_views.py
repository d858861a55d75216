"""Simpler forms of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_linker_c import OrderedUpdates
from theano_tensor import Outputs

from ._scan import scan


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Outputs, OrderedUpdates]:
    """Apply a function to each element of sequences, as Python's ``map`` does.

    Parameters
    ----------
    fn : callable
        Gets an element of each sequence, then `non_sequences`.
    sequences, non_sequences, truncate_gradient, go_backwards, mode, name
        As for :func:`scan`.

    Returns
    -------
    outputs : variable or list of variables
        The results, along the first dimension.
    updates : OrderedUpdates

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> theano.function([x], theano.map(lambda v: v**2, x)[0])([1.0, 2.0, 3.0]).tolist()
    [1.0, 4.0, 9.0]
    """
    return scan(
        fn,
        sequences=sequences,
        non_sequences=non_sequences,
        truncate_gradient=truncate_gradient,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
    )


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Outputs, OrderedUpdates]:
    """Return what is left of sequences after a function of each element and the result so far.

    Parameters
    ----------
    fn : callable
        Gets an element of each sequence, the results so far, then `non_sequences`.
    sequences, outputs_info, non_sequences, go_backwards, mode, name
        As for :func:`scan`.

    Returns
    -------
    outputs : variable or list of variables
        Of the last step.
    updates : OrderedUpdates

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> float(theano.function([x], theano.reduce(lambda v, total: total + v, x, T.zeros(()))[0])([1.0, 2.0, 3.0]))
    6.0
    """
    outputs, updates = scan(
        fn,
        sequences=sequences,
        outputs_info=outputs_info,
        non_sequences=non_sequences,
        go_backwards=go_backwards,
        mode=mode,
        name=name,
    )
    last: Any = [v[-1] for v in outputs] if isinstance(outputs, list) else outputs[-1]
    return last, updates


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Outputs, OrderedUpdates]:
    """Fold sequences from their first elements; see :func:`reduce`.

    Parameters
    ----------
    fn : callable
        Takes an element of each sequence, then the accumulated values, then `non_sequences`.
    sequences : variable or list of variables
    outputs_info : variable or list of variables
        Initial values.
    non_sequences : list of variables, optional
        Passed to each step.
    mode : Mode or str, optional
        Of the function that the steps are compiled to.
    name : str, optional
        For profiles and messages.

    Returns
    -------
    tuple
        The last value (a list of several), and the dictionary of updates.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> total, _ = theano.foldl(lambda x, total: 2 * total + x, T.dvector("x"), T.zeros(()))
    >>> theano.function([theano.gof.graph.inputs([total])[0]], total)([1.0, 2.0])
    array(4.)
    """
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=False, mode=mode, name=name)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Outputs, OrderedUpdates]:
    """Fold sequences from their last elements; see :func:`reduce`."""
    return reduce(fn, sequences, outputs_info, non_sequences, go_backwards=True, mode=mode, name=name)
