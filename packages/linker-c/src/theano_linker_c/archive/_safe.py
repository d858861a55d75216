"""Archives from anywhere: contents are checked before memory is taken for them, and before anything is made."""

from __future__ import annotations

import ast
import codecs
import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from theano_graph import format_error
from theano_graph.safe_loading import Limits, Reader, UnsafeArchiveError, damaged, refused, verify_all, vocabulary

from ._numpy_words import check_array

#: The member that holds the pickle.
PICKLE = "pkl"
#: The beginning of names of arrays in the pickle.
ARRAY = "numpy.ndarray"
#: Members are unpacked up to so many bytes in all, or so many times the length of the file.
_LARGEST, _RATIO = 256 << 20, 100
#: Codes of the pickle: so many, and so many more for each byte of the file.
_CODES, _CODES_PER_BYTE = 1_000_000, 100
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_MOST_MEMBERS = 100_000

_MAGIC = re.compile(rb"\x93NUMPY[\x01-\x03]\x00")
_HEADER = re.compile(
    r"\{'descr': (?P<descr>.{1,9000}?), 'fortran_order': (?P<order>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,19},? ?)*)\),? ?\}\s*",
    re.DOTALL,
)
_SIMPLE = re.compile(r"'([<>|=][?biufcSUVmM]\d{1,7}(?:\[\d{0,9}[A-Za-z]{1,7}\])?)'")
_FIELDS = re.compile(r"[\w\s\[\](),'<>|=?.\-]+", re.ASCII)
_LONGEST_HEADER = 10_000
_DEEPEST_HEADER = 20
_MOST_DIMENSIONS = 32
_MOST_ITEMS = 1 << 60
#: Where Python refuses to parse since another thread parses, it is asked so many times more.
_TRIES = 20


def load_safely(
    file: IO[bytes],
    persistent_load: Callable[[zipfile.ZipFile], Callable[[Any], Any]] | None = None,
    *,
    encoding: str = "ASCII",
    max_bytes: int | None = None,
) -> Any:
    """Load an object from an archive that anybody may have made.

    Raises
    ------
    UnsafeArchiveError
        For any fault in it.
    """
    for name in ("cp437", "raw-unicode-escape", encoding):
        codecs.lookup(name)  # Python loads its codecs before the file says anything
    words = vocabulary()
    length = _length_of(file)
    budget = _Budget(max(_LARGEST, _RATIO * length) if max_bytes is None else max_bytes)
    try:
        with zipfile.ZipFile(file) as archive:
            members = _Members(archive, budget)
            arrays = members.array if persistent_load is None else persistent_load(archive)
            limits = Limits(codes=_CODES + _CODES_PER_BYTE * length)
            reader = Reader(members.read(PICKLE), words, arrays, encoding, limits)
            reader.finish_with(lambda: verify_all(reader))
            return reader.load()
    except UnsafeArchiveError:
        raise
    except (MemoryError, RecursionError) as error:
        raise damaged("there is more in it than there is room for") from error
    except Exception as error:
        # Any error of Python, NumPy or an op about forged contents: the file is to blame.
        raise damaged(f"{type(error).__name__}: {str(error)[:300]}") from error


def _length_of(file: IO[bytes]) -> int:
    position = file.tell()
    length = file.seek(0, os.SEEK_END)
    file.seek(position)
    return length


class _Budget:
    """How much may be unpacked yet."""

    def __init__(self, count: int) -> None:
        self._count = self._left = count

    def take(self, count: int) -> None:
        """Take some of it."""
        self._left -= count
        if self._left < 0:
            raise refused(
                f"unpacked, the archive has more than {self._count} bytes",
                hint="pass max_bytes=... if you expect as many",
            )


class _Members:
    """The content of an archive.

    Parameters
    ----------
    archive : zipfile.ZipFile
    budget : _Budget
    """

    def __init__(self, archive: zipfile.ZipFile, budget: _Budget) -> None:
        self._archive = archive
        self._budget = budget
        self._known: dict[str, Any] = {}
        infos = archive.infolist()
        if len(infos) > _MOST_MEMBERS:
            raise refused(f"the archive has {len(infos)} members")
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise damaged("two of its members have one name")

    def read(self, name: str) -> bytes:
        """Return the bytes of a member."""
        info = self._infos.get(name)
        if info is None:
            names = ", ".join(list(self._infos)[:10]) or "nothing"
            raise UnsafeArchiveError(
                format_error(
                    f"this archive has no member {name!r:.60}, only {names:.300}",
                    hint="numpy.load reads archives of arrays alone; use an undamaged copy of others",
                )
            )
        if info.compress_type not in _PACKED or info.flag_bits & _ENCRYPTED:
            raise refused(f"{name!r:.60} is packed in a way that `dump` does not use")
        self._budget.take(info.file_size)
        try:
            with self._archive.open(info) as member:
                data = member.read(info.file_size + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, NotImplementedError) as error:
            raise damaged(f"{name!r:.60} cannot be unpacked ({error})") from error
        if len(data) != info.file_size:
            raise damaged(f"{name!r:.60} has other than {info.file_size} bytes")
        return data

    def array(self, name: str) -> Any:
        """Return an array that the pickle names; one that was stored once is loaded once."""
        kind, _, member = name.rpartition(f"{ARRAY}.")
        if kind or not member or member == PICKLE or member not in self._infos:
            raise UnsafeArchiveError(
                format_error(
                    f"the archive refers to {name!r:.80}, which it does not hold", hint="use an undamaged copy"
                )
            )
        if member not in self._known:
            self._known[member] = read_array(self.read(member))
        return self._known[member]


def read_array(data: bytes) -> Any:
    """Return the array in the bytes of an NPY file, which may be anybody's.

    Raises
    ------
    UnsafeArchiveError
        If they are none, or of objects, or the header does not fit the data behind it.
    """
    stream = io.BytesIO(data)
    magic = stream.read(8)
    if not _MAGIC.fullmatch(magic):
        raise damaged("an array of it is no NPY file")
    width = 2 if magic[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    header = stream.read(min(length, _LONGEST_HEADER + 1))
    if length > _LONGEST_HEADER or len(header) != length:
        raise damaged("an array of it has a header of another length than it says")
    found = _HEADER.fullmatch(header.decode("utf-8" if magic[6] == 3 else "latin1"))
    if found is None:
        raise damaged("an array of it has a header that is none")
    dtype = _dtype(found["descr"])
    shape = tuple(int(n) for n in found["shape"].replace(" ", "").split(",") if n)
    items, bound = 1, 1
    for n in shape:
        items *= n
        bound *= max(n, 1)
    if len(shape) > _MOST_DIMENSIONS or bound > _MOST_ITEMS or not dtype.itemsize:
        raise refused(f"the archive has an array of shape {shape!s:.80} and dtype {dtype!s:.80}")
    start = stream.tell()
    if items * dtype.itemsize != len(data) - start:
        raise damaged(f"an array of it has {len(data) - start} bytes, where its shape {shape} needs others")
    order: Any = "F" if found["order"] == "True" else "C"
    array = np.ndarray(shape, dtype, buffer=data, offset=start, order=order).copy("K") if items else None
    if array is None:
        return np.empty(shape, dtype, order)
    check_array(array)
    return array


def _dtype(text: str) -> Any:
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        return np.dtype(simple[1])
    depth = deepest = 0
    for sign in text:
        depth += (sign in "[(") - (sign in "])")
        deepest = max(deepest, depth)
    if not _FIELDS.fullmatch(text) or deepest > _DEEPEST_HEADER:
        raise refused(f"the archive has an array of dtype {text:.80}")
    dtype = np.lib.format.descr_to_dtype(_literal(text))
    if dtype.hasobject:
        raise refused("the archive has an array of objects")
    return dtype


def _literal(text: str) -> Any:
    """Return the value of a literal; several threads may ask at the same time."""
    for _ in range(_TRIES):
        try:
            return ast.literal_eval(text)
        except SystemError:  # Python counts the depth of the trees of all threads together
            continue
    return ast.literal_eval(text)
