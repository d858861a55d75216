"""Linkers, storage of values, and parts for a linker of one's own."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c.linkers import (
    Linker,
)
from theano_linker_c.program import annotate_node

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
