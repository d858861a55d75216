"""Functions that are looked for on disk before they are built, and put there afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import FunctionGraph, GraphError
from theano_graph.hashing import NoStructuralHashError
from theano_optimize import number_of_reports

from ..._overwriting._shown import Decisions
from ...compiler import CompilerOptions
from ...kernels._build import library
from ...modes import Mode
from .._making._maker import FunctionMaker
from .._making._source import SourceGraph
from .._signature._collect import Signature
from ._entry import Entry, restore_graph, restore_program, write_entry
from ._key import FunctionKey
from ._pickles import NotCachedError, load


class CachedFunction:
    """One function that may be on disk.

    Parameters
    ----------
    signature : Signature
    fgraph : FunctionGraph
        Not rewritten yet.
    mode : Mode
    """

    def __init__(self, signature: Signature, fgraph: FunctionGraph, mode: Mode) -> None:
        self._reports = number_of_reports()
        self._options = CompilerOptions.from_config()
        try:
            self._key: FunctionKey | None = FunctionKey(signature, fgraph, mode)
        except NoStructuralHashError:
            self._key = None

    def find(self, signature: Signature, fgraph: FunctionGraph, builder: Callable[..., Any]) -> FunctionMaker | None:
        """Return the maker of the function as it was built before; None where it has to be built."""
        name = None if self._key is None else self._key.name(self._options)
        data = None if name is None else library.cache(self._options).find_function(name)
        if data is None or self._key is None:
            return None
        try:
            entry: Entry = load(data, self._key.given)
        except Exception:  # noqa: BLE001  # a class of the user's that is elsewhere now, say: the function is built
            return None
        loaded = library.load(entry.linkages, self._options) if entry.linkages else {}
        if loaded is None:
            return None
        mode = self._key.mode
        source = SourceGraph(fgraph.inputs, fgraph.outputs, changes=False)
        decisions = Decisions()
        rewritten, variables, nodes = restore_graph(entry, decisions)
        maker = FunctionMaker(signature, rewritten, mode, builder, source=source)
        maker.decisions = decisions
        maker.overwriting = entry.overwriting
        decisions.restore([(nodes[i], plain, form) for i, plain, form in entry.shown])
        maker.prepared = restore_program(entry, variables, nodes, loaded, mode.linker.target.present)
        return maker

    def store(self, function: Any) -> None:
        """Put a function that has just been built on disk, if another process can do with it what this one does."""
        if self._key is None or self._reports != number_of_reports():
            return
        name = self._key.name(self._options)
        if name is None:
            return
        try:
            data = write_entry(function.maker, function.machine.program, self._key.given)
            library.cache(self._options).store_function(name, data)
        except (NotCachedError, GraphError, OSError):
            return
