"""From bytes to functions and back; loaded only when there is something to read or to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from theano_graph import GraphError, Variable
from theano_optimize import RewriteProfile

from ..._cache import KernelCache
from ..._lazy import restored_functions
from ...compiler import CompilerOptions
from ...kernels._build import library
from ...modes import Mode, predefined_optimizers
from .._making._maker import FunctionMaker
from .._making._source import SourceGraph
from .._signature._collect import Signature
from ._entry import Draft, draft_entry, has_clusters, read_entry
from ._exchanged import exchanged_code
from ._key import FunctionKey
from ._pickles import NotCachedError
from ._stores import stores


def is_code_exchanged() -> bool:
    """Tell whether a program has put other code in the place of the library's own."""
    return exchanged_code() is not None


def key_of(
    signature: Signature,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    mode: Mode,
    leaf_of: Callable[[Variable], Variable] | None,
) -> FunctionKey | None:
    """Return a function's name, as :class:`FunctionKey`; None where it has none."""
    try:
        return FunctionKey(signature, inputs, outputs, mode, leaf_of)
    except Exception:  # noqa: BLE001  # there is no name, or code of the user's fails that nobody has called
        return None


def restored(
    data: bytes,
    key: FunctionKey,
    name: str,
    maker_of: Callable[..., FunctionMaker],
    source: SourceGraph,
    options: CompilerOptions,
) -> FunctionMaker | None:
    """Return the maker of a function as it was built before; None where it has to be built.

    Parameters
    ----------
    data : bytes
    key : FunctionKey
    name : str
        Of the file.
    maker_of : callable
        Makes it of the rewritten graph and the source.
    source : SourceGraph
    options : CompilerOptions
    """
    try:
        entry = read_entry(data, key.given)
    except Exception:  # noqa: BLE001  # a class of the user's that is elsewhere now, say: the function is built
        return None
    loaded = library.load(entry.linkages, options) if entry.linkages else {}
    if loaded is None:
        return None
    mode = key.mode
    function = restored_functions().RestoredFunction(entry, key.given, loaded, mode.linker.target.present, name)
    if not (entry.waits and function.is_complete):
        try:
            function.graph()
        except Exception:  # noqa: BLE001  # as above
            return None
    maker = maker_of(function, source)
    maker.overwriting = entry.overwriting
    maker.profile = _nothing_rewritten(mode, function.n_nodes)
    return maker


def put_later(function: Any, key: FunctionKey, sketch: str, options: CompilerOptions) -> None:
    """Put a function that has just been built on disk, if it can serve in another process.

    Changeable parts are noted at once; the background does the rest.
    """
    cache = library.cache(options)
    # Code of the user's does not run in other threads; and a cluster has the name of the function.
    at_once = key.has_user_code or has_clusters(function.machine.program)
    name = named(sketch, key, options) if at_once else ""
    if name is None:
        return
    try:
        draft = draft_entry(function.maker, function.machine, key.given, cache.holder, name)
    except (NotCachedError, GraphError):
        return
    if at_once:
        _put(draft, key, name, cache)
    else:
        stores.add(sketch, lambda: _name_and_put(draft, key, sketch, options, cache))


def _put(draft: Draft, key: FunctionKey, name: str, cache: KernelCache) -> None:
    try:
        cache.store_function(name, draft.written(key.given))
    except (NotCachedError, OSError):
        return


def _name_and_put(draft: Draft, key: FunctionKey, sketch: str, options: CompilerOptions, cache: KernelCache) -> None:
    """Store a function in the background, where nobody could be told of a mistake."""
    with suppress(Exception):
        name = named(sketch, key, options)
        if name is not None:
            _put(draft, key, name, cache)


def named(sketch: str, key: FunctionKey, options: CompilerOptions) -> str | None:
    """Return the name of the file of a function; None where there is none."""
    name = key.name(options)
    return None if name is None else f"{sketch}-{name}"


def _nothing_rewritten(mode: Mode, nodes: int) -> RewriteProfile | None:
    """Return the profile of rewriting that took place in another process; None for a mode without rewrites."""
    query = mode.query
    if query is None or query == predefined_optimizers[None]:
        return None
    return RewriteProfile(query.name or "cached", nodes_before=nodes, nodes_after=nodes)
