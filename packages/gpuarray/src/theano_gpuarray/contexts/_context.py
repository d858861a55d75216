"""A context: a device with its queue and its memory, as programs see it."""

from __future__ import annotations

import functools
import shlex
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from theano_graph import compose, config

from .._errors import ContextError
from ..codegen import DeviceProperties
from ._kernels import device_identity, find_binary, store_binary

if TYPE_CHECKING:
    from .._device import Buffer, Context, Driver, Kernel, Module

__all__ = ["GpuContext"]

#: Options of nvcc that its sibling for texts in memory calls by another name.
_NVRTC_OPTION = {"-g": "-lineinfo", "--debug": "-lineinfo", "-G": "--device-debug"}


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
        What code generation has to know of the device.
    identity : tuple of str
        What tells devices apart that cannot load each other's code.

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
        found = native.driver.properties(native.index)
        self.description = _description(found)
        self.properties = DeviceProperties(
            driver=self.kind,
            **{field: found[field] for field in ("name", "max_local", "local_memory", "units", "warp")},
            **{field: bool(found[field]) for field in ("doubles", "halves", "long_atomics", "cpu")},
        )
        self.identity = device_identity(self.kind, found)
        self.total_memory = int(found["memory"])
        self._modules: dict[tuple[str, str], Module] = {}
        self._lock = threading.RLock()

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
            If it cannot be compiled; the text has what the compiler says.
        """
        options = " ".join(filter(None, [*_options(self.kind), options]))
        with self._lock:
            module = self._modules.get((text, options))
            if module is None:
                module = self._modules[text, options] = self._loaded(text, options)
            return module

    def _loaded(self, text: str, options: str) -> Module:
        if self.kind == "null":
            return self.native.load(self.native.compile(text, options))
        binary = find_binary(text, options, self.identity)
        if binary is not None:
            return self.native.load(binary)
        binary = self.native.compile(text, options)
        store_binary(text, options, self.identity, binary)
        return self.native.load(binary)

    def kernel(self, text: str, name: str, parameters: str, options: str = "") -> Kernel:
        """Return a kernel of a text, see :meth:`load`.

        Parameters
        ----------
        text : str
            The text with its prelude.
        name : str
            The function.
        parameters : str
            A letter for each parameter, see `theano_gpuarray.codegen.KernelText`.
        options : str, optional
        """
        return self.load(text, options).kernel(name, parameters)

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
    place = properties.get("pci")
    return f"{properties['name']} ({place})" if place else str(properties["name"])


def _options(kind: str) -> list[str]:
    """Return the options that flags give the compiler of a kind of device."""
    if kind != "cuda":
        return []
    return list(_cuda_options(str(config.nvcc.flags), bool(config.nvcc.fastmath), str(config.cuda.include_path)))


@functools.cache
def _cuda_options(flags: str, fast: bool, include: str) -> tuple[str, ...]:
    options = [_NVRTC_OPTION.get(word, word) for word in shlex.split(flags)]
    if fast:
        options.append("--use_fast_math")
    if include:
        if " " in include:
            raise ContextError(
                compose(
                    f"cuda.include_path={include!r} has a space, and options are separated by spaces",
                    mend="make a symbolic link to the folder, and give that",
                )
            )
        options.append(f"--include-path={include}")
    return tuple(options)
