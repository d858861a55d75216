"""Runs the compiler: argument lists, never shell text; the source goes through a pipe."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence

from theano_graph import compose, record

from ._directory import CompileDirectory, digest
from ._errors import CompileError

#: Reasons why a file cannot be written, and what else compilers say of them; a limit on sizes ends them by a signal.
_NO_ROOM: dict[int, tuple[str, ...]] = {
    errno.ENOSPC: (),
    errno.EDQUOT: (),
    errno.EROFS: (),
    errno.EFBIG: ("File size limit exceeded", "Filesize limit exceeded"),
}


@record
class CompilerRun:
    """How a run of the compiler ended."""

    ok: bool
    message: str


def run_compiler(command: str, arguments: Sequence[str], source: str, output: str, language: str = "c") -> CompilerRun:
    """Compile C text into a shared object at `output`.

    Parameters
    ----------
    command : str
        Path of the compiler.
    arguments : sequence of str
        Flags before and libraries after the input are told apart by their ``-l``.
    source : str
        C text.
    output : str
        Path of the object.
    language : {"c", "c++"}
    """
    libraries = [argument for argument in arguments if argument.startswith("-l")]
    flags = [argument for argument in arguments if not argument.startswith("-l")]
    line = [command, *flags, "-shared", "-fPIC", "-o", output, "-x", language, "-", "-x", "none", *libraries]
    # Error texts are read by the user and by us: English, whatever the locale.
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(line, input=source.encode(), capture_output=True, check=False, env=environment)
    except OSError as error:
        return CompilerRun(False, f"{command}: {error.strerror}")
    message = done.stderr.decode("utf-8", "replace").strip()
    return CompilerRun(done.returncode == 0, message or f"exit status {done.returncode}")


def check_room(message: str, output: str) -> None:
    """Look whether a compiler failed because it could not write.

    Parameters
    ----------
    message : str
        What the compiler said.
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
    """Keep `source` in `folder` and make the error that says what happened and where the source is."""
    try:
        kept = folder.write(source.encode(), "failed", digest(source, *arguments)[:16] + ".c")
    except OSError as error:
        kept = f"could not be kept ({error.strerror})"
    shown = "\n".join(message.splitlines()[:20])
    return CompileError(
        compose(
            f"{command} refused code for compiled kernels: {message.splitlines()[0] if message else 'no message'}",
            where=[f"source: {kept}", f"arguments: {' '.join(arguments)}", *shown.splitlines()[1:]],
            mend="check the flags cxx and gcc.cxxflags; THEANO_FLAGS=cxx= runs everything without a compiler",
        )
    )
