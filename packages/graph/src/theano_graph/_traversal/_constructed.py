"""The variables that a part of a program makes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import get_ident

from .._expression._nodes import Variable


@contextlib.contextmanager
def nodes_constructed() -> Iterator[list[Variable]]:
    """Give a list that fills with the variables that the thread makes inside the block.

    Examples
    --------
    >>> from theano_graph import generic
    >>> with nodes_constructed() as made:
    ...     x = generic("x")
    >>> made == [x]
    True
    """
    made: list[Variable] = []
    thread = get_ident()

    def observer(variable: Variable) -> None:
        if get_ident() == thread:
            made.append(variable)

    Variable.construction_observers.append(observer)
    try:
        yield made
    finally:
        Variable.construction_observers.remove(observer)
