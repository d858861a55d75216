"""Profiles: time by function, op and node, memory, and the time of compiling.

Run ``python examples/chapter_profiling.py``; every statement about the results is checked.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import numpy as np

import theano
import theano.tensor as T


def one_function() -> Any:
    """A function that is compiled with ``profile=True`` keeps counts."""
    x = T.dmatrix("x")
    f: Any = theano.function([x], [T.dot(x, x.T).sum(), T.exp(x).max()], profile=True, name="work")
    for _ in range(3):
        f(np.ones((30, 20)))
    report = io.StringIO()
    f.profile.summary(file=report)
    text = report.getvalue()
    for part in ("Message: work", "Time in 3 calls", "Class\n---", "Ops\n---", "Apply\n---"):
        assert part in text, part
    assert "Dot22" in text or "dot" in text
    return f.profile


def several_functions() -> None:
    """Functions may share one profile."""
    stats = theano.ProfileStats()
    x = T.dvector("x")
    double = theano.function([x], x * 2, profile=stats)
    total = theano.function([x], x.sum(), profile=stats)
    double([1.0])
    total([1.0, 2.0])
    total([1.0, 2.0])
    report = io.StringIO()
    stats.summary(file=report)
    assert "Time in 3 calls" in report.getvalue()


def compiling() -> None:
    """The flag `profile_optimizer` adds the time of each rewrite."""
    x = T.dmatrix("x")
    with theano.config.change_flags(profile_optimizer=True):
        f: Any = theano.function([x], T.log(T.exp(x)).sum(), profile=True)
        report = io.StringIO()
        f.profile.summary(file=report)
    assert "Optimizer Profile" in report.getvalue()


def whole_program() -> str:
    """With the flag `profile` every function is measured, and the reports come when the program ends."""
    program = "import theano, theano.tensor as T; x = T.dscalar(); theano.function([x], x + 1, name='next')(1.0)"
    flags = {**os.environ, "THEANO_FLAGS": "profile=True,profile_memory=True"}
    done = subprocess.run([sys.executable, "-c", program], env=flags, capture_output=True, text=True, check=True)
    assert "Message: next" in done.stderr
    assert "Memory Profile" in done.stderr
    return done.stderr


def main() -> None:
    profile = one_function()
    several_functions()
    compiling()
    text = whole_program()
    print(f"profiling: {profile.fct_callcount} calls; a report of {'some' if len(text) > 500 else 'few'} lines")


if __name__ == "__main__":
    main()
