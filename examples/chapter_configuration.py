"""Configuration: flags in the environment, in a file, in a block; flags of one's own.

Run ``python examples/chapter_configuration.py``; every statement about the results is checked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import theano
import theano.tensor as T
from theano.configparser import AddConfigVar, EnumStr, FloatParam


def run(code: str, flags: str, file: str) -> str:
    """Run a program with flags in the environment and in a file; return its output."""
    environ = {**os.environ, "THEANO_FLAGS": flags, "THEANORC": file}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def sources() -> None:
    """The environment counts before files; of two settings the right-most one does."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "theanorc")
        file.write_text("[global]\nfloatX = float32\nmode = FAST_COMPILE  # quick\n[gcc]\ncxxflags = -O2\n")
        code = "from theano import config; print(config.floatX, config.mode, config.gcc.cxxflags)"
        assert run(code, "", str(file)) == "float32 FAST_COMPILE -O2"
        assert run(code, "floatX=float64,mode=FAST_RUN,mode=Mode", str(file)) == "float64 Mode -O2"
    code = "from theano import config; print(config.source_of('floatX'))"
    assert run(code, "floatX=float32", os.devnull) == "THEANO_FLAGS"


def blocks() -> None:
    """A change may last for a block, or for a function."""
    before = theano.config.floatX
    with theano.config.change_flags(floatX="float32"):
        assert T.vector().dtype == "float32"

    @theano.config.change_flags(floatX="float16")
    def inside() -> str:
        return str(T.vector().dtype)

    assert inside() == "float16"
    assert theano.config.floatX == before


def own_flags() -> None:
    """A program's own flags stand beside those of Theano."""
    AddConfigVar("example.schedule", "How the rate falls.", EnumStr("constant", "linear", "exponential"))
    AddConfigVar("example.rate", "The first rate.", FloatParam(0.1, lambda value: value > 0))
    # Type checkers know the flags of Theano; those of programs they know not.
    config: Any = theano.config
    assert config.example.schedule == "constant"
    config.example.rate = 0.5
    assert config.example.rate == 0.5
    try:
        config.example.schedule = "sometimes"
    except ValueError as error:
        assert "linear" in str(error)
    else:
        raise AssertionError("it is none of the words")
    assert "How the rate falls" in str(theano.config)


def main() -> None:
    sources()
    blocks()
    own_flags()
    print("configuration: 2 flags of our own, 3 sources")


if __name__ == "__main__":
    main()
