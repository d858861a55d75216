"""The common part of machines."""

from __future__ import annotations

from typing import Any, Protocol

from theano_graph import Apply, Variable

from .._instructions._data import Program
from ._counters import Observer, Reading
from ._thunks import Thunk

#: Bytes that a machine keeps for its next call at most.
BUFFER_LIMIT = 1 << 28


class Machine(Protocol):
    """Runs a program: called as the function is called.

    Notes
    -----
    Machines give the same results and the same texts of errors. Updates are stored when everything has been computed,
    so that a call that fails leaves shared variables as they were; the thunk at `position_of_error` then holds the
    operands, until `clear`.

    A machine whose property `nogil` is true runs ``run_batch(elements, regular)`` without the interpreter's lock, and
    gives the results and the exception of the first call that failed, or None. It belongs to one thread; ``again()``
    makes another one of the same program.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def run(self, values: Any, /) -> list[Any]: ...
    def clear(self) -> None: ...
    def start_profile(self, skip: int, observer: Observer | None, /) -> None: ...
    def read_profile(self) -> Reading | None: ...
    @property
    def position_of_error(self) -> int: ...
    @property
    def program(self) -> Program: ...
    @property
    def thunks(self) -> list[Thunk]: ...
    @property
    def nodes(self) -> list[Apply]: ...
    @property
    def storage_map(self) -> dict[Variable, list[Any]]: ...
