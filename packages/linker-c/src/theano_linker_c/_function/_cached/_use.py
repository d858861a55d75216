"""Functions that are looked for on disk before they are built, and put there afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from theano_graph import Apply, FunctionGraph, Variable, config
from theano_optimize import number_of_reports, number_of_user_foldings

from ..._flags import LARGE
from ..._lazy import cached_functions
from ...compiler import CompilerOptions, while_compiling
from ...kernels._build import library
from ...modes import Mode
from .._making._maker import FunctionMaker
from .._making._source import SourceGraph
from .._signature._collect import Collection, Signature
from ._gate import rules_of_users
from ._sketch import sketch_of
from ._stores import stores

if TYPE_CHECKING:
    from ._key import FunctionKey
    from ._restored import RestoredFunction

#: A graph, and a function from a leaf of it to the variable in the function: None for the function's own graph.
_Graph = tuple[Sequence[Variable], Sequence[Variable], Callable[[Variable], Variable] | None]


class CachedFunction:
    """One function that may be on disk.

    A function with no similar one on disk is built at once, and named while the compiler is waited for.

    Parameters
    ----------
    signature : Signature
    mode : Mode
    builder : callable
        Makes a function of a maker and containers.
    accept_inplace : bool
        Whether the graph may overwrite operands. One that does is neither taken nor kept.
    """

    def __init__(
        self, signature: Signature, mode: Mode, builder: Callable[..., Any], accept_inplace: bool = False
    ) -> None:
        self._counts = _counts()
        self._options = CompilerOptions.from_config()
        self._signature, self._mode, self._builder = signature, mode, builder
        self._accepts_inplace = accept_inplace
        self._sketch = ""
        self._key: FunctionKey | None = None
        #: Whether the key has been looked for, which there may not be.
        self._is_named = False
        #: Whether there is nothing on disk.
        self._is_missing = False
        #: Whether nothing is taken or kept: None where that is not known yet.
        self._is_left: bool | None = None
        #: The caller's own graph, where the function computes exactly that.
        self._given: _Graph | None = None

    def find(self, collection: Collection, on_unused_input: str) -> FunctionMaker | None:
        """Return the maker of the function as it was built before, without a copy of the caller's graph.

        None where it has to be built, and where there is something to report or to add: that is done to a copy.
        """
        if not collection.is_plain:
            return None
        inputs, outputs = collection.inputs, collection.outputs
        self._given = inputs, outputs, collection.leaf
        if not self._may_be_there(collection.nodes, inputs, outputs):
            self._name_early(collection.nodes)
            return None
        key = self._named()
        if key is None:
            return None
        items = self._signature.inputs
        unused = any(not items[i].shared and items[i].update is None for i in key.unused)
        if key.overwrites or (unused and on_unused_input != "ignore"):
            return None
        return self._found(key, inputs, outputs)

    def find_copy(self, fgraph: FunctionGraph) -> FunctionMaker | None:
        """Return the maker of the function as it was built before; None where it has to be built."""
        inputs, outputs = fgraph.inputs, fgraph.outputs
        if self._given is None and not self._is_missing:
            self._given = inputs, outputs, None
            if self._may_be_there(fgraph.data_order(), inputs, outputs):
                self._named()
            else:
                self._name_early(fgraph.apply_nodes)
            self._given = None  # it will be rewritten
        if self._is_missing or self._key is None or self._is_given_up(self._key):
            return None
        return self._found(self._key, inputs, outputs)

    def built(self, maker: FunctionMaker, make: Callable[[], Any]) -> Any:
        """Return the function that `make` gives, which is put on disk as soon as it is native."""
        if self._given is None and not self._is_named:
            self._given = (*maker.source.twin(), None)
        with while_compiling(self._load, self._look, self._named):
            function = make()
        self._named()
        self._given = None
        function.once_settled(lambda _, is_native: self._store(function) if is_native else None)
        return function

    def _may_be_there(self, nodes: Iterable[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> bool:
        self._sketch = sketch_of(nodes, inputs, outputs)
        if stores.holds(self._sketch):
            stores.finish(self._sketch)
        may_exist = library.cache(self._options).has_function_like(self._sketch) and not self._look()
        self._is_missing = not may_exist
        return may_exist

    def _name_early(self, nodes: Iterable[Apply]) -> None:
        """Name a function at once where its key may change while it is built.

        Ops with graphs of their own keep compiled functions; rules of users may have globals that they change.
        """
        if rules_of_users() or any(hasattr(node.op, "compiled") for node in nodes):
            self._named()

    def _load(self) -> None:
        """Load the modules that name and store it."""
        cached_functions()

    def _look(self) -> bool:
        """Tell whether nothing is taken or kept.

        Users who did not ask for the cache need not know its limits.
        """
        if self._is_left is None:
            self._is_left = config.function_cache == LARGE and cached_functions().is_code_exchanged()
        return self._is_left

    def _named(self) -> FunctionKey | None:
        if not self._is_named and self._given is not None and not self._look():
            self._is_named = True
            inputs, outputs, leaf_of = self._given
            self._key = cached_functions().key_of(self._signature, inputs, outputs, self._mode, leaf_of)
        return self._key

    def _found(self, key: FunctionKey, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> FunctionMaker | None:
        name = cached_functions().named(self._sketch, key, self._options)
        data = None if name is None else library.cache(self._options).find_function(name)
        self._is_missing = data is None
        if name is None or data is None:
            return None
        source = SourceGraph(inputs, outputs, changes=False)
        maker: FunctionMaker | None = cached_functions().restored(data, key, name, self._maker, source, self._options)
        return maker

    def _maker(self, rewritten: FunctionGraph | RestoredFunction, source: SourceGraph) -> FunctionMaker:
        return FunctionMaker(
            self._signature, rewritten, self._mode, self._builder, self._accepts_inplace, source=source
        )

    def _is_given_up(self, key: FunctionKey) -> bool:
        """Tell whether calls overwrite the caller's arrays."""
        return self._accepts_inplace and key.overwrites

    def _store(self, function: Any) -> None:
        if self._key is None or self._is_given_up(self._key) or self._counts != _counts():
            return
        cached_functions().put_later(function, self._key, self._sketch, self._options)


def _counts() -> tuple[int, int]:
    """Return numbers that go up with events that only rewriting can cause: reports of failures, code of the user's."""
    return number_of_reports(), number_of_user_foldings()
