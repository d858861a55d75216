"""Functions that are looked for on disk before they are built, and put there afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import FunctionGraph, GraphError, MissingInputError, Variable, config
from theano_graph.hashing import NoStructuralHashError
from theano_optimize import RewriteProfile, number_of_reports, number_of_user_foldings

from ..._flags._modes import LARGE
from ...compiler import CompilerOptions
from ...kernels._build import library
from ...modes import Mode, predefined_optimizers
from .._making._maker import FunctionMaker
from .._making._source import SourceGraph
from .._signature._collect import Collection, Signature
from ._entry import read_entry, write_entry
from ._exchanged import exchanged_code
from ._key import FunctionKey
from ._pickles import NotCachedError
from ._restored import RestoredFunction


class CachedFunction:
    """One function that may be on disk.

    Parameters
    ----------
    signature : Signature
    mode : Mode
    builder : callable
        Makes a function of a maker and containers.
    """

    def __init__(self, signature: Signature, mode: Mode, builder: Callable[..., Any]) -> None:
        self._counts = _counts()
        self._options = CompilerOptions.from_config()
        self._signature, self._mode, self._builder = signature, mode, builder
        self._key: FunctionKey | None = None
        # Whoever gets the cache without having asked for it need not know what it does not notice.
        self._is_missing = config.function_cache == LARGE and exchanged_code() is not None

    def find(self, collection: Collection, on_unused_input: str) -> FunctionMaker | None:
        """Return the maker of the function as it was built before, without a copy of the caller's graph.

        None where it has to be built, and where there is something to report or to add: that is done to a copy.
        """
        if not collection.is_plain or self._is_missing:
            return None
        inputs, outputs = collection.inputs, collection.outputs
        try:
            self._key = key = FunctionKey(self._signature, inputs, outputs, self._mode, collection.leaf)
        except NoStructuralHashError:
            self._is_missing = True
            return None
        except MissingInputError:
            return None
        items = self._signature.inputs
        unused = any(not items[i].shared and items[i].update is None for i in key.unused)
        if key.overwrites or (unused and on_unused_input != "ignore"):
            return None
        return self._found(key, inputs, outputs)

    def find_copy(self, fgraph: FunctionGraph) -> FunctionMaker | None:
        """Return the maker of the function as it was built before; None where it has to be built."""
        if self._is_missing:
            return None
        if self._key is None:
            try:
                self._key = FunctionKey(self._signature, fgraph.inputs, fgraph.outputs, self._mode, lambda leaf: leaf)
            except NoStructuralHashError:
                return None
        return self._found(self._key, fgraph.inputs, fgraph.outputs)

    def _found(self, key: FunctionKey, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FunctionMaker | None:
        name = key.name(self._options)
        data = None if name is None else library.cache(self._options).find_function(name)
        self._is_missing = data is None
        if name is None or data is None:
            return None
        try:
            entry = read_entry(data, key.given)
        except Exception:  # noqa: BLE001  # a class of the user's that is elsewhere now, say: the function is built
            return None
        loaded = library.load(entry.linkages, self._options) if entry.linkages else {}
        if loaded is None:
            return None
        mode = key.mode
        restored = RestoredFunction(entry, key.given, loaded, mode.linker.target.present, name)
        if not (entry.waits and restored.is_complete):
            try:
                restored.graph()
            except Exception:  # noqa: BLE001  # as above
                return None
        source = SourceGraph(inputs, outputs, changes=False)
        maker = FunctionMaker(self._signature, restored, mode, self._builder, source=source)
        maker.overwriting = entry.overwriting
        maker.profile = _nothing_rewritten(mode, restored.n_nodes)
        return maker

    def store(self, function: Any) -> None:
        """Put a function that has just been built on disk, if another process can do with it what this one does."""
        if self._key is None or self._counts != _counts():
            return
        name = self._key.name(self._options)
        if name is None:
            return
        try:
            cache = library.cache(self._options)
            data = write_entry(function.maker, function.machine, self._key.given, cache.holder, name)
            cache.store_function(name, data)
        except (NotCachedError, GraphError, OSError):
            return


def _counts() -> tuple[int, int]:
    """Return numbers that go up with what only rewriting itself can do: report a failure, run code of the user's."""
    return number_of_reports(), number_of_user_foldings()


def _nothing_rewritten(mode: Mode, nodes: int) -> RewriteProfile | None:
    """Return the profile of rewriting that took place in another process; None for a mode without rewrites."""
    query = mode.query
    if query is None or query == predefined_optimizers[None]:
        return None
    return RewriteProfile(query.name or "cached", nodes_before=nodes, nodes_after=nodes)
