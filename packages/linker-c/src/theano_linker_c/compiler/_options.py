"""The compiler's options, read from the configuration once per compilation."""

from __future__ import annotations

import os
import re
import shlex
import shutil

from theano_graph import config, record

# Declares the flags that are read here.
from .._flags import absolute_directory


@record
class CompilerOptions:
    """Compiler, arguments and directories of one compilation.

    Parameters
    ----------
    command : str
        Path or name of the compiler; empty: nothing is compiled.
    extra : tuple of str
        Arguments that the user added.
    directory : str
        Where compiled kernels are kept.
    optimize : bool
        Whether to pass ``-O3``.
    debug : bool
        Whether to define the macro DEBUG.
    warnings : bool
        Whether to show the compiler's warnings.
    max_age : int
        Seconds after which a compiled object is no longer used.
    max_bytes : int
        Bytes of compiled objects that are kept.
    keep_sources : bool
        Whether the C text of compiled objects is kept.
    preload : bool
        Whether all compiled objects are loaded at once.
    wait, timeout : int
        Seconds between two looks, and in all, while another process compiles the same code.
    """

    command: str
    directory: str
    extra: tuple[str, ...] = ()
    optimize: bool = True
    debug: bool = False
    warnings: bool = False
    max_age: int = 60 * 60 * 24 * 24
    max_bytes: int = 512 << 20
    keep_sources: bool = False
    preload: bool = False
    wait: int = 5
    timeout: int = 120

    @classmethod
    def from_config(cls) -> CompilerOptions:
        """Read the options from the configuration flags."""
        return cls(
            command=c_compiler(str(config.cxx)),
            directory=absolute_directory("compiledir", str(config.compiledir)),
            extra=tuple(shlex.split(str(config.gcc.cxxflags))),
            optimize=not config.cmodule.remove_gxx_opt,
            debug=bool(config.cmodule.debug),
            warnings=bool(config.cmodule.compilation_warning),
            max_age=int(config.cmodule.age_thresh_use),
            max_bytes=int(config.cmodule.max_cache_size) << 20,
            keep_sources=bool(config.nocleanup),
            preload=bool(config.cmodule.preload_cache),
            wait=int(config.compile.wait),
            timeout=int(config.compile.timeout),
        )


def c_compiler(cxx: str) -> str:
    """Give the C compiler that belongs to a C++ compiler: gcc for g++, clang for clang++, versions kept.

    Where it is not found the C++ compiler itself serves: it compiles C when told the language.
    """
    folder, name = os.path.split(cxx)
    c_name = re.sub(r"\bg\+\+", "gcc", name).replace("clang++", "clang")
    if c_name == name:
        return cxx
    candidate = os.path.join(folder, c_name) if folder else c_name
    return candidate if shutil.which(candidate) else cxx
