"""Kinds of flags: what values they take and how text is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class FlagKind(Generic[T]):
    """How a flag is read and checked; the base of the kinds below.

    Parameters
    ----------
    default : object or callable without arguments
        A callable is called when the default is first needed.
    """

    allowed = ""

    def __init__(self, default: T | Callable[[], T], validate: Callable[[T], bool] | None = None) -> None:
        self._default = default
        self._validate = validate

    def default(self) -> T:
        """Return the default value."""
        return self._default() if callable(self._default) else self._default

    def parse(self, value: Any) -> T:
        """Return `value`, text or object, as a value of the flag; raise ValueError when it is none."""
        raise ValueError(value)

    def checked(self, value: Any) -> T:
        """Parse and validate `value`."""
        parsed = self.parse(value)
        if self._validate is not None and not self._validate(parsed):
            raise ValueError(value)
        return parsed


class BoolFlag(FlagKind[bool]):
    """True or false; text may be 1, true, yes, on, 0, false, no, off."""

    allowed = "True or False"

    def parse(self, value: Any) -> bool:
        """Return the truth value that `value` spells."""
        if isinstance(value, str) and value.strip().lower() in _TRUE:
            return True
        if isinstance(value, str) and value.strip().lower() in _FALSE:
            return False
        if isinstance(value, (bool, int)) and value in (0, 1):
            return bool(value)
        raise ValueError(value)


class IntFlag(FlagKind[int]):
    """An integer."""

    allowed = "an integer"

    def parse(self, value: Any) -> int:
        """Return the integer that `value` spells."""
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(value)
        return int(value)


class FloatFlag(FlagKind[float]):
    """A real number."""

    allowed = "a number"

    def parse(self, value: Any) -> float:
        """Return the number that `value` spells."""
        return float(value)


class StrFlag(FlagKind[str]):
    """Any text."""

    allowed = "a string"

    def parse(self, value: Any) -> str:
        """Return `value`, which must be text."""
        if not isinstance(value, (str, os.PathLike)):
            raise ValueError(value)
        return os.fspath(value)


class EnumFlag(FlagKind[str]):
    """One of some words.

    Parameters
    ----------
    default : str
    *others : str
        The other allowed words.
    """

    def __init__(self, default: str, *others: str) -> None:
        super().__init__(default)
        self.words = (default, *others)
        self.allowed = "one of " + ", ".join(map(repr, self.words))

    def parse(self, value: Any) -> str:
        """Return `value`, which must be one of the words."""
        if value is None and "None" in self.words:
            return "None"
        if value not in self.words:
            raise ValueError(value)
        return str(value)
