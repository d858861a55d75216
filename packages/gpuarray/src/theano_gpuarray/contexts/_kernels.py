"""Compiled kernels of devices on disk, found by their text, their options and the device that they are for.

A file is taken only if it carries a digest of its key and its contents that needs this user's secret, in a directory
where nobody else can write: planted code is never loaded, and damaged code is compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from typing import Any

from theano_graph import config
from theano_linker_c.cache_tool import KernelCache, open_cache
from theano_linker_c.compiler import CompileDirectory, digest

from .._version import __version__

__all__ = ["device_identity", "find_binary", "find_kept", "store_binary", "store_kept"]

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


def _opened() -> KernelCache:
    path = os.path.abspath(os.path.expanduser(str(config.gpuarray.cache_path)))
    return _cache(path, os.getpid())


def find_kept(key: str) -> bytes | None:
    """Return the entry of a key; None where nothing is there that this user has written."""
    return _opened().find_function(digest("device recording", __version__, key))


def store_kept(key: str, data: bytes) -> None:
    """Keep something under a key; where the disk is full or cannot be written, it is not there for others."""
    with contextlib.suppress(OSError):
        _opened().store_function(digest("device recording", __version__, key), data)


def find_binary(text: str, options: str, identity: tuple[str, ...]) -> bytes | None:
    """Return the compiled code of a text; None where nothing is there that this user has written.

    Parameters
    ----------
    text, options : str
        The arguments of `Context.compile`.
    identity : tuple of str
        The result of `device_identity`.
    """
    return _opened().find_function(_key(text, options, identity))


def store_binary(text: str, options: str, identity: tuple[str, ...], binary: bytes) -> bool:
    """Store the compiled code of a text.

    Returns
    -------
    bool
        False where the disk is full or cannot be written: the kernel is compiled again by the next process.
    """
    try:
        _opened().store_function(_key(text, options, identity), binary)
    except OSError:
        return False
    return True
