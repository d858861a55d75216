"""Printers that return whole texts: objects with a method ``process(variable, state)``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from .._expression._nodes import Variable


class PrinterState:
    """What a printer that returns whole texts is told.

    Parameters
    ----------
    props : dict or PrinterState, optional
        Attributes.
    **more_props
        Further attributes.

    Attributes
    ----------
    memo : dict
        For texts that have been made, by variable.
    """

    def __init__(self, props: Any = None, **more_props: Any) -> None:
        self.memo: dict[Variable, str] = {}
        vars(self).update(vars(props) if isinstance(props, PrinterState) else props or {})
        vars(self).update(more_props)


class ProcessedText:
    """Lets an object with ``process(variable, state)`` write the outputs of an op.

    Parameters
    ----------
    printer : object
    """

    def __init__(self, printer: Any) -> None:
        self.printer = printer

    def fragments(self, variable: Variable, place: Any) -> list[str]:
        """Return the text."""
        return [str(self.printer.process(variable, PrinterState(pprinter=place.printer)))]


def on_variables(condition: Callable[..., Any], table: Any) -> Callable[[Variable], bool]:
    """Return a condition on variables for one on variables, or on states and variables.

    Parameters
    ----------
    condition : callable
        ``condition(variable)`` or ``condition(state, variable)``.
    table : PrettyPrinter
        Told to the condition as the attribute `pprinter` of the state.
    """
    try:
        count = len(inspect.signature(condition).parameters)
    except (TypeError, ValueError):
        count = 1
    if count != 2:
        return condition
    return lambda variable: bool(condition(PrinterState(pprinter=table), variable))


def template_of(pattern: Any) -> str:
    """Return the template ``{0:-1000}`` for the historical patterns ``%(0)s`` and ``("%(0)s", -1000)``.

    Parameters
    ----------
    pattern : str or tuple
    """
    text, *precedences = (pattern,) if isinstance(pattern, str) else pattern
    if "%(" not in text:
        return str(text)

    def field(found: re.Match[str]) -> str:
        position = int(found[1])
        return f"{{{position}:{precedences[position]}}}" if position < len(precedences) else f"{{{position}}}"

    braces = str(text).replace("{", "{{").replace("}", "}}")
    return re.sub(r"%\((\d+)\)s", field, braces).replace("%%", "%")
