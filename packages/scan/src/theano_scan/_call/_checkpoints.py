"""Loops that remember few of their steps, and do the others again for gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import theano_tensor as T
from theano_graph import format_error
from theano_linker_c import OrderedUpdates
from theano_tensor import as_tensor_variable

from ._arguments import as_list, number_of_steps, sequence_arguments, state_arguments
from ._scan import scan


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

    def several(first: Any, *given: Any) -> Any:
        rows = list(given[: len(chunks)])
        before = list(given[len(chunks) : len(chunks) + len(recurrent)])
        rest = list(given[len(chunks) + len(recurrent) :])
        starts: list[Any] = [None] * len(states)
        for k, value in zip(recurrent, before, strict=True):
            starts[k] = value
        steps = T.minimum(save_every_N, n - first) if padding else save_every_N
        values, updates = scan(fn, [r[:steps] for r in rows], starts, rest, n_steps=steps, name=name, return_list=True)
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
    rest = [x.shape[i] for i in range(1, x.type.ndim)]
    if padding:
        zeros = T.alloc(T.constant(0, dtype=x.type.dtype), rounds * size - n, *rest)
        x = T.join(0, x, zeros)
    return x.reshape([rounds, size, *rest], ndim=x.type.ndim + 1)
