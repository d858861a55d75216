"""Flags that are different for a while."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from .._errors import format_error

P = ParamSpec("P")
R = TypeVar("R")


class Undo(Protocol):
    """Takes a change back."""

    def __call__(self) -> None:
        """Take it back."""
        ...


class ChangedFlags:
    """Context manager and decorator that changes flags; made by ``config.change_flags``.

    One object can be entered many times, also while it is entered, and in several threads. Leaving takes back this
    change alone: blocks that do not end in the reverse order of their beginnings (threads, suspended generators) leave
    nothing behind.

    Parameters
    ----------
    change : callable
        Makes all changes and returns what takes them back.
    values : mapping
        Names of flags to values.
    """

    def __init__(self, change: Callable[[Mapping[str, Any]], Undo], values: Mapping[str, Any]) -> None:
        self._change = change
        self._values = dict(values)
        # The entries of all threads: each makes the same change, so any of them may be taken back first.
        self._entered: list[Undo] = []

    def __getstate__(self) -> Any:
        return {"_change": self._change, "_values": self._values, "_entered": []}

    def __enter__(self) -> None:
        self._entered.append(self._change(self._values))

    def __exit__(self, *error: object) -> None:
        # Programs that keep one object for nested blocks leave it more often than they entered it.
        if self._entered:
            self._entered.pop()()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return `function` with the flags changed while it runs, for generators and coroutines: not while they wait.

        Raises
        ------
        TypeError
            If `function` is an asynchronous generator function or cannot be called.
        """
        if inspect.isasyncgenfunction(function) or not callable(function):
            raise TypeError(
                format_error(
                    f"change_flags cannot decorate {function!r}",
                    hint="decorate a function, a generator function or a coroutine function",
                )
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
                return (yield from self._drive(function(*args, **kwargs)))

            return cast("Callable[P, R]", generate)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run(*args: P.args, **kwargs: P.kwargs) -> Any:
                return await types.coroutine(self._drive)(function(*args, **kwargs))

            return cast("Callable[P, R]", run)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return call

    def _drive(self, steps: Generator[Any, Any, Any] | Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run `steps` with the flags changed, and hand on what it yields with the flags as they were."""
        command: Callable[[Any], Any] = steps.send
        argument: Any = None
        while True:
            with self:
                try:
                    item = command(argument)
                except StopIteration as stop:
                    return stop.value
            try:
                argument = yield item
                command = steps.send
            except GeneratorExit:
                with self:
                    steps.close()
                raise
            # Whatever is thrown in belongs to the steps.
            except BaseException as error:  # noqa: BLE001
                command, argument = steps.throw, error
