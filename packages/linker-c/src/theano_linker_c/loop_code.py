"""When loops and functions get code of their own, for the shapes with which they run; compilation in the background."""

from __future__ import annotations

import os
import time
import weakref
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import record

from ._function import Function
from .compiler import CompilerOptions, MappedCode
from .export._loop_source import ENTRY, ArrayForm, LoopText, write_function, write_loop
from .export._pointer import CodeLibrary
from .kernels import type_number
from .program import LoopSpec
from .runtime._instructions import KernelForm
from .runtime._tiers import pool
from .straight import function_program

# ---- Loops that are compiled in the background

#: Beside that of exported functions, whose callers wait while it compiles.
loop_library = CodeLibrary()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=loop_library.renew_lock)
#: Longer text is compiled with less effort: the compiler's time grows faster than the text.
_LONG = 250_000
#: Nobody waits for the compiler that long.
_LONGEST = 4_000_000


@record
class LoopCode:
    """The function of a loop, and which arrays it takes.

    Attributes
    ----------
    address : int
    forms : bytes
        Forms of the operands and results, as the machine takes them.
    code : MappedCode
        Has to stay as long as the address is used.
    """

    address: int
    forms: bytes
    code: MappedCode


class LoopJob:
    """The code of one loop for certain shapes, which a thread makes.

    Parameters
    ----------
    fn : Function
        The step.
    loop_spec : LoopSpec
    operands : sequence of ArrayForm
    sums : sequence of (tuple of int) or None

    Attributes
    ----------
    found : LoopCode or None
        None also where there can be none.
    is_over : bool
    error : Exception or None
        Why there is no code.
    """

    def __init__(
        self,
        fn: Function,
        loop_spec: LoopSpec,
        operands: Sequence[ArrayForm],
        sums: Sequence[tuple[int, ...] | None],
    ) -> None:
        self.fn, self.loop_spec, self.operands, self.sums = fn, loop_spec, operands, sums
        self.options = CompilerOptions.from_config()
        self.found: LoopCode | None = None
        self.error: Exception | None = None
        self.is_over = False

    def begin(self) -> None:
        """Let a thread do it."""
        pool.begin(self)

    def renew(self) -> None:
        """Give up, in a process that was made of this one: the thread stayed behind."""
        self.is_over = True

    def run(self) -> None:
        """Write and compile the code."""
        try:
            self.found = self._made()
        except Exception as error:  # noqa: BLE001  (the machine runs the loop in any case)
            self.error = error
        self.is_over = True

    def _made(self) -> LoopCode | None:
        text = write_loop(function_program(self.fn), self.loop_spec, self.operands, self.sums)
        if len(text.text) > _LONGEST:
            return None
        code = loop_library.load(text.text, self.options, quick=len(text.text) > _LONG)
        return LoopCode(code.address(ENTRY), encoded_forms(text), code)


def encoded_forms(text: LoopText) -> bytes:
    """Return the forms of operands and results as the machine takes them."""
    numbers = array("q", (len(text.operands), len(text.results)))
    for form in (*text.operands, *text.results):
        numbers.extend((form.moves, type_number(form.dtype), len(form.shape), *form.shape))
    return numbers.tobytes()


# ---- When a loop gets code of its own, and who runs it
#
# Code is for arrays of certain shapes, and takes the compiler longer than most loops take to run. So it is made, by a
# thread, once a loop has worked for some time with these shapes; until then, and where the code refuses its
# operands or finds an error, the machine of the step runs the loop.

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


class _LoopVariant:
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
        self._variants: dict[tuple[Any, ...], _LoopVariant] = {}
        self._ready: list[_LoopVariant] = []
        self._waiting: list[_LoopVariant] = []
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
            variant = self._variants[key] = _LoopVariant()
        variant.machine_rate = min(variant.machine_rate, seconds / steps)
        variant.seconds += seconds
        if variant.job is None and variant.seconds >= _BUSY_SECONDS:
            self._begin(variant, operands)

    def _begin(self, variant: _LoopVariant, operands: Sequence[Any]) -> None:
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

    def _try(self, variant: _LoopVariant, rate: float) -> None:
        variant.trials += 1
        variant.code_rate = min(variant.code_rate, rate)
        if variant.trials == _TRIALS and variant.code_rate > variant.machine_rate * _SLOWER:
            _taken(self._ready, variant)


def _taken(variants: list[_LoopVariant], variant: _LoopVariant) -> bool:
    """Remove a loop from a list; return False if another thread has removed it."""
    try:
        variants.remove(variant)
    except ValueError:
        return False
    return True


# ---- When a function gets code of its own: one function of C for arguments of certain shapes

#: Seconds that a function works with arrays of some shapes before it is worth while to compile it for them.
#: For so many different shapes at most; of more, none is looked at.
#: How many calls come between two that are timed.
_CALLS = 64
#: Seconds that the machine takes for a kernel, and for a call of Python, beyond the work itself.
_KERNEL, _PYTHON = 1.5e-7, 5e-6
#: The time saved has to be so much of a call.
_LEAST_PART = 0.15
#: Longer text is compiled with less effort, and still longer one not at all.
_LONG_FUNCTION, _LONGEST_FUNCTION = 250_000, 1_000_000


class FunctionJob:
    """The code of a function for certain shapes, which a thread makes.

    Parameters
    ----------
    fn : Function
    operands : sequence of ArrayForm
        Arguments and shared variables.

    Attributes
    ----------
    code : LoopCode or None
        None also where there can be none.
    is_over : bool
    error : Exception or None
        Why there is no code.
    """

    def __init__(self, fn: Function, operands: Sequence[ArrayForm]) -> None:
        self.fn, self.operands = fn, operands
        self.options = CompilerOptions.from_config()
        self.code: LoopCode | None = None
        self.error: Exception | None = None
        self.is_over = False

    def renew(self) -> None:
        """Give up, in a process that was made of this one: the thread stayed behind."""
        self.is_over = True

    def run(self) -> None:
        """Write and compile the code."""
        try:
            text = write_function(function_program(self.fn), self.operands)
            if len(text.text) <= _LONGEST_FUNCTION:
                code = loop_library.load(text.text, self.options, quick=len(text.text) > _LONG_FUNCTION)
                self.code = LoopCode(code.address(ENTRY), encoded_forms(text), code)
        except Exception as error:  # noqa: BLE001  (the machine does the calls in any case)
            self.error = error
        self.is_over = True


class _FunctionVariant:
    """A function with arrays of certain shapes: how long it has worked, and the code that is being made for it."""

    def __init__(self) -> None:
        self.seconds, self.best = 0.0, float("inf")
        self.begun = False
        self.job: FunctionJob | None = None


class FunctionCodes:
    """The code of a function, for which its machine tells of calls that it has timed.

    Parameters
    ----------
    fn : Function
        It has to live as long as its machine is called.
    at_once : bool
        Whether code is made after the first call, rather than for functions that have been busy.

    Attributes
    ----------
    errors : list of Exception
        Why there is no code for some shapes.
    """

    def __init__(self, fn: Function, at_once: bool = False) -> None:
        self.fn, self.at_once = weakref.ref(fn), at_once
        self.errors: list[Exception] = []
        self._variants: dict[tuple[Any, ...], _FunctionVariant] = {}
        self._waiting: list[_FunctionVariant] = []
        instructions = fn.machine.program.instructions
        self._overhead = sum(_KERNEL if isinstance(x.form, KernelForm) else _PYTHON for x in instructions)
        self._jobs = 0

    def told(self, seconds: float, operands: tuple[Any, ...]) -> int:
        """Take note of a call, and return after how many the next one is timed; 0 for never."""
        fn = self.fn()
        if fn is None:
            return 0
        for variant in [v for v in self._waiting if v.job is not None and v.job.is_over]:
            self._take(fn, variant)
        if not self._waiting and (self._jobs >= _MOST or len(self._variants) >= _MOST_SEEN):
            return 0
        if not all(type(x) is np.ndarray for x in operands):
            return 0
        variant = self._variants.setdefault(tuple([x.shape for x in operands]), _FunctionVariant())
        variant.best = min(variant.best, seconds)
        variant.seconds += seconds * _CALLS
        if not variant.begun and self._jobs < _MOST and (self.at_once or self._is_worth_while(variant)):
            self._begin(fn, variant, operands)
        return 1 if self.at_once else _CALLS

    def _is_worth_while(self, variant: _FunctionVariant) -> bool:
        return variant.seconds >= _BUSY_SECONDS and self._overhead >= _LEAST_PART * variant.best

    def _begin(self, fn: Function, variant: _FunctionVariant, operands: tuple[Any, ...]) -> None:
        self._jobs += 1
        variant.begun = True
        variant.job = FunctionJob(fn, [ArrayForm(False, x.dtype.name, x.shape) for x in operands])
        self._waiting.append(variant)
        if self.at_once:
            variant.job.run()
            self._take(fn, variant)
        else:
            pool.begin(variant.job)

    def _take(self, fn: Function, variant: _FunctionVariant) -> None:
        self._waiting.remove(variant)
        job, variant.job = variant.job, None
        if job is None:
            return
        if job.error is not None:
            self.errors.append(job.error)
        if job.code is not None:
            machine: Any = fn.machine
            seconds = float("inf") if self.at_once else variant.best
            machine.add_code(job.code.address, job.code.forms, job.code.code, seconds)


__all__ = ["LoopCode", "LoopJob", "encoded_forms", "loop_library", "LoopCodes", "FunctionCodes"]
