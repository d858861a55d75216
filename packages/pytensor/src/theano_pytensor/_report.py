"""Reports about the nodes that were translated, and those left to PyTensor."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Report:
    """The fate of the nodes of a function of PyTensor.

    Attributes
    ----------
    translated : mapping of str to int
        How many nodes of each op a rule translated, loops and graphs inside of ops included.
    performed : mapping of str to list of str
        Why nodes were left to their own `perform`, by op, one entry a node.
    """

    translated: Mapping[str, int]
    performed: Mapping[str, list[str]]

    def __str__(self) -> str:
        left = sum(map(len, self.performed.values()))
        total = sum(self.translated.values()) + left
        lines = [f"{total - left} of {total} nodes translated, {left} left to PyTensor"]
        for name, reasons in sorted(self.performed.items()):
            lines.append(f"  {name}: {len(reasons)} ({'; '.join(sorted(set(reasons)))})")
        return "\n".join(lines)


class PerformWarning(UserWarning):
    """Part of a graph runs in Python, by the `perform` of ops of PyTensor."""


class VersionWarning(UserWarning):
    """A version of PyTensor that this package was not tested with."""


TESTED = ("2.38", "3.0")
"""The series of PyTensor that all tests of this package pass with."""


def check_version(version: str) -> None:
    """Warn of a version of PyTensor that belongs to no tested series.

    Parameters
    ----------
    version : str

    Examples
    --------
    >>> check_version("2.38.3")
    """
    if ".".join(version.split(".")[:2]) not in TESTED:
        warnings.warn(
            f"theano_pytensor was tested with PyTensor {' and '.join(TESTED)}, not with {version}. "
            "Hint: where results or errors surprise you, install one of these.",
            VersionWarning,
            stacklevel=3,
        )


_announced: set[str] = set()


def announce(report: Report) -> None:
    """Warn of ops that are left to PyTensor, of each op once."""
    new = sorted(set(report.performed) - _announced)
    if new:
        _announced.update(new)
        warnings.warn(
            f"theano_pytensor: {', '.join(new)} computed by PyTensor's own perform, in Python. "
            "Hint: theano_pytensor.report(f) tells why.",
            PerformWarning,
            stacklevel=2,
        )


def report(function: Any) -> Report:
    """Tell which nodes of a function were translated, and which are left to PyTensor.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``.

    Raises
    ------
    TypeError
        If another linker compiled it.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> print(report(pytensor.function([x], pt.exp(x) + 1, mode="THEANO")))
    2 of 2 nodes translated, 0 left to PyTensor
    """
    translation = linker_of(function).translation
    return Report(translation.translated, translation.performed)


def linker_of(function: Any) -> Any:
    """Return the linker of a function that Theano compiled.

    Raises
    ------
    TypeError
        If another linker compiled it.
    """
    linker = getattr(getattr(function, "maker", None), "linker", None)
    if not hasattr(linker, "engine_function"):
        raise TypeError(
            f"{function!r} was not compiled by Theano. Hint: compile it with pytensor.function(..., mode='THEANO')."
        )
    return linker
