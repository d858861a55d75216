"""Texts of kernels, and device forms: how a kernel description becomes launches on a device.

A device form is called once for each combination of shapes. It works out the shapes of results, refuses operands that
do not fit with the same errors as on the CPU, and tells a :class:`Recorder` which memory is needed and which launches
there are. The recorder either carries these out at once, or keeps them as a list that later calls with the same shapes
replay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theano_graph import RuleTable, TheanoError, record
from theano_linker_c.codegen.ir import Body
from theano_linker_c.kernels import Kernel

# ---- Kernels: their parameters, arrays and text

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
        C type of a pointer's elements.
    written : bool
        Whether the kernel writes to a pointer's array.
    apart : bool
        Whether no other parameter reaches the written memory: loads need not wait for stores.
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
    """The parts of a kernel.

    Parameters
    ----------
    parameters : tuple of Parameter
    body : tuple of Statement
        Statements that tell nothing of memory are taken to read and write as the parameters say.
    local : tuple of LocalArray
    functions, preamble : tuple of str
        Definitions before the kernel; see :func:`theano_gpuarray.codegen.text.with_helpers`.
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
        For each pointer, whether the kernel writes to its array; None for text that may write to all.
    kernel : DeviceKernel, optional
        The source of the text; None for text of programs and from disk, where nothing is joined.
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
        """Whether the kernel may write to the array of each of its pointers.

        Examples
        --------
        >>> KernelText("k", "KERNEL void k(GLOBAL_MEM float *x, GLOBAL_MEM float *y) {}", "PP").written
        (True, True)
        """
        return (True,) * self.parameters.count("P") if self.writes is None else self.writes


# ---- Device forms: operands, the protocol of recorders, registration


class NoDeviceForm(TheanoError):
    """Raised where a kernel, or a dtype, has no device form: the node stays on the CPU."""


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the byte strides of a C-contiguous array."""
    strides, step = [0] * len(shape), itemsize
    for d in reversed(range(len(shape))):
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


@record
class DeviceOperand:
    """An array in device memory, or a view of one.

    Parameters
    ----------
    slot : int
        The number of the recorder's memory; views have the slot of their base.
    dtype : str
    shape : tuple of int
    strides : tuple of int
        In bytes; negative ones and zeros are allowed.
    offset : int
        Bytes from the begin of the memory to the first element.
    """

    slot: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie one behind the other in C order."""
        row_strides = contiguous_strides(self.shape, self.itemsize)
        return self.size <= 1 or all(
            n == 1 or a == b for n, a, b in zip(self.shape, self.strides, row_strides, strict=True)
        )

    def view(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> DeviceOperand:
        """Return a view of the same memory."""
        offset = self.offset if offset is None else offset
        return DeviceOperand(self.slot, self.dtype, tuple(shape), tuple(strides), offset)


#: Arrays and numbers that are on the host: lengths, positions of slices.
HostValue: TypeAlias = NDArray[Any] | np.generic
Operand: TypeAlias = DeviceOperand | HostValue
#: An argument of a launch: an array (its memory; offsets and strides are passed as numbers), or a number.
Argument: TypeAlias = DeviceOperand | int | float


@record
class DeviceProperties:
    """The facts that code generation needs of a device.

    Parameters
    ----------
    driver : {"cuda", "opencl", "null"}
    name : str
    max_local : int
        Work-items (threads) of a work-group (block), at most.
    local_memory : int
        Bytes of local (shared) memory of a work-group.
    units : int
        Compute units (multiprocessors).
    warp : int
        Work-items that run in step; 1 where nothing is known.
    doubles, halves, long_atomics : bool
        Whether there are float64, float16 arithmetic, and atomic operations on 64 bits.
    cpu : bool
        Whether the device is the CPU itself.
    """

    driver: str
    name: str
    max_local: int
    local_memory: int
    units: int
    warp: int
    doubles: bool
    halves: bool
    long_atomics: bool
    cpu: bool


@record
class ConvolutionRequest:
    """A convolution or a gradient of it that a library is asked for; arrays are C-contiguous.

    Parameters
    ----------
    task : {"forward", "input_grad", "weight_grad"}
    dtype : {"float16", "float32", "float64"}
    images, filters, top : tuple of int
        Lengths, of four or five dimensions.
    zeros, strides, dilations : tuple of int
        One for each axis along which filters slide.
    groups : int
    flip : bool
        Whether filters are flipped.
    algorithm : str
        A name of :mod:`theano_gpuarray.dnn_flags`.
    chosen : object
        Where the algorithm is chosen once for several shapes: the holder of the choice.
    """

    task: str
    dtype: str
    images: tuple[int, ...]
    filters: tuple[int, ...]
    top: tuple[int, ...]
    zeros: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int
    flip: bool
    algorithm: str
    chosen: Any = None


@record
class ConvolutionPlan:
    """How a library computes a convolution.

    Parameters
    ----------
    description : tuple
        As the runtime takes it.
    algorithm : int
        The library's number of the algorithm.
    workspace : int
        Bytes.
    """

    description: tuple[Any, ...]
    algorithm: int
    workspace: int


@record
class LibraryCall:
    """An operation of a library of CUDA, but for the arrays that it is given.

    Parameters
    ----------
    name : str
        As the runtime has it, see `c/cuda/calls.c`: "epilogue", "rfft", "potrf", "pool", ...
    dtype : str
    numbers : tuple of int
        Lengths and the like.
    of_cudnn : bool
        Whether the library is cuDNN, which a flag may forbid.
    """

    name: str
    dtype: str
    numbers: tuple[int, ...]
    of_cudnn: bool = False


class Recorder(Protocol):
    """The records that device forms make of memory and launches."""

    @property
    def properties(self) -> DeviceProperties:
        """The device."""

    def empty(self, dtype: str, shape: Sequence[int]) -> DeviceOperand:
        """Return a new C-contiguous array, its elements undefined; its offset may be other than 0."""

    def constant(self, value: NDArray[Any]) -> DeviceOperand:
        """Return an array with these elements, the same in every replay; it is transferred once."""

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        """Launch a kernel after all launches before.

        Parameters
        ----------
        text : KernelText
        arguments : sequence
            One for each parameter.
        groups, local : sequence of int
            Numbers of work-groups (blocks), and of work-items (threads) of each, along one to three dimensions. A
            launch with no groups does nothing.
        """

    def copy(self, target: DeviceOperand, source: DeviceOperand) -> None:
        """Copy contiguous bytes: both are contiguous, of one dtype and size."""

    def fill(self, target: DeviceOperand, value: int = 0) -> None:
        """Set each byte of a contiguous array to `value`."""

    def product(
        self,
        z: DeviceOperand,
        a: DeviceOperand,
        b: DeviceOperand,
        alpha: float | DeviceOperand,
        beta: float | DeviceOperand,
    ) -> bool:
        """Compute ``z = alpha * a @ b + beta * z`` by a library; return False where there is none for these operands.

        Operands are matrices, or stacks of matrices with one leading dimension.
        """

    def plan_convolution(self, request: ConvolutionRequest) -> ConvolutionPlan | None:
        """Choose how a library computes a convolution; None where there is none for it."""

    def convolve(
        self,
        plan: ConvolutionPlan,
        image: DeviceOperand,
        filters: DeviceOperand,
        top: DeviceOperand,
        workspace: DeviceOperand,
    ) -> None:
        """Compute a convolution by a library; one of the first three is the result, and all are contiguous."""

    def workspace(self, call: LibraryCall) -> int | None:
        """Return the bytes that an operation of a library works in; None where no library has it."""

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Compute by a library; results are among the operands, of which no stride is negative."""

    def status(self) -> DeviceOperand:
        """Return an array of four int64, all 0 before a call: kernels that find a wrong value write it there.

        The first one is set to the number that `failure` gave, by an atomic compare-and-swap from 0; the others tell
        the position, the value and the length.
        """

    def read(self, operand: DeviceOperand) -> NDArray[Any]:
        """Carry out all launches so far, and return the values of a contiguous array.

        Later launches may depend on them, so that a list of launches cannot be replayed over it: forms say so with
        `needs_values`.
        """

    def may_overwrite(self, operand: DeviceOperand) -> bool:
        """Tell whether a form may put its result into the memory of its first input.

        That is so where nobody reads the input any more, or where the op says that it overwrites it.
        """

    @property
    def deterministic(self) -> bool:
        """Whether sums are wanted that do not depend on which work-item comes first."""

    def failure(self, explain: Callable[[int, int, int], Exception]) -> int:
        """Return the number of a failure; `explain` makes the exception from the other three numbers of the status.

        The host looks at the status after the launches, before any update is stored.
        """


#: Works out shapes, records launches, and returns the results of a kernel.
Run: TypeAlias = Callable[[Any, Recorder, Sequence[Operand]], Sequence[Operand]]


@record
class DeviceForm:
    """How kernels of one class run on a device.

    Parameters
    ----------
    run : callable
        ``(kernel, recorder, operands) -> results``.
    supports : callable
        ``(kernel) -> bool``: whether there is a device form of this very kernel; asked when nodes are lifted.
    host_inputs : callable
        ``(kernel, number of inputs) -> positions of the inputs`` that stay on the host (lengths, positions of slices).
    needs_values : callable
        ``(kernel) -> bool``: whether the host reads values of arrays on the way, as for the number of true elements of
        a mask.
    library : callable
        ``(kernel) -> LibraryCall or None``: an operation that a context must have, so that its device runs the kernel;
        None where every device does.
    """

    run: Run
    supports: Callable[[Any], bool]
    host_inputs: Callable[[Any, int], Sequence[int]]
    needs_values: Callable[[Any], bool]
    library: Callable[[Any], LibraryCall | None]


#: Device forms by class of kernel.
device_form: RuleTable[DeviceForm] = RuleTable("device_form")


def _always(kernel: Kernel) -> bool:
    return True


def _never(kernel: Kernel) -> bool:
    return False


def _none(kernel: Kernel, count: int) -> Sequence[int]:
    return ()


def _needs_none(kernel: Kernel) -> None:
    return None


def register_device_form(
    kernel_class: type[Kernel],
    *,
    supports: Callable[[Any], bool] = _always,
    host_inputs: Callable[[Any, int], Sequence[int]] = _none,
    needs_values: Callable[[Any], bool] = _never,
    library: Callable[[Any], LibraryCall | None] = _needs_none,
) -> Callable[[Run], Run]:
    """Register a function as the device form of a class of kernels; see :class:`DeviceForm`."""

    def register(run: Run) -> Run:
        device_form.register(kernel_class)(DeviceForm(run, supports, host_inputs, needs_values, library))
        return run

    return register


__all__ = [
    "DeviceKernel",
    "KernelText",
    "LocalArray",
    "Parameter",
    "Argument",
    "ConvolutionPlan",
    "ConvolutionRequest",
    "DeviceForm",
    "DeviceOperand",
    "DeviceProperties",
    "HostValue",
    "LibraryCall",
    "NoDeviceForm",
    "Operand",
    "Recorder",
    "contiguous_strides",
    "device_form",
    "register_device_form",
]
