"""BLAS routines of the library that the flag ``blas.ldflags`` names, where it names one."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shlex
import sys
from functools import cache

from theano_graph import ConfigError, config, format_error, record

# Declares the flag that is read here.
from ... import _flags as _flags


@record
class LinkArguments:
    """The arguments of a linker by their meaning.

    Parameters
    ----------
    libraries : tuple of str
        Names without ``lib`` and suffix, from ``-l``.
    folders, headers : tuple of str
        Directories from ``-L`` and ``-I``.
    others : tuple of str
        All that is left, paths of libraries among it.
    """

    libraries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def link_arguments(text: str) -> LinkArguments:
    """Split the arguments of a linker.

    Examples
    --------
    >>> link_arguments("-L/opt/blas -lopenblas").libraries
    ('openblas',)
    """
    arguments: dict[str, list[str]] = {"-l": [], "-L": [], "-I": [], "": []}
    words = iter(shlex.split(text))
    for word in words:
        key = word[:2] if word[:2] in arguments else ""
        arguments[key].append((word[2:] or next(words, "")) if key else word)
    return LinkArguments(tuple(arguments["-l"]), tuple(arguments["-L"]), tuple(arguments["-I"]), tuple(arguments[""]))


def library_files(arguments: LinkArguments) -> list[str]:
    """Give each library as something that the loader understands: a path, or a file name that it looks for.

    Examples
    --------
    >>> library_files(LinkArguments(others=("/opt/blas/libown.so",)))
    ['/opt/blas/libown.so']
    """
    paths = [word for word in arguments.others if not word.startswith("-")]
    return [*paths, *(_file_of(name, arguments.folders) for name in arguments.libraries)]


def _file_of(name: str, folders: tuple[str, ...]) -> str:
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    file_name = f"{'' if sys.platform == 'win32' else 'lib'}{name}{suffix}"
    here = (path for path in (os.path.join(folder, file_name) for folder in folders) if os.path.exists(path))
    return next(here, None) or ctypes.util.find_library(name) or file_name


@cache
def _load(flags: str) -> tuple[ctypes.CDLL, ...]:
    files = library_files(link_arguments(flags))
    if not files:
        raise ConfigError(
            format_error(f"`blas.ldflags` is {flags!r}, which names no library", hint="add one, as -lopenblas")
        )
    loaded = []
    for file in files:
        try:
            # A library finds the symbols of another one named with it among those loaded for all. A single
            # one is not: the BLAS of SciPy, loaded later, would be bound to its routines.
            loaded.append(ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL if len(files) > 1 else ctypes.RTLD_LOCAL))
        except OSError as error:
            raise ConfigError(
                format_error(
                    f"the BLAS library {file!r} cannot be loaded: {error}",
                    context=[f"`blas.ldflags` is {flags!r}, from {config.source_of('blas.ldflags')}"],
                    hint="name the folder with -L or give the full path of the library; with an empty `blas.ldflags` "
                    "the BLAS of SciPy is used",
                )
            ) from None
    return tuple(loaded)


def chosen_routine(name: str) -> int | None:
    """Give the address of a BLAS routine in the library that the user chose; None where there was no choice.

    Parameters
    ----------
    name : str
        As ``dgemm``.

    Raises
    ------
    ConfigError
        If the library cannot be loaded, or does not have the routine.

    Examples
    --------
    >>> chosen_routine("dgemm") is None
    True
    """
    flags = str(config.blas.ldflags).strip()
    return _address(name, flags) if flags else None


@cache
def _address(name: str, flags: str) -> int:
    for symbol in (name + "_", name):
        for library in _load(flags):
            if hasattr(library, symbol):
                return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
    raise ConfigError(
        format_error(
            f"none of the libraries {', '.join(library_files(link_arguments(flags)))} has the BLAS routine {name!r}",
            context=[f"`blas.ldflags` is {flags!r}, from {config.source_of('blas.ldflags')}"],
            hint="name a library with the Fortran interface of BLAS (routines such as dgemm_, with 32-bit integers)",
        )
    )
