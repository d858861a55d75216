"""The compiler as programs for Theano 1.0 ask for it: which flags it takes, and whether a program compiles and runs."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

from theano_graph import config

from .cmodule import gcc_version


class Compiler:
    """Questions to a compiler for C or C++."""

    __module__ = "theano.gof.cmodule"

    @classmethod
    def _try_compile_tmp(
        cls,
        src_code: str,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        command = str(config.cxx) if compiler is None else compiler
        if not command:
            return False
        arguments = cls.compile_args() if comp_args else []
        with tempfile.TemporaryDirectory(prefix=tmp_prefix) as folder:
            source, program = os.path.join(folder, "program.c"), os.path.join(folder, "program")
            with open(source, "w", encoding="utf-8") as file:
                file.write(src_code)
            line = [command, *arguments, source, "-o", program, *flags]
            out, err, failed = _run(line)
            compiled, ran = not failed, False
            if compiled and try_run:
                out, err, failed = _run([program])
                ran = not failed
        answer = (compiled, ran) if try_run else (compiled,)
        if output:
            return (*answer, out, err)
        return answer if try_run else compiled

    @staticmethod
    def compile_args(march_flags: bool = True) -> list[str]:
        """Return the arguments that the flag ``gcc.cxxflags`` asks for."""
        return str(config.gcc.cxxflags).split()

    @classmethod
    def _try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        compiler: str | None = None,
        comp_args: bool = True,
    ) -> Any:
        code = f"{preambule}\nint main(int argc, char** argv)\n{{\n{body}\nreturn 0;\n}}\n"
        return cls._try_compile_tmp(code, "try_flags_", flag_list, try_run, output, compiler, comp_args)


class GCC_compiler(Compiler):
    """Questions to the compiler that the flag ``cxx`` names.

    Examples
    --------
    >>> GCC_compiler.try_flags(["-O2"]) in (True, False)
    True
    """

    __module__ = "theano.gof.cmodule"
    #: Whether the compiler knows AMD's library of mathematical functions.
    supports_amdlibm = True

    @staticmethod
    def version_str() -> str:
        """Return the command and the version of the compiler."""
        return f"{config.cxx} {gcc_version()}"

    @classmethod
    def try_compile_tmp(
        cls,
        src_code: str,
        tmp_prefix: str = "",
        flags: Sequence[str] = (),
        try_run: bool = False,
        output: bool = False,
        comp_args: bool = True,
    ) -> Any:
        """Tell whether a program compiles, and with `try_run` also whether it runs.

        Parameters
        ----------
        src_code : str
        tmp_prefix : str
            How the name of a folder for it begins.
        flags : sequence of str
        try_run : bool
        output : bool
            Whether the answer includes the output of the compiler, or the program.
        comp_args : bool
            Whether the flag ``gcc.cxxflags`` counts.
        """
        return cls._try_compile_tmp(src_code, tmp_prefix, flags, try_run, output, None, comp_args)

    @classmethod
    def try_flags(
        cls,
        flag_list: Sequence[str],
        preambule: str = "",
        body: str = "",
        try_run: bool = False,
        output: bool = False,
        comp_args: bool = True,
    ) -> Any:
        """Tell whether the compiler takes some flags, for a program of which `body` is the main function."""
        return cls._try_flags(flag_list, preambule, body, try_run, output, None, comp_args)


def _run(command: Sequence[str]) -> tuple[bytes, bytes, int]:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        return b"", str(error).encode(), 1
    return done.stdout, done.stderr, done.returncode
