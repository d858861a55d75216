"""Targets: which native forms nodes have, how these are built, and which machine runs them.

A target derives from :class:`Target` and is handed to a linker: ``Linker("mine", target=MyTarget("mine"))``. Two are
here: `C`, with kernels, ops' own C code and the machine in C; and `PYTHON`, which runs the Python code of ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from theano_graph import Apply, format_error, warn_user

from ._perform import Runner
from .compiler import CompilerOptions
from .cop import c_thunks, needs_c_code, offers_c_code
from .kernels import Kernel, LoadedKernel, build, native_kernel, stand_in
from .runtime import _native_machine as _native
from .runtime._instructions import PERFORM, Form, Hooks, Instruction, KernelForm, Program
from .runtime._python_machine import PythonMachine
from .runtime._thunks import BUFFER_LIMIT, Machine, python_runner

#: Modules of the former package are found under their earlier names, which pickles have.
__path__: list[str] = []

# ---- Targets; and the one that runs Python code


class Target:
    """Runs programs; as it is, in Python.

    A subclass says by :meth:`takes` which kernels it has code for, makes that in :meth:`build`, and either runs it one
    instruction at a time (:meth:`runner_of`), called by the machine in Python, or brings a machine of its own
    (:meth:`machine`). All else runs the op's Python code.

    Parameters
    ----------
    name : str

    Attributes
    ----------
    impl : str or None
        The implementation for which ops with a `make_thunk` of their own are asked; None leaves the choice to them.
    overwrites : bool
        Whether the machine puts results into memory of operands that die, as instructions say in `donors` and `waits`.
    has_loops : bool
        Whether the machine can run a loop whose steps are one elementwise kernel by one call of an `ElementwiseLoop`.

    Examples
    --------
    >>> from theano_linker_c import Linker, Mode, function, generic, view_op
    >>> x = generic("x")
    >>> f = function([x], view_op(x), mode=Mode(Linker("mine", target=Target("mine")), None))
    >>> f(5)
    5
    """

    impl: str | None = "py"
    overwrites: bool = False
    has_loops: bool = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Target) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return f"<target {self.name}>"

    @property
    def present(self) -> Target:
        """The target itself, or the one that stands in for it where it cannot be used."""
        return self

    def takes(self, kernel: Kernel) -> bool:
        """Tell whether there is code for a kernel, so that :meth:`build` is to be asked."""
        return False

    def kernel_of(self, node: Apply) -> Kernel | None:
        """Return a node as a kernel that the target takes, or None."""
        if type(self).takes is Target.takes:
            return None  # it takes none
        kernel = native_kernel.describe(node, self)
        return kernel if kernel is not None and self.takes(kernel) else None

    def build(self, kernels: Sequence[Kernel], options: CompilerOptions | None = None) -> list[KernelForm | None]:
        """Return the forms of the kernels of one function, each with its code; None where that cannot be made.

        Parameters
        ----------
        kernels : sequence of Kernel
            Each is different from the others.
        options : CompilerOptions, optional
        """
        return [KernelForm(kernel) for kernel in kernels]

    def runs_c_code(self, node: Apply) -> bool:
        """Tell whether the C code that an op brings along is to be run; by default where it has nothing else."""
        return needs_c_code(node)

    def forms(self, nodes: Sequence[Apply], options: CompilerOptions | None = None) -> list[Form]:
        """Return in which form each node of a function runs; missing kernels are compiled together.

        Parameters
        ----------
        nodes : sequence of Apply
            Those without thunks of their own that do not choose between inputs.
        options : CompilerOptions, optional
        """
        kernels = [self.kernel_of(node) for node in nodes]
        # Repeated parts of a graph have equal kernels: the code of each is made once.
        different = list(dict.fromkeys(kernel for kernel in kernels if kernel is not None))
        forms_of_kernels = dict(zip(different, self.build(different, options), strict=True)) if different else {}
        forms: list[Form | None] = [None if kernel is None else forms_of_kernels[kernel] for kernel in kernels]
        c_code_forms = self._running_c_code(nodes, forms)
        if stand_in.get() is not None:  # a kernel that is being compiled has the place of the op's own C code
            c_code_forms = [i for i in c_code_forms if (kernel := kernels[i]) is None or not kernel.needs_code]
        for i, thunk in zip(c_code_forms, c_thunks([nodes[i] for i in c_code_forms], options), strict=True):
            forms[i] = thunk
        return [PERFORM if form is None else form for form in forms]

    def _running_c_code(self, nodes: Sequence[Apply], forms: Sequence[Form | None]) -> list[int]:
        """Return the positions of the nodes without a form whose own C code is to be run."""
        remaining = [i for i, form in enumerate(forms) if form is None]
        if type(self).runs_c_code is Target.runs_c_code:  # it looks at the op alone, and most nodes share theirs
            ops = {id(nodes[i].op): nodes[i] for i in remaining}
            running = {number for number, node in ops.items() if self.runs_c_code(node)}
            return [i for i in remaining if id(nodes[i].op) in running] if running else []
        return [i for i in remaining if self.runs_c_code(nodes[i])]

    def machine(
        self,
        program: Program,
        hooks: Hooks,
        *,
        buffer_limit: int = BUFFER_LIMIT,
        thread_scale: float = 1.0,
        keep: bool = False,
    ) -> Machine:
        """Return the machine of a program.

        Parameters
        ----------
        program : Program
        hooks : Hooks
        buffer_limit : int
            Bytes of output memory that the machine may keep for its next call; 0 keeps none.
        thread_scale : float
            How much more work than usual an instruction must have before several threads share it; infinity: never.
        keep : bool
            Whether intermediate results stay after a call, to be looked at, as far as no other result is in their
            memory.
        """
        return PythonMachine(program, hooks, keep, self.runner_of)

    def runner_of(self, instruction: Instruction) -> Runner:
        """Return a function from input values to output values that runs an instruction alone, in fresh memory."""
        return python_runner(instruction)


#: Runs the Python code of ops.
PYTHON = Target("python")


# ---- The target in C: kernels, C code of ops, and the machine in C


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


__all__ = ["PYTHON", "C", "CTarget", "Target"]
