"""The interface of training steps, the same for all engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_graph import format_error
from theano_linker_c import SharedVariable

from ._gradients import Mean, Step

#: The name under which a state says how many steps were made.
STEPS = "steps"


class DataParallel(ABC):
    """A training step whose batch is divided among workers; made by :func:`data_parallel`.

    Attributes
    ----------
    params : list of SharedVariable
        The caller's own: they have their new values after each step, so that other functions use them as always.
    steps : int
        How many steps were made.
    """

    def __init__(self, step: Step, seed: Any) -> None:
        self._step = step
        self._seed = seed
        self.params: list[SharedVariable] = step.params
        self.steps = 0

    def __call__(self, *batch: Any) -> float:
        """Make a step with a whole batch, which is cut into parts here.

        Parameters
        ----------
        batch : arrays
            A value for each input: arrays with a row for each example, and numbers, which go to all workers. With MPI
            all processes give the same batch.

        Returns
        -------
        float
            The cost before the step, the mean over all rows.
        """
        return self._finish(self._mean_of_batch(batch))

    def parts(self, parts: Sequence[Any]) -> float:
        """Make a step with a batch that is in parts already, which may have different numbers of rows.

        Parameters
        ----------
        parts : sequence
            With Dask all parts: each a tuple with a value for each input, ``[(x0, y0), (x1, y1)]``, or a future of
            one, which is computed where its data is. With MPI those of this process, usually one: ``[(x, y)]``.

        Returns
        -------
        float
            The cost before the step, the mean over the rows of all parts.
        """
        return self._finish(self._mean_of_parts(parts))

    def _finish(self, mean: Mean) -> float:
        self._step.update(*mean.gradients)
        self.steps += 1
        return mean.cost

    @abstractmethod
    def _mean_of_batch(self, batch: Sequence[Any]) -> Mean:
        """Compute cost and gradients of a whole batch."""

    @abstractmethod
    def _mean_of_parts(self, parts: Sequence[Any]) -> Mean:
        """Compute cost and gradients of a batch in parts."""

    def _variables(self) -> dict[str, SharedVariable]:
        variables = [*self.params, *self._step.kept]
        return {f"{i}_{v.name}" if v.name else str(i): v for i, v in enumerate(variables)}

    def get_state(self) -> dict[str, Any]:
        """Return parameters, the rule's variables, and the number of steps: the state to continue from.

        ``numpy.savez(path, **step.get_state())`` saves it; with MPI, one process does.
        """
        state = {name: v.get_value() for name, v in self._variables().items()}
        return {**state, STEPS: np.array(self.steps)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, such as ``numpy.load(path)``. With MPI all processes call it, each with that state.

        Raises
        ------
        TypeError
            If it is no mapping, such as the path of a file.
        ValueError
            If it is the state of another model.
        """
        if not isinstance(state, Mapping):
            raise TypeError(
                format_error(
                    f"set_state takes a state, and {state!r:.80} was given", hint="step.set_state(numpy.load(path))"
                )
            )
        variables = self._variables()
        if set(state) != {*variables, STEPS}:
            raise ValueError(
                format_error(
                    "this is no state of these training steps",
                    context=[
                        f"it has: {', '.join(sorted(state))}",
                        f"expected: {', '.join(sorted([*variables, STEPS]))}",
                    ],
                    hint="make the step with the same parameters, in the same order, and the same rule",
                )
            )
        for name, variable in variables.items():
            variable.set_value(state[name])
        self.steps = int(state[STEPS])
