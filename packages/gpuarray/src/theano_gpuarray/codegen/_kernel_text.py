"""Kernels of devices: what they are made of, what they read and write, and their text."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from theano_graph import record
from theano_linker_c.codegen.ir import Body

__all__ = ["DeviceKernel", "KernelText", "LocalArray", "Parameter"]

_C_TYPES = {"i": "int32_t", "I": "uint32_t", "q": "int64_t", "f": "float", "d": "double"}


@record
class Parameter:
    """A parameter of a kernel.

    Parameters
    ----------
    letter : str
        As in :class:`KernelText`.
    name : str
    memory : str
        C type of what a pointer points to.
    written : bool
        Whether the kernel writes to what a pointer points to.
    apart : bool
        Whether what is written is reached through no other parameter: loads need not wait for stores.
    """

    letter: str
    name: str
    memory: str = "char"
    written: bool = False
    apart: bool = False

    @property
    def kind(self) -> str:
        """C type of a variable with its value."""
        if self.letter != "P":
            return _C_TYPES[self.letter]
        return f"GLOBAL_MEM {'' if self.written else 'const '}{self.memory} *{'restrict' * self.apart}"

    @property
    def declaration(self) -> str:
        """The C text in the head of the kernel."""
        return f"{'' if self.letter == 'P' else 'const '}{self.kind} {self.name}"


@record
class LocalArray:
    """An array in local memory, which the work-items of a group share, and of which vectors may be loaded.

    Arrays of one name have one type.
    """

    kind: str
    name: str
    lengths: tuple[int, ...]

    @property
    def declaration(self) -> str:
        """The C text of its declaration."""
        lengths = "".join(f"[{length}]" for length in self.lengths)
        return f"LOCAL_MEM {self.kind} {self.name}{lengths} __attribute__((aligned(16)));"


@record
class DeviceKernel:
    """What a kernel is made of.

    Parameters
    ----------
    parameters : tuple of Parameter
    body : tuple of Statement
        Statements that tell nothing of memory are taken to read and write what the parameters say.
    local : tuple of LocalArray
    functions, preamble : tuple of str
        What has to stand before the kernel; see :func:`theano_gpuarray.codegen.text.with_helpers`.
    single_item : bool
        Whether a group is one work-item: then compilers for CPUs need not look for vectors across work-items, in which
        some fail.
    light : bool
        Whether it waits for memory alone: others of this kind run well beside it.
    """

    parameters: tuple[Parameter, ...]
    body: Body
    local: tuple[LocalArray, ...] = ()
    functions: tuple[str, ...] = ()
    preamble: tuple[str, ...] = ()
    single_item: bool = False
    light: bool = False


@record
class KernelText:
    """The source text of one kernel function.

    It is written with the macros of the device prelude (`KERNEL`, `GLOBAL_MEM`, `LOCAL_MEM`, `LID_0`, `LDIM_0`,
    `GID_0`, `GDIM_0`, `local_barrier()`), so that it is CUDA and OpenCL alike.

    Parameters
    ----------
    name : str
        Name of the function.
    text : str
        The function, with all helper functions that it calls before it.
    parameters : str
        One letter for each parameter: ``P`` a pointer to global memory, ``q`` int64, ``i`` int32, ``I`` uint32,
        ``f`` float32, ``d`` float64; ``b``, ``B``, ``h`` and ``H`` int8, uint8, int16 and uint16.
    writes : tuple of bool, optional
        For each pointer, whether the kernel writes to what it points to; None for text that may write to all.
    kernel : DeviceKernel, optional
        What the text was made of; None for text of programs and from disk, where nothing is joined.
    """

    name: str
    text: str
    parameters: str
    writes: tuple[bool, ...] | None = None
    kernel: DeviceKernel | None = field(default=None, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelText, (self.name, self.text, self.parameters, self.writes)

    @property
    def written(self) -> tuple[bool, ...]:
        """Whether the kernel may write to what each of its pointers points to.

        Examples
        --------
        >>> KernelText("k", "KERNEL void k(GLOBAL_MEM float *x, GLOBAL_MEM float *y) {}", "PP").written
        (True, True)
        """
        return (True,) * self.parameters.count("P") if self.writes is None else self.writes
