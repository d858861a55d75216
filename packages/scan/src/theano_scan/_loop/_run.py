"""One run of a loop, by the machine of its step or step by step, and the storage of its results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from theano_graph import format_error
from theano_linker_c.program import loop_runner

from ._plan import FINAL, STACK, SUM

# ---- Storage of the values that steps return

#: Makes the error for a value of a wrong shape: step, shape, the shape that was wanted.
MakeShapeError = Callable[[int, Sequence[int], Sequence[int]], Exception]


class Store(Protocol):
    """Takes the values of one output, step by step."""

    def take(self, i: int, value: Any) -> None:
        """Take the value of the step that reads place i of the sequences."""

    def result(self, done: int, backwards: bool) -> Any:
        """Return the output after `done` steps, at least one."""


class Stacked:
    """All values, in an array that is made at the first step.

    Parameters
    ----------
    n : int
        How many steps there may be.
    shape : tuple of int, optional
        That all values have; that of the first one by default.
    shape_error : callable
    """

    def __init__(self, n: int, shape: Sequence[int] | None, shape_error: MakeShapeError) -> None:
        self.n, self.shape, self.shape_error = n, shape, shape_error
        self.rows: Any = None

    def take(self, i: int, value: Any) -> None:
        """Copy the value to its place."""
        if self.rows is None:
            self.shape = value.shape if self.shape is None else self.shape
            self.rows = np.empty((self.n, *self.shape), value.dtype)
        if value.shape != self.shape:
            raise self.shape_error(i, value.shape, self.shape or ())
        self.rows[i] = value

    def result(self, done: int, backwards: bool) -> Any:
        """Return the rows of the steps that were done."""
        if done == self.n:
            return self.rows
        return self.rows[self.n - done :] if backwards else self.rows[:done]


class Collected:
    """All values, put together at the end; the parameters are those of :class:`Stacked`."""

    def __init__(self, n: int, shape: Sequence[int] | None, shape_error: MakeShapeError) -> None:
        self.shape, self.shape_error = shape, shape_error
        self.rows: list[Any] = []

    def take(self, i: int, value: Any) -> None:
        """Keep a copy."""
        self.shape = value.shape if self.shape is None else self.shape
        if value.shape != self.shape:
            raise self.shape_error(i, value.shape, self.shape or ())
        self.rows.append(np.array(value))

    def result(self, done: int, backwards: bool) -> Any:
        """Return them as one array."""
        return np.stack(self.rows[::-1] if backwards else self.rows)


class Summed:
    """The sum of the values."""

    def __init__(self, shape_error: MakeShapeError) -> None:
        self.shape_error = shape_error
        self.total: Any = None

    def take(self, i: int, value: Any) -> None:
        """Add, in place after the first step."""
        if self.total is None:
            self.total = np.array(value)
        elif value.shape != self.total.shape:
            raise self.shape_error(i, value.shape, self.total.shape)
        else:
            np.add(self.total, value, out=self.total)

    def result(self, done: int, backwards: bool) -> Any:
        """Return the sum."""
        return self.total


class Last:
    """The value of the last step; it has the given shape, if any."""

    def __init__(self, shape: Sequence[int] | None, shape_error: MakeShapeError) -> None:
        self.shape, self.shape_error = shape, shape_error
        self.value: Any = None

    def take(self, i: int, value: Any) -> None:
        """Keep the value itself."""
        if self.shape is not None and value.shape != self.shape:
            raise self.shape_error(i, value.shape, self.shape)
        self.value = value

    def result(self, done: int, backwards: bool) -> Any:
        """Return it."""
        return self.value


# ---- The run


class Run:
    """One run of a loop: the stores of its outputs, and the states of the step at hand."""

    def __init__(self, op: Any, n: int, operands: Sequence[Any]) -> None:
        plan = op.plan
        last = plan.sequences + plan.states
        self.op, self.n, self.given = op, n, operands
        self.sequences, self.start, self.constants = (
            operands[: plan.sequences],
            operands[plan.sequences : last],
            operands[last:],
        )
        self.found: list[Any] = []

    def _store(self, k: int, kind: str) -> Store:
        shape = getattr(self.start[k], "shape", None) if k < self.op.plan.states else None

        def shape_error(i: int, got: Sequence[int], expected: Sequence[int]) -> Exception:
            return self._shape_error(k, i, got, expected)

        if kind == STACK:
            return (Stacked if self.op.memory.preallocate else Collected)(self.n, shape, shape_error)
        return Summed(shape_error) if kind == SUM else Last(shape, shape_error)

    def _shape_error(self, k: int, i: int, got: Sequence[int], expected: Sequence[int]) -> Exception:
        return ValueError(_shape_text(self.op, k, i, got, expected))

    def native(self) -> int:
        """Let the machine of the step do all steps; return how many were done, 0 where it cannot."""
        plan = self.op.plan
        if not self.op.memory.preallocate:
            return 0
        fn, codes = self.op.compiled(), self.op.codes()
        result = codes.run(self.n, self.given) if codes is not None and codes.made(self.n, self.given) else None
        if result is None:
            repeat = loop_runner(fn.machine, plan.loop_spec())
            if repeat is None:
                return 0
            begin = perf_counter()
            result = repeat(self.n, self.given, self._shape_error)
            if codes is not None:
                codes.note(result[0], self.given, perf_counter() - begin)
        return self.take(*result)

    def take(self, done: int, outputs: list[Any]) -> int:
        """Take the results of native code; those of loops that may end early have rows for all steps."""
        plan = self.op.plan
        if done < self.n:
            part = slice(self.n - done, None) if plan.backwards else slice(done)
            outputs = [v[part] if kind == STACK else v for v, kind in zip(outputs, plan.kinds, strict=True)]
        self.found = outputs
        return done

    def steps(self) -> int:
        """Do the steps one by one, and return how many were done."""
        plan, run = self.op.plan, self.op.runner()
        stores = [self._store(k, kind) for k, kind in enumerate(plan.kinds)]
        takes = [store.take for store in stores]
        sequences, constants, states = self.sequences, list(self.constants), list(self.start)
        order = range(self.n - 1, -1, -1) if plan.backwards else range(self.n)
        done = 0
        try:
            for i in order:
                values = run([*[s[i, ...] for s in sequences], *states, *constants])
                for take, value in zip(takes, values, strict=False):
                    take(i, value)
                states = list(values[: plan.states])
                done += 1
                if plan.until and values[-1]:
                    break
        except Exception as error:
            error.add_note(f"  in step {done} of a loop of {self.n}, counted from 0")
            raise
        self.found = [store.result(done, plan.backwards) for store in stores]
        return done

    def results(self, done: int) -> list[Any]:
        """Return the outputs after `done` steps."""
        return self.found if done else [self._without_steps(k, kind) for k, kind in enumerate(self.op.plan.kinds)]

    def _without_steps(self, k: int, kind: str) -> Any:
        of: Any = self.op.values[k].type
        if kind == STACK:
            shape = self.start[k].shape if k < self.op.plan.states else self._shape_of_row(k)
            return np.empty((0, *shape), of.dtype)
        if kind == SUM:
            like = self.op.plan.likes[k]
            return np.zeros(self.given[like].shape[like < len(self.sequences) :], of.dtype)
        if kind == FINAL:
            start = self.start[k]
            return start.copy() if isinstance(start, np.ndarray) else copy.copy(start)
        raise IndexError(
            format_error(f"{self.op} has done no step: there is no last one", hint="run at least one step")
        )

    def _shape_of_row(self, k: int) -> tuple[int, ...]:
        """Return the shape that output k would have in a step: that of a step on zeros, where it can be done."""
        try:
            rows = [np.zeros(s.shape[1:], s.dtype) for s in self.sequences]
            result: tuple[int, ...] = self.op.runner()([*rows, *self.start, *self.constants])[k].shape
        except (ArithmeticError, IndexError, ValueError):
            of: Any = self.op.values[k].type
            return tuple(length or 0 for length in of.shape)
        return result


def _shape_text(op: Any, k: int, step: int, got: Sequence[int], expected: Sequence[int]) -> str:
    what = f"state {k}" if k < op.plan.states else f"output {k - op.plan.states}"
    return format_error(
        f"{op}: {what} has shape {tuple(got)} in step {step}, not {tuple(expected)}",
        hint="give the initial state the shape that steps return, and return equal shapes from all steps",
    )
