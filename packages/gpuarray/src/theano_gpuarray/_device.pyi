"""Types of the runtime in C that opens drivers when it is asked to; it needs no headers or libraries of them."""

from collections.abc import Mapping, Sequence
from typing import Any

class DeviceError(RuntimeError):
    """Raised by drivers: the text says which call failed and why."""

class Driver:
    """A driver that has been opened."""

    name: str
    def properties(self, index: int) -> dict[str, Any]:
        """Return name, vendor, max_local, local_memory, memory, units, warp, doubles, halves, long_atomics, cpu,
        version, arch and (OpenCL) platform and number of a device."""
    def count(self) -> int:
        """Return the number of devices, over all platforms."""
    def open(self, index: int, *, single_stream: bool = True, preallocate: int = 0, blocking: bool = False) -> Context:
        """Open a context on a device."""

def open_driver(name: str, libraries: Mapping[str, str]) -> Driver:
    """Open a driver: "null", "opencl" (library "opencl") or "cuda" (libraries "cuda", "nvrtc", maybe "cublas")."""

class Context:
    """A device with its queue, its pool of memory and its modules. Every use after a fork raises DeviceError."""

    driver: Driver
    index: int
    #: The CUcontext or cl_context, as a number; and the CUstream or cl_command_queue.
    handle: int
    queue: int
    def allocate(self, nbytes: int) -> Buffer:
        """Return memory of the pool; it goes back there when the buffer is deallocated."""
    def wrap(self, address: int, nbytes: int, owner: object) -> Buffer:
        """Return memory that somebody else owns (CUDA: an address), kept alive by `owner`."""
    def compile(self, text: str, options: str = "") -> bytes:
        """Compile text, prelude included; return what `load` takes. A failure raises DeviceError with the log."""
    def load(self, binary: bytes) -> Module:
        """Load what `compile` returned, maybe in another process for the same device."""
    def launch(
        self,
        kernel: Kernel,
        groups: Sequence[int],
        local: Sequence[int],
        arguments: Sequence[Buffer | int | float],
        shared: int = 0,
    ) -> None:
        """Put a launch into the queue."""
    def product(
        self,
        dtype: str,
        transposes: tuple[bool, bool],
        sizes: tuple[int, int, int, int],
        alpha: float | tuple[Buffer, int],
        a: tuple[Buffer, int, int, int],
        b: tuple[Buffer, int, int, int],
        beta: float | tuple[Buffer, int],
        z: tuple[Buffer, int, int, int],
    ) -> bool:
        """Compute products by a library: sizes m, n, k and batch; operands are buffer, offset, leading dimension and
        stride from matrix to matrix, in elements. False where there is no library."""
    def synchronize(self) -> None:
        """Wait until the queue is empty."""
    def statistics(self) -> dict[str, int]:
        """Return in_use, pooled and peak (bytes), buffers, allocations, launches, writes, reads, copies, compilations."""
    def trim(self) -> None:
        """Give memory of the pool that nobody uses back to the driver."""
    def recorded(self) -> list[tuple[Any, ...]]:
        """Return and forget what the null driver was asked to do, in order; empty for others."""
    def push(self) -> None:
        """Make the context the current one of the thread (CUDA)."""
    def pop(self) -> None:
        """Undo `push`."""

class Buffer:
    """A piece of device memory."""

    context: Context
    nbytes: int
    #: CUdeviceptr or cl_mem, as a number.
    address: int
    def write(self, offset: int, source: object, *, blocking: bool = True) -> None:
        """Copy from a contiguous object of the buffer protocol; not blocking: through pinned staging memory."""
    def read(self, offset: int, target: object) -> None:
        """Wait for the queue and copy into a writable contiguous object of the buffer protocol."""
    def copy(self, offset: int, source: Buffer, source_offset: int, nbytes: int) -> None:
        """Copy from another buffer, of this or (through the host where need be) another context."""
    def fill(self, offset: int, nbytes: int, value: int) -> None:
        """Set bytes."""

class Module:
    """Compiled code."""

    def kernel(self, name: str, parameters: str) -> Kernel:
        """Return a kernel; for `parameters` see `theano_gpuarray.codegen.KernelText`."""

class Kernel:
    """A kernel function."""

    name: str
    parameters: str
    #: Work-items of a work-group that the kernel can be launched with, at most.
    max_local: int

class LaunchList:
    """Launches, copies and fills that are replayed with other buffers."""

    def __init__(self, context: Context, steps: Sequence[tuple[Any, ...]], n_buffers: int) -> None:
        """Steps are ("launch", kernel, groups, local, arguments, shared), ("copy", target, offset, source, offset,
        nbytes) and ("fill", target, offset, nbytes, value); a buffer is told by its number, as (number,) among the
        arguments of a launch."""
    def run(self, buffers: Sequence[Buffer]) -> None:
        """Put all steps into the queue, in order, without the GIL."""
