"""Compiled kernels on disk, found by what they are made of.

``index/<key>.json`` names, for one kernel, the object file that holds it; ``objects/`` holds
the files, named by their digests. Both appear under their names only when complete. An object is taken only if its
digest is right, an index entry only if its own is: whatever else lies there counts as missing and is made again.
"""

from __future__ import annotations

import json
import os
import time

from .compiler import CompileDirectory, digest


class KernelCache:
    """The kernels in one compile directory.

    Parameters
    ----------
    folder : CompileDirectory
    max_age : int
        Seconds after which an object is no longer taken.
    """

    def __init__(self, folder: CompileDirectory, max_age: int) -> None:
        self.folder = folder
        self.max_age = max_age

    def find(self, key: str) -> str | None:
        """Give the path of a complete object that holds the kernel `key`; None if there is none."""
        entry = self._entry(key)
        if entry is None:
            return None
        path = self.folder.file("objects", entry)
        try:
            if time.time() - os.stat(path).st_mtime > self.max_age:
                return None
        except OSError:
            return None
        data = self.folder.read("objects", entry)
        return path if data is not None and _object_name(data) == entry else None

    def _entry(self, key: str) -> str | None:
        data = self.folder.read("index", key + ".json")
        if data is None:
            return None
        try:
            entry = json.loads(data)
            name, mark = entry["object"], entry["mark"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(name, str) or mark != digest(key, name) or os.path.basename(name) != name:
            return None
        return name

    def store(self, temporary: str, keys: list[str]) -> str:
        """Take over the finished object at `temporary`, which holds the kernels `keys`; gives its final path."""
        with open(temporary, "rb") as file:
            name = _object_name(file.read())
        path = self.folder.publish(temporary, "objects", name)
        for key in keys:
            entry = {"object": name, "mark": digest(key, name)}
            self.folder.write(json.dumps(entry).encode(), "index", key + ".json")
        self.folder.sweep()
        return path


def _object_name(data: bytes) -> str:
    return digest(data) + ".so"
