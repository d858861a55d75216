"""Training steps whose gradients are averaged over workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import format_error

from ._dask import DaskDataParallel
from ._engines import find_engine, is_mpi
from ._gradients import Rule, make_step
from ._mpi import MPIDataParallel
from ._protocols import Communicator, DaskClient
from ._states import check_seed
from ._trainer import DataParallel


def data_parallel(
    inputs: Sequence[Any],
    cost: Any,
    params: Sequence[Any],
    rule: Rule,
    client: DaskClient | Communicator | str,
    *,
    seed: int | Sequence[int] | None = None,
    n_parts: int | None = None,
    mode: Any = None,
) -> DataParallel:
    """Compile a training step that divides its batch among workers and averages their gradients.

    With any number of workers, a step is that of the whole batch, up to rounding.

    Parameters
    ----------
    inputs : sequence of Variable
        The batch. Arrays are divided by their rows, scalars go to all workers.
    cost : Variable
        A mean over the rows of the batch; terms of parameters alone (weight decay) may be added. Mixing of
        rows otherwise (a sum over them, batch normalization) is computed for each part by itself.
    params : sequence of SharedVariable
        The trained parameters, of dtype float32 or float64.
    rule : callable
        From lists of gradients and of parameters to updates, as Lasagne's optimizers:
        ``lambda gradients, params: [(p, p - 0.1 * g) for p, g in zip(params, gradients)]``. Its state (momenta) are
        shared variables.
    client : Client, Comm, or str
        A ``dask.distributed.Client``, or "dask" for the one that this process has; or an MPI communicator, or "mpi"
        for ``MPI.COMM_WORLD``: then all its processes make the step, and begin with the parameters of process 0.
    seed : int or sequence of int, optional
        For random streams in the graph (dropout): each part of each step has its own, by the spawn key (step, part). By
        default the seeds that the streams were made with decide.
    n_parts : int, optional
        Dask: into how many parts a batch is cut; by default as many as there are workers now. With the same number
        results are the same to the last bit, on however many workers.
    mode : Mode or str, optional
        As for :func:`theano.function`.

    Returns
    -------
    DataParallel
        Call it with a batch: it updates the parameters and returns the cost.

    Raises
    ------
    TypeError
        If there is no client, something that is not a shared array is to be trained, or the rule gives no updates.
    ValueError
        If no input has rows, the cost updates shared variables, or `seed` or `n_parts` is out of range.
    RuntimeError
        If the client is closed.
    ImportError
        If an engine is asked for by a name and is not installed.

    Notes
    -----
    Dask: the parameters are the caller's, and go to the workers with each step. A worker that dies loses no step: it is
    computed again from the parameters of the last one. MPI: the processes keep the parameters, and end together when
    one of them dies; save ``step.get_state()`` from time to time. A value that one process sets unlike the others,
    by `set_state` or `set_value`, is an error of the next step in all of them.

    Examples
    --------
    With ``client = dask.distributed.Client()`` in the place of None, ``step = ...`` and ``step(data)`` is one step.

    >>> import numpy as np, theano, theano.tensor as T
    >>> from theano import distributed
    >>> x, w = T.dmatrix("x"), theano.shared(np.zeros(2), name="w")
    >>> cost = T.sqr(T.dot(x, w) - 1).mean()
    >>> distributed.data_parallel([x], cost, [w], lambda g, p: [(p[0], p[0] - 0.1 * g[0])], None)
    Traceback (most recent call last):
    ...
    TypeError: data_parallel: no client was given
      Hint: give a dask.distributed.Client, mpi4py.MPI.COMM_WORLD, 'dask' or 'mpi'
    """
    engine = find_engine(client, "data_parallel", others=False)
    mpi = is_mpi(engine)
    if n_parts is not None and (mpi or n_parts < 1):
        raise ValueError(
            format_error(
                f"data_parallel: n_parts is {n_parts}",
                hint="leave it out: each process is a part" if mpi else "give a number from 1 up",
            )
        )
    check_seed(seed, "data_parallel")
    step = make_step(inputs, cost, params, rule, mode)
    return MPIDataParallel(step, engine, seed) if mpi else DaskDataParallel(step, engine, n_parts, seed)
