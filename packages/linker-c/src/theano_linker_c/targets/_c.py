"""The target in C: kernels, C code of ops, and the machine in C."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from theano_graph import Apply, format_error, warn_user

from .._instructions._data import Hooks, Instruction, Program
from .._instructions._forms import KernelForm
from .._machines import _native
from .._machines._machine import BUFFER_LIMIT, Machine
from .._machines._thunks import python_runner
from .._perform import Runner
from ..compiler import CompilerOptions
from ..cop import offers_c_code
from ..kernels import Kernel, LoadedKernel, build
from ._target import PYTHON, Target


class CTarget(Target):
    """Native kernels where they can be built, and the machine in C. Where that was not built, Python stands in."""

    impl = None
    overwrites = True
    has_loops = True

    @property
    def present(self) -> Target:
        """The target itself; where the extension was not built, that of Python, and one warning."""
        if _native.HAS_RUNTIME:
            return self
        _warn_once()
        return PYTHON

    def takes(self, kernel: Kernel) -> bool:
        """Tell whether a kernel says how the machine runs it."""
        return type(kernel).encode is not Kernel.encode

    def build(self, kernels: Sequence[Kernel], options: CompilerOptions | None = None) -> list[KernelForm | None]:
        """Return the forms of kernels, compiling missing ones with at most one run of the compiler."""
        kernels_needed = [kernel for kernel in kernels if kernel.needs_code]
        built = build(kernels_needed, options) if kernels_needed else []
        loaded: dict[Kernel, LoadedKernel | None] = dict(zip(kernels_needed, built, strict=True))
        codes = [loaded.get(kernel) for kernel in kernels]
        return [
            KernelForm(kernel, code) if code is not None or not kernel.needs_code else None
            for kernel, code in zip(kernels, codes, strict=True)
        ]

    def runs_c_code(self, node: Apply) -> bool:
        """Tell whether an op brings C code along."""
        return offers_c_code(node)

    def machine(
        self,
        program: Program,
        hooks: Hooks,
        *,
        buffer_limit: int = BUFFER_LIMIT,
        thread_scale: float = 1.0,
        keep: bool = False,
    ) -> Machine:
        """Return the machine in C."""
        return _native.native_machine(program, hooks, buffer_limit, thread_scale, keep)

    def runner_of(self, instruction: Instruction) -> Runner:
        """Return a function that runs the native code of an instruction, or else the op's Python code."""
        runner = _native.native_runner(instruction)
        return python_runner(instruction) if runner is None else runner


@cache
def _warn_once() -> None:
    warn_user(
        format_error(
            "theano-linker-c: the C runtime is missing, so functions run in the pure-Python machine: right, but slower "
            f"({_native.reason})",
            hint="install a C compiler and Python's headers, then install theano-linker-c again",
        )
    )


#: Runs native code.
C = CTarget("c")
