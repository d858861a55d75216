"""A context: a device with its queue and its memory, as programs see it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..codegen import DeviceProperties, KernelText
from ..codegen._prelude import compile_options, prelude
from ._code import ContextCode

if TYPE_CHECKING:
    from .._device import Buffer, Context, Driver, Kernel, Module

__all__ = ["GpuContext"]

#: Drivers whose compiler works in several threads, and how many it gets: each takes some memory.
_COMPILE_TOGETHER = frozenset({"cuda"})
_MOST_COMPILERS = 8


class GpuContext:
    """A device with its queue, its memory and its kernels.

    Contexts are made by `theano_gpuarray.contexts.init_dev` and by the flags `device` and `contexts`. In a ``with``
    block a context is the current one of CUDA, for libraries that look for it.

    Parameters
    ----------
    native : theano_gpuarray._device.Context
        The context of the runtime in C.
    devname : str
        The device, as "cuda0" or "opencl0:0".

    Attributes
    ----------
    kind : {"cuda", "opencl", "null"}
    name : object
        The name that it is registered under first; None before, and for the default one.
    description : str
        The device, for people.
    properties : DeviceProperties
        Properties of the device for code generation.
    lanes : int
        How many steps of a call may run side by side, where they do not need each other.

    Examples
    --------
    >>> from theano_gpuarray.contexts import open_context
    >>> context = open_context("null0")
    >>> context.kind, context.devname
    ('null', 'null0')
    """

    def __init__(self, native: Context, devname: str) -> None:
        self.native = native
        self.devname = devname
        self.kind: str = native.driver.name
        self.name: Any = None
        properties = native.driver.properties(native.index)
        self.description = _description(properties)
        self.properties = DeviceProperties(
            driver=self.kind,
            name=str(properties["name"]),
            max_local=int(properties["max_local"]),
            local_memory=int(properties["local_memory"]),
            units=int(properties["units"]),
            warp=int(properties["warp"]),
            doubles=bool(properties["doubles"]),
            halves=bool(properties["halves"]),
            long_atomics=bool(properties["long_atomics"]),
            cpu=bool(properties["cpu"]),
        )
        self.lanes = 1
        self.total_memory = int(properties["memory"])
        self._code = ContextCode(native)
        self._kernels: dict[KernelText, Kernel] = {}

    def __repr__(self) -> str:
        return f"<GpuContext {self.name!r} on {self.devname}: {self.description}>"

    def __enter__(self) -> GpuContext:
        self.native.push()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.native.pop()

    def __copy__(self) -> GpuContext:
        return self

    def __deepcopy__(self, memo: object) -> GpuContext:
        return self

    @property
    def driver(self) -> Driver:
        """The driver of the device."""
        return self.native.driver

    def allocate(self, nbytes: int) -> Buffer:
        """Return device memory, its bytes undefined."""
        return self.native.allocate(nbytes)

    def synchronize(self) -> None:
        """Wait until the device has done all that it was told."""
        self.native.synchronize()

    def statistics(self) -> dict[str, int]:
        """Return counts of launches, copies and compilations, and the bytes in use and in the pool."""
        return self.native.statistics()

    @property
    def free_gmem(self) -> int:
        """Bytes of device memory that this context has not taken."""
        taken = self.native.statistics()
        return max(self.total_memory - taken["in_use"] - taken["pooled"], 0)

    def load(self, text: str, options: str = "") -> Module:
        """Return the compiled module of a text, which is compiled once: for this process, and for this user's disk.

        Parameters
        ----------
        text : str
            The text with its prelude.
        options : str, optional
            Options for the compiler, besides those of the flags ``nvcc.*``.

        Raises
        ------
        DeviceError
            If it cannot be compiled; the text has the compiler's output.
        """
        return self._code.module(text, options)

    def kernel(self, text: KernelText) -> Kernel:
        """Return a kernel, compiled if this is the first time that somebody asks for it; see :meth:`load`.

        Parameters
        ----------
        text : KernelText
            Without the prelude, which is put before it.
        """
        kernel = self._kernels.get(text)
        if kernel is None:
            module = self.load(f"{prelude(self.kind)}\n{text.text}\n", compile_options(self.kind))
            kernel = self._kernels.setdefault(text, module.kernel(text.name, text.parameters))
        return kernel

    def prepare(self, texts: Iterable[KernelText]) -> None:
        """Compile texts that are going to be asked for, on CUDA several of them at a time.

        An error in a text is raised where the kernel is asked for.

        Parameters
        ----------
        texts : iterable of KernelText
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self._kernels]
        if len(missing) < 2 or self.kind not in _COMPILE_TOGETHER:
            return
        # That there are no new threads at the end of the process is a RuntimeError, and so is a DeviceError.
        with (
            contextlib.suppress(RuntimeError),
            ThreadPoolExecutor(min(len(missing), os.cpu_count() or 1, _MOST_COMPILERS)) as threads,
        ):
            list(threads.map(self.kernel, missing))

    def launch(
        self,
        kernel: Kernel,
        groups: Sequence[int],
        local: Sequence[int],
        arguments: Sequence[Buffer | int | float],
        shared: int = 0,
    ) -> None:
        """Put a launch into the queue; see `theano_gpuarray._device.Context.launch`."""
        self.native.launch(kernel, groups, local, arguments, shared)


def _description(properties: dict[str, Any]) -> str:
    """Return the name of a device, with its place on the bus where that is known."""
    bus_id = properties.get("place")
    return f"{properties['name']} ({bus_id})" if bus_id else str(properties["name"])
