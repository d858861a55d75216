"""Training on all workers of MPI, or on those of Dask."""

from __future__ import annotations

import concurrent.futures
import itertools
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano_graph import format_error
from theano_linker_c import Container, Function

from ._gradients import (
    DataParallel,
    Mean,
    Rule,
    Step,
    Watched,
    agree,
    check_parts,
    cut,
    make_step,
    mean_of,
    mean_of_means,
    number_of_batch,
    rows_of,
    spread,
)
from ._map import Communicator, DaskClient, Failure, TaskFuture, check_open, find_engine, is_mpi
from ._packing import Packed, States, check_seed, loaded, pack

# ---- Training steps with the processes of an MPI communicator: all have the parameters, and all make the same update


class MPIDataParallel(DataParallel):
    """Training steps with the processes of a communicator.

    A step sums twice over processes: a few numbers (rows, costs, the number of errors, checksums of the values that
    processes have in common), then all gradients of one dtype as one array. A failure in one process is
    an error in all of them, so that none waits for ever.
    """

    def __init__(self, step: Step, world: Communicator, seed: Any) -> None:
        super().__init__(step, seed)
        self._world = world
        self._rank, self._size = world.Get_rank(), world.Get_size()
        self._states = States([step.compute])
        for variable in (*step.params, *step.kept):
            variable.set_value(world.bcast(variable.get_value(borrow=True)), borrow=False)
        self._watched = Watched(step)
        self._like = [v.get_value(borrow=True) for v in step.params]

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._watched.begin()

    def _finish(self, mean: Mean) -> float:
        cost = super()._finish(mean)
        self._watched.keep()
        return cost

    def _mean_of_batch(self, batch: Sequence[Any]) -> Mean:
        def compute() -> Mean:
            return self._mine(cut(batch, self._step.split, self._size, only=self._rank))

        def known() -> tuple[int, int]:
            return rows_of(batch, self._step.split), number_of_batch(batch, self._step.split)

        return self._mean(compute, known)

    def _mean_of_parts(self, parts: Sequence[Any]) -> Mean:
        def compute() -> Mean:
            check_parts(parts, self._step.split)
            return self._mine(parts)

        return self._mean(compute, lambda: (0, 0))

    def _mine(self, parts: Sequence[Any]) -> Mean:
        """Compute the mean of the parts of this process."""
        means = []
        try:
            for i, part in enumerate(parts):
                if rows_of(part, self._step.split):
                    self._states.reseed(self._seed, (self.steps, self._rank + i * self._size))
                    means.append(mean_of(self._step.compute, part, self._step.split))
        finally:
            self._states.put_back()
        if means:
            return mean_of_means(means)
        return Mean(0, 0.0, [np.zeros_like(value) for value in self._like])

    def _mean(self, compute: Callable[[], Mean], known: Callable[[], tuple[int, int]]) -> Mean:
        mean, failure, total_rows, batch = None, None, 0, 0
        state = self._watched.number(self.steps)
        try:
            total_rows, batch = known()
            mean = compute()
        except Exception as error:  # noqa: BLE001  (raised below, when the others know)
            failure = error
        rows, cost = (mean.rows, mean.cost) if mean is not None else (0, 0.0)
        mine = [rows, rows * cost, failure is not None, *spread(state), *spread(total_rows), *spread(batch)]
        sums = np.zeros(len(mine))
        self._world.Allreduce(np.array(mine, dtype=np.float64), sums)
        if failure is not None:
            failure.add_note(f"  in process {self._rank} of {self._size}, in step {self.steps}, both counted from 0")
            raise failure
        self._check(sums, total_rows)
        assert mean is not None
        return Mean(int(sums[0]), float(sums[1] / sums[0]), self._summed(mean.gradients, rows / float(sums[0])))

    def _check(self, sums: Any, whole: int) -> None:
        rows, _, failures, *common = (float(value) for value in sums)
        state, lengths, batch = common[:4], common[4:8], common[8:]
        if failures:
            raise RuntimeError(
                format_error(
                    f"step {self.steps} failed in {int(failures)} of {self._size} processes",
                    hint="see the error there; the parameters are those before the step",
                )
            )
        if not agree(state, self._size):
            raise RuntimeError(
                format_error(
                    "the processes have different parameters, or made different numbers of steps; "
                    f"process {self._rank} of {self._size}, counted from 0, has made {self.steps}",
                    hint="call set_state and set_value in all processes, with the same values; those of process 0 are "
                    "taken everywhere by step.set_state(comm.bcast(step.get_state()))",
                )
            )
        if not agree(lengths, self._size):
            raise ValueError(
                format_error(
                    f"the processes gave batches of different lengths; process {self._rank} has {whole} rows",
                    hint="give all processes the same batch, or each its own: step.parts([(x, y)])",
                )
            )
        if not agree(batch, self._size):
            raise ValueError(
                format_error(
                    f"the processes gave batches of the same length ({whole} rows) and different content",
                    hint="give all processes the same whole batch, or each its own: step.parts([(x, y)])",
                )
            )
        if not rows:
            raise ValueError(format_error("a batch has no rows", hint="leave empty batches out"))

    def _summed(self, gradients: Sequence[Any], weight: float) -> list[Any]:
        """Return the sums over processes, each weighted; the arrays of one dtype go together."""
        sums: list[Any] = [None] * len(gradients)
        for dtype in sorted({str(g.dtype) for g in gradients}):
            chosen = [i for i, g in enumerate(gradients) if g.dtype == dtype]
            flat = np.concatenate([np.ravel(gradients[i]) for i in chosen])
            flat *= flat.dtype.type(weight)
            total = np.empty_like(flat)
            self._world.Allreduce(flat, total)
            start = 0
            for i in chosen:
                sums[i] = total[start : start + gradients[i].size].reshape(gradients[i].shape)
                start += gradients[i].size
        return sums


# ---- Training steps with the workers of Dask
#
# The caller has the true parameters. A step puts them into the memory of a worker under a new number. Workers hand them
# on to each other, compute gradients of their parts, and average them in a tree; the caller gets one mean, and updates.
# So no worker has the only copy of anything: when one dies, Dask computes its tasks again elsewhere; when its data went
# gone with it, the step is computed again from the parameters, which no one has changed.

#: So many means are averaged by one task.
FAN_IN = 4
#: How often a step is tried when workers die, and how long to wait for a worker then, in seconds.
TRIES, PATIENCE = 5, 60.0
#: After so many steps it is asked again which workers there are.
REFRESH = 50


class Computing:
    """A worker's part of a step: the function, and the number of the values that its shared variables have."""

    def __init__(self, compute: Function, split: list[bool]) -> None:
        self.compute = compute
        self.split = split
        self.version: tuple[str, int] | None = None


class Version(NamedTuple):
    """Values of shared variables, by their positions among the inputs of the function."""

    number: tuple[str, int]
    values: dict[int, Any]


def _compute(packed: Packed, version: Version, batch: Any, seed: Any, key: tuple[int, int]) -> Mean | Failure:
    """Compute the mean of a part, in a worker."""
    try:
        with loaded(packed) as (computing, states):
            boxes: list[Container] = computing.compute.input_storage
            if computing.version != version.number:
                computing.version = None
                for i, value in version.values.items():
                    boxes[i].value = value
                computing.version = version.number
            states.reseed(seed, key)
            return mean_of(computing.compute, batch, computing.split)
    except Exception as error:  # noqa: BLE001  (the caller raises it)
        error.add_note(f"  in part {key[1]} of the batch of step {key[0]}, both counted from 0")
        return Failure.of(error)


def _combine(means: Sequence[Mean | Failure]) -> Mean | Failure:
    for mean in means:
        if isinstance(mean, Failure):
            return mean
    try:
        return mean_of_means([mean for mean in means if isinstance(mean, Mean)])
    except Exception as error:  # noqa: BLE001  (the caller raises it; workers would log it)
        return Failure.of(error)


def _same(packed: Packed) -> Packed:
    return packed


def _is_loss(error: BaseException) -> bool:
    """Tell whether an error is about workers or connections, not about their computation."""
    if isinstance(error, (OSError, TimeoutError, concurrent.futures.CancelledError)):
        return True
    names = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.partition(".")[0] == "distributed"}
    return bool(names & {"KilledWorker", "CommClosedError", "FutureCancelledError", "NoValidWorkerError"})


class DaskDataParallel(DataParallel):
    """Training steps with the workers of a Dask client."""

    def __init__(self, step: Step, client: DaskClient, count: int | None, seed: Any) -> None:
        super().__init__(step, seed)
        self._client = client
        self._workers = self._find_workers()
        self._count = count or len(self._workers)
        self._packed = pack(Computing(step.compute, step.split), by_value=True)
        self._name = uuid.uuid4().hex
        changing = {id(v.container) for v in [*step.params, *step.kept]}
        self._boxes = {
            i: box
            for i, box in enumerate(step.compute.input_storage)
            if step.compute.maker.inputs[i].value is box and i not in step.compute.maker.signature.update_targets
        }
        self._changing = {i for i, box in self._boxes.items() if id(box) in changing}
        self._packed_values = {i: box.value for i, box in self._boxes.items()}
        self._versions = itertools.count()
        self._sent: TaskFuture | None = None

    def _find_workers(self) -> list[str]:
        workers = sorted(self._client.nthreads())
        if not workers:
            self._client.wait_for_workers(1, timeout=PATIENCE)
            workers = sorted(self._client.nthreads())
        return workers

    def _mean_of_batch(self, batch: Sequence[Any]) -> Mean:
        rows = rows_of(batch, self._step.split)
        return self._mean_of_parts(cut(batch, self._step.split, max(1, min(self._count, rows))))

    def _mean_of_parts(self, parts: Sequence[Any]) -> Mean:
        check_parts(parts, self._step.split)
        check_open(self._client, "step")
        if not parts:
            raise ValueError(format_error("a step has no parts", hint="give a part for each worker"))
        if self.steps % REFRESH == REFRESH - 1:
            self._workers = self._find_workers()
        for left in reversed(range(TRIES)):
            try:
                parts_result = self._tried(parts)
            except Exception as error:
                if not left or not _is_loss(error):
                    error.add_note(f"No results came for step {self.steps}; the parameters are those before it.")
                    raise
                self._sent = None
                self._workers = self._find_workers()
                continue
            if isinstance(parts_result, Failure):
                parts_result.reraise("The parameters are those before the step.")
            return parts_result
        raise AssertionError("unreachable")

    def _tried(self, parts: Sequence[Any]) -> Mean | Failure:
        client, workers = self._client, self._workers
        if self._sent is None:
            self._sent = client.submit(_same, self._packed, key=f"theano-gradients-{self._packed.key}")
        (version,) = client.scatter([self._version()], hash=False)
        futures = []
        for i, part in enumerate(parts):
            # Where a part goes is said here: Dask would put short tasks where the parameters are, all on one worker.
            options = (
                {} if hasattr(part, "key") else {"workers": [workers[i % len(workers)]], "allow_other_workers": True}
            )
            arguments = (self._sent, version, part, self._seed, (self.steps, i))
            futures.append(client.submit(_compute, *arguments, pure=False, **options))
        while True:
            futures = [
                client.submit(_combine, futures[i : i + FAN_IN], pure=False) for i in range(0, len(futures), FAN_IN)
            ]
            if len(futures) == 1:
                outcome: Mean | Failure = futures[0].result()
                return outcome

    def _version(self) -> Version:
        # A function sent once is sent always: workers keep no unpickled copies. A step that failed before its update
        # is tried again under the same number of steps, perhaps with other values: steps are no versions.
        self._changing |= {i for i, box in self._boxes.items() if box.value is not self._packed_values[i]}
        values = {i: self._boxes[i].value for i in self._changing}
        return Version((self._name, next(self._versions)), values)


# ---- Training steps whose gradients are averaged over workers


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
