"""`function`: from an expression to a callable; the code behind `Variable.eval`, and progress on the terminal."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from theano_graph import (
    BoolFlag,
    MissingInputError,
    Variable,
    add_flag,
    cell_of,
    collector_paused,
    config,
    current_origin,
    format_error,
)

from ..modes import Mode, get_mode
from ..profiling import as_profile, timing
from ..runtime._inplace import check_no_inplace
from ._callable import Function
from ._capture import Collection, Signature, as_unused_choice, check_related, check_used
from ._disk_lookup import CachedFunction, is_cacheable
from ._io import FunctionInputError, as_inputs, as_outputs
from ._maker import FunctionMaker

# ---- A line on the terminal, or in a notebook, while a function takes long to build

add_flag(
    "progress",
    "Whether a function that takes longer than a second to build shows its progress on a terminal, or in a notebook.",
    BoolFlag(True),
)

#: Seconds after which a build is talked of, and between two looks at it.
PATIENCE, BETWEEN = 1.0, 0.2
_WIDTH, _USUAL = 78, 80


class Build:
    """The build of one function, as a context; a build inside of another one belongs to that.

    Parameters
    ----------
    name : str or None
        The name of the function.

    Attributes
    ----------
    phase : str
        The present phase.
    """

    __slots__ = ("begin", "name", "phase", "shown", "stream")

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.phase = "collecting the graph"
        #: The line that stands there now.
        self.shown = ""
        self.stream: TextIO | None = None

    def __enter__(self) -> Build:
        if config.progress and _is_read(sys.stderr):
            self.stream, self.begin = sys.stderr, time.monotonic()
            _watched.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if _watched.build is self:
            _watched.leave(self)

    def line(self, seconds: float) -> str:
        """Return the text that is shown after some time."""
        what = f"function `{self.name}`" if self.name else "a function"
        return f"theano: building {what}, {seconds:.0f} s: {self.phase}"


def _is_read(stream: Any) -> bool:
    """Tell whether a person reads a stream: it is a terminal, or the output of a notebook's cell.

    Programs put objects of all kinds there, which may know nothing but `write`.
    """
    if stream is None or getattr(stream, "closed", False):
        return False
    if type(stream).__module__.startswith("ipykernel."):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, TypeError, ValueError):
        return False


class _Watched:
    """The build that is going on, and the thread that looks at it, which ends soon after the last one."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew, as in a process that another one has made of itself: threads stay behind."""
        self.build: Build | None = None
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None

    def watch(self, build: Build) -> None:
        """Look at a build, unless another one goes on or no thread can be started."""
        with self.lock:
            if self.build is not None:
                return
            if self.thread is None or not self.thread.is_alive():
                thread = threading.Thread(target=self.look, name="theano-progress", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # no threads here, or no more of them
                    return
                self.thread = thread
            self.build = build

    def leave(self, build: Build) -> None:
        """Look at a build no more, if it is the one that is looked at."""
        with self.lock:
            if self.build is build:
                self.build = None
                if build.shown:
                    _write(build, "\r" + " " * _width_of(build.shown) + "\r")

    def look(self) -> None:
        """Show the phase until there is no build: the thread's work."""
        while True:
            time.sleep(BETWEEN)
            with self.lock:
                build = self.build
                if build is None:
                    self.thread = None
                    return
                seconds = time.monotonic() - build.begin
                width = min(_WIDTH, _columns(build.stream) - 1)
                line = _fitted("".join(c if c.isprintable() else " " for c in build.line(seconds)), width)
                if seconds >= PATIENCE and line != build.shown:
                    build.shown = line
                    _write(build, "\r" + line)


def _columns(stream: Any) -> int:
    """Return the width of the terminal that a stream goes to; standard output may be a file."""
    if "COLUMNS" not in os.environ:
        with suppress(AttributeError, OSError, TypeError, ValueError):
            return os.get_terminal_size(stream.fileno()).columns or _USUAL
    return shutil.get_terminal_size((_USUAL, 24)).columns


def _width_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _fitted(text: str, width: int) -> str:
    """Return as much of a text as there is room for, with blanks up to the width."""
    while text and _width_of(text) > width:
        text = text[:-1]
    return text + " " * (width - _width_of(text))


def _write(build: Build, text: str) -> None:
    stream = build.stream
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        build.stream = None  # nobody reads any more


_watched = _Watched()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watched.reset)


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


# ---- The code behind `Variable.eval`


class EvalCache:
    """Compiled functions for :meth:`Variable.eval`, kept as long as the variables that they compute.

    One variable may be evaluated with different sets of inputs; the function for each set is kept, up to `bound`.
    """

    def __init__(self, bound: int = 8) -> None:
        self._bound = bound
        self._functions: weakref.WeakKeyDictionary[Variable, dict[tuple[int, ...], Function]] = (
            weakref.WeakKeyDictionary()
        )

    def clear(self) -> None:
        """Forget all functions."""
        self._functions.clear()

    def functions_of(self, variable: Variable) -> list[Function]:
        """Return the functions that are kept for a variable."""
        return list(self._functions.get(variable, {}).values())

    def table_of(self, variable: Variable) -> dict[tuple[int, ...], Function] | None:
        """Return the cache of a variable; None where it has not been evaluated."""
        return self._functions.get(variable)

    def evaluate(self, variable: Variable, inputs_to_values: Mapping[Any, Any]) -> Any:
        """Return the value of `variable` for the given values of its inputs.

        Raises
        ------
        TypeError
            If a key of the mapping is not a variable.
        """
        for key in inputs_to_values:
            if not isinstance(key, Variable):
                raise FunctionInputError(
                    format_error(
                        f"eval: the inputs are given by variable, not by {key!r} ({type(key).__name__})",
                        hint="write `z.eval({x: 1.0, y: 2.0})` with the variables themselves as keys.",
                    )
                )
        inputs = list(inputs_to_values)
        # A function holds its inputs, so an id in a key cannot come to mean another variable.
        key = tuple(id(v) for v in inputs)
        functions = self._functions.setdefault(variable, {})
        fn = functions.get(key)
        if fn is None:
            if len(functions) >= self._bound:
                functions.pop(next(iter(functions)))
            fn = functions[key] = function(inputs, variable)
        return fn(*inputs_to_values.values())


eval_cache = EvalCache()
