"""Functions that start before their kernels are compiled: missing kernels, their compilation, and the exchange."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from theano_graph import Apply, Variable, format_error, warn_user

from .._perform import call_form
from ..compiler import BackgroundRuns, CompileError, CompilerOptions, CompilerWarning, in_background
from ..cop import library as thunk_library
from ..cop._node_code import NodeCode, has_perform
from ..kernels import BuildStandIn, Kernel, KernelLibrary, LoadedKernel, library, stand_in
from ._instructions import PerformForm, Program
from ._thunks import Machine, Observer, Reading, Thunk

if TYPE_CHECKING:
    from ..cop._units import LoadedCode


# ---- Deferred compilers while a function is linked: they note missing kernels, or hand out compiled ones


class MustWaitError(Exception):
    """The compiler has to be waited for: an op has C code only."""


class Collector:
    """Gives kernels that are loaded or on disk, and notes the others.

    Attributes
    ----------
    kernels : dict of Kernel to None
        The kernels to compile, in order.
    node_codes : list of NodeCode
        The C code of ops that has to be.
    found : dict of Kernel to LoadedKernel or None
        The kernels at hand.
    """

    def __init__(self, options: CompilerOptions) -> None:
        self.options = options
        self.kernels: dict[Kernel, None] = {}
        self.node_codes: list[NodeCode] = []
        self.found: dict[Kernel, LoadedKernel | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compile."""
        return not self.kernels and not self.node_codes

    def build(self, kernels: Sequence[Kernel]) -> list[LoadedKernel | None]:
        """Return the machine code of kernels at hand."""
        present, missing = library.present(kernels, self.options)
        self.found.update(present)
        self.kernels.update(dict.fromkeys(missing))
        return [present.get(kernel) for kernel in kernels]

    def load(self, sources: Sequence[NodeCode]) -> list[LoadedCode] | None:
        """Return the machine code of ops' C code where all of it is there.

        Raises
        ------
        MustWaitError
            If it is not, and one of the ops has nothing else.
        """
        units = thunk_library.present(sources, self.options)
        if units is None:
            if not all(has_perform(node_code.node.op) for node_code in sources):
                raise MustWaitError
            self.node_codes.extend(sources)
        return units


class Supplier:
    """Hands out compiled kernels; further ones are compiled at once."""

    def __init__(self, options: CompilerOptions, found: Mapping[Kernel, LoadedKernel | None]) -> None:
        self.options = options
        self._found = found

    def build(self, kernels: Sequence[Kernel]) -> list[LoadedKernel | None]:
        """Return the machine code of kernels."""
        others = [kernel for kernel in kernels if kernel not in self._found]
        made = dict(zip(others, library.build(others, self.options), strict=True)) if others else {}
        return [made[kernel] if kernel in made else self._found[kernel] for kernel in kernels]

    def load(self, sources: Sequence[NodeCode]) -> list[LoadedCode] | None:
        """Return the machine code of ops' C code."""
        return thunk_library.load(sources, self.options)


# ---- Compilation in the background: jobs, and the threads that do them

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


# ---- The machine of a function whose kernels are being compiled, which becomes the native one between two calls

#: The tiered machines that are made for the one that is being linked or called.
_inner: ContextVar[weakref.WeakSet[TieredMachine] | None] = ContextVar("inner_machines", default=None)
_SHOWN_LINES = 3
#: Whoever would wait for longer waits for as long as it takes.
_MOST_SECONDS = 1e9


def seconds_of(wait: Any) -> float | None:
    """Return how many seconds `ready` may wait; None for as long as it takes."""
    if wait is None or isinstance(wait, (bool, np.bool_)):
        return None if wait else 0.0
    if not isinstance(wait, (int, float, np.integer, np.floating)):
        raise TypeError(
            format_error(
                f"ready: wait is True, or a number of seconds; got {wait!r} ({type(wait).__name__})",
                hint="pass wait=True to wait until the code is there, or leave it out to ask only.",
            )
        )
    return None if wait > _MOST_SECONDS else max(0.0, float(wait))


def within_tiers() -> bool:
    """Tell whether a function is made for an op of another one, which does not wait for the compiler."""
    return _inner.get() is not None


def link_in_tiers(
    make: Callable[[], Machine], watch: Callable[[Machine], Machine], options: CompilerOptions, label: str
) -> Machine:
    """Return the machine that `make` gives, or where kernels are missing one that does without them at first.

    Parameters
    ----------
    make : callable
        Lowers and links the function.
    watch : callable
        Is given each machine that is going to be called, and returns it.
    options : CompilerOptions
    label : str
        The function's name in messages.
    """
    missing = Collector(options)
    inner: weakref.WeakSet[TieredMachine] = weakref.WeakSet()
    try:
        with _standing_in(missing, inner):
            first = make()
            _compile_inner(first.program)
    except MustWaitError:
        return watch(link_at_once(make))
    if missing.is_empty and not inner:
        return watch(first)
    if not all(_has_python(x.node) for x in first.program.instructions if isinstance(x.form, PerformForm)):
        return watch(link_at_once(make))
    return TieredMachine(watch(first), lambda: watch(make()), Job(missing), inner, label)


def link_at_once(make: Callable[[], Machine]) -> Machine:
    """Return the machine of `make`; missing kernels are compiled."""
    with _standing_in(None, None):
        return make()


@contextmanager
def _standing_in(builder: BuildStandIn | None, inner: weakref.WeakSet[TieredMachine] | None) -> Iterator[None]:
    tokens = stand_in.set(builder), _inner.set(inner)
    try:
        yield
    finally:
        stand_in.reset(tokens[0])
        _inner.reset(tokens[1])


def _compile_inner(program: Program) -> None:
    """Let ops that run graphs of their own begin with them; their mistakes are raised when they run."""
    for instruction in program.instructions:
        compiled = getattr(instruction.node.op, "compiled", None)
        if isinstance(instruction.form, PerformForm) and callable(compiled):
            with suppress(Exception):
                compiled()


def _has_python(node: Apply) -> bool:
    return has_perform(node.op) or call_form.get(node.op) is not None


class TieredMachine:
    """Calls the first machine of a function until its kernels are compiled, and the native one from then on.

    A call that runs ends on the machine on which it began.

    Parameters
    ----------
    first : Machine
        Runs kernels that are not compiled yet in Python.
    make : callable
        Gives the native machine, once the job is over.
    job : Job
        Compiles the kernels.
    inner : set of TieredMachine
        Those of functions inside of ops.
    label : str
        The function's name in messages.

    Attributes
    ----------
    followers : list of callable
        Are called with the native machine when it is there.
    """

    def __init__(
        self,
        first: Machine,
        make: Callable[[], Machine],
        job: Job,
        inner: weakref.WeakSet[TieredMachine],
        label: str,
    ) -> None:
        state = vars(self)
        state.update(_present=first, _make=make, _job=job, _inner=inner, _label=label, _assigned={})
        state.update(_context=copy_context(), _turn=threading.Lock(), _owner=0, _settled=False, _failed=False)
        state["followers"] = []
        around = _inner.get()
        if around is not None:
            around.add(self)
        job.is_over  # noqa: B018  (the work begins)

    # ---- the exchange

    def now(self) -> Machine:
        """Return the machine for the next call."""
        if not self._settled and self._is_over():
            self._settle(0)
        machine: Machine = self._present
        return machine

    def ready(self, wait: bool | float | None = None) -> bool:
        """Tell whether calls run native code; wait for it, some seconds or as long as it takes."""
        seconds = seconds_of(wait)
        last = None if seconds is None else time.monotonic() + seconds
        if not self._settled:
            over = self._job.wait(_left(last))
            for machine in list(self._inner):
                machine.ready(True if last is None else _left(last))
            if over and self._is_over():
                self._settle(_left(last))
        return self._settled and not self._failed

    @property
    def failed(self) -> bool:
        """Whether the native machine cannot be made."""
        return bool(self._failed)

    def _is_over(self) -> bool:
        return bool(self._job.is_over) and all(machine._settled or machine._is_over() for machine in list(self._inner))

    def _settle(self, seconds: float | None) -> None:
        """Exchange the machines, or say why that cannot be; somebody else who does so is waited for some seconds."""
        if self._owner == threading.get_ident():
            return  # linking runs code of the user's, which calls the function
        if not self._turn.acquire(timeout=-1 if seconds is None else seconds):
            return
        vars(self)["_owner"] = threading.get_ident()
        try:
            if not self._settled:
                self._exchange()
        finally:
            vars(self)["_owner"] = 0
            self._turn.release()

    def _exchange(self) -> None:
        state, error = vars(self), self._job.error
        for machine in list(self._inner):
            machine.now()
            error = error or (machine._job.error if machine.failed else None)
        if error is None:
            try:
                native = self._context.run(self._link)
            except Exception as found:  # noqa: BLE001  (the function goes on)
                error = found
            else:
                for name, value in self._assigned.items():
                    setattr(native, name, value)
                native_view, view = getattr(native, "view", None), getattr(self._present, "view", None)
                if native_view is not None and view is not None:
                    native_view.take_cells(view)
                state["_present"] = native
        machine = self._present
        state.update(_settled=True, _failed=error is not None, _make=None, _context=None)
        for follower in self.followers:
            follower(machine, error is None)
        self.followers.clear()
        if error is not None:
            _warn(self._label, error)

    def _link(self) -> Machine:
        with _standing_in(Supplier(self._job.options, self._job.found), None):
            machine: Machine = self._make()
        return machine

    # ---- the interface of machines

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the machine."""
        machine = self.now()
        if self._settled:
            return machine(*args, **kwargs)
        token = _inner.set(self._inner)
        try:
            return machine(*args, **kwargs)
        finally:
            _inner.reset(token)
            self._job.hurry()

    def run(self, values: Any, /) -> list[Any]:
        """Run on one value an input and return all outputs as a list."""
        machine = self.now()
        token = _inner.set(None if self._settled else self._inner)
        try:
            return machine.run(values)
        finally:
            _inner.reset(token)

    def clear(self) -> None:
        """Let go of memory kept for the next call."""
        self._present.clear()

    def start_profile(self, skip: int, observer: Observer | None, /) -> None:
        """Count calls and times from now on."""
        self._present.start_profile(skip, observer)

    def read_profile(self) -> Reading | None:
        """Return the counters."""
        reading: Reading | None = self._present.read_profile()
        return reading

    @property
    def position_of_error(self) -> int:
        """Which of the nodes failed last, or -1."""
        return int(self._present.position_of_error)

    @property
    def program(self) -> Program:
        """The program of the machine that is called now."""
        program: Program = self._present.program
        return program

    @property
    def thunks(self) -> list[Thunk]:
        """The nodes, each with its storage."""
        thunks: list[Thunk] = self._present.thunks
        return thunks

    @property
    def nodes(self) -> list[Apply]:
        """The nodes, in the order of the thunks."""
        nodes: list[Apply] = self._present.nodes
        return nodes

    @property
    def storage_map(self) -> dict[Variable, list[Any]]:
        """Variable -> its cell."""
        cells: dict[Variable, list[Any]] = self._present.storage_map
        return cells

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_present"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._present, name, value)
        self._assigned[name] = value

    def __dir__(self) -> list[str]:
        return dir(self._present)


def _left(last: float | None) -> float | None:
    return None if last is None else max(0.0, last - time.monotonic())


def _warn(label: str, error: Exception) -> None:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    warn_user(
        format_error(
            f"{label} goes on in Python, which is much slower: its kernels could not be compiled",
            context=lines[:_SHOWN_LINES],
            hint="correct the compiler or its flags and make the function again, or set THEANO_FLAGS=cxx=",
        ),
        CompilerWarning,
    )
