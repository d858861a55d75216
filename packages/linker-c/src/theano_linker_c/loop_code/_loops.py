"""When a loop gets code of its own, and who runs it.

Code is for arrays of certain shapes, and takes the compiler longer than most loops take to run. So it is made, by a
thread, once a loop has worked for some time with these shapes; until then, and where the code refuses its
operands or finds an error, the machine of the step runs the loop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._function import Function
from ..program import LoopSpec
from ._job import LoopCode, LoopJob
from ._text import ArrayForm

__all__ = ["LoopCodes"]

#: Seconds that a loop works with arrays of some shapes before it is worth while to compile it for them.
_BUSY_SECONDS = 0.1
#: For so many different shapes at most; of more, none is looked at.
_MOST, _MOST_SEEN = 4, 64
#: Runs of which the fastest tells how fast the code is.
_TRIALS = 3
#: Code that is slower than the machine by more than noise is given up.
_SLOWER = 1.1

#: The number of steps that were done, and the results.
Found = tuple[int, list[Any]]


class _Variant:
    """A loop with arrays of certain shapes: the code for them, and how long a step takes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.machine_rate = self.code_rate = float("inf")
        self.trials = 0
        self.job: LoopJob | None = None
        self.code: LoopCode | None = None


class LoopCodes:
    """The code of a loop.

    Parameters
    ----------
    fn : Function
        The step.
    loop_spec : LoopSpec
    likes : sequence of int
        For each result that is summed, the number of the input that has its shape; -1 for others.
    at_once : bool
        Whether code is made before the first run, rather than for loops that have been busy.

    Attributes
    ----------
    runs : int
        How often the loop has run by its own code.
    jobs : int
        For how many sets of shapes code has been asked for.
    errors : list of Exception
        Why there is no code for some shapes.
    """

    def __init__(self, fn: Function, loop_spec: LoopSpec, likes: Sequence[int], at_once: bool = False) -> None:
        self.fn, self.loop_spec, self.likes, self.at_once = fn, loop_spec, likes, at_once
        self.runs = 0
        self.errors: list[Exception] = []
        self._variants: dict[tuple[Any, ...], _Variant] = {}
        self._ready: list[_Variant] = []
        self._waiting: list[_Variant] = []
        self._machine: Any = None
        self.jobs = 0
        self._over = False

    def run(self, steps: int, operands: Sequence[Any]) -> Found | None:
        """Run the loop by code that is there; None where the machine of the step has to do it."""
        if self._waiting:
            self._collect()
        if not self._ready:
            return None
        machine = self._native()
        if machine is None:
            return None
        values = tuple(operands)
        for variant in self._ready:
            code = variant.code
            assert code is not None
            begin = time.perf_counter() if variant.trials < _TRIALS else 0.0
            outcome = machine.run_loop_code(code.address, code.forms, steps, values)
            if outcome is None:
                continue
            if type(outcome) is int:  # the number of an error, of which the machine tells more
                return None
            self.runs += 1
            if begin:
                self._try(variant, (time.perf_counter() - begin) / max(outcome[0], 1))
            return outcome  # type: ignore[no-any-return]
        return None

    def made(self, steps: int, operands: Sequence[Any]) -> bool:
        """Make the code for some values, where it is to be made at once; return whether there is more than before."""
        if not self.at_once or self._over:
            return False
        before = len(self._ready)
        self._note(steps, operands, float("inf"))
        self._collect()
        return len(self._ready) > before

    def note(self, done: int, operands: Sequence[Any], seconds: float) -> None:
        """Remember how long the machine took for some steps; if that was long enough, let code be made."""
        if not self._over and done and not self.at_once:
            self._note(done, operands, seconds)

    def _note(self, steps: int, operands: Sequence[Any], seconds: float) -> None:
        rows = self.loop_spec.rows
        if not all(type(x) is np.ndarray for x in operands):
            self._over = True
            return
        key = tuple([x.shape[1:] if k < rows else x.shape for k, x in enumerate(operands)])
        variant = self._variants.get(key)
        if variant is None:
            if len(self._variants) >= _MOST_SEEN:
                self._over = True
                return
            variant = self._variants[key] = _Variant()
        variant.machine_rate = min(variant.machine_rate, seconds / steps)
        variant.seconds += seconds
        if variant.job is None and variant.seconds >= _BUSY_SECONDS:
            self._begin(variant, operands)

    def _begin(self, variant: _Variant, operands: Sequence[Any]) -> None:
        machine = self._native()
        if machine is None or self.jobs >= _MOST:
            self._over = True
            return
        rows = self.loop_spec.rows
        forms = [ArrayForm(k < rows, x.dtype.name, x.shape[k < rows :]) for k, x in enumerate(operands)]
        sums = [None if like < 0 else forms[like].shape for like in self.likes]
        self.jobs += 1
        variant.job = LoopJob(self.fn, self.loop_spec, forms, sums)
        self._waiting.append(variant)
        if self.at_once:
            variant.job.run()
        else:
            variant.job.begin()

    def _collect(self) -> None:
        for variant in list(self._waiting):
            job = variant.job
            if job is None or not job.is_over:
                continue
            if not _taken(self._waiting, variant):
                continue  # by another thread
            variant.code = job.found
            if job.error is not None:
                self.errors.append(job.error)
            if variant.code is not None:
                self._ready.append(variant)

    def _native(self) -> Any:
        """Return the machine in C that runs the step; None where another one does."""
        machine = self._machine
        if machine is None:
            machine = self.fn.machine
            now = getattr(machine, "now", None)
            machine = machine if now is None else now()
            if not hasattr(machine, "run_loop_code"):
                return None
            if now is None:
                self._machine = machine
        return machine

    def _try(self, variant: _Variant, rate: float) -> None:
        variant.trials += 1
        variant.code_rate = min(variant.code_rate, rate)
        if variant.trials == _TRIALS and variant.code_rate > variant.machine_rate * _SLOWER:
            _taken(self._ready, variant)


def _taken(variants: list[_Variant], variant: _Variant) -> bool:
    """Remove a loop from a list; return False if another thread has removed it."""
    try:
        variants.remove(variant)
    except ValueError:
        return False
    return True
