"""The names in C text, of variables and of calls.

Text is taken apart into words without regard to its grammar, so that a name is never missed: words of comments and
strings, members of structures and types are names as well.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["called", "named"]


def _table(brackets: str) -> dict[int, str]:
    """Return the replacement of each ASCII character beside letters, digits and underscores."""
    table = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
    return {**table, ord("("): brackets}


_WORDS, _CALLS = _table(" "), _table("( ")
#: The names in texts of no more characters are remembered.
_SHORT = 200


def named(text: str) -> tuple[str, ...]:
    """Return the names in a text, in the order in which they come first.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> named("x1[3 * n2] + 1.5e3f * expf(x1)")
    ('x1', 'n2', 'expf')
    """
    return _remembered(text) if len(text) <= _SHORT else _names(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in text.translate(_WORDS).split() if not word[0].isdigit()))


#: Passes ask for the names of statements again and again.
_remembered = lru_cache(maxsize=4096)(_names)


def called(text: str) -> tuple[str, ...]:
    """Return the names behind which an opening bracket stands.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> called("y = (double)x + exp(log(x));")
    ('exp', 'log')
    """
    words = text.translate(_CALLS).split()
    calls = (word[:-1] for word in words if word[-1] == "(" and len(word) > 1 and not word[0].isdigit())
    return tuple(dict.fromkeys(calls))
