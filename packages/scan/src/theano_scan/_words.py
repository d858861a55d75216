"""Contents of loops that archives may have; see `theano_graph.safe_loading`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theano_graph.safe_loading import (
    FORMS,
    ObjectForm,
    RecordForm,
    Word,
    class_words,
    is_bool,
    is_int,
    refused,
    tuple_of,
)
from theano_linker_c import Mode

from ._loop._ops import Loop, Scan
from ._loop._plan import FINAL, LAST, STACK, SUM, Memory, Plan

_MOST = 10_000
_OPTIONS = frozenset({"mode", "name", "on_unused_input", "profile"})


def _is_count(value: Any) -> bool:
    return is_int(value) and 0 <= value <= _MOST


def _loop(state: dict[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    graph, options = state["fgraph"], state["options"]
    if type(options) is not dict or not options.keys() <= _OPTIONS:
        raise refused("the archive has a loop with options that are not known")
    return (graph.inputs, graph.outputs, state["plan"], state["name"], options, state["memory"]), {}


def _scan(state: dict[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
    info = state["info"]
    mode = info.get("mode") if type(info) is dict else ()
    if not (mode is None or type(mode) in (str, Mode)) or state.get("typeConstructor") is not None:
        raise refused("the archive has a loop with a mode, or a constructor of types, of its own")
    return (state["inputs"], state["outputs"], info), {}


_GRAPH = ("_function", "_lock")
FORMS[Plan] = RecordForm(
    sequences=_is_count,
    states=_is_count,
    kinds=tuple_of(lambda value: value in (STACK, SUM, FINAL, LAST)),
    likes=tuple_of(lambda value: is_int(value) and -1 <= value <= _MOST),
    until=is_bool,
    backwards=is_bool,
    truncate=lambda value: is_int(value) and value >= -1,
)
FORMS[Memory] = RecordForm(allow_gc=is_bool, preallocate=is_bool)
FORMS[Scan] = ObjectForm(_scan, left_out=_GRAPH, kept={"preallocate": bool})
FORMS[Loop] = ObjectForm(_loop, left_out=_GRAPH, anew=("fgraph",))


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from class_words({"theano_scan._loop._ops": "Loop Scan", "theano_scan._loop._plan": "Memory Plan"})
