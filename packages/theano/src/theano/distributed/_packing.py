"""Functions on their way to workers: pickled once by the caller, unpickled once by each worker.

A parcel has a key made of its content. A worker keeps unpickled parcels under that key, as many copies as
threads have used at one time: functions with shared variables are not for two users at once.
"""

from __future__ import annotations

import copyreg
import hashlib
import importlib
import io
import pickle
import reprlib
import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from theano_graph import describe, format_error
from theano_linker_c import Function

from ._states import States

#: So many different functions a worker keeps; the one that was used longest ago is given up first.
KEPT = 16


class Packed(NamedTuple):
    """A parcel that a worker unpickles once."""

    key: str
    data: bytes


class Loaded(NamedTuple):
    """An unpickled parcel, and the values that its functions keep between calls."""

    value: Any
    states: States


class _Found(threading.local):
    """The functions that a pickle had, while it is read or written."""

    functions: list[Function] | None = None


_found = _Found()


def _pack_function(function: Function) -> tuple[Any, ...]:
    if _found.functions is not None:
        _found.functions.append(function)
    reduced: Any = function.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    restore, arguments, *more = reduced
    return _unpack_function, (restore, arguments), *more


def _unpack_function(restore: Callable[..., Function], arguments: Sequence[Any]) -> Function:
    function = restore(*arguments)
    if _found.functions is not None:
        _found.functions.append(function)
    return function


@contextmanager
def _finding() -> Iterator[list[Function]]:
    before, _found.functions = _found.functions, []
    try:
        yield _found.functions
    finally:
        _found.functions = before


def _pickler(by_value: bool, file: io.BytesIO, keep: Callable[[Any], object] | None = None) -> Any:
    """Return a pickler; with `by_value` one that includes definitions of the main program, where there is one.

    The memory of arrays goes to `keep` instead of into the file, if it is given.
    """
    pickler_class: Any = pickle.Pickler
    table: Any = copyreg.dispatch_table
    for name in ("cloudpickle", "joblib.externals.cloudpickle") if by_value else ():
        try:
            pickler_class = importlib.import_module(name).Pickler
        except ImportError:
            continue
        table = pickler_class.dispatch_table
        break
    # Picklers read the table when they are made.
    kind = type("Packer", (pickler_class,), {"dispatch_table": ChainMap({Function: _pack_function}, table)})
    return kind(file, pickle.HIGHEST_PROTOCOL, buffer_callback=keep)


def pack(value: Any, *, by_value: bool) -> Packed:
    """Pickle objects for workers.

    Parameters
    ----------
    value : object
        A compiled function, or anything that has some.
    by_value : bool
        Whether functions of the main program are sent as code, which Dask and joblib do, instead of by their names.

    Raises
    ------
    TypeError
        If something cannot be pickled; where it is an op, the message names it.
    """
    file = io.BytesIO()
    with _finding() as functions:
        try:
            _pickler(by_value, file).dump(value)
        except Exception as error:
            raise TypeError(_what_is_wrong(value, functions, by_value, error)) from error
    data = file.getvalue()
    return Packed(hashlib.sha256(data).hexdigest(), data)


def _leave_out(buffer: Any) -> None:
    """Let a pickler that only tries leave the memory of arrays where it is."""


def check_items(items: Iterable[tuple[int, Any]], *, by_value: bool) -> None:
    """Check that items can be sent to workers.

    Raises
    ------
    TypeError
        If one of them cannot be pickled: the message names it.
    """
    for i, item in items:
        reason = _refusal(item, by_value)
        if reason is not None:
            raise TypeError(
                format_error(
                    f"element {i} of the arguments of map, counted from 0, cannot be sent to workers: {reason}",
                    context=[reprlib.repr(item)],
                    hint="give numbers, arrays, names of files, and let the function build its objects from them",
                )
            ) from reason


def _refusal(value: object, by_value: bool) -> Exception | None:
    try:
        _pickler(by_value, io.BytesIO(), _leave_out).dump(value)
    except Exception as error:  # noqa: BLE001  (pickling calls what classes define)
        return error
    return None


def _what_is_wrong(value: object, functions: Sequence[Function], by_value: bool, error: Exception) -> str:
    """Look for the op that cannot be pickled, then for the shared value."""
    advice = "define its class, and those of its members, at the top of a module that the workers can import"
    for function in functions:
        label = str(function.maker.signature.label)
        for node in function.maker.fgraph.toposort():
            reason = _refusal(node.op, by_value)
            if reason is not None:
                return format_error(
                    f"{label} cannot be sent to workers: its op {node.op} cannot be pickled: {reason}",
                    context=[describe(node.outputs[0])],
                    hint=advice,
                )
        for box in function.input_storage:
            reason = _refusal(box.value, by_value)
            if reason is not None:
                return format_error(
                    f"{label} cannot be sent to workers: its value {box.name!r} cannot be pickled: {reason}",
                    hint=advice,
                )
    return format_error(
        f"{value!r:.80} cannot be sent to workers: it cannot be pickled: {error}",
        hint="give a compiled function, or a function defined at the top of a module (functools.partial gives it more)",
    )


class _Shelf(NamedTuple):
    idle: list[Loaded]


_shelves: OrderedDict[str, _Shelf] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def loaded(packed: Packed) -> Iterator[Loaded]:
    """Lend a parcel to the present thread, unpickled now if no copy of it is free."""
    with _lock:
        shelf = _shelves.setdefault(packed.key, _Shelf([]))
        _shelves.move_to_end(packed.key)
        while len(_shelves) > KEPT:
            _shelves.popitem(last=False)
        pickle_state = shelf.idle.pop() if shelf.idle else None
    if pickle_state is None:
        with _finding() as functions:
            value = pickle.loads(packed.data)
        pickle_state = Loaded(value, States(functions))
    try:
        yield pickle_state
    finally:
        with _lock:
            shelf.idle.append(pickle_state)
