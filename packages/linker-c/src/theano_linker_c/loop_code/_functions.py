"""When a function gets code of its own: one function of C for arguments of certain shapes."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._function import Function
from ..compiler import CompilerOptions
from ..runtime._instructions import KernelForm
from ..runtime._tiers import pool
from ..straight import function_program
from ._job import LoopCode, encoded_forms, loop_library
from ._text import ENTRY, ArrayForm, write_function

__all__ = ["FunctionCodes"]

#: Seconds that a function works with arrays of some shapes before it is worth while to compile it for them.
_BUSY_SECONDS = 0.1
#: For so many different shapes at most; of more, none is looked at.
_MOST, _MOST_SEEN = 4, 64
#: How many calls come between two that are timed.
_CALLS = 64
#: Seconds that the machine takes for a kernel, and for a call of Python, beyond the work itself.
_KERNEL, _PYTHON = 1.5e-7, 5e-6
#: The time saved has to be so much of a call.
_LEAST_PART = 0.15
#: Longer text is compiled with less effort, and still longer one not at all.
_LONG, _LONGEST = 250_000, 1_000_000


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
            if len(text.text) <= _LONGEST:
                code = loop_library.load(text.text, self.options, quick=len(text.text) > _LONG)
                self.code = LoopCode(code.address(ENTRY), encoded_forms(text), code)
        except Exception as error:  # noqa: BLE001  (the machine does the calls in any case)
            self.error = error
        self.is_over = True


class _Variant:
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
        self._variants: dict[tuple[Any, ...], _Variant] = {}
        self._waiting: list[_Variant] = []
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
        variant = self._variants.setdefault(tuple([x.shape for x in operands]), _Variant())
        variant.best = min(variant.best, seconds)
        variant.seconds += seconds * _CALLS
        if not variant.begun and self._jobs < _MOST and (self.at_once or self._is_worth_while(variant)):
            self._begin(fn, variant, operands)
        return 1 if self.at_once else _CALLS

    def _is_worth_while(self, variant: _Variant) -> bool:
        return variant.seconds >= _BUSY_SECONDS and self._overhead >= _LEAST_PART * variant.best

    def _begin(self, fn: Function, variant: _Variant, operands: tuple[Any, ...]) -> None:
        self._jobs += 1
        variant.begun = True
        variant.job = FunctionJob(fn, [ArrayForm(False, x.dtype.name, x.shape) for x in operands])
        self._waiting.append(variant)
        if self.at_once:
            variant.job.run()
            self._take(fn, variant)
        else:
            pool.begin(variant.job)

    def _take(self, fn: Function, variant: _Variant) -> None:
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
