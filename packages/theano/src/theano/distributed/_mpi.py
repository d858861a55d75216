"""Training steps with the processes of an MPI communicator: all have the parameters, and all make the same update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import format_error

from ._agreement import Watched, agree, number_of_batch, spread
from ._gradients import Mean, Step, check_parts, cut, mean_of, mean_of_means, rows_of
from ._protocols import Communicator
from ._states import States
from ._trainer import DataParallel


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
