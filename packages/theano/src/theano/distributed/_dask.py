"""Training steps with the workers of Dask.

The caller has the true parameters. A step puts them into the memory of a worker under a new number. Workers hand them
on to each other, compute gradients of their parts, and average them in a tree; the caller gets one mean, and updates.
So no worker has the only copy of anything: when one dies, Dask computes its tasks again elsewhere; when its data went
gone with it, the step is computed again from the parameters, which no one has changed.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from theano_graph import format_error
from theano_linker_c import Container, Function

from ._engines import check_open
from ._gradients import Mean, Step, check_parts, cut, mean_of, mean_of_means, rows_of
from ._map import Failure
from ._packing import Packed, loaded, pack
from ._protocols import DaskClient, TaskFuture
from ._trainer import DataParallel

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
