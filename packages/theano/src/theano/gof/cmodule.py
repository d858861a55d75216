"""The directory of compiled code, and the compiler."""

import sysconfig

from theano_graph import config
from theano_linker_c.compiler import (
    CompileDirectory as CompileDirectory,
    CompileError as CompileError,
    find_toolchain as find_toolchain,
)


def get_lib_extension() -> str:
    """Return the suffix of shared libraries that Python loads, without its dot."""
    return str(sysconfig.get_config_var("SHLIB_SUFFIX") or ".so").lstrip(".")


def dlimport_workdir(basedir: str | None = None) -> str:
    """Return the directory of compiled code: `basedir`, or what the flag `compiledir` says."""
    return str(config.compiledir) if basedir is None else basedir


__all__ = ["CompileDirectory", "CompileError", "dlimport_workdir", "find_toolchain", "get_lib_extension"]
