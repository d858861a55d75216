"""Compilation in the background: jobs, and the threads that do them."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from typing import Protocol

from theano_graph import format_error

from ..compiler import BackgroundRuns, CompileError, CompilerOptions, in_background
from ..cop import library as thunk_library
from ..cop._compilation._node_code import NodeCode
from ..kernels import Kernel, KernelLibrary, LoadedKernel, library
from ._stand_in import Collector

#: Jobs that are done at the same time.
MOST_THREADS = 2
#: Seconds that a job leaves the interpreter to the function, unless that has been called before.
_GRACE = 0.1
#: Seconds that the end of the program waits for threads whose compilers have just been ended.
_LAST_SECONDS = 1.0


class Job:
    """The code that one function misses.

    Parameters
    ----------
    missing : Collector

    Attributes
    ----------
    found : dict of Kernel to LoadedKernel or None
        The kernels of the function, as far as they are there.
    error : Exception or None
        Why the code cannot be made.
    """

    def __init__(self, missing: Collector) -> None:
        self.options: CompilerOptions = missing.options
        self.found: dict[Kernel, LoadedKernel | None] = dict(missing.found)
        self.error: Exception | None = None
        self._kernels = list(missing.kernels)
        self._node_codes: list[NodeCode] = missing.node_codes
        self._not_before = time.monotonic() + _GRACE
        self._over, self._called = threading.Event(), threading.Event()
        self._begun = False

    def renew(self) -> None:
        """Begin anew, in a process that was made of this one: the thread stayed behind."""
        self._over, self._called = threading.Event(), threading.Event()
        self._begun = False

    @property
    def is_over(self) -> bool:
        """Whether the code has been made, or cannot be; begins with the work where nobody does it."""
        if not self._begun:
            self._begun = True
            pool.begin(self)
        return self._over.is_set()

    def hurry(self) -> None:
        """Begin with the work: the first call is over, or somebody waits."""
        self._called.set()

    def wait(self, seconds: float | None) -> bool:
        """Wait until the job is over, so many seconds at most; return whether it is."""
        if seconds != 0:
            self.hurry()
        return self.is_over or self._over.wait(seconds)

    def run(self) -> None:
        """Compile the missing kernels: the work of a thread."""
        self._called.wait(max(0.0, self._not_before - time.monotonic()))
        try:
            self._compile()
        except Exception as error:  # noqa: BLE001  (a warning where the function is called next)
            self.error = error
        self._over.set()

    def _compile(self) -> None:
        # A library of its own: the lock of the one for all is not held while the compiler runs.
        fork = KernelLibrary.beside(library)
        built = fork.build(self._kernels, self.options)
        _, toolchain = fork.toolchain(self.options)
        library.adopt(fork)
        if toolchain is None:
            what = f"the C compiler {self.options.command} does not work"
            raise CompileError(
                format_error(what, hint="install gcc or clang, or set THEANO_FLAGS=cxx=<path of a compiler>")
            )
        self.found.update(zip(self._kernels, built, strict=True))
        if self._node_codes:
            thunk_library.load_beside(self._node_codes, self.options)


class Work(Protocol):
    """A task that a thread can run."""

    error: Exception | None

    def run(self) -> None:
        """Do it."""

    def renew(self) -> None:
        """Take note that the process has been made of another one, and no thread is at work."""


class Pool:
    """Threads that do jobs; they end when there are none, and with the program."""

    def __init__(self) -> None:
        self._open: weakref.WeakSet[Work] = weakref.WeakSet()
        self._at_exit = False
        self.reset()

    def reset(self) -> None:
        """Begin without threads."""
        self._lock = threading.Lock()
        self._waiting: deque[weakref.ref[Work]] = deque()
        self._threads: set[threading.Thread] = set()
        self._runs = BackgroundRuns()

    def renew(self) -> None:
        """Begin anew in a process that was made of this one: jobs are done when somebody asks for them."""
        self.reset()
        for job in list(self._open):
            job.renew()

    def begin(self, job: Work) -> None:
        """Let a thread do a job; a job that nobody needs any more when its turn comes is left out."""
        self._open.add(job)
        with self._lock:
            if not self._at_exit:
                self._at_exit = True
                atexit.register(self.end)
            self._waiting.append(weakref.ref(job))
            if len(self._threads) >= min(MOST_THREADS, os.cpu_count() or 1):
                return
            thread = threading.Thread(target=self._work, name="theano-compile", daemon=True)
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # no threads here, or no more of them
            with self._lock:
                self._threads.discard(thread)
                alone = not self._threads
            if alone:
                job.error = error
                job.run()

    def end(self) -> None:
        """End the compilers that run, and wait a moment for the threads: they remove temporary files."""
        with self._lock:
            self._waiting.clear()
            threads = list(self._threads)
        self._runs.end()
        last = time.monotonic() + _LAST_SECONDS
        for thread in threads:
            thread.join(max(0.0, last - time.monotonic()))

    def _work(self) -> None:
        in_background.set(self._runs)
        while True:
            with self._lock:
                if not self._waiting:
                    self._threads.discard(threading.current_thread())
                    return
                job = self._waiting.popleft()()
            if job is not None:
                job.run()
                self._open.discard(job)
            del job


#: The threads of this process.
pool = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.renew)
