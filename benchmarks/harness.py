"""Timing that is fair to all: contenders take turns in one process, and each is judged by the median of its turns."""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

OURS = "theano"
NOT_INSTALLED = "not installed"


@dataclass(frozen=True, slots=True)
class Options:
    """How much to measure: ``rounds`` turns for each contender, each turn about ``turn_seconds`` long."""

    rounds: int = 31
    turn_seconds: float = 0.02
    processes: int = 5
    patience: float = 120.0


QUICK = Options(rounds=7, turn_seconds=0.005, processes=2, patience=60.0)


@dataclass(slots=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    case : str
        The name of the measurement.
    results : dict[str, float | str]
        Seconds by contender (or the quantity in `unit`), or the reason why there is no figure.
    limit : float or None
        Seconds that we allow ourselves.
    beat : tuple[str, ...]
        Contenders that we must not be slower than.
    ahead : dict[str, float]
        Contenders that must take so many times as long as we.
    unit : str
        The quantity of the figures where it is not seconds.
    """

    case: str
    results: dict[str, float | str] = field(default_factory=dict)
    limit: float | None = None
    beat: tuple[str, ...] = ()
    ahead: dict[str, float] = field(default_factory=dict)
    unit: str = ""

    def show(self, figure: float) -> str:
        """Write a figure with its unit."""
        return f"{figure:.3g} {self.unit}" if self.unit else show_seconds(figure)

    def ratio(self, contender: str) -> float | None:
        """Return how many times as long as ours a contender takes, above 1 where ours is faster."""
        ours, theirs = self.results.get(OURS), self.results.get(contender)
        if isinstance(ours, float) and isinstance(theirs, float) and ours > 0:
            return theirs / ours
        return None

    def verdict(self) -> str:
        """Say whether the aims are met: "yes", "no", or "" where there is no aim or no figure."""
        ours = self.results.get(OURS)
        limits = {**dict.fromkeys(self.beat, 1.0), **self.ahead}
        if not isinstance(ours, float) or (self.limit is None and not limits):
            return ""
        ratios = [ratio / limits[name] for name in limits if (ratio := self.ratio(name)) is not None]
        if self.limit is None and not ratios:
            return ""
        met = (self.limit is None or ours <= self.limit) and all(ratio >= 1 for ratio in ratios)
        return "yes" if met else "no"

    def aim(self) -> str:
        """Say the limit in words."""
        aims = [] if self.limit is None else [f"at most {self.show(self.limit)}"]
        aims += [f"not slower than {name}" for name in self.beat]
        return ", ".join(aims + [f"at most {1 / times:.2g} of {name}" for name, times in self.ahead.items()])


def show_seconds(seconds: float) -> str:
    """Write a time with three digits and the unit that fits."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def peer(name: str) -> ModuleType | None:
    """Import a peer, or return None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] == name.split(".")[0]:
            return None
        raise


def version(distribution: str) -> str:
    """Return the version of an installed distribution, or "not installed"."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return NOT_INSTALLED


def compare(contenders: Mapping[str, Callable[[], object] | None], options: Options) -> dict[str, float | str]:
    """Time calls, taking turns.

    Parameters
    ----------
    contenders : Mapping[str, Callable[[], object] | None]
        The calls, by name; None stands for a peer that is not installed.
    options : Options
        The number of turns and their length.

    Returns
    -------
    dict[str, float | str]
        Median seconds a call, or "not installed".
    """
    calls = {name: call for name, call in contenders.items() if call is not None}
    loops = {name: _loops(call, options.turn_seconds) for name, call in calls.items()}
    turns: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(options.rounds):
            first = number % len(names)  # nobody always runs after the same neighbour
            for name in names[first:] + names[:first]:
                turns[name].append(_time(calls[name], loops[name]))
    finally:
        if collecting:
            gc.enable()
    return {name: statistics.median(turns[name]) if name in turns else NOT_INSTALLED for name in contenders}


def _time(call: Callable[[], object], loops: int) -> float:
    repeats = range(loops)
    start = time.perf_counter_ns()
    for _ in repeats:
        call()
    return (time.perf_counter_ns() - start) / loops * 1e-9


def _loops(call: Callable[[], object], seconds: float) -> int:
    """Warm up, and find how many calls fill a turn."""
    loops = 1
    call()
    while (took := _time(call, loops) * loops) < seconds / 2 and loops < 10**7:
        loops = max(loops + 1, min(loops * 10, round(loops * seconds / max(took, 1e-7))))
    return loops


@dataclass(frozen=True, slots=True)
class Command:
    """A Python program for a process of its own, that prints its seconds, and the environment that it needs."""

    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


def run_process(command: Command, patience: float) -> float | str:
    """Run a program and return the seconds that it prints last, or in one line why there are none."""
    environment = {**os.environ, **command.environment}
    try:
        done = subprocess.run(
            [sys.executable, *command.arguments], env=environment, capture_output=True, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return f"more than {patience:g} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return f"fails: {lines[-1][:80]}" if lines else f"fails with exit code {done.returncode}"
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def compare_processes(commands: Mapping[str, Command | None], options: Options) -> dict[str, float | str]:
    """Run programs several times, taking turns, and return the median of the figures that they print."""
    turns: dict[str, list[float]] = {name: [] for name in commands}
    failures: dict[str, str] = {name: NOT_INSTALLED for name, command in commands.items() if command is None}
    for _ in range(options.processes):
        for name, command in commands.items():
            if command is None or name in failures:
                continue
            result = run_process(command, options.patience)
            if isinstance(result, str):
                failures[name] = result
            else:
                turns[name].append(result)
    return {name: failures[name] if name in failures else statistics.median(turns[name]) for name in commands}


def installed(name: str) -> bool:
    """Tell whether a module can be found, without importing it."""
    return importlib.util.find_spec(name) is not None


def jax_training(
    cost: Callable[[Any, Any, Any], Any], first_values: Sequence[Any], rate: Any, data: Sequence[Any]
) -> Callable[..., Any]:
    """Compile a step of gradient descent with JAX; the state is donated, as trainers do."""
    jax: Any = peer("jax")

    def step(parameters: Any, *argument: Any) -> Any:
        value, gradients = jax.value_and_grad(cost)(parameters, *argument)
        return value, [p - rate * g for p, g in zip(parameters, gradients, strict=True)]

    state = [jax.numpy.asarray(value) for value in first_values]
    compiled = jax.jit(step, donate_argnums=0).lower(state, *data).compile()

    def call(*argument: Any) -> Any:
        nonlocal state
        value, state = compiled(state, *argument)
        return value.block_until_ready()

    return call


def jax_with_doubles() -> Any:
    """Return `jax` with 64-bit floats enabled, or None."""
    jax = peer("jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    return jax
