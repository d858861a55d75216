"""Run the tests of one layer with nose2 in several processes, on the installed packages; leave a report in ``reports``.

    python tools/run_tests.py LAYER [MODULE ...] [--tests FOLDER] [--tier quick|all] [--jobs N] [--shuffle SEED]
                              [--slowest N] [--without PART ...]

LAYER may also be the name of an environment that ends with it; the report is named after it. MODULE is a part of the
path of test modules, such as ``rewrites/`` or ``test_modes``; all modules run where none is named, except those with a
PART in their path. Slow tests run in the tier ``all``; where no tier is named, it is that of the environment variable
THEANO_TESTS, or ``quick``.

Fails also when the layer would be imported from the source tree, when a module takes too long or ends its process, and
when no test was run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from select import select

from _house import LAYERS, REPORTS, ROOT, Layer, import_base, layer_of
from _slots import CORES, one_slot
from summarise import count, sentence

TIME_LIMIT = 1500
"""Seconds after which a module of tests is stopped, so that one that hangs is a failure and not a wait."""

PROGRESS = 15
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Module:
    """A module of tests.

    Parameters
    ----------
    path : Path
        Its file.
    base : Path
        The folder from which it is imported.
    """

    path: Path
    base: Path

    @property
    def name(self) -> str:
        """Its import name."""
        return ".".join(self.path.relative_to(self.base).with_suffix("").parts)


@dataclass
class Worker:
    """A process that runs modules of one folder, one after another."""

    base: Path
    folder: Path
    options: Sequence[str]
    output: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        commands, self.commands = os.pipe()
        self.replies, replies = os.pipe()
        script = str(ROOT / "tools" / "_test_worker.py")
        command = [sys.executable, script, str(self.base), str(commands), str(replies), *self.options]
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(commands, replies),
            )
        os.close(commands)
        os.close(replies)

    def run(self, module: Module, report: Path) -> str:
        """Run a module; return an empty text where its tests passed, or else why not."""
        try:
            os.write(self.commands, (json.dumps([module.name, str(report)]) + "\n").encode())
        except BrokenPipeError:
            return self.ended()
        if not select([self.replies], [], [], TIME_LIMIT)[0]:
            return f"it was stopped after {TIME_LIMIT} seconds"
        reply = os.read(self.replies, 16)
        return self.ended() if not reply else "" if reply.strip() == b"1" else "tests failed"

    def ended(self) -> str:
        """Say how the process ended."""
        return f"the test process ended with exit status {self.process.wait()}"

    def said(self) -> str:
        """Return the output of the process since the last call."""
        text = self.output.read_text(encoding="utf-8", errors="replace")
        os.truncate(self.output, 0)
        return text.lstrip("\0")

    def close(self) -> None:
        """End the process."""
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.replies)


@dataclass
class Run:
    """A run of modules in several processes."""

    item: Layer
    name: str
    options: Sequence[str]
    modules: deque[Module]
    scratch: Path
    parts: list[Path] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.total, self.began, self.shown = len(self.modules), time.monotonic(), 0.0

    def work(self, number: int) -> None:
        """Run modules in one process until none is left; a process that ended is followed by another."""
        worker: Worker | None = None
        while self.modules:
            with one_slot():
                try:
                    module = self.modules.popleft()
                except IndexError:
                    break
                if worker is not None and worker.base != module.base:
                    worker.close()
                    worker = None
                if worker is None:
                    worker = Worker(module.base, self.item.folder, self.options, self.scratch / f"{number}.txt")
                report = self.scratch / f"{number}-{len(self.modules)}.xml"
                problem = worker.run(module, report)
            self.record(module, report, problem, worker.said())
            if problem not in ("", "tests failed"):
                worker.process.kill()
                worker.close()
                worker = None
        if worker is not None:
            worker.close()

    def record(self, module: Module, report: Path, problem: str, output: str) -> None:
        """Note how a module ended, and show its output where it failed."""
        with self.lock:
            if not report.exists() or problem not in ("", "tests failed"):
                report.unlink(missing_ok=True)
                write_crash_report(report, module.name, problem or "it left no report")
                problem = problem or "no report"
            self.parts.append(report)
            self.outcomes += count(report)
            times = report.with_suffix(".json")
            self.seconds |= json.loads(times.read_text(encoding="utf-8")) if times.exists() else {}
            if problem:
                self.failed.append(module.name)
                print(f"{output.rstrip()}\n{self.name}: {module.name}: {problem}", flush=True)
            self.show_progress(final=len(self.parts) == self.total)

    def show_progress(self, final: bool) -> None:
        """Print a line now and then, and leave it where `bootstrap.py` looks for it."""
        seconds = int(time.monotonic() - self.began)
        line = f"{self.name}: {len(self.parts)} of {self.total} modules, {sentence(self.outcomes)}, {seconds} s"
        (REPORTS / "progress").mkdir(parents=True, exist_ok=True)
        state = {"done": len(self.parts), "total": self.total}
        state |= {kind: self.outcomes[kind] for kind in ("passed", "failed", "skipped")}
        (REPORTS / "progress" / f"{self.name}.json").write_text(json.dumps(state), encoding="utf-8")
        if final or time.monotonic() - self.shown > PROGRESS:
            self.shown = time.monotonic()
            print(line, flush=True)


def check_installed(item: Layer) -> None:
    """Stop unless the layer is imported from an installed wheel."""
    spec = importlib.util.find_spec(item.module)
    if spec is None or spec.origin is None:
        sys.exit(f"{item.module} is not installed here; run tools/install_layer.py {item.name} --test first")
    if Path(spec.origin).resolve().is_relative_to(ROOT / "packages"):
        sys.exit(f"{item.module} would be imported from the source tree ({spec.origin}), not from an installed wheel")


def write_crash_report(report: Path, name: str, problem: str) -> None:
    """Leave a report with one error for a module whose process ended without writing one."""
    suite = ElementTree.Element("testsuite", name=name, tests="1", errors="1", failures="0", skipped="0")
    case = ElementTree.SubElement(suite, "testcase", classname=name, name="process")
    ElementTree.SubElement(case, "error", message=problem)
    ElementTree.ElementTree(suite).write(report)


def modules_in(tests: Path, requested: Sequence[str], excluded: Sequence[str] = ()) -> list[Module]:
    """List the modules of a folder of tests, the largest first: they tend to take the longest."""

    def has_one(path: Path, words: Sequence[str]) -> bool:
        return any(word in str(path.relative_to(tests)) for word in words)

    paths = sorted(tests.rglob("test_*.py"), key=lambda path: (-path.stat().st_size, path))
    chosen = [path for path in paths if (not requested or has_one(path, requested)) and not has_one(path, excluded)]
    return [Module(path, import_base(path)) for path in chosen]


@contextmanager
def merged(report: Path) -> Iterator[list[Path]]:
    """Write one report for all that were added to a list."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    parts: list[Path] = []
    yield parts
    suites = ElementTree.Element("testsuites", name=report.stem)
    for part in parts:
        suites.append(ElementTree.parse(part).getroot())
    ElementTree.ElementTree(suites).write(report)


def run_all(item: Layer, tests: Path, name: str, argument: argparse.Namespace) -> int:
    """Run all modules and leave a report; return 0 if all passed."""
    check_installed(item)
    os.environ["THEANO_TESTS"] = argument.tier
    modules = modules_in(tests, argument.modules, argument.without)
    if not modules:
        print(f"no test file was found in {tests}", file=sys.stderr)
        return 1
    options = ["-A", "!slow"] if argument.tier == "quick" else []
    if argument.shuffle is not None:
        random.Random(argument.shuffle).shuffle(modules)
        options += ["--shuffle", argument.shuffle]
    with tempfile.TemporaryDirectory() as scratch, merged(REPORTS / f"{name}.xml") as parts:
        run = Run(item, name, options, deque(modules), Path(scratch))
        threads = [
            threading.Thread(target=run.work, args=(number,)) for number in range(min(argument.jobs, len(modules)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        parts += run.parts
    slowest = sorted(run.seconds.items(), key=lambda item: -item[1])
    (REPORTS / "seconds").mkdir(exist_ok=True)
    (REPORTS / "seconds" / f"{name}.json").write_text(json.dumps(dict(slowest), indent=0), encoding="utf-8")
    for test, seconds in slowest[: argument.slowest]:
        print(f"{seconds:8.2f} s of the processor  {test}")
    if not run.outcomes:
        print(f"no test was found in {tests}", file=sys.stderr)
        return 1
    return int(bool(run.failed) or len(run.parts) < run.total)


def main() -> None:
    """Run the tests that the command line names."""
    parser = argparse.ArgumentParser(description="Run the tests of a layer against what is installed.")
    parser.add_argument("layer", help=f"one of {', '.join(LAYERS)}, or an environment's name that ends with one")
    parser.add_argument("modules", nargs="*", help="parts of the paths of the modules to run")
    parser.add_argument("--without", action="append", default=[], metavar="PART", help="parts of paths to leave out")
    parser.add_argument("--tests", type=Path, help="another folder of tests than that of the layer")
    parser.add_argument("--tier", choices=("quick", "all"), default=os.environ.get("THEANO_TESTS", "quick"))
    parser.add_argument("--jobs", type=int, default=CORES, help="processes at once (default: one for each processor)")
    parser.add_argument("--shuffle", metavar="SEED", default=os.environ.get("THEANO_TESTS_SHUFFLE"))
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="show the tests that took longest")
    options = parser.parse_intermixed_args()
    item = layer_of(options.layer)
    tests = (options.tests or item.folder / "tests").resolve()
    sys.exit(run_all(item, tests, options.layer, options))


if __name__ == "__main__":
    main()
