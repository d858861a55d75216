"""Builds the C runtime where a C compiler is at hand, and goes on without it where none is.

Set ``THEANO_REQUIRE_EXTENSION=1`` to make a failed build an error, as for wheels that are to be published, and
``THEANO_PURE=1`` to build a wheel without the runtime, for all systems. ``THEANO_FREE_THREADING=1`` builds one that
does not need the interpreter's lock, for Pythons that are built without it (3.13t and later); an experiment.
``THEANO_CFLAGS`` are flags of the compiler that come behind all others.
"""

from __future__ import annotations

import os
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NAME = "theano_linker_c._runtime"
SOURCES = sorted(glob("src/theano_linker_c/c/**/*.c", recursive=True))
HEADERS = sorted(
    path for ending in ("h", "def") for path in glob(f"src/theano_linker_c/c/**/*.{ending}", recursive=True)
)

MESSAGE = """
==================================================================================
theano-linker-c: the C runtime was not built, the pure-Python machine will be used.
  Reason: {reason}
  Everything works, only slower. Hint: install a C compiler (gcc or clang) and
  Python's headers (python3-dev), then install theano-linker-c again.
==================================================================================
"""


def is_set(variable: str) -> bool:
    """Tell whether an environment variable asks for something."""
    return os.environ.get(variable, "0") not in {"", "0"}


class OptionalBuildExt(build_ext):
    """Build the extension, or say once why that failed and install without it."""

    def run(self) -> None:
        """Build; every way in which a toolchain can be missing ends here."""
        try:
            super().run()
        except Exception as error:
            if is_set("THEANO_REQUIRE_EXTENSION"):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            print(MESSAGE.format(reason=reason), flush=True)


def numpy_include() -> str:
    """Return NumPy's header folder; NumPy is there when a build front end runs this file, not for plain queries."""
    try:
        import numpy as np  # noqa: PLC0415  (only a build needs it)
    except ImportError:
        return ""
    return np.get_include()


def extensions() -> list[Extension]:
    """List the one extension, or nothing where a pure wheel is wanted or there are no C sources."""
    if is_set("THEANO_PURE") or not SOURCES:
        return []
    include = [path for path in ("src/theano_linker_c/c", numpy_include()) if path]
    # Arithmetic of lengths wraps around and arrays are read as other types, in kernels as in the runtime.
    flags = ["-O2", "-pthread", "-fvisibility=hidden", "-fwrapv", "-fno-strict-aliasing"]
    flags += os.environ.get("THEANO_CFLAGS", "").split()
    return [
        Extension(
            NAME,
            SOURCES,
            depends=HEADERS,
            include_dirs=include,
            define_macros=[("THEANO_FREE_THREADING", "1")] if is_set("THEANO_FREE_THREADING") else [],
            extra_compile_args=flags,
            extra_link_args=["-pthread"],
            libraries=["m"],
        )
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuildExt})
