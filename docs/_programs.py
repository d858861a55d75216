"""Run programs one after another, each in a fork of one process that has imported their common modules.

    python docs/_programs.py < COMMANDS

COMMANDS is JSON: a list of command lines, each a program with its options. JSON is printed, too: for each command its
exit status, its output, and its errors.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: Modules that take longer to import than most programs take to run.
SHARED = ("matplotlib.pyplot", "sklearn.datasets", "theano.tensor")


def run_forked(command: list[str]) -> tuple[int, str, str]:
    """Run a program in a fork of this process; return its exit status, its output and its errors."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as output,
        tempfile.TemporaryFile("w+", encoding="utf-8") as errors,
    ):
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            os._exit(_perform(command))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read())
    return status, texts[0], texts[1]


def _perform(command: list[str]) -> int:
    sys.argv, sys.path[0] = command, str(Path(command[0]).parent)
    status = 1
    try:
        runpy.run_path(command[0], run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  (a program may raise anything)
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def run_programs(commands: Iterable[list[str]]) -> list[tuple[int, str, str]]:
    """Run programs in forks of a process of their own; return exit status, output and errors of each."""
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(list(commands)), stdout=subprocess.PIPE, text=True, check=True
    )
    return [(status, output, errors) for status, output, errors in json.loads(done.stdout)]


def main() -> None:
    """Run the programs that standard input lists."""
    commands = json.load(sys.stdin)
    for name in SHARED if commands else ():
        with suppress(ImportError):
            importlib.import_module(name)
    print(json.dumps([run_forked(command) for command in commands]))


if __name__ == "__main__":
    main()
