"""A context: a device with its queue, its memory and its compiled kernels."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

from theano_graph import config, format_error
from theano_linker_c.cache_tool import KernelCache, open_cache
from theano_linker_c.compiler import CompileDirectory, digest

from .._errors import ContextError
from .._runtime import DeviceError
from .._version import __version__
from ..codegen import DeviceProperties, KernelText
from ..codegen._prelude import compile_options, prelude

if TYPE_CHECKING:
    from .._device import Buffer, Context, Driver, Kernel, Module


# ---- Kernels on disk
#
# A file is taken only if it carries a digest of its key and its contents that needs this user's secret, in a directory
# where nobody else can write: planted code is never loaded, and damaged code is compiled again.

#: The properties of a device that decide whether code compiled for it can be loaded.
_IDENTITY = ("name", "vendor", "version", "arch", "platform")


def device_identity(driver: str, properties: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a key that differs between devices that cannot load each other's code: model, architecture and driver."""
    return driver, *(f"{name}={properties.get(name, '')}" for name in _IDENTITY)


@functools.cache
def _cache(path: str, process: int) -> KernelCache:
    """Return the cache in a folder; a forked process opens it anew."""
    cache = open_cache(path)
    # A folder that others can write to may be cleaned, but nothing in it is run.
    cache.folder = CompileDirectory(path)
    return cache


def _key(text: str, options: str, identity: tuple[str, ...]) -> str:
    return digest("device kernel", __version__, text, options, *identity)


def _kernel_cache() -> KernelCache:
    path = os.path.abspath(os.path.expanduser(str(config.gpuarray.cache_path)))
    return _cache(path, os.getpid())


def find_kept(key: str) -> bytes | None:
    """Return the entry of a key; None where nothing is there that this user has written."""
    return _kernel_cache().find_function(digest("device recording", __version__, key))


def store_kept(key: str, data: bytes) -> None:
    """Keep something under a key; where the disk is full or cannot be written, it is not there for others."""
    with contextlib.suppress(OSError):
        _kernel_cache().store_function(digest("device recording", __version__, key), data)


def find_binary(text: str, options: str, identity: tuple[str, ...]) -> bytes | None:
    """Return the compiled code of a text; None where nothing is there that this user has written.

    Parameters
    ----------
    text, options : str
        The arguments of `Context.compile`.
    identity : tuple of str
        The result of `device_identity`.
    """
    return _kernel_cache().find_function(_key(text, options, identity))


def store_binary(text: str, options: str, identity: tuple[str, ...], binary: bytes) -> bool:
    """Store the compiled code of a text.

    Returns
    -------
    bool
        False where the disk is full or cannot be written: the kernel is compiled again by the next process.
    """
    try:
        _kernel_cache().store_function(_key(text, options, identity), binary)
    except OSError:
        return False
    return True


# ---- Compiled modules: each text is compiled once, for this process and for this user's disk

#: Options of nvcc that its sibling for texts in memory calls by another name.
_NVRTC_OPTION = {"-g": "--generate-line-info", "--debug": "--generate-line-info", "-G": "--device-debug"}


class ContextCode:
    """The modules of one context.

    Parameters
    ----------
    context : theano_gpuarray._device.Context
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kind = context.driver.name
        self._identity = device_identity(self._kind, context.driver.properties(context.index))
        self._modules: dict[tuple[str, str], Module] = {}
        # One for each text: other texts are compiled at the same time.
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def module(self, text: str, options: str = "") -> Module:
        """Return the compiled module of a text.

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
        key = text, " ".join(filter(None, [*_options(self._kind), options]))
        module = self._modules.get(key)
        if module is None:
            with self._locks.setdefault(key, threading.Lock()):
                module = self._modules.get(key) or self._loaded(*key)
                self._modules[key] = module
        return module

    def _loaded(self, text: str, options: str) -> Module:
        if self._kind == "null":
            return self._context.load(self._context.compile(text, options))
        kept = find_binary(text, options, self._identity)
        if kept is not None:
            try:
                return self._context.load(kept)
            except DeviceError:
                # The driver has changed without telling another version; it is compiled for the one that there is.
                kept = None
        binary = self._context.compile(text, options)
        module = self._context.load(binary)
        store_binary(text, options, self._identity, binary)
        return module


def _options(kind: str) -> tuple[str, ...]:
    """Return the options that flags give the compiler of a kind of device."""
    if kind != "cuda":
        return ()
    return _cuda_options(str(config.nvcc.flags), bool(config.nvcc.fastmath), str(config.cuda.include_path))


@functools.cache
def _cuda_options(flags: str, fast: bool, include: str) -> tuple[str, ...]:
    options = [_NVRTC_OPTION.get(word, word) for word in shlex.split(flags)]
    if fast:
        options.append("--use_fast_math")
    if include:
        if " " in include:
            raise ContextError(
                format_error(
                    f"cuda.include_path={include!r} has a space, and options are separated by spaces",
                    hint="make a symbolic link to the folder, and give that",
                )
            )
        options.append(f"--include-path={include}")
    return tuple(options)


# ---- The context

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


__all__ = ["device_identity", "find_binary", "find_kept", "store_binary", "store_kept", "ContextCode", "GpuContext"]
