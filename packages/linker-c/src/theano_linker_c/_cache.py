"""Compiled kernels on disk, by their content.

``index/<key>.json`` names, for one kernel, the object file that holds it; ``objects/`` holds
the files, named by their digests. Both appear under their names only when complete. An object is taken only if its
digest is right, an index entry only if it carries a digest that needs this user's secret: other files,
planted by somebody else or damaged, counts as missing and is made again.
``functions/<key>`` holds a rewritten function, signed together with its key.
Both carry two times: the time of change says when they were made, the time of access when they were last taken.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence

from theano_graph import record

from .compiler import CompileDirectory, Place, digest, read_signed, remove

#: Objects that are too old to be taken are removed so many seconds later.
REMOVAL_DELAY = 60 * 60 * 24 * 7
#: The folder of rewritten functions, each in a file named by its key.
FUNCTIONS = "functions"
#: Files of functions may take so much less than object files.
_SHARE_OF_FUNCTIONS = 4
_TOUCH = 60 * 60
_TRIM = 60 * 60
_TRIM_STORES = 100
_KEPT_SHARE = 0.8
_KEPT_FAILURES = 20
_KEPT_VERIFIED = 4096
_TICK_NS = 100_000_000


@record
class CachedObject:
    """One object file of the cache.

    Attributes
    ----------
    name, path : str
    bytes : int
    made, used : float
        Times in seconds since 1970.
    """

    name: str
    path: str
    bytes: int
    made: float
    used: float


class KernelCache:
    """The kernels in one compile directory.

    Parameters
    ----------
    folder : CompileDirectory
    max_age : int
        Seconds after which an object is no longer taken.
    max_bytes : int
        Bytes of objects to keep; above them, the least recently used ones go.
    """

    def __init__(self, folder: CompileDirectory, max_age: int, max_bytes: int) -> None:
        self.folder = folder
        self.max_age = max_age
        self.max_bytes = max_bytes
        self._stores = 0
        self._verified: dict[str, tuple[int, int, int]] = {}
        #: Key of a kernel that has been found or stored here -> the name of its object.
        self._holders: dict[str, str] = {}
        #: Path -> when the folder of functions there has changed, and the first letters of the names in it.
        self._listings: dict[str, tuple[int, frozenset[str]]] = {}

    def find(self, key: str) -> str | None:
        """Give the path of a complete object that holds the kernel `key`; None if there is none."""
        for folder in self.folder.places():
            name = _entry_in(folder, key)
            path = None if name is None else self._checked(folder, name)
            if name is not None and path is not None:
                self._remember(name, (key,))
                return path
        return None

    def find_function(self, key: str) -> bytes | None:
        """Return the stored bytes of the function `key`; None if there are none that this user has signed."""
        for folder in self.folder.places():
            path = folder.file(FUNCTIONS, key)
            try:
                info = os.stat(path)
            except OSError:
                continue
            now = time.time()
            data = None if now - info.st_mtime > self.max_age else read_signed(folder, FUNCTIONS, key)
            if data is None or not data.startswith(key.encode() + b"\n"):
                continue  # damaged, written by somebody else, or moved here from another key
            if now - info.st_atime > _TOUCH:
                _touch(path, now, info.st_mtime)
            return data[len(key) + 1 :]
        return None

    def has_function_like(self, start: str) -> bool:
        """Tell whether there is a function whose key begins with so many characters, as far as file names tell."""
        return any(start in self._starts(folder, len(start)) for folder in self.folder.places())

    def _starts(self, folder: Place, length: int) -> frozenset[str]:
        """Return the beginnings of the keys of functions, read anew when files have come or gone."""
        path = folder.file(FUNCTIONS)
        try:
            changed = os.stat(path).st_mtime_ns
            listing = self._listings.get(folder.path)
            if listing is not None and listing[0] == changed:
                return listing[1]
            starts = frozenset(name[:length] for name in os.listdir(path))
        except OSError:
            return frozenset()
        # A change at nearly the same moment would not change the time, which is that of a tick of the clock.
        if time.time_ns() - changed > _TICK_NS:
            self._listings[folder.path] = changed, starts
        return starts

    def store_function(self, key: str, data: bytes) -> None:
        """Keep `data` as the function `key`.

        Raises
        ------
        OSError
            If the directory is full, read-only or gone.
        """
        self.folder.write_signed(key.encode() + b"\n" + data, FUNCTIONS, key)
        self._stores += 1
        if self._due():
            self.clean()

    def _checked(self, folder: Place, name: str) -> str | None:
        """Give the path of an object, reached through the opened directory, if it is complete and young enough."""
        path = folder.file("objects", name)
        try:
            info = os.lstat(path)
        except OSError:
            return None
        now = time.time()
        if now - info.st_mtime > self.max_age or not stat.S_ISREG(info.st_mode):
            return None
        mark = (info.st_ino, info.st_size, info.st_mtime_ns)
        if self._verified.get(name) != mark:
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except OSError:
                return None
            if _object_name(data) != name:
                return None
            if len(self._verified) >= _KEPT_VERIFIED:
                self._verified.clear()
            self._verified[name] = mark
        if now - info.st_atime > _TOUCH:
            _touch(path, now, info.st_mtime)
        return path

    def object(self, name: str) -> str | None:
        """Give the path of an object by the name that :meth:`entry` gave; None if it is not there or not complete."""
        objects = (self._checked(folder, name) for folder in self.folder.places())
        return next((path for path in objects if path is not None), None)

    def entry(self, key: str) -> str | None:
        """Give the name of the object that holds the kernel `key`, which may be gone; None where there is no entry."""
        return next((name for folder in self.folder.places() if (name := _entry_in(folder, key)) is not None), None)

    def holder(self, key: str) -> str | None:
        """Return the result of :meth:`entry`, without a look at the disk for known kernels."""
        return self._holders.get(key) or self.entry(key)

    def _remember(self, name: str, keys: Sequence[str]) -> None:
        if len(self._holders) >= _KEPT_VERIFIED:
            self._holders.clear()
        self._holders.update(dict.fromkeys(keys, name))

    def store(self, temporary: str, keys: Sequence[str]) -> str:
        """Take over the finished object at `temporary`, which holds the kernels `keys`; gives its final path.

        Raises
        ------
        OSError
            If the directory is full, read-only or gone.
        """
        with open(temporary, "rb") as file:
            name = _object_name(file.read())
        path = self.folder.publish(temporary, "objects", name)
        for key in keys:
            entry = {"object": name, "mark": self.folder.place.sign(key, name) or ""}
            self.folder.write(json.dumps(entry).encode(), "index", key + ".json")
        self._remember(name, keys)
        self._stores += 1
        if self._due():
            self.clean()
        else:
            self.folder.sweep()
        return path

    def _due(self) -> bool:
        """Tell whether it is time to look for superfluous files: now and then, since that reads the whole directory."""
        if self._stores % _TRIM_STORES == 0:
            return True
        try:
            last = os.stat(self.folder.file("cleaned")).st_mtime
        except OSError:
            return True
        return abs(time.time() - last) > _TRIM

    def objects(self) -> list[CachedObject]:
        """List the object files; the least recently used come first."""
        return self._listed("objects")

    def functions(self) -> list[CachedObject]:
        """List the files of functions; the least recently used come first."""
        return self._listed(FUNCTIONS)

    def _listed(self, folder: str) -> list[CachedObject]:
        names = []
        for entry in self.folder.entries(folder):
            try:
                info = entry.stat()
            except OSError:
                continue
            used = max(info.st_atime, info.st_mtime)
            names.append(CachedObject(entry.name, entry.path, info.st_size, info.st_mtime, used))
        return sorted(names, key=lambda item: item.used)

    def entries(self) -> dict[str, str]:
        """Give, for the key of each kernel with a right entry, the name of its object."""
        table = {}
        for entry in self.folder.entries("index"):
            key = entry.name.removesuffix(".json")
            name = self.entry(key)
            if name is not None:
                table[key] = name
        return table

    def clean(self) -> int:
        """Remove files that are too old, above the bound, or left by killed processes; return the number of objects.

        Other processes may use the cache meanwhile: loaded kernels stay loaded, missing ones are made again.
        """
        self.folder.write(b"", "cleaned")
        self.folder.sweep()
        oldest = time.time() - self.max_age - REMOVAL_DELAY
        gone = self._remove(_superfluous(self.objects(), oldest, self.max_bytes))
        for item in _superfluous(self.functions(), oldest, self.max_bytes // _SHARE_OF_FUNCTIONS):
            remove(item.path)
        self._prune_failures()
        return gone

    def clean_damaged(self) -> int:
        """Remove objects that differ from their names' digests, and entries that lead nowhere.

        Returns
        -------
        int
            The number of objects removed.
        """
        bad = []
        for item in self.objects():
            data = self.folder.read("objects", item.name)
            if data is None or _object_name(data) != item.name:
                bad.append(item)
        gone = self._remove(bad)
        self._remove_entries()
        for item in self.functions():
            if self.find_function(item.name) is None:
                remove(item.path)
        return gone

    def clear(self) -> int:
        """Remove all kernels and all that is known of compilers; gives the number of objects removed."""
        items = self.objects()
        for folder in ("index", "toolchains", "failed", "sources", FUNCTIONS):
            for entry in self.folder.entries(folder):
                remove(entry.path)
        gone = self._remove(items)
        self.folder.sweep()
        return gone

    def _remove(self, items: Sequence[CachedObject]) -> int:
        """Remove objects and their entries; returns the number of removed ones."""
        gone = 0
        for item in items:
            gone += remove(item.path)
            remove(self.folder.file("sources", item.name.removesuffix(".so") + ".c"))
        if items:
            self._remove_entries()
        return gone

    def _remove_entries(self) -> None:
        """Remove index entries that are damaged or whose object is gone."""
        present = {entry.name for entry in self.folder.entries("objects")}
        for entry in self.folder.entries("index"):
            if self.entry(entry.name.removesuffix(".json")) not in present:
                remove(entry.path)

    def _prune_failures(self) -> None:
        failures = self.folder.entries("failed")
        for entry in sorted(failures, key=_time_of)[:-_KEPT_FAILURES]:
            remove(entry.path)


def _superfluous(items: Sequence[CachedObject], oldest: float, limit: int) -> list[CachedObject]:
    """Return the objects made before `oldest`, and the least recently used where all are above the limit."""
    gone = [item for item in items if item.made < oldest]
    fresh = [item for item in items if item.made >= oldest]
    total = sum(item.bytes for item in fresh)
    if total > limit:
        for item in fresh:
            if total <= _KEPT_SHARE * limit:
                break
            gone.append(item)
            total -= item.bytes
    return gone


def _time_of(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0


def _entry_in(folder: Place, key: str) -> str | None:
    """Give the name of the object that holds a kernel, as this user's entry in a directory says."""
    try:
        with open(folder.file("index", key + ".json"), "rb") as file:
            entry = json.loads(file.read())
        name, mark = entry["object"], entry["mark"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(name, str) or os.path.basename(name) != name or not folder.signed(mark, key, name):
        return None
    return name


def _touch(path: str, used: float, entry: float) -> None:
    try:
        os.utime(path, (used, entry))
    except OSError:
        return


def _object_name(data: bytes) -> str:
    return digest(data) + ".so"
