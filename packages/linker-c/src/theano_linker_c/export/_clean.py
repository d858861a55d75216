"""C text made fit for other compilers: no extensions of GNU C, and no variables that nobody reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["portable", "without_unread"]

_BUILTIN = re.compile(r"__builtin_(\w+)")
_SPECIAL_VALUES = (
    (re.compile(r'__builtin_nanf\(""\)'), "NAN"),
    (re.compile(r'__builtin_nan\(""\)'), "((double)NAN)"),
    (re.compile(r"__builtin_inff\(\)"), "INFINITY"),
    (re.compile(r"__builtin_inf\(\)"), "((double)INFINITY)"),
    (re.compile(r"__real__ (\w+)"), r"creal(\1)"),
    (re.compile(r"__imag__ (\w+)"), r"cimag(\1)"),
)
_NAME = re.compile(r"\b[a-z]+\d+(?:_\w+)?\b")
_DEFINITION = re.compile(r"^\s*(?:(?:const )?\w+(?: _Complex)? \*?(?:const )?)?([a-z]+\d+(?:_\w+)?)(?: = (.*))?;$")


def portable(text: str) -> str:
    """Return C99 text for text that calls what only gcc and clang have.

    Examples
    --------
    >>> portable("__builtin_fabs(x) < __builtin_inf()")
    'fabs(x) < ((double)INFINITY)'
    """
    for pattern, replacement in _SPECIAL_VALUES:
        text = pattern.sub(replacement, text)
    return _BUILTIN.sub(r"\1", text)


def without_unread(lines: Sequence[str]) -> list[str]:
    """Leave out definitions of variables, and assignments to them, whose values nothing reads.

    Examples
    --------
    >>> without_unread(["double t1;", "t1 = 2;", "y[0] = 3;"])
    ['y[0] = 3;']
    """
    readers: dict[str, set[int]] = {}
    writers: dict[str, list[int]] = {}
    used: list[set[str]] = []
    for i, line in enumerate(lines):
        names = set(_NAME.findall(line))
        definition = _DEFINITION.match(line)
        if definition is not None:
            name = definition.group(1)
            writers.setdefault(name, []).append(i)
            names = set(_NAME.findall(definition.group(2) or ""))
        used.append(names)
        for name in names:
            readers.setdefault(name, set()).add(i)
    dropped: set[int] = set()
    waiting = [name for name in writers if not readers.get(name)]
    while waiting:
        name = waiting.pop()
        for i in writers[name]:
            if i in dropped:
                continue
            dropped.add(i)
            for other in used[i]:
                readers[other].discard(i)
                if not readers[other] and other in writers:
                    waiting.append(other)
    return [line for i, line in enumerate(lines) if i not in dropped]
