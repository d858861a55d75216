"""Simpler forms of loops, and loops that store few of their steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import theano_tensor as T
from theano_graph import format_error
from theano_linker_c import OrderedUpdates
from theano_tensor import Outputs, as_tensor_variable

from ._arguments import as_list, number_of_steps, sequence_arguments, state_arguments
from ._scan import scan

# ---- Maps, folds and other simpler forms


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
    """Return the final result after a function of each element and the result so far.

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


# ---- Loops that store few of their steps, and repeat the others for gradients


def scan_checkpoints(
    fn: Callable[..., Any],
    sequences: Any = (),
    outputs_info: Any = None,
    non_sequences: Any = (),
    name: str = "checkpointscan_fn",
    n_steps: Any = None,
    save_every_N: int = 10,
    padding: bool = True,
) -> tuple[Any, OrderedUpdates]:
    """Loop as :func:`scan` does, but keep one step in `save_every_N` only; gradients do the others again.

    Parameters
    ----------
    fn, outputs_info, non_sequences
        As for :func:`scan`; outputs use the step before at most.
    sequences : array_like or list of them
        Of equal length, without taps.
    name : str
    n_steps : int or integer scalar, optional
        The length of the sequences by default.
    save_every_N : int
        How many steps are done from one that is kept to the next.
    padding : bool
        Whether the number of steps need not be a multiple of `save_every_N`: sequences are filled up, which copies
        them. The last kept step is that of the end all the same.

    Returns
    -------
    outputs : variable or list of variables
        The values of the kept steps: the last one of each `save_every_N`, and the last of all.
    updates : OrderedUpdates

    Raises
    ------
    RuntimeError
        If there are taps.
    ValueError
        If `save_every_N` is less than 1.

    References
    ----------
    Chen, Xu, Zhang and Guestrin (2016), Training deep nets with sublinear memory cost, arXiv:1604.06174.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> sums, updates = theano.scan_checkpoints(lambda v, s: s + v, x, T.zeros(()), save_every_N=2)
    >>> theano.function([x], sums)([1.0, 2.0, 3.0, 4.0, 5.0]).tolist()
    [3.0, 10.0, 15.0]
    """
    along, states = sequence_arguments(sequences), state_arguments(outputs_info)
    if save_every_N < 1:
        raise ValueError(format_error(f"scan_checkpoints: save_every_N is {save_every_N}", hint="pass 1 or more"))
    if any(s.taps != [0] for s in along) or any(s is not None and s.taps != [-1] for s in states):
        raise RuntimeError(
            format_error(
                "scan_checkpoints: sequences and outputs have no taps here", hint="use scan, or one step at a time"
            )
        )
    n = as_tensor_variable(number_of_steps(n_steps, along)).astype("int64")
    rounds = (n + (save_every_N - 1)) // save_every_N if padding else n // save_every_N
    chunks = [_chunks(s.variable[:n], n, rounds, save_every_N, padding) for s in along]
    recurrent = [k for k, s in enumerate(states) if s is not None]
    fixed = as_list(non_sequences)

    def several(first: Any, *arguments: Any) -> Any:
        rows = list(arguments[: len(chunks)])
        before = list(arguments[len(chunks) : len(chunks) + len(recurrent)])
        others = list(arguments[len(chunks) + len(recurrent) :])
        starts: list[Any] = [None] * len(states)
        for k, value in zip(recurrent, before, strict=True):
            starts[k] = value
        steps = T.minimum(save_every_N, n - first) if padding else save_every_N
        values, updates = scan(
            fn, [r[:steps] for r in rows], starts, others, n_steps=steps, name=name, return_list=True
        )
        return [v[-1] for v in values], dict(updates)

    starts = [None if s is None else s.initial for s in states]
    return scan(
        several,
        [T.arange(rounds) * save_every_N, *chunks],
        starts if states else None,
        [v for v in fixed if not isinstance(v, Mapping)],
        n_steps=rounds,
        name=f"{name}_rounds",
    )


def _chunks(x: Any, n: Any, rounds: Any, size: int, padding: bool) -> Any:
    """Return a sequence as a sequence of pieces of equal length."""
    others = [x.shape[i] for i in range(1, x.type.ndim)]
    if padding:
        zeros = T.alloc(T.constant(0, dtype=x.type.dtype), rounds * size - n, *others)
        x = T.join(0, x, zeros)
    return x.reshape([rounds, size, *others], ndim=x.type.ndim + 1)
