"""Many programs in processes of their own: one that dies is a finding, not the end."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ._batch import Failure, compare_batch
from ._generate import Refusals, generate
from ._grammar import Grammar
from ._judge import Tally
from ._modes import NATIVE, VARIANTS, Configuration
from ._printing import as_source
from ._shrink import shrink

#: After so many batches a process ends and another takes its place: compiled code is never unloaded.
BATCHES_OF_A_PROCESS = 120

GrammarSource = Callable[[], Grammar]


@dataclass(frozen=True, slots=True)
class Task:
    """Seeds from `start` on; `variant` is the number of a further configuration, or -1."""

    start: int
    count: int
    variant: int = -1


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
        """What findings of one reason have in common."""
        return self.kind, self.operations


@dataclass(slots=True)
class Report:
    """What a run of the fuzzer saw."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    findings: list[Found] = field(default_factory=list)
    seconds: float = 0.0


def describe_failure(failure: Failure, *, shrunk: bool = True) -> Found:
    """Return a failure as text, shrunk before."""
    small = shrink(failure) if shrunk else failure
    program = small.program
    names = tuple(sorted(item.operation.name for item in program.items if hasattr(item, "operation")))
    return Found(program.seed, small.configuration.name, small.kind, small.what, names, as_source(small))


def configurations_of(task: Task) -> list[Configuration]:
    """Return what the graphs of a task are compared on."""
    return [NATIVE] if task.variant < 0 else [NATIVE, VARIANTS[task.variant]]


def tasks(seed: int, graphs: int, batch: int) -> Iterator[Task]:
    """Yield tasks; every third one tries a variant besides."""
    for number, start in enumerate(range(seed, seed + graphs, batch)):
        variant = (start // batch // 3) % len(VARIANTS) if number % 3 == 0 else -1
        yield Task(start, min(batch, seed + graphs - start), variant)


def _work(connection: Connection, source: GrammarSource, nodes: int) -> None:
    """Do the tasks that come through a connection: the body of a process."""
    operations = source().operations
    while (task := connection.recv()) is not None:
        tally, refusals = Tally(), Refusals()
        programs = [
            generate(s, operations, nodes=nodes, refusals=refusals) for s in range(task.start, task.start + task.count)
        ]
        failures = compare_batch(programs, configurations_of(task), tally)
        found = [describe_failure(f, shrunk=k < 3) for k, f in enumerate(failures)]
        connection.send((tally.counts, refusals.counts, found))


@dataclass(slots=True)
class _Worker:
    process: Any
    connection: Connection
    folder: Path
    task: Task | None = None
    done: int = 0


class Pool:
    """Processes that work on tasks; see :func:`fuzz`."""

    def __init__(self, processes: int, source: GrammarSource, nodes: int) -> None:
        self._source = source
        self._nodes = nodes
        self._context = multiprocessing.get_context("spawn")
        self._folder = Path(tempfile.mkdtemp(prefix="theano-fuzz-"))
        self._started = 0
        self.workers = [self._start() for _ in range(processes)]

    def _start(self) -> _Worker:
        self._started += 1
        folder = self._folder / str(self._started)
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._source, self._nodes), daemon=True)
        with _compile_folder(folder):
            process.start()
        theirs.close()
        return _Worker(process, ours, folder)

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
        shutil.rmtree(worker.folder, ignore_errors=True)

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
    nodes: int = 12,
    grammar: GrammarSource = Grammar,
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
    progress : callable, optional
        Called with the report so far after each batch.
    """
    begun = time.monotonic()
    report = Report()
    pending: Iterator[Task] = tasks(seed, graphs, batch)
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
    """Take what a worker has to say; return the tasks that are to be done again because it died."""
    task = worker.task
    assert task is not None, "only workers with a task are waited for"
    try:
        counts, refusals, found = worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        status = worker.process.exitcode
        pool.renew(worker)
        return _after_death(pool, task, status, report)
    report.counts.update(counts)
    report.refusals.update(refusals)
    report.findings += found
    worker.task = None
    worker.done += 1
    if worker.done >= BATCHES_OF_A_PROCESS:
        pool.renew(worker)
    return ()


def _after_death(pool: Pool, task: Task, status: int | None, report: Report) -> Sequence[Task]:
    if task.count > 1:
        half = task.count // 2
        return [Task(task.start, half, task.variant), Task(task.start + half, task.count - half, task.variant)]
    report.counts["graphs"] += 1
    try:
        program = generate(task.start, pool._source().operations, nodes=pool._nodes)
    except Exception as error:  # noqa: BLE001  # whatever the records of ops raise
        what = f"no graph was made: {type(error).__name__}: {error}"
        report.findings.append(Found(task.start, "", "generator", what, (), "".join(traceback.format_exception(error))))
        return ()
    failure = Failure(program, configurations_of(task)[-1], "crash", f"the process died with status {status}")
    report.findings.append(describe_failure(failure, shrunk=False))
    return ()
