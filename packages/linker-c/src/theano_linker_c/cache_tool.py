"""The command ``theano-cache``: lists the compiled code on disk, and removes it.

Other processes may run meanwhile. Loaded code stays loaded; missing code is compiled again.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence

from theano_graph import config, format_error

from ._cache import KernelCache as KernelCache
from ._flags import absolute_directory
from ._version import __version__
from .compiler import CompileDirectory, CompilerOptions, CompilerWarning, remove

_DESCRIPTION = "Shows and cleans the cache of compiled code. Without a command it prints the directory of the cache."
_COMMANDS = {
    "list": "list the compiled objects and the rewritten functions: size, kernels, when they were made and last used",
    "clear": "remove all compiled code and all rewritten functions of this platform",
    "cleanup": "remove files that are damaged, too old, above the size limit, or left behind by killed processes",
    "purge": "remove the directory of this platform with all that is in it",
    "unlock": "remove the locks by which processes wait for each other",
    "basecompiledir": "print the directory that holds the caches of all platforms",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the command's name; by default those of the process.

    Returns
    -------
    int
        0, or 1 when something could not be removed.

    Examples
    --------
    >>> from theano_linker_c.cache_tool import main
    >>> main(["basecompiledir"])  # doctest: +ELLIPSIS
    /...
    0
    """
    given = _parser().parse_args(arguments)
    options = CompilerOptions.from_config()
    if given.command is None:
        print(options.directory)
        return 0
    if given.command == "basecompiledir":
        print(absolute_directory("base_compiledir", str(config.base_compiledir)))
        return 0
    if not os.path.isdir(options.directory):
        print(f"{options.directory}: there is nothing yet")
        return 0
    if given.command == "purge":
        return _purge(options.directory)
    try:
        status = _work(given, options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever reads the list has seen enough, as `head` has; nothing more can be written at the end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _failed(options.directory, error)


def open_cache(directory: str | None = None) -> KernelCache:
    """Return the cache of compiled code in a directory, to look at and to clean.

    Parameters
    ----------
    directory : str, optional
        By default the value of the flag ``compiledir``.

    Examples
    --------
    >>> isinstance(open_cache().objects(), list)
    True
    """
    options = CompilerOptions.from_config()
    path = directory or options.directory
    with warnings.catch_warnings():
        # A directory that is refused for running code from may still be looked at and emptied.
        warnings.simplefilter("ignore", CompilerWarning)
        folder = CompileDirectory(path)
    folder.path = path
    return KernelCache(folder, options.max_age, options.max_bytes)


def _work(given: argparse.Namespace, options: CompilerOptions) -> int:
    cache = open_cache(options.directory)
    folder = cache.folder
    match given.command:
        case "list":
            _list(cache)
        case "clear":
            _say(cache.clear(), "removed")
        case "cleanup":
            _say(cache.clean() + cache.clean_damaged(), "removed")
    if given.command == "unlock" or getattr(given, "unlock", False):
        _unlock(folder)
    if given.command == "clear" and (cache.objects() or cache.functions()):
        return _failed(options.directory, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return 0


def _failed(path: str, error: OSError) -> int:
    hint = "give yourself the right to change it."
    print(format_error(f"{path} cannot be cleaned: {error.strerror}", hint=hint), file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="theano-cache",
        description=_DESCRIPTION,
        epilog="The directory follows the flags base_compiledir, compiledir_format and compiledir.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", title="commands")
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == "clear":
            command.add_argument("--unlock", action="store_true", help="remove the locks too")
    return parser


def _list(cache: KernelCache) -> None:
    kernels = Counter(cache.entries().values())
    items = cache.objects()
    print(f"{cache.folder.path}")
    for item in items:
        print(f"  {item.name[:12]}  {_size(item.bytes):>9}  {kernels[item.name]:4d} kernels"
              f"  made {_date(item.made)}  used {_date(item.used)}")  # fmt: skip
    for item in cache.functions():
        print(
            f"  {item.name[:12]}  {_size(item.bytes):>9}   function    made {_date(item.made)}  used {_date(item.used)}"
        )
    _say(len(items), f"in all {_size(sum(item.bytes for item in items)).strip()}, at most {_size(cache.max_bytes)}")


def _say(count: int, details: str) -> None:
    print(f"{count} compiled object{'' if count == 1 else 's'}: {details}")


def _size(count: int) -> str:
    if count < 1 << 20:
        return f"{count / 1024:.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _unlock(folder: CompileDirectory) -> None:
    for entry in folder.entries("locks"):
        remove(entry.path)


def _purge(path: str) -> int:
    """Move the directory out of the way first, so that nobody meets half of it."""
    aside = f"{path}.purged-{os.getpid()}"
    try:
        os.rename(path, aside)
    except OSError as error:
        return _failed(path, error)
    shutil.rmtree(aside, ignore_errors=True)
    if os.path.exists(aside):
        print(f"{aside} could not be removed completely", file=sys.stderr)
        return 1
    print(f"removed {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
