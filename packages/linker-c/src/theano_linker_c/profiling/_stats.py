"""The figures of profiled functions, and profiles that are printed when the program ends."""

from __future__ import annotations

import atexit
import html
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from theano_graph import (
    Apply,
    BoolFlag,
    FunctionGraph,
    IntFlag,
    StrFlag,
    add_flag,
    config,
    current_origin,
    format_error,
)
from theano_optimize import RewriteProfile

from ..compiler._toolchain import loading
from ..program import Machine, Program
from ._memory import Group, MemoryRecord, NodeRecord, grouped
from ._report import kind_of, page, write_report

# ---- Flags of profiling

add_flag("profile", "Profile all functions, and print the profiles when the program ends.", BoolFlag(False))
add_flag("profile_memory", "With `profile`: also measure the memory of results.", BoolFlag(False))
add_flag("profiling.n_apply", "How many nodes a profile lists.", IntFlag(20, lambda n: n >= 0))
add_flag("profiling.n_ops", "How many ops a profile lists.", IntFlag(20, lambda n: n >= 0))
add_flag("profiling.output_line_width", "Longest line of a profile.", IntFlag(512, lambda n: n > 0))
add_flag(
    "profiling.min_memory_size",
    "Nodes whose results take fewer bytes are left out of the memory profile.",
    IntFlag(1024, lambda n: n >= 0),
)
add_flag(
    "profiling.min_peak_memory",
    "Whether the memory profile says how little memory another order of the nodes would need.",
    BoolFlag(False),
)
add_flag(
    "profiling.destination",
    "Where profiles are printed when the program ends: 'stderr', 'stdout', or the name of a file to write.",
    StrFlag("stderr"),
)
add_flag("profiling.debugprint", "Print the graphs of profiled functions with their profiles.", BoolFlag(False))
add_flag("profiling.ignore_first_call", "Leave the first call of each function out of its profile.", BoolFlag(False))


#: Profiles that are printed when the program ends.
printed_at_exit: list[ProfileStats] = []


class ProfileStats:
    """Times, counts and memory of one function, or of several that were compiled with the same object.

    Parameters
    ----------
    atexit_print : bool
        Whether the profile is printed when the program ends, where the flag `profile` is set then.
    flag_time_thunks, gpu_checks : optional
        Taken for compatibility: nodes are always timed, and there is nothing to check.
    message : str, optional
        How the profile is headed; functions that are compiled with ``profile=True`` put their name there.
    memory : bool, optional
        Whether the memory of results is measured; by default the flag `profile_memory`.
    **figures
        Further attributes.

    Attributes
    ----------
    compile_time, optimizer_time, linker_time, import_time : float
        Seconds in `function`, and of these in rewriting the graph, in making the machine, and in loading native code.
    nb_nodes : int
        Number of nodes of all functions, after rewriting.
    validate_time : float
        Seconds in checks of the graph while it was rewritten; measured with the flag `profile_optimizer`.
    optimizer_profile : RewriteProfile or None
        The rewriting of the last function.
    fgraphs : list of FunctionGraph
        The rewritten graphs.

    Examples
    --------
    >>> from theano_linker_c import ProfileStats, function, generic, view_op
    >>> x = generic("x")
    >>> stats = ProfileStats(message="two functions")
    >>> f, g = function([x], view_op(x), profile=stats), function([x], view_op(view_op(x)), profile=stats)
    >>> f(1), g(2)
    (1, 2)
    >>> stats.fct_callcount
    2
    """

    def __init__(
        self,
        atexit_print: Any = True,
        flag_time_thunks: bool | None = None,
        gpu_checks: bool = True,
        *,
        message: str | None = None,
        memory: bool | None = None,
        **figures: Any,
    ) -> None:
        if isinstance(atexit_print, str):
            raise TypeError(
                format_error("ProfileStats: the message is a keyword", hint="write ProfileStats(message='...').")
            )
        self.message = message
        self.flag_time_thunks, self.gpu_checks = flag_time_thunks, gpu_checks
        self.memory = bool(config.profile_memory) if memory is None else memory
        self.compile_time = self.optimizer_time = self.linker_time = self.import_time = self.validate_time = 0.0
        self.nb_nodes = 0
        self.optimizer_profile: RewriteProfile | None = None
        self.fgraphs: list[FunctionGraph] = []
        self._sources: list[tuple[Machine, Program, MemoryRecord | None]] = []
        vars(self).update(figures)
        if atexit_print:
            printed_at_exit.append(self)

    # ---- filled by functions

    def watch(self, machine: Machine) -> None:
        """Count the calls of a machine from now on."""
        program = machine.program
        record = MemoryRecord(program) if self.memory else None
        machine.start_profile(int(config.profiling.ignore_first_call), record)
        self._sources.append((machine, program, record))

    def add_graph(self, fgraph: FunctionGraph, rewriting: Any) -> None:
        """Note the rewritten graph of a function and the profile of its rewriting."""
        self.fgraphs.append(fgraph)
        self.nb_nodes += len(fgraph.apply_nodes)
        if isinstance(rewriting, RewriteProfile):
            self.optimizer_profile = rewriting
            if rewriting.details is not None:
                self.validate_time += rewriting.details.validate_seconds

    # ---- read

    def _total(self, index: int) -> Any:
        readings = (machine.read_profile() for machine, _, _ in self._sources)
        return sum(reading[index] for reading in readings if reading is not None)

    @property
    def fct_callcount(self) -> int:
        """Number of calls."""
        return int(self._total(0))

    @property
    def watch_time(self) -> float:
        """Seconds spent on measuring memory."""
        return float(self._total(3))

    @property
    def fct_call_time(self) -> float:
        """Seconds in calls of the functions, without those spent on measuring memory."""
        return float(self._total(1)) - self.watch_time

    @property
    def vm_call_time(self) -> float:
        """Seconds in running instructions and between them, without those spent on measuring memory."""
        return float(self._total(2)) - self.watch_time

    def records(self) -> list[NodeRecord]:
        """Return the figures of all nodes, in the order of their functions."""
        records = []
        for machine, program, memory in self._sources:
            reading = machine.read_profile()
            assert reading is not None, "watching a machine has started its counters"
            counts, seconds = reading[4], reading[5]
            shapes = {} if memory is None else memory.shapes
            records += [
                NodeRecord(x.node, i, seconds[i], counts[i], _is_native(x), shapes.get(i))
                for i, x in enumerate(program.instructions)
            ]
        return records

    def memory_records(self) -> list[MemoryRecord]:
        """Return the measured memory of results, for each machine."""
        return [record for _, _, record in self._sources if record is not None]

    def classes(self) -> list[Group]:
        """Return the figures of each class of ops, the slowest first."""
        return grouped(self.records(), lambda node: node.op.__class__)

    def ops(self) -> list[Group]:
        """Return the figures of each op, the slowest first; equal ops are one."""
        return grouped(self.records(), lambda node: node.op)

    @property
    def thunk_time(self) -> float:
        """Seconds in all nodes."""
        return sum(record.seconds for record in self.records())

    @property
    def apply_time(self) -> dict[Apply, float]:
        """Node -> seconds."""
        return {record.node: record.seconds for record in self.records()}

    @property
    def apply_callcount(self) -> dict[Apply, int]:
        """Node -> number of calls."""
        return {record.node: record.calls for record in self.records()}

    @property
    def apply_cimpl(self) -> dict[Apply, bool]:
        """Node -> whether it runs native code."""
        return {record.node: record.native for record in self.records()}

    def class_time(self) -> dict[type, float]:
        """Return class of ops -> seconds."""
        return {group.key: group.seconds for group in self.classes()}

    def class_callcount(self) -> dict[type, int]:
        """Return class of ops -> number of calls."""
        return {group.key: group.calls for group in self.classes()}

    def class_nodes(self) -> dict[type, int]:
        """Return class of ops -> number of nodes."""
        return {group.key: group.nodes for group in self.classes()}

    def class_impl(self) -> dict[type, str]:
        """Return class of ops -> "C", "Py" or "C & Py"."""
        return {group.key: group.kind for group in self.classes()}

    def op_time(self) -> dict[Any, float]:
        """Return op -> seconds."""
        return {group.key: group.seconds for group in self.ops()}

    def op_callcount(self) -> dict[Any, int]:
        """Return op -> number of calls."""
        return {group.key: group.calls for group in self.ops()}

    def op_nodes(self) -> dict[Any, int]:
        """Return op -> number of nodes."""
        return {group.key: group.nodes for group in self.ops()}

    def op_impl(self) -> dict[Any, str]:
        """Return op -> "C", "Py" or "C & Py"."""
        return {group.key: group.kind for group in self.ops()}

    def summary(
        self,
        file: TextIO | None = None,
        n_ops_to_print: int | None = None,
        n_apply_to_print: int | None = None,
    ) -> None:
        """Print the profile.

        Parameters
        ----------
        file : text file, optional
            By default standard output.
        n_ops_to_print, n_apply_to_print : int, optional
            How many ops and nodes are listed; by default the flags `profiling.n_ops` and `profiling.n_apply`.
        """
        write_report(self, sys.stdout if file is None else file, n_ops_to_print, n_apply_to_print)

    print_summary = summary

    def summary_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the profile as a page for a browser: bars, and a flame graph of the lines that made the nodes.

        Parameters
        ----------
        path : path, optional
            Where the page is written, too; it needs no other file.
        """
        text = page(self)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def _repr_html_(self) -> str:
        # A document of its own, so that its style and script are not those of the notebook.
        return f'<iframe srcdoc="{html.escape(self.summary_html())}" style="width:100%;height:600px"></iframe>'

    def __add__(self, other: ProfileStats) -> ProfileStats:
        """Return the sum of two profiles."""
        return total([self, other])

    def __getstate__(self) -> dict[str, Any]:
        # Machines stay behind: a copy begins to count anew.
        return {**vars(self), "_sources": [], "fgraphs": [], "optimizer_profile": None}


def _is_native(instruction: Any) -> bool:
    """Tell whether an instruction runs native code, here or on a device, or its op does so by itself."""
    node = instruction.node
    return bool(instruction.native or kind_of(node) != "cpu" or getattr(node.op, "runs_own_code", False))


@contextmanager
def timing(stats: ProfileStats | None, name: str) -> Iterator[None]:
    """Add the seconds inside to an attribute of `stats`, such as ``"linker_time"``; do nothing where it is None."""
    begin, loaded = time.perf_counter(), loading.seconds
    try:
        yield
    finally:
        if stats is not None:
            setattr(stats, name, getattr(stats, name) + time.perf_counter() - begin)
            stats.import_time += loading.seconds - loaded


def total(profiles: list[ProfileStats]) -> ProfileStats:
    """Return the sum of profiles; a function that is in several counts once."""
    result = ProfileStats(False, message=f"Sum of the {len(profiles)} profiles", memory=False)
    machines: set[int] = set()
    times: Counter[str] = Counter()
    for profile in profiles:
        for name in ("compile_time", "optimizer_time", "linker_time", "import_time", "validate_time"):
            times[name] += getattr(profile, name)
        result.nb_nodes += profile.nb_nodes
        for source in profile._sources:
            if id(source[0]) not in machines:
                machines.add(id(source[0]))
                result._sources.append(source)
    for name, seconds in times.items():
        setattr(result, name, seconds)
    return result


# ---- Profiles that are printed when the program ends


class Printer:
    """Keeps profiles, and prints them and their sum at the end of the program."""

    def __init__(self) -> None:
        self.profiles: list[ProfileStats] = []

    def add(self, profile: ProfileStats) -> None:
        """Print a profile at the end."""
        self.profiles.append(profile)

    def print(self) -> None:
        """Print all profiles, and their sum if there are several."""
        if not self._wanted():
            return
        destination = config.profiling.destination
        if destination in ("stderr", "stdout"):
            self._write(getattr(sys, destination))
        else:
            with open(destination, "w", encoding="utf-8") as file:
                self._write(file)

    def _write(self, file: Any) -> None:
        profiles = self._wanted()
        for profile in profiles:
            profile.summary(file)
        if len(profiles) > 1:
            total(profiles).summary(file)

    def _wanted(self) -> list[ProfileStats]:
        """Return the text to print: profiles that users made count where the flag is set."""
        others = [p for p in printed_at_exit if p not in self.profiles] if config.profile else []
        return [*self.profiles, *others]


printer = Printer()
atexit.register(printer.print)
"""Prints the profiles of functions that the flag `profile` asks for."""


def as_profile(profile: Any, name: str | None, where: str) -> ProfileStats | None:
    """Return the profile for the argument `profile` of `function`.

    Parameters
    ----------
    profile : None, bool, str or ProfileStats
        None follows the flag `profile`; with the flag set, the profile is also printed at the end of the program.
        Text is the message of a new profile.
    name : str or None
        Name of the function; by default the user's line is put into the message.

    Raises
    ------
    TypeError
        For anything else.
    """
    if isinstance(profile, ProfileStats):
        return profile
    if isinstance(profile, int) and profile in (0, 1):
        profile = bool(profile)
    if not (profile is None or isinstance(profile, (bool, str))):
        raise TypeError(
            format_error(f"{where}: profile is {profile!r}", hint="pass True, False, a ProfileStats, or leave it out.")
        )
    if profile is False or (profile is None and not config.profile):
        return None
    profile_stats = ProfileStats(False, message=profile if isinstance(profile, str) else name or _line())
    if config.profile:
        printer.add(profile_stats)
    return profile_stats


def _line() -> str | None:
    origin = current_origin()
    return None if origin is None else str(origin)
