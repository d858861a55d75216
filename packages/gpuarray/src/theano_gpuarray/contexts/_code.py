"""Compiled modules of contexts: each text is compiled once, for this process and for this user's disk."""

from __future__ import annotations

import functools
import shlex
import threading
from typing import TYPE_CHECKING

from theano_graph import compose, config

from .._errors import ContextError
from .._runtime import DeviceError
from ._kernels import device_identity, find_binary, store_binary

if TYPE_CHECKING:
    from .._device import Context, Module

__all__ = ["loaded_module"]

#: Options of nvcc that its sibling for texts in memory calls by another name.
_NVRTC_OPTION = {"-g": "--generate-line-info", "--debug": "--generate-line-info", "-G": "--device-debug"}


class _Code:
    """The modules of one context."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.kind = context.driver.name
        self.identity = device_identity(self.kind, context.driver.properties(context.index))
        self.modules: dict[tuple[str, str], Module] = {}
        self.lock = threading.RLock()

    def module(self, text: str, options: str) -> Module:
        found = self.modules.get((text, options))
        if found is None:
            with self.lock:
                found = self.modules.get((text, options)) or self._loaded(text, options)
                self.modules[text, options] = found
        return found

    def _loaded(self, text: str, options: str) -> Module:
        if self.kind == "null":
            return self.context.load(self.context.compile(text, options))
        kept = find_binary(text, options, self.identity)
        if kept is not None:
            try:
                return self.context.load(kept)
            except DeviceError:
                # The driver has changed without telling another version; it is compiled for the one that there is.
                kept = None
        binary = self.context.compile(text, options)
        module = self.context.load(binary)
        store_binary(text, options, self.identity, binary)
        return module


#: By the identity of contexts, which are kept here.
_codes: dict[int, _Code] = {}
_lock = threading.Lock()


def loaded_module(context: Context, text: str, options: str = "") -> Module:
    """Return the compiled module of a text.

    Parameters
    ----------
    context : theano_gpuarray._device.Context
    text : str
        The text with its prelude.
    options : str, optional
        Options for the compiler, besides those of the flags ``nvcc.*``.

    Raises
    ------
    DeviceError
        If it cannot be compiled; the text has what the compiler says.
    """
    code = _codes.get(id(context))
    if code is None:
        with _lock:
            code = _codes.setdefault(id(context), _Code(context))
    return code.module(text, " ".join(filter(None, [*_options(code.kind), options])))


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
                compose(
                    f"cuda.include_path={include!r} has a space, and options are separated by spaces",
                    mend="make a symbolic link to the folder, and give that",
                )
            )
        options.append(f"--include-path={include}")
    return tuple(options)
