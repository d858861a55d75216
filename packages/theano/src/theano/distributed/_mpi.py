"""Training steps with the processes of an MPI communicator: all have the parameters, and all make the same update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import compose

from ._gradients import Mean, Step, cut, mean_of, mean_of_means, rows_of
from ._protocols import Communicator
from ._states import States
from ._trainer import DataParallel


class MPIDataParallel(DataParallel):
    """Training steps with the processes of a communicator.

    A step sums twice over processes: a few numbers (rows, costs, whether something went wrong), then all gradients of
    one dtype as one array. What goes wrong in one process is an error in all of them, so that none waits for ever.
    """

    def __init__(self, step: Step, world: Communicator, seed: Any) -> None:
        super().__init__(step, seed)
        self._world = world
        self._rank, self._size = world.Get_rank(), world.Get_size()
        self._states = States([step.compute])
        for variable in (*step.params, *step.kept):
            variable.set_value(world.bcast(variable.get_value(borrow=True)), borrow=False)
        self._like = [v.get_value(borrow=True) for v in step.params]

    def _mean_of_batch(self, batch: Sequence[Any]) -> Mean:
        def compute() -> Mean:
            rows_of(batch, self._step.split)
            return self._mine(cut(batch, self._step.split, self._size, only=self._rank))

        def length() -> int:
            return rows_of(batch, self._step.split)

        return self._mean(compute, length)

    def _mean_of_parts(self, parts: Sequence[Any]) -> Mean:
        return self._mean(lambda: self._mine(parts), None)

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

    def _mean(self, compute: Callable[[], Mean], length: Callable[[], int] | None) -> Mean:
        mean, failure, whole = None, None, 0
        try:
            whole = length() if length is not None else 0
            mean = compute()
        except Exception as error:  # noqa: BLE001  (raised below, when the others know)
            failure = error
        rows, cost = (mean.rows, mean.cost) if mean is not None else (0, 0.0)
        sums = np.zeros(5)
        self._world.Allreduce(np.array([rows, rows * cost, failure is not None, whole, whole**2]), sums)
        if failure is not None:
            failure.add_note(f"This was process {self._rank} of {self._size} in step {self.steps}.")
            raise failure
        self._check(sums, whole)
        assert mean is not None
        return Mean(int(sums[0]), float(sums[1] / sums[0]), self._summed(mean.gradients, rows / float(sums[0])))

    def _check(self, sums: Any, whole: int) -> None:
        rows, _, failures, wholes, squares = (float(value) for value in sums)
        if failures:
            raise RuntimeError(
                compose(
                    f"step {self.steps} failed in {int(failures)} of {self._size} processes",
                    mend="see the error there; the parameters are those before the step",
                )
            )
        if wholes**2 != squares * self._size:
            raise ValueError(
                compose(
                    f"the processes gave batches of different lengths; process {self._rank} has {whole} rows",
                    mend="give all processes the same batch, or each its own: step.parts([(x, y)])",
                )
            )
        if not rows:
            raise ValueError(compose("a batch has no rows", mend="leave empty batches out"))

    def _summed(self, gradients: Sequence[Any], weight: float) -> list[Any]:
        """Return the sums over processes, each weighted; the arrays of one dtype go together."""
        found: list[Any] = [None] * len(gradients)
        for dtype in sorted({str(g.dtype) for g in gradients}):
            chosen = [i for i, g in enumerate(gradients) if g.dtype == dtype]
            flat = np.concatenate([np.ravel(gradients[i]) for i in chosen])
            flat *= flat.dtype.type(weight)
            total = np.empty_like(flat)
            self._world.Allreduce(flat, total)
            start = 0
            for i in chosen:
                found[i] = total[start : start + gradients[i].size].reshape(gradients[i].shape)
                start += gradients[i].size
        return found
