"""Compiled modules of contexts: each text is compiled once, for this process and for this user's disk."""

from __future__ import annotations

import functools
import shlex
import threading
from typing import TYPE_CHECKING

from theano_graph import config, format_error

from .._errors import ContextError
from .._runtime import DeviceError
from ._kernels import device_identity, find_binary, store_binary

if TYPE_CHECKING:
    from .._device import Context, Module

__all__ = ["ContextCode"]

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
