# The runtime in C. Import its names from `theano_gpuarray._runtime`, which has them where it was not built too.
# It opens drivers when it is asked to; it needs no headers or libraries of them. What drivers refuse raises
# DeviceError; so does every use of a context after a fork, in the child. Arguments that do not fit raise TypeError,
# ValueError or OverflowError before anything is put into the queue.

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ._errors import DeviceError as DeviceError

class Driver:
    # A driver that has been opened; there is one object for each name.
    @property
    def name(self) -> str: ...
    # Properties of a device: name, vendor, version, arch, place (on the bus), platform and number (OpenCL: which
    # platform, which device of it), max_local, local_memory, memory, max_buffer, units, warp, doubles, halves,
    # long_atomics, cpu.
    def properties(self, index: int, /) -> dict[str, Any]: ...
    # Number of devices, over all platforms.
    def count(self) -> int: ...
    # Open a context. `preallocate` bytes are allocated ahead, or as many as there are; a negative number turns the pool
    # off. `blocking`: threads that wait for the device sleep, rather than ask again and again (CUDA).
    def open(
        self, index: int, *, single_stream: bool = True, preallocate: int = 0, blocking: bool = False
    ) -> Context: ...

    # The version of a library, as 90100 for version 9.1.0 of "cudnn"; 0 where there is none, and then why it cannot be
    # used though it was given.
    def version(self, role: str, /) -> tuple[int, str | None]: ...

# Open a driver: "null", "opencl" (library "opencl") or "cuda" (libraries "cuda", "nvrtc", maybe "cublas" and "cudnn").
def open_driver(name: str, libraries: Mapping[str, str]) -> Driver: ...

# Return a DLPack capsule of an array: code and bits of its dtype, lengths and strides in elements, kind and number of
# the device. `versioned`: of DLPack 1. `owner` lives until the consumer has freed the array.
def export_array(
    owner: object,
    address: int,
    offset: int,
    dtype: tuple[int, int],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    device: tuple[int, int],
    versioned: bool,
    copied: bool,
    /,
) -> Any: ...

class Context:
    # A device with its queue, its pool of memory and its modules.
    @property
    def driver(self) -> Driver: ...
    @property
    def index(self) -> int: ...
    # The CUcontext or cl_context, and the CUstream or cl_command_queue, as numbers.
    @property
    def handle(self) -> int: ...
    @property
    def queue(self) -> int: ...
    # Memory of the pool; it goes back there when the buffer is deallocated. Where there is none left, the pool is
    # trimmed, garbage is collected, and DeviceError tells the sizes.
    def allocate(self, nbytes: int, /) -> Buffer: ...
    # Memory that somebody else owns (CUDA: an address; OpenCL: a cl_mem), kept alive by `owner`, which is let go after
    # the work that uses it.
    def wrap(self, address: int, nbytes: int, owner: object) -> Buffer: ...
    # Compile text, prelude included; return what `load` takes. A failure raises DeviceError with the log.
    def compile(self, text: str, options: str = "") -> bytes: ...
    # Load what `compile` returned, maybe in another process, for the same device and version.
    def load(self, binary: bytes, /) -> Module: ...
    # Put a launch into the queue. Where no work-groups are asked for, nothing is done. `shared` bytes of local memory
    # are added to those of the kernel; OpenCL: the kernel has one more parameter for them, after all others.
    def launch(
        self,
        kernel: Kernel,
        groups: Sequence[int],
        local: Sequence[int],
        arguments: Sequence[Buffer | int | float],
        shared: int = 0,
    ) -> None: ...
    # Compute products by a library: sizes m, n, k and batch; operands are buffer, offset, leading dimension and stride
    # from matrix to matrix, in elements. False where there is no library.
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
        /,
    ) -> bool: ...
    # Choose the algorithm of a convolution by a library. The description is the task ("forward", "input_grad",
    # "weight_grad"), the dtype, the precision ("tf32": of float32, whose factors may be rounded), the lengths of
    # images, filters and result, zeros, strides, dilations, the number of groups, and whether filters are flipped.
    # `kind` is "fixed" (the number is given), "guess" or "time"; `most` bytes of workspace are allowed. Gives the
    # number of the algorithm and the bytes of its workspace, or None where the library has none for this.
    def plan_convolution(
        self, description: tuple[Any, ...], kind: str, algorithm: int, deterministic: bool, most: int, /
    ) -> tuple[int, int] | None: ...
    # Compute a convolution as it was planned; places are buffer and offset in bytes, the last is the workspace.
    def convolve(
        self,
        description: tuple[Any, ...],
        algorithm: int,
        image: tuple[Buffer, int],
        filters: tuple[Buffer, int],
        top: tuple[Buffer, int],
        workspace: tuple[Buffer, int],
        nbytes: int,
        /,
    ) -> None: ...
    # The bytes that an operation of a library works in, by its name, dtype and numbers, see `c/cuda`; None where no
    # library has it.
    def workspace(self, name: str, dtype: str, numbers: tuple[int, ...], /) -> int | None: ...
    # Compute it; places are buffer, offset and length in bytes.
    def call(self, name: str, dtype: str, numbers: tuple[int, ...], /, *places: tuple[Buffer, int, int]) -> None: ...
    # Wait until the queue is empty.
    def synchronize(self) -> None: ...
    # in_use, pooled and peak (bytes); buffers that there are; and how often there were allocations (by the driver),
    # launches, writes, reads, copies, compilations.
    def statistics(self) -> dict[str, int]: ...
    # Give memory of the pool that nobody uses back to the driver.
    def trim(self) -> None: ...
    # What the null driver was asked to do, in order, which is forgotten then; empty for others. Entries are
    # ("launch", name, groups, local, arguments, shared), ("fill", bytes, value), and "copy", "write" or "read" with
    # the number of bytes. Of more than 65536 the oldest are forgotten.
    def recorded(self) -> list[tuple[Any, ...]]: ...
    # Make the context the current one of the thread (CUDA), and undo that.
    def push(self) -> None: ...
    def pop(self) -> None: ...

class Buffer:
    # A piece of device memory.
    @property
    def context(self) -> Context: ...
    @property
    def nbytes(self) -> int: ...
    # CUdeviceptr or cl_mem, as a number; 0 where there are no bytes.
    @property
    def address(self) -> int: ...
    # Copy from a C-contiguous object of the buffer protocol. Not blocking: it is copied into pinned memory first, and
    # may change as soon as `write` returns.
    def write(self, offset: int, source: object, *, blocking: bool = True) -> None: ...
    # Wait for the queue, and copy into a writable C-contiguous object of the buffer protocol.
    def read(self, offset: int, target: object) -> None: ...
    # Copy from another buffer, of this or (through the host where need be) another context.
    def copy(self, offset: int, source: Buffer, source_offset: int, nbytes: int) -> None: ...
    # Let a stream of somebody else use the memory: it waits for what is in the queue (None: it does not), and when the
    # buffer goes, the pool gets the memory back as soon as the device has no work left. False where a driver knows no
    # streams of others.
    def share(self, stream: int | None) -> bool: ...
    # Set bytes to a value from 0 to 255.
    def fill(self, offset: int, nbytes: int, value: int) -> None: ...

class Module:
    # Compiled code. Of `parameters` there is one letter for each parameter, see codegen.KernelText.
    def kernel(self, name: str, parameters: str) -> Kernel: ...

class Kernel:
    # A kernel function.
    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> str: ...
    # Work-items of a work-group that the kernel can be launched with, at most.
    @property
    def max_local(self) -> int: ...

class LaunchList:
    # Launches, copies, fills, products and convolutions that are replayed with other buffers. Steps are
    # ("launch", kernel, groups, local, arguments, shared), ("copy", target, offset, source, source_offset, nbytes),
    # ("fill", target, offset, nbytes, value), ("product", ...) with the arguments of `Context.product`, and
    # ("convolution", ...) with those of `Context.convolve`. A buffer is told by its number; among the arguments of a
    # launch, by (number,). ("call", ...) has the arguments of `Context.call`. ("repeat", count, steps, moves) runs
    # other steps several times: for each step, `moves` has tuples (place, linear, alternating)
    # of whole numbers; the number at that place of the step grows by `linear` from round to round, and is larger by
    # `alternating` in every second one. The place is the position of an argument of a launch; of a copy, 0 is its
    # offset and 1 that of its source; of a fill, 0; of a product, 0 to 4 are the offsets of a, b, z, alpha and beta;
    # of what other libraries compute, those of the arrays in the order in which they are given.
    # `order` tells which steps may run side by side: of each step its lane, 0 to 3, and the steps before it in other
    # lanes that it waits for. What libraries compute is in lane 0. An empty one says that all run in order.
    def __init__(
        self,
        context: Context,
        steps: Sequence[tuple[Any, ...]],
        n_buffers: int,
        order: tuple[tuple[int, tuple[int, ...]], ...] = ...,
    ) -> None: ...
    # Put all steps into the queue, in order, without the GIL.
    def run(self, buffers: Sequence[Buffer], /) -> None: ...

ReplayEntry: TypeAlias = tuple[
    LaunchList | None, tuple[tuple[int, Any], ...], tuple[Any, ...], int | None, Callable[[int, int, int, int], object]
]

class Replays:
    # Calls of a region that have been made before. Of each value, `flags` says what matters where it is on the host: 1,
    # it is transferred, so its shape does; 2, its elements do. Arrays on the device are objects of the class `array`.
    def __init__(
        self,
        context: Context,
        array: type,
        array_context: object,
        empty: Callable[[tuple[int, ...], Any], Any],
        flags: bytes,
    ) -> None: ...
    # Make a call like one that is kept; None where there is none. `token` is a number that is part of what is alike.
    def run(self, values: list[Any], token: int, /) -> list[Any] | None: ...
    # Say what calls like this one do: a list of launches; where each of its buffers comes from (0, number of a value;
    # 1, bytes; 2, buffer; 3, None: a status); the results (number of a buffer, whether it is read to the host, dtype,
    # shape, strides, offset), or what makes them of all buffers; which buffer is the status; and what raises the
    # exception for the four numbers in it. False where the values are of a kind of which nothing is kept.
    def keep(self, values: list[Any], token: int, entry: ReplayEntry, /) -> bool: ...
    # Make a call of which it is told what it does; arrays on the host are C-contiguous.
    def make(self, values: list[Any], entry: ReplayEntry, /) -> list[Any]: ...
