"""Runs the compiler: options, argument lists, never shell text; the source goes through a pipe."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import IO

from theano_graph import config, format_error, record

from .._flags import absolute_directory
from ._directory import CompileDirectory, CompileError, digest

# ---- Work done while the compiler is waited for, which takes no time then where there is a second core

_Action = Callable[[], object]

#: Work that waits for a run of the compiler in this thread: of the function being made, and of those around it.
_waiting: ContextVar[deque[_Action] | None] = ContextVar("waiting", default=None)


@contextmanager
def while_compiling(*actions: _Action) -> Iterator[None]:
    """Do something at the first run of the compiler that is waited for in a block; nothing where there is none.

    Parameters
    ----------
    *actions : callable
        Are called without arguments, one after the other, each at most once. They must not raise, nor compile.
    """
    waiting = _waiting.get()
    token = None
    if waiting is None:
        waiting = deque()
        token = _waiting.set(waiting)
    waiting.extend(actions)
    try:
        yield
    finally:
        for action in actions:
            if action in waiting:
                waiting.remove(action)
        if token is not None:
            _waiting.reset(token)


def waits_for_nothing() -> bool:
    """Tell whether there is nothing that could be done beside a run of the compiler."""
    return not _waiting.get()


def do_all() -> None:
    """Do the waiting work."""
    waiting = _waiting.get()
    while waiting:
        waiting.popleft()()


# ---- The compiler's options, read from the configuration once per compilation

# Declares the flags that are read here.


@record
class CompilerOptions:
    """Compiler, arguments and directories of one compilation.

    Parameters
    ----------
    command : str
        Path or name of the compiler; empty: nothing is compiled.
    extra : tuple of str
        Arguments that the user added.
    directory : str
        Where compiled kernels are kept.
    optimize : bool
        Whether to pass ``-O3``.
    debug : bool
        Whether to define the macro DEBUG.
    warnings : bool
        Whether to show the compiler's warnings.
    max_age : int
        Seconds after which a compiled object is no longer used.
    max_bytes : int
        Bytes of compiled objects that are kept.
    keep_sources : bool
        Whether the C text of compiled objects is kept.
    preload : bool
        Whether all compiled objects are loaded at once.
    wait, timeout : int
        Seconds between two looks, and in all, while another process compiles the same code.
    """

    command: str
    directory: str
    extra: tuple[str, ...] = ()
    optimize: bool = True
    debug: bool = False
    warnings: bool = False
    max_age: int = 60 * 60 * 24 * 24
    max_bytes: int = 512 << 20
    keep_sources: bool = False
    preload: bool = False
    wait: int = 5
    timeout: int = 120

    @classmethod
    def from_config(cls) -> CompilerOptions:
        """Read the options from the configuration flags."""
        return cls(
            command=c_compiler(str(config.cxx)),
            directory=absolute_directory("compiledir", str(config.compiledir)),
            extra=tuple(shlex.split(str(config.gcc.cxxflags))),
            optimize=not config.cmodule.remove_gxx_opt,
            debug=bool(config.cmodule.debug),
            warnings=bool(config.cmodule.compilation_warning),
            max_age=int(config.cmodule.age_thresh_use),
            max_bytes=int(config.cmodule.max_cache_size) << 20,
            keep_sources=bool(config.nocleanup),
            preload=bool(config.cmodule.preload_cache),
            wait=int(config.compile.wait),
            timeout=int(config.compile.timeout),
        )


def c_compiler(cxx: str) -> str:
    """Give the C compiler that belongs to a C++ compiler: gcc for g++, clang for clang++, versions kept.

    Where it is not found the C++ compiler itself serves: it compiles C when told the language.
    """
    folder, name = os.path.split(cxx)
    c_name = re.sub(r"\bg\+\+", "gcc", name).replace("clang++", "clang")
    if c_name == name:
        return cxx
    candidate = os.path.join(folder, c_name) if folder else c_name
    return candidate if shutil.which(candidate) else cxx


# ---- Runs the compiler: argument lists, never shell text; the source goes through a pipe

#: Reasons why a file cannot be written, and compilers' words for them; a limit on sizes ends them by a signal.
_NO_ROOM: dict[int, tuple[str, ...]] = {
    errno.ENOSPC: (),
    errno.EDQUOT: (),
    errno.EROFS: (),
    errno.EFBIG: ("File size limit exceeded", "Filesize limit exceeded"),
}

#: Messages about compilers that something else has ended: by us, and by gcc of the program that compiles for it.
_ENDED = ("ended by signal", "Killed signal terminated program")


@record
class CompilerRun:
    """How a run of the compiler ended."""

    ok: bool
    message: str


class BackgroundEndedError(Exception):
    """The program ends, and with it the runs of the compiler in the background."""


#: Held while a process is started, so that no fork of ours keeps files that are open in between.
_starting = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_starting.acquire, after_in_parent=_starting.release, after_in_child=_starting.release)


class BackgroundRuns:
    """Runs of the compiler that nobody waits for: they end with the program, and not by keys that are meant for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def run(self, line: Sequence[str], text: bytes, environment: dict[str, str]) -> tuple[int, bytes]:
        """Run a command with a text as its input; return its exit status and its error output.

        Raises
        ------
        BackgroundEndedError
            If the program ends meanwhile.
        """
        # No pipe for the text: a process that is forked off here would keep it open, and the compiler would wait.
        with tempfile.TemporaryFile() as source:
            source.write(text)
            source.seek(0)
            with self._lock:
                self._check()
                with _starting:
                    process = subprocess.Popen(
                        line,
                        stdin=source,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE,
                        env=environment,
                        process_group=0 if os.name == "posix" else None,
                    )
                self._running.add(process)
            try:
                _, message = process.communicate()
            finally:
                with self._lock:
                    self._running.discard(process)
        with self._lock:
            self._check()
        return process.returncode, message

    def end(self) -> None:
        """End all runs, with the processes that they have started."""
        with self._lock:
            self._ended = True
            for process in self._running:
                with suppress(OSError):
                    if os.name == "posix":
                        os.killpg(process.pid, signal.SIGTERM)
                    else:
                        process.terminate()

    def _check(self) -> None:
        if self._ended:
            raise BackgroundEndedError


#: The runs that those of this thread belong to; None where somebody waits for them.
in_background: ContextVar[BackgroundRuns | None] = ContextVar("in_background", default=None)


def run_compiler(command: str, arguments: Sequence[str], source: str, output: str, language: str = "c") -> CompilerRun:
    """Compile C text into a shared object at `output`.

    Parameters
    ----------
    command : str
        Path of the compiler.
    arguments : sequence of str
        Flags stand before the input, libraries after it; ``-l`` tells them apart.
    source : str
        C text.
    output : str
        Path of the object.
    language : {"c", "c++"}
    """
    libraries = [argument for argument in arguments if argument.startswith("-l")]
    flags = [argument for argument in arguments if not argument.startswith("-l")]
    line = [command, *flags, "-shared", "-fPIC", "-o", output, "-x", language, "-", "-x", "none", *libraries]
    # The user and the library read error texts: English in all locales.
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        status, said = _run(line, source.encode(), environment)
    except OSError as error:
        return CompilerRun(False, f"{command}: {error.strerror}")
    message = said.decode("utf-8", "replace").strip()
    return CompilerRun(status == 0, message or _ending(status))


def _ending(status: int) -> str:
    """Say how a compiler that said nothing has ended."""
    if status >= 0:
        return f"exit status {status}"
    return f"{_ENDED[0]} {-status} ({signal.strsignal(-status) or 'unknown'})"


def _run(line: Sequence[str], text: bytes, environment: dict[str, str]) -> tuple[int, bytes]:
    runs = in_background.get()
    if runs is not None:
        return runs.run(line, text, environment)
    return (_run_alone if waits_for_nothing() else _run_beside)(line, text, environment)


def _run_alone(line: Sequence[str], text: bytes, environment: dict[str, str]) -> tuple[int, bytes]:
    done = subprocess.run(line, input=text, capture_output=True, check=False, env=environment)
    return done.returncode, done.stderr


def _run_beside(line: Sequence[str], text: bytes, environment: dict[str, str]) -> tuple[int, bytes]:
    """Run a command, and the work that waits for such a moment beside it."""
    # No pipe for the text: nobody would fill it meanwhile.
    with _as_file(text) as source:
        if source is None:
            return _run_alone(line, text, environment)
        with subprocess.Popen(
            line, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        ) as process:
            try:
                do_all()
                _, message = process.communicate()
            except BaseException:
                process.kill()
                raise
    return process.returncode, message


@contextmanager
def _as_file(text: bytes) -> Iterator[IO[bytes] | None]:
    """Give a file that holds a text; None where there is no room for it."""
    with ExitStack() as stack:
        source: IO[bytes] | None = None
        with suppress(OSError):
            source = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            source.write(text)
            source.seek(0)
        yield source if source is not None and os.fstat(source.fileno()).st_size == len(text) else None


def check_room(message: str, output: str) -> None:
    """Look whether a compiler failed because it could not write.

    Parameters
    ----------
    message : str
        The compiler's output.
    output : str
        The file that it was to write.

    Raises
    ------
    OSError
        With the reason; FileNotFoundError if the directory of `output` is gone.
    """
    if not os.path.isdir(os.path.dirname(output)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), output)
    for number, signs in _NO_ROOM.items():
        if any(sign in message for sign in (os.strerror(number), *signs)):
            raise OSError(number, os.strerror(number), output)


def compile_error(
    command: str, arguments: Sequence[str], source: str, message: str, folder: CompileDirectory
) -> CompileError:
    """Keep `source` in `folder` and make the error that describes the failure and names the source."""
    try:
        path = folder.write(source.encode(), "failed", digest(source, *arguments)[:16] + ".c")
    except OSError as error:
        path = f"could not be kept ({error.strerror})"
    shown = "\n".join(message.splitlines()[:20])
    was_ended = any(sign in message for sign in _ENDED)
    what = "was ended while it compiled kernels" if was_ended else "refused code for compiled kernels"
    hint = "check the flags cxx and gcc.cxxflags; THEANO_FLAGS=cxx= runs everything without a compiler"
    if was_ended:
        hint = "make the function again; if memory is short, end other programs, or give this one more"
    return CompileError(
        format_error(
            f"{command} {what}: {message.splitlines()[0] if message else 'no message'}",
            context=[f"source: {path}", f"arguments: {' '.join(arguments)}", *shown.splitlines()[1:]],
            hint=hint,
        )
    )
