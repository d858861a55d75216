"""Linkers and parts of them, calls that are kept in files, and the C contract of ops."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, MissingRuleError, Op, Variable, format_error
from theano_linker_c.linkers import Linker
from theano_linker_c.program import annotate_node

# ---- The C contract of ops and types as base classes whose methods raise
#
# No op has to derive from these: the machine asks each op for the methods that it defines. They are for programs that
# derive from them, ask `isinstance`, or call methods of the base class.

_SIMPLE = (
    "c_headers",
    "c_header_dirs",
    "c_libraries",
    "c_lib_dirs",
    "c_support_code",
    "c_compile_args",
    "c_no_compile_args",
    "c_init_code",
)
_OF_NODES = (
    "c_code",
    "c_code_cleanup",
    "c_support_code_apply",
    "c_support_code_struct",
    "c_init_code_apply",
    "c_init_code_struct",
    "c_cleanup_code_struct",
)


def _undefined(name: str) -> Callable[..., Any]:
    """Return a method of the contract that is not defined; the machine passes over it."""

    def method(self: Any, *args: Any) -> Any:
        raise MissingRuleError(
            format_error(f"{type(self).__name__} defines no {name}", hint=f"define {type(self).__qualname__}.{name}")
        )

    method.__name__ = name
    method.__doc__ = f"Raise MethodNotDefined: there is no {name} yet."
    method.is_default = True  # type: ignore[attr-defined]
    return method


def _version(self: Any, *args: Any) -> tuple[Any, ...]:
    """Return no version: compiled code is found by its text."""
    return ()


def _with_methods(*names: str) -> Callable[[type], type]:
    def fill(cls: type) -> type:
        for name in names:
            setattr(cls, name, _undefined(name))
        return cls

    return fill


class _ForAllOps(type):
    """Lets every op count as an instance, and every class of ops as a subclass."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Op) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Op) or super().__subclasscheck__(subclass)


@_with_methods(*_SIMPLE)
class CLinkerObject:
    """The C code for all nodes of an op, or all variables of a type."""

    __module__ = "theano.gof.op"
    c_code_cache_version = _version


@_with_methods(*_OF_NODES)
class CLinkerOp(CLinkerObject, metaclass=_ForAllOps):
    """The C code of a node; each op may define it, derived from this class or not."""

    __module__ = "theano.gof.op"
    c_code_cache_version_apply = _version


@_with_methods(*_SIMPLE, *_OF_NODES)
class HideC:
    """Hides the C code of the class that stands after it among the bases, so that the op runs in Python."""

    __module__ = "theano.gof.cc"
    c_code_cache_version = _version
    c_code_cache_version_apply = _version


# ---- Linkers, storage of values, and parts for a linker of one's own

Cells = list[list[Any]]
StorageMap = dict[Variable, list[Any]]

#: Linkers whose graphs run node by node, which all of them do.
LocalLinker = Linker


def map_storage(
    fgraph: FunctionGraph,
    order: Iterable[Apply],
    input_storage: Sequence[list[Any]] | None,
    output_storage: Sequence[list[Any]] | None,
    storage_map: StorageMap | None = None,
) -> tuple[Cells, Cells, StorageMap]:
    """Return one-element lists for the values of a graph: of its inputs, its outputs, and by variable.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : iterable of Apply
        Its nodes.
    input_storage, output_storage : sequence of list or None
        Lists to use; new ones where None is given.
    storage_map : dict, optional
        Variable -> list, for further variables that have a list already.
    """
    storage: StorageMap = {} if storage_map is None else storage_map
    for variables, cells in ((fgraph.inputs, input_storage), (fgraph.outputs, output_storage)):
        if cells is not None:
            if len(cells) != len(variables):
                raise ValueError(f"map_storage: {len(variables)} variables and {len(cells)} lists")
            storage.update(zip(variables, cells, strict=True))
    for variable in (*fgraph.inputs, *(v for node in order for v in (*node.inputs, *node.outputs)), *fgraph.outputs):
        if variable not in storage:
            storage[variable] = [variable.data if isinstance(variable, Constant) else None]
    return [storage[v] for v in fgraph.inputs], [storage[v] for v in fgraph.outputs], storage


def gc_helper(node_list: Iterable[Apply]) -> tuple[set[Variable], dict[Variable, Apply]]:
    """Return the variables that the nodes compute, and for each variable that they read the last node that does.

    Parameters
    ----------
    node_list : iterable of Apply
        In the order in which they run.
    """
    computed: set[Variable] = set()
    last_user: dict[Variable, Apply] = {}
    for node in node_list:
        last_user.update(dict.fromkeys(node.inputs, node))
        computed.update(node.outputs)
    return computed, last_user


def streamline(
    fgraph: FunctionGraph,
    thunks: Sequence[Callable[[], Any]],
    order: Sequence[Apply],
    post_thunk_old_storage: Sequence[Sequence[list[Any]]] | None = None,
    no_recycling: Sequence[list[Any]] = (),
    nice_errors: bool = True,
) -> Callable[[], None]:
    """Return a function that runs thunks one after the other.

    Parameters
    ----------
    fgraph : FunctionGraph
    thunks : sequence of callable
    order : sequence of Apply
        The node of each thunk.
    post_thunk_old_storage : sequence of sequence of list, optional
        For each thunk, lists that are emptied after it.
    no_recycling : sequence of list
        Lists that are emptied before the first thunk.
    nice_errors : bool
        Whether errors name the node.
    """
    old = [()] * len(thunks) if post_thunk_old_storage is None else list(post_thunk_old_storage)
    if not len(thunks) == len(order) == len(old):
        raise ValueError(f"streamline: {len(thunks)} thunks, {len(order)} nodes and {len(old)} lists of storage")

    def run() -> None:
        for cell in no_recycling:
            cell[0] = None
        for thunk, node, dying in zip(thunks, order, old, strict=True):
            try:
                thunk()
            except Exception as error:
                if nice_errors:
                    annotate_node(error, node, [cell[0] for cell in getattr(thunk, "inputs", ())])
                raise
            for cell in dying:
                cell[0] = None

    return run


def add_clear_storage(f: Any, computed: Iterable[Variable], storage_map: StorageMap) -> None:
    """Give a function the method `clear_storage`, which empties the lists of some variables.

    Parameters
    ----------
    f : callable
    computed : iterable of Variable
    storage_map : dict of Variable to list
    """

    def clear_storage() -> None:
        for variable in computed:
            storage_map[variable][0] = None

    f.clear_storage = clear_storage


def raise_with_op(
    node: Apply,
    thunk: Any = None,
    exc_info: tuple[Any, BaseException, Any] | None = None,
    storage_map: StorageMap | None = None,
) -> None:
    """Raise an exception again with a description of the node that it came from.

    Parameters
    ----------
    node : Apply
    thunk : callable, optional
        With `inputs`, lists with the values of the operands.
    exc_info : tuple, optional
        As of ``sys.exc_info()``; by default the exception that is being handled.
    storage_map : dict, optional
        Where values of operands are, if the thunk does not say.
    """
    error = sys.exc_info()[1] if exc_info is None else exc_info[1]
    if error is None:
        raise RuntimeError("raise_with_op: there is no exception to raise again")
    cells = getattr(thunk, "inputs", None)
    if cells is None and storage_map is not None:
        cells = [storage_map[v] for v in node.inputs]
    raise annotate_node(error, node, [cell[0] for cell in cells or ()])


# ---- Results of calls, kept in memory and in a file

_logger = logging.getLogger("theano.gof._linkers")


class CallCache:
    """Results of functions, by the functions and their arguments.

    Parameters
    ----------
    filename : str, optional
        A file with results that are taken up, and that :meth:`persist` writes.

    Examples
    --------
    >>> from theano.gof import callcache
    >>> results = callcache.CallCache()
    >>> results.call(abs, (-3,)), len(results.cache)
    (3, 1)
    """

    def __init__(self, filename: str | None = None) -> None:
        self.filename = filename
        self.cache: dict[Hashable, Any] = {}
        if filename is not None and Path(filename).exists():
            with Path(filename).open("rb") as file:
                self.cache = pickle.load(file)

    def persist(self, filename: str | None = None) -> None:
        """Write the results to a file, by default the one that they came from."""
        target = self.filename if filename is None else filename
        if target is None:
            raise ValueError("this cache has no file; pass the name of one")
        with Path(target).open("wb") as file:
            pickle.dump(self.cache, file)

    def call(self, fn: Callable[..., Any], args: Sequence[Any] = (), key: Hashable = None) -> Any:
        """Return ``fn(*args)``, computed once for each `key`; by default for each function and arguments."""
        key = (fn, tuple(args)) if key is None else key
        if key in self.cache:
            _logger.debug("cache hit %i", len(self.cache))
        else:
            _logger.debug("cache miss %i", len(self.cache))
            self.cache[key] = fn(*args)
        return self.cache[key]
