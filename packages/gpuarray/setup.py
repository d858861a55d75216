"""Builds the C runtime where a C compiler is at hand, and goes on without it where none is.

Set ``THEANO_REQUIRE_EXTENSION=1`` to make a failed build an error, as for wheels that are to be published, and
``THEANO_PURE=1`` to build a wheel without the runtime, for all systems. ``THEANO_CFLAGS`` are flags
of the compiler that come behind all others. Nothing of CUDA or OpenCL is needed: their libraries are looked for when a
device is asked for.
"""

from __future__ import annotations

import os
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NAME = "theano_gpuarray._device"
SOURCES = sorted(glob("src/theano_gpuarray/c/**/*.c", recursive=True))
HEADERS = sorted(glob("src/theano_gpuarray/c/**/*.h", recursive=True))

MESSAGE = """
==================================================================================
theano-gpuarray: the C runtime was not built, so no device can be used.
  Reason: {reason}
  All else works, on the CPU. Hint: install a C compiler (gcc or clang) and
  Python's headers (python3-dev), then install theano-gpuarray again.
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


def extensions() -> list[Extension]:
    """List the one extension, or nothing where a pure wheel is wanted or there are no C sources."""
    if is_set("THEANO_PURE") or not SOURCES:
        return []
    flags = ["-O2", "-pthread", "-fvisibility=hidden", *os.environ.get("THEANO_CFLAGS", "").split()]
    return [
        Extension(
            NAME,
            SOURCES,
            depends=HEADERS,
            include_dirs=["src/theano_gpuarray/c"],
            extra_compile_args=flags,
            extra_link_args=["-pthread"],
            libraries=["dl"],
        )
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuildExt})
