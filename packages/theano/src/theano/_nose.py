"""The command ``theano-nose``: runs tests that stand in files, as nose2 finds them."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from theano_graph import format_error

from ._version import __version__

_DESCRIPTION = "Finds and runs tests: functions and methods of test cases whose names begin with 'test'."
_EPILOG = """\
A target is a folder (all files test*.py below it), a file, or a part of a file: FILE.py:CLASS or FILE.py:CLASS.METHOD.
Without one it is the present folder. Flags of Theano are read from THEANO_FLAGS as usual, for instance
THEANO_FLAGS=mode=DebugMode theano-nose. Each folder of tests runs in a process of its own."""
_PATTERN = "test*.py"
#: Import roots of the layers; where they lie in a checkout, its tests do too.
LAYERS = ("graph", "optimize", "linker_c", "gpuarray", "tensor", "scan", "sparse", "testing")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the command's name; by default those of the process.

    Returns
    -------
    int
        0 if all tests passed, 1 if one failed, 2 if there was nothing to run.
    """
    given = _parser().parse_args(arguments)
    if importlib.util.find_spec("nose2") is None:
        return _refuse("nose2 is not installed", "pip install 'theano-stack[test]', or nose2 alone")
    targets = [*given.targets, *(own_tests() if given.theano else ())] or ["."]
    try:
        groups = _groups(targets)
    except ValueError as error:
        return _refuse(str(error), "name a folder, a file, or FILE.py:CLASS.METHOD")
    if not groups:
        return _refuse(f"there are no tests in {', '.join(targets)}", f"tests are looked for in files {_PATTERN}")
    options = [*(("-B",) if not given.nocapture else ()), *(("-F",) if given.stop else ()), *("-v",) * given.verbose]
    failed = False
    for base, names in groups.items():
        command = [sys.executable, "-m", "nose2", "-s", base, "-t", base, *options, *names]
        failed = bool(subprocess.run(command, check=False).returncode) or failed
        if failed and given.stop:
            break
    return int(failed)


def _refuse(what: str, hint: str) -> int:
    print(f"theano-nose: error: {format_error(what, hint=hint)}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="theano-nose",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="tests to run")
    parser.add_argument("--theano", action="store_true", help="run Theano's own tests, those of a checkout included")
    parser.add_argument("-s", "--nocapture", action="store_true", help="show the output of tests; else failures only")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="name each test")
    parser.add_argument("-x", "--stop", action="store_true", help="stop at the first failure")
    return parser


def own_tests() -> list[str]:
    """Return the folders of Theano's tests: the check of the installation, and those of all layers in a checkout.

    Examples
    --------
    >>> own_tests()[0].endswith("test_installation.py")
    True
    """
    here = Path(__file__).resolve().parent
    roots = [here, *(_folder_of(f"theano_{name}") for name in LAYERS)]
    beside = [root.parents[1] / "tests" for root in roots if root is not None and root.parent.name == "src"]
    return [str(here / "tests" / "test_installation.py"), *(str(path) for path in beside if path.is_dir())]


def _folder_of(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return Path(spec.origin).resolve().parent if spec is not None and spec.origin else None


def _groups(targets: Sequence[str]) -> dict[str, list[str]]:
    """Return names of tests, and of modules of tests, by the folder that they are imported from."""
    groups: dict[str, list[str]] = {}
    for target in targets:
        for file, inner in _files(target):
            base, name = _module(file)
            groups.setdefault(str(base), []).append(name + (f".{inner}" if inner else ""))
    return groups


def _files(target: str) -> Iterator[tuple[Path, str]]:
    """Yield each file of tests that a target names, with the class or method in it, if not all."""
    text, colon, inner = target.rpartition(":")
    path = Path(text if colon and text.endswith(".py") else target).resolve()
    if path.is_file() and path.suffix == ".py":
        yield path, inner if colon and text.endswith(".py") else ""
    elif path.is_dir():
        for folder, below, names in os.walk(path):
            below[:] = sorted(name for name in below if not name.startswith((".", "__")))
            yield from ((Path(folder, name), "") for name in sorted(names) if fnmatch(name, _PATTERN))
    else:
        raise ValueError(f"{target!r} is neither a folder nor a Python file")


def _module(file: Path) -> tuple[Path, str]:
    """Return the folder that a file is imported from, and the name of its module there."""
    base, parts = file.parent, [file.stem]
    while (base / "__init__.py").exists():
        parts.insert(0, base.name)
        base = base.parent
    return base, ".".join(parts)


def test(verbose: int = 1, extra_argv: Sequence[str] = ()) -> bool:
    """Run Theano's tests: a check of the installation, and in a checkout the tests of all layers.

    Parameters
    ----------
    verbose : int
        2 or more to name each test.
    extra_argv : sequence of str
        Further arguments for ``theano-nose``.

    Returns
    -------
    bool
        Whether all passed.
    """
    return main(["--theano", *("-v",) * (verbose - 1), *extra_argv]) == 0
