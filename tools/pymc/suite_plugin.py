"""A plugin of pytest that runs PyTensor's tests of its linkers with the mode of `theano_pytensor`.

`run_suite.py` loads it. Our linker and mode take the place of numba's and JAX's before a module of tests asks for them.
Each test writes one line to the file that `SUITE_OUTCOMES` names: its name, the outcome, and the reason.

With ``SUITE_RELAXED=1`` tests may ask for warnings and errors that do not come, and all else in them has to hold: the
line names the missing ones. So a test that asks for a warning that numba cannot do something is seen to pass but for
the warning.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any

import pytensor.compile.mode
import pytensor.link.jax
import pytensor.link.numba
import pytensor.link.numba.linker
import pytest
from pytensor.compile.mode import Mode, predefined_linkers, predefined_modes
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import theano_pytensor

#: The helpers of PyTensor's tests: the module, the function that compares, and the word for the mode.
HELPERS = (
    ("tests.link.numba.test_basic", "compare_numba_and_py", "numba_mode"),
    ("tests.link.jax.test_basic", "compare_jax_and_py", "jax_mode"),
)


#: With "1", graphs come from PyTensor's own rewrites for numba, else from our mode.
REWRITTEN = os.environ.get("SUITE_REWRITTEN") == "1"

#: With "1", warnings and errors that a test asks for may be left out.
RELAXED = os.environ.get("SUITE_RELAXED") == "1"

#: The expectations of the running test that did not come.
missed: list[str] = []

NOT_FOR_NUMBA = pytensor.link.numba.linker.NumbaLinker.incompatible_rewrites


def our_mode() -> Any:
    """Return the mode that tests run with."""
    if not REWRITTEN:
        return theano_pytensor.THEANO
    rewrites = RewriteDatabaseQuery(include=["fast_run", "numba"], exclude=[*NOT_FOR_NUMBA, "fusion"])
    return Mode(theano_pytensor.TheanoLinker(), rewrites)


def take_places() -> None:
    """Put our mode and our linker in the places of numba's and JAX's."""
    for name in ("numba", "jax"):
        predefined_modes[name.upper()] = our_mode()
        predefined_linkers[name] = theano_pytensor.TheanoLinker()
    pytensor.link.numba.NumbaLinker = theano_pytensor.TheanoLinker
    pytensor.link.numba.linker.NumbaLinker = theano_pytensor.TheanoLinker
    pytensor.link.jax.JAXLinker = theano_pytensor.TheanoLinker


def change_helpers() -> None:
    """Let the functions that compare results use our mode, and ask for no arrays of JAX."""
    # JAX computes with doubles once PyTensor's rules for it are imported.
    with contextlib.suppress(ImportError):
        importlib.import_module("pytensor.link.jax.dispatch")
    for name, compare, mode in HELPERS:
        try:
            module = importlib.import_module(name)
        except (ImportError, pytest.skip.Exception):
            continue
        defaults = getattr(module, compare).__kwdefaults__
        defaults[mode] = our_mode()
        setattr(module, mode, our_mode())
        if "must_be_device_array" in defaults:
            defaults["must_be_device_array"] = False
        if hasattr(module, "numba_inplace_mode"):
            module.__dict__["numba_inplace_mode"] = our_mode().including("inplace")
            # The sources of numba's functions, run in Python, are no part of ours.
            module.__dict__["eval_python_only"] = lambda *arguments, **options: None


class Expectation:
    """One `pytest.warns` or `pytest.raises` whose failure is noted, and is none."""

    def __init__(self, name: str, context: Any, expected: Any) -> None:
        self.name, self.context = name, context
        kinds = expected if isinstance(expected, tuple) else (expected,)
        self.expected = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)

    def __enter__(self) -> Any:
        return self.context.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> bool:
        try:
            if self.context.__exit__(kind, error, trace):
                return True
            came = "" if kind is None else kind.__name__
        except (pytest.fail.Exception, AssertionError) as failure:
            came = "other words" if "Regex" in str(failure) else "none"
        except Warning as other:
            # Warnings of other classes are given on when the context ends, and are errors in PyTensor's tests.
            came = type(other).__name__
        if self.name == "raises" or (came and kind is None):
            missed.append(f"{self.name} {self.expected}: {came or 'none'}")
            return self.name == "raises" or kind is None
        return False


def relaxed(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `pytest.warns` or `pytest.raises` that notes a missing one."""

    def context(expected: Any = Warning, *arguments: Any, **options: Any) -> Any:
        manager = original(expected, *arguments, **options)
        return Expectation(name, manager, expected) if hasattr(manager, "__enter__") else manager

    return context


def pytest_configure(config: Any) -> None:
    """Change PyTensor before a module of tests is imported."""
    del config
    take_places()
    change_helpers()
    if isinstance(pytensor.compile.mode.VM, tuple):
        # The mode of machines without C++ is, in some versions, a tuple of it, and refused.
        pytensor.compile.mode.fast_run_linkers_to_mode["vm"] = pytensor.compile.mode.VM = pytensor.compile.mode.VM[0]
    if RELAXED:
        for name in ("warns", "raises"):
            setattr(pytest, name, relaxed(name, getattr(pytest, name)))


def pytest_runtest_setup(item: Any) -> None:
    """Begin a test, which has missed nothing yet."""
    del item
    missed.clear()


def pytest_runtest_logreport(report: Any) -> None:
    """Write the outcome of a test."""
    if report.when != "call" and report.outcome == "passed":
        return
    strict = "[XPASS(strict)]" in str(report.longrepr)
    outcome = "passed" if strict else report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "xfailed" if report.outcome == "skipped" else "passed"
    crash = getattr(report.longrepr, "reprcrash", None)
    why = str(crash.message if crash is not None else report.longrepr or "").split("\n")
    if missed and outcome == "passed":
        why = list(dict.fromkeys(missed))
    with open(os.environ["SUITE_OUTCOMES"], "a", encoding="utf-8") as file:
        print(report.nodeid, outcome, " / ".join(why[:6])[:400].replace("\t", " "), sep="\t", file=file)
