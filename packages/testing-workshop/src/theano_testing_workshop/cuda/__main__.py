"""Builds the stand-in for the libraries of CUDA, and prints its folder, which stays until somebody removes it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from ._build import build, has_compilers, link_libraries


def main() -> int:
    """Run as a program; return the exit status: 1 where there is no compiler."""
    if not has_compilers():
        print("the stand-in for CUDA needs gcc and g++", file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp(prefix="theano-cuda-"))
    library = folder / "libfake.so"
    shutil.copy(build(), library)
    link_libraries(folder, library)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
