"""Check that an installed linker-c has its C runtime and uses it; the test of published wheels."""

from __future__ import annotations

import importlib.util
import sys

import theano_linker_c
from theano_linker_c import function, generic, view_op


def main() -> int:
    """Run a function on the C machine; the exit status is 1 where there is none."""
    if importlib.util.find_spec("theano_linker_c._runtime") is None:
        print("there is no C runtime")
        return 1
    x = generic("x")
    assert function([x], view_op(x))("text") == "text"
    print(f"theano-linker-c {theano_linker_c.__version__} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
