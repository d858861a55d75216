"""The commands of the package, for where scripts are not on the search path: ``python -m theano doctor``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from theano_linker_c.cache_tool import main as cache

from ._doctor import main as doctor
from ._nose import main as nose
from ._version import __version__

COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "doctor": (doctor, "report this machine's tools, with a cure for each gap (theano-doctor)"),
    "cache": (cache, "look after compiled code (theano-cache)"),
    "nose": (nose, "run tests (theano-nose)"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with the arguments that follow its name.

    Returns
    -------
    int
        The exit status of the command.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]][0](words[1:])
    parser = argparse.ArgumentParser(
        prog="python -m theano",
        description="A compiler for array expressions.",
        epilog="; ".join(f"{name}: {text}" for name, (_, text) in COMMANDS.items()) + ". Each has --help.",
    )
    parser.add_argument("--version", action="version", version=f"theano {__version__}")
    parser.add_argument("command", choices=list(COMMANDS), help="the command, with its own options behind it")
    parser.parse_args(words)
    return 2


if __name__ == "__main__":
    sys.exit(main())
