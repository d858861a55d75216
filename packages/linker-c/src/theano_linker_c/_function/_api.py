"""`function`: from an expression to a callable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any

from theano_graph import (
    MissingInputError,
    Variable,
    cell_of,
    collector_paused,
    config,
    current_origin,
    format_error,
)

from .._overwriting._results import check_no_inplace
from ..modes import Mode, get_mode
from ..profiling import as_profile, timing
from ._cached._gate import is_cacheable
from ._cached._use import CachedFunction
from ._calling._callable import Function
from ._making._maker import FunctionMaker
from ._progress import Build
from ._signature._collect import Collection, Signature, as_unused_choice, check_related, check_used
from ._signature._errors import FunctionInputError
from ._signature._io import as_inputs, as_outputs


def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: str | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
) -> Function:
    """Compile expressions into a callable.

    Parameters
    ----------
    inputs : sequence
        Variables (not shared ones) that a call gives values for, in order; or :class:`In`, or the tuples ``(name, x)``,
        ``(x, value)``, ``((x, update), value)``, ``(name, x, value)``, ``(name, (x, update), value)``.
    outputs : Variable, Out, list, dict or None
        The results. A call returns one value, a list, or a dictionary with the same keys; None gives an empty list.
    mode : str, Mode or None
        How to rewrite and run; None follows the configuration.
    updates : mapping or iterable of pairs, optional
        Shared variable -> expression of its new value, stored after everything has been computed. Calls from several
        threads that update one variable, by this function or others, come one after the other.
    givens : mapping or iterable of pairs, optional
        Variable -> its substitute in this function. All substitutions are made at once.
    no_default_updates : bool or list of SharedVariable
        True, or for which variables: their `default_update` is left out.
    accept_inplace : bool
        True permits ops in the graph that overwrite their inputs.
    name : str, optional
        Name, for messages and printing.
    rebuild_strict : bool
        False permits `givens` to change types; their dependents are built again.
    allow_input_downcast : bool or None
        True: arguments may lose precision when they are cast to an input's dtype. False: never. None: only Python
        floats, to ``floatX``.
    profile : bool, str, ProfileStats or None
        Whether the calls are profiled: True makes a new :class:`ProfileStats`, with the text as its message where text
        is given; a given one gathers the figures of all functions it is passed to. None follows the flag `profile`. The
        figures are in ``f.profile``; ``f.profile.summary()`` prints them.
    on_unused_input : {"raise", "warn", "ignore"}, optional
        The reaction to an input that nothing uses; by default the flag `on_unused_input`.

    Returns
    -------
    Function

    Raises
    ------
    TypeError
        For inputs, outputs, updates or givens of the wrong kind or type.
    MissingInputError
        If a variable in the graph has no value: it is neither an input nor shared.
    UnusedInputError
        If nothing uses an input.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> import theano.tensor as T
    >>> x, w = T.dvector("x"), theano.shared(np.zeros(2), name="w")
    >>> step = theano.function([x], (w * x).sum(), updates=[(w, w + x)])
    >>> [float(step([1.0, 2.0])) for call in range(3)]
    [0.0, 5.0, 10.0]
    >>> w.get_value()
    array([3., 6.])
    """
    where = f"function `{name}`" if name else "function"
    _check_name(name, where)
    stats, begin = as_profile(profile, name, where), perf_counter()
    with collector_paused(), Build(name) as build:
        chosen = get_mode(mode)
        unused = as_unused_choice(on_unused_input, config.on_unused_input, where)
        items = as_inputs(inputs, allow_input_downcast, where)
        outs, keys, single = as_outputs(outputs, where)
        signature = Signature(items, outs, keys=keys, single=single, name=name, line=_line())
        cached = None
        try:
            collection = Collection(signature, updates, givens, no_default_updates, rebuild_strict)
            if is_cacheable(chosen, len(collection.nodes)):
                cached = CachedFunction(signature, chosen, Function, accept_inplace)
            maker = None if cached is None else cached.find(collection, unused)
            fgraph = collection.copy() if maker is None else None
        except MissingInputError:
            check_related(signature, updates, givens, unused)
            raise
        is_new = False
        if fgraph is not None:
            check_used(signature, fgraph, collection.outputs, unused)
            if not accept_inplace:
                check_no_inplace(fgraph, where)
            maker = None if cached is None else cached.find_copy(fgraph)
            if maker is None:
                maker, is_new = FunctionMaker(signature, fgraph, chosen, Function, accept_inplace), True
        assert maker is not None, "it was found, or made of the copy"
        containers = maker.containers()
        if is_new:
            build.phase = f"rewriting {_nodes(maker.n_nodes)}"
            with timing(stats, "optimizer_time"):
                maker.optimize()
        build.phase = f"making and compiling code for {_nodes(maker.n_nodes)}"
        make = partial(Function, maker, containers, stats)
        fn = cached.built(maker, make) if cached is not None and is_new else make()
    if stats is not None:
        stats.add_graph(maker.fgraph, maker.profile)
        stats.compile_time += perf_counter() - begin
    return fn


def orig_function(
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: str | Mode | None = None,
    accept_inplace: bool = False,
    name: str | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    output_keys: Sequence[str] | None = None,
) -> Function:
    """Compile expressions into a callable, without updates and substitutions.

    Parameters
    ----------
    inputs, outputs, mode, accept_inplace, name, profile, on_unused_input
        As for :func:`function`.
    output_keys : sequence of str, optional
        Keys of the list `outputs`; a call then returns a dictionary.

    Returns
    -------
    Function

    Examples
    --------
    >>> import theano
    >>> x = theano.generic("x")
    >>> theano.compile.orig_function([x], [x], output_keys=["same"])("text")
    {'same': 'text'}
    """
    if output_keys is not None:
        outputs = dict(zip(output_keys, outputs, strict=True))
    return function(
        inputs,
        outputs,
        mode=mode,
        accept_inplace=accept_inplace,
        name=name,
        profile=profile,
        on_unused_input=on_unused_input,
    )


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"


def _line() -> str | None:
    """Return the file and line that asked for the function."""
    origin = current_origin(1)
    return None if origin is None else f"{cell_of(origin.filename) or origin.filename}:{origin.lineno}"


def _check_name(name: Any, where: str) -> None:
    if name is not None and not isinstance(name, str):
        raise FunctionInputError(
            format_error(f"{where}: the name is not a string", hint="pass name='...' or leave it out.")
        )
