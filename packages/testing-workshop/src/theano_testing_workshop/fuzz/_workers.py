"""Random programs of a seed, run in processes of their own: a process that dies is a finding, not the end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from theano_graph import config

from ._comparison._batch import (
    CAPTURED,
    EXPORTED,
    NATIVE,
    VARIANTS,
    VECTORIZED,
    Configuration,
    Failure,
    compare_batch,
    drawn_for,
    on_device,
)
from ._comparison._judge import Tally
from ._comparison._shrink import as_source, shrink
from ._draw import FLOATS, LARGEST, Draw, NoOperands
from ._operations._grammar import Grammar
from ._operations._memory import begin_memory, draw_memory, write_into_storage
from ._program import Leaf, Node, Operation, Program, Unbuildable, build, evaluate

# ---- Programs of a seed


@dataclass(slots=True)
class Refusals:
    """Graphs that could not be built, and how often: operations are not tested on refused arguments."""

    counts: Counter[str] = field(default_factory=Counter)

    def note(self, error: Unbuildable) -> None:
        """Count an error."""
        self.counts[str(error)[:150]] += 1


def generate(
    seed: int, operations: Sequence[Operation], *, nodes: int = 8, refusals: Refusals | None = None
) -> Program:
    """Return the random program of a seed.

    Parameters
    ----------
    seed : int
    operations : sequence of Operation
    nodes : int
        The most operations that most have; some have up to twice as many.
    refusals : Refusals, optional
        Notes the graphs that could not be built.

    Examples
    --------
    >>> from theano_testing_workshop.fuzz import Grammar, generate
    >>> program = generate(7, Grammar().operations)
    >>> len(program.outputs) > 0
    True
    """
    notes = Refusals() if refusals is None else refusals
    rng = np.random.default_rng([seed, 0x5EED])
    d = Draw(rng)
    overlaps = begin_memory(d) if d.chance(0.4) else []
    for _ in range(d.between(1, 3)):
        d.leaf(d.any_dtype(), d.any_shape())
    # Small graphs are cheap and show most; large ones show faults that need their size.
    _grow(d, _some_of(d, operations), d.between(1, nodes if d.chance(0.6) else 2 * nodes), notes)
    writes = write_into_storage(d, {op.name: op for op in operations}) if d.preferred else []
    program = replace(_finished(d, seed, writes), memory=draw_memory(d, overlaps))
    return _usable(program, notes).pruned()


def _usable(program: Program, notes: Refusals) -> Program:
    """Return the program without gradients that do not exist, and without updates that a second call cannot bear."""
    if program.gradients:
        try:
            build(program)
        except Unbuildable as error:
            notes.note(error)
            program = replace(program, gradients=())
    if program.updates:
        built = build(program)
        values = evaluate(built)
        try:
            later = evaluate(built, {leaf: values[number] for leaf, number in program.updates})
        except Unbuildable as error:
            notes.note(error)
            return replace(program, updates=())
        if any(np.shape(a) != np.shape(b) for a, b in zip(values, later, strict=True)):
            # NumPy broadcasts every length 1; graphs broadcast declared ones.
            return replace(program, updates=())
    return program


def _some_of(d: Draw, operations: Sequence[Operation]) -> tuple[Sequence[Operation], Any]:
    """Return operations and their chances: each program knows a part of the language, so that its parts meet often."""
    share = float(d.rng.choice([0.15, 0.4, 1.0]))
    saved = [op for op in operations if d.chance(share)] or list(operations)
    weights = np.array([op.weight for op in saved]) * d.rng.exponential(1.0, len(saved))
    return saved, weights / weights.sum()


def _grow(d: Draw, language: tuple[Sequence[Operation], Any], count: int, notes: Refusals) -> None:
    operations, chances = language
    for number in d.rng.choice(len(operations), size=3 * count, p=chances):
        if sum(isinstance(item, Node) for item in d.items) >= count:
            break
        strange = d.chance(0.12)

        def keep(value: Any, strange: bool = strange) -> bool:
            return value.size <= LARGEST and value.ndim <= 5 and (strange or _is_ordinary(value))

        try:
            operands, options = operations[number].draw(d)
            d.add_node(operations[number], operands, options, keep)
        except NoOperands:
            continue
        except Unbuildable as error:
            notes.note(error)


def _is_ordinary(value: Any) -> bool:
    if value.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):
        return bool(np.all(np.isfinite(value)) and (not value.size or np.abs(value).max() < 1e6))


def _finished(d: Draw, seed: int, writes: Sequence[tuple[int, int]]) -> Program:
    nodes = [i for i, item in enumerate(d.items) if isinstance(item, Node)]
    if not nodes:
        return Program(tuple(d.items), (0,), (), (), seed)
    used = {k for i in nodes for k in d.items[i].operands}  # type: ignore[union-attr]
    updates = _updates(d, nodes, writes)
    stored = {node for _, node in updates if d.chance(0.8)} if writes else set[int]()
    outputs = [i for i in nodes if (d.chance(0.15) if i in used else i not in stored)]
    return Program(tuple(d.items), tuple(outputs), _gradients(d, nodes), updates, seed)


def _gradients(d: Draw, nodes: Sequence[int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    costs = [i for i in nodes if d.dtype(i) in FLOATS]
    wrt = [
        i
        for i, item in enumerate(d.items)
        if isinstance(item, Leaf) and item.kind != "constant" and item.value.dtype.name in FLOATS
    ]
    if not costs or not wrt or not d.chance(0.4):
        return ()
    return ((d.one_of(costs[-3:]), tuple(wrt[:3])),)


def _updates(d: Draw, nodes: Sequence[int], writes: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    written = {leaf: node for leaf, node in writes if _can_become(d, leaf, node) and d.chance(0.8)}
    matches = list(written.items())
    for i, item in enumerate(d.items):
        if isinstance(item, Leaf) and item.kind == "shared" and i not in written and d.chance(0.7):
            fitting = [k for k in nodes if _can_become(d, i, k)]
            if fitting:
                matches.append((i, int(d.one_of(fitting))))
    return tuple(matches)


def _can_become(d: Draw, leaf: int, number: int) -> bool:
    """Tell whether an item may be the new value of a shared leaf."""
    return (
        d.dtype(number) == d.dtype(leaf)
        and d.shape(number) == d.shape(leaf)
        and d.broadcastable(number) == d.broadcastable(leaf)
        and bool(d.variables[leaf].type.is_super(d.variables[number].type))
    )


# ---- Processes

#: After so many batches a process ends and another takes its place: compiled code is never unloaded.
BATCHES_OF_A_PROCESS = 120
#: So many graphs of a batch are compiled by themselves.
ALONE = 2

GrammarSource = Callable[[], Grammar]


@dataclass(frozen=True, slots=True)
class Task:
    """Seeds from `start` on.

    Attributes
    ----------
    start, count : int
    variant : int
        The number of a further configuration, or -1.
    optimized : bool
        Whether the C compiler optimises: that takes as long as all else, and its faults are not looked for.
    captured : bool
        Whether the machine captures the kernel calls of the first call, and makes them again in the second one.
    exported : bool
        Whether graphs are exported as C, and not compared on anything else.
    device : str or None
        The device on which graphs are compared, and on nothing else.
    vectorized : bool
        Whether graphs are applied to batches, and not compared on anything else.
    """

    start: int
    count: int
    variant: int = -1
    optimized: bool = False
    captured: bool = False
    exported: bool = False
    device: str | None = None
    vectorized: bool = False

    @property
    def has_reference(self) -> bool:
        """Whether the plain machine is compared with NumPy, too."""
        return not self.exported and not self.vectorized and self.device is None

    def halves(self) -> tuple[Task, Task]:
        """Return two tasks that do the same together."""
        half = self.count // 2
        return replace(self, count=half), replace(self, start=self.start + half, count=self.count - half)


@dataclass(slots=True)
class Found:
    """A failure as it travels between processes."""

    seed: int
    configuration: str
    kind: str
    what: str
    operations: tuple[str, ...]
    source: str

    @property
    def reason(self) -> tuple[str, tuple[str, ...]]:
        """The common key of findings of one reason."""
        return self.kind, self.operations


@dataclass(slots=True)
class Report:
    """The outcome of a run of the fuzzer.

    Attributes
    ----------
    counts, refusals : Counter
    findings : list of Found
    seconds : float
        How long it took.
    processor : float
        How long processes and compilers computed, in all: the measure where others use the machine.
    """

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[Found] = field(default_factory=list)
    seconds: float = 0.0
    processor: float = 0.0


def describe_failure(failure: Failure, *, shrunk: bool = True) -> Found:
    """Return a failure as text, shrunk before."""
    small = shrink(failure) if shrunk else failure
    program = small.program
    names = tuple(sorted(item.operation.name for item in program.items if hasattr(item, "operation")))
    return Found(program.seed, small.configuration.name, small.kind, small.what, names, as_source(small))


def configurations_of(task: Task) -> list[Configuration]:
    """Return the configurations for the graphs of a task."""
    if task.exported:
        return [EXPORTED]
    if task.vectorized:
        return [VECTORIZED]
    if task.device is not None:
        return [on_device(task.device)]
    native = CAPTURED if task.captured else NATIVE
    return [native] if task.variant < 0 else [native, VARIANTS[task.variant]]


def tasks(
    seed: int,
    graphs: int,
    batch: int,
    exported: bool = False,
    device: str | None = None,
    vectorized: bool = False,
) -> Iterator[Task]:
    """Yield tasks; every second one captures, every fourth one tries a variant too, every seventh one is optimised."""
    for number, start in enumerate(range(seed, seed + graphs, batch)):
        variant = (start // batch // 4) % len(VARIANTS) if number % 4 == 0 else -1
        count = min(batch, seed + graphs - start)
        yield Task(start, count, variant, number % 7 == 3, number % 2 == 1, exported, device, vectorized)


def _work(connection: Connection, source: GrammarSource, nodes: int) -> None:
    """Do the tasks that come through a connection: the body of a process."""
    operations = source().operations
    # Nearly all that a batch makes lives until its end.
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
    while (task := connection.recv()) is not None:
        tally, refusals = Tally(), Refusals()
        # Where nodes were made is of no use here.
        with (
            np.errstate(all="ignore"),
            config.change_flags(traceback__limit=0, cmodule__remove_gxx_opt=not task.optimized),
        ):
            failures = _compared(task, operations, nodes, tally, refusals)
            matches = [describe_failure(f, shrunk=k < 3) for k, f in enumerate(failures)]
        connection.send((tally.counts, refusals.counts, matches, _processor_time()))


def _processor_time() -> float:
    """Return the seconds that this process and its compilers have computed."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def _compared(
    task: Task, operations: Sequence[Operation], nodes: int, tally: Tally, refusals: Refusals
) -> list[Failure]:
    """Compare the graphs of a task: nearly all as one function, some alone, as they are used."""
    seeds = range(task.start, task.start + task.count)
    drawn = drawn_for(task.device, operations)
    programs = [generate(seed, drawn, nodes=nodes, refusals=refusals) for seed in seeds]
    if task.vectorized:
        programs = [replace(program, updates=()) for program in programs]  # a shared variable has one value
    alone = min(ALONE, len(programs) // 4)
    failures = compare_batch(programs[alone:], configurations_of(task), tally, reference=task.has_reference)
    for program in programs[:alone]:
        failures += compare_batch([program], configurations_of(task), tally, reference=task.has_reference)
    tally.counts["graphs, alone"] += alone
    return failures


@dataclass(slots=True)
class _Worker:
    process: Any
    connection: Connection
    task: Task | None = None
    done: int = 0
    processor: float = 0.0


class Pool:
    """Processes that work on tasks; see :func:`fuzz`."""

    def __init__(self, processes: int, source: GrammarSource, nodes: int) -> None:
        self._source = source
        self._nodes = nodes
        self._context = multiprocessing.get_context("spawn")
        self._folder = Path(tempfile.mkdtemp(prefix="theano-fuzz-"))
        self.workers = [self._start() for _ in range(processes)]

    def _start(self) -> _Worker:
        folder = self._folder / "kernels"
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._source, self._nodes), daemon=True)
        with _compile_folder(folder):
            process.start()
        theirs.close()
        return _Worker(process, ours)

    def renew(self, worker: _Worker) -> None:
        """End a process and put another in its place."""
        self._end(worker)
        self.workers[self.workers.index(worker)] = self._start()

    def _end(self, worker: _Worker) -> None:
        try:
            worker.connection.send(None)
            worker.process.join(2.0)
        except OSError:
            pass  # It has ended by itself.
        worker.connection.close()
        worker.process.terminate()
        worker.process.join()

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            self._end(worker)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def _compile_folder(folder: Path) -> Iterator[None]:
    """Give processes that start meanwhile a compile directory of their own."""
    before = os.environ.get("THEANO_FLAGS")
    os.environ["THEANO_FLAGS"] = ",".join([*([before] if before else []), f"base_compiledir={folder}"])
    try:
        yield
    finally:
        if before is None:
            del os.environ["THEANO_FLAGS"]
        else:
            os.environ["THEANO_FLAGS"] = before


def fuzz(
    graphs: int,
    seed: int = 0,
    *,
    processes: int = 1,
    seconds: float | None = None,
    batch: int = 80,
    nodes: int = 8,
    grammar: GrammarSource = Grammar,
    exported: bool = False,
    device: str | None = None,
    vectorized: bool = False,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Compare random graphs on the machines and with NumPy.

    Parameters
    ----------
    graphs : int
        How many; graph k is that of seed ``seed + k``.
    seed : int
    processes : int
    seconds : float, optional
        No new graphs are begun after this time.
    batch : int
        How many graphs are compiled as one function.
    nodes : int
        The most operations of a graph.
    grammar : callable
        Makes the grammar, in each process: a function of a module.
    exported : bool
        Whether graphs are compared with their exported C, instead of code compiled for this process.
    device : str, optional
        The device on which graphs are compared with the plain machine, and on nothing else.
    vectorized : bool
        Whether graphs are applied to batches, and compared with the plain machine on one entry.
    progress : callable, optional
        Called with the report so far after each batch.
    """
    begun = time.monotonic()
    report = Report()
    pending: Iterator[Task] = tasks(seed, graphs, batch, exported, device, vectorized)
    again: list[Task] = []
    pool = Pool(processes, grammar, nodes)
    try:
        while True:
            late = seconds is not None and time.monotonic() - begun > seconds
            for worker in pool.workers:
                if worker.task is None:
                    worker.task = again.pop() if again else None if late else next(pending, None)
                    if worker.task is not None:
                        worker.connection.send(worker.task)
            busy = {w.connection: w for w in pool.workers if w.task is not None}
            if not busy:
                break
            for connection in wait(list(busy)):
                again += _received(pool, busy[connection], report)  # type: ignore[index]
                report.seconds = time.monotonic() - begun
                if progress is not None:
                    progress(report)
    finally:
        pool.close()
    return report


def _received(pool: Pool, worker: _Worker, report: Report) -> Sequence[Task]:
    """Take a worker's messages; return the tasks that are to be done again because it died."""
    task = worker.task
    assert task is not None, "only workers with a task are waited for"
    try:
        counts, refusals, match, processor = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        status = worker.process.exitcode
        pool.renew(worker)
        return _after_death(pool, task, status, report)
    report.counts.update(counts)
    report.refusals.update(refusals)
    report.findings += match
    report.processor += processor - worker.processor
    worker.processor = processor
    worker.task = None
    worker.done += 1
    if worker.done >= BATCHES_OF_A_PROCESS:
        pool.renew(worker)
    return ()


def _after_death(pool: Pool, task: Task, status: int | None, report: Report) -> Sequence[Task]:
    if task.count > 1:
        return task.halves()
    report.counts["graphs"] += 1
    try:
        program = generate(task.start, drawn_for(task.device, pool._source().operations), nodes=pool._nodes)
    except Exception as error:  # noqa: BLE001  # any error of the records of ops
        what = f"no graph was made: {type(error).__name__}: {error}"
        report.findings.append(Found(task.start, "", "generator", what, (), "".join(traceback.format_exception(error))))
        return ()
    failure = Failure(program, configurations_of(task)[-1], "crash", f"the process died with status {status}")
    report.findings.append(describe_failure(failure, shrunk=False))
    return ()
