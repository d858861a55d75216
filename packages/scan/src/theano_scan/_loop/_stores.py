"""What becomes of the values that the steps of a loop return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

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
