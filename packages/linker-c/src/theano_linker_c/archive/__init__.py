"""Objects in a ZIP file: a pickle, and beside it each array as a member that NumPy reads by itself."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np

from theano_graph import Origin, Tag, UnsafeArchiveError as UnsafeArchiveError, format_error

from .._lazy import safe_archive
from ..runtime._storage import SharedVariable

#: The member that holds the pickle, and the beginning of names of arrays in it.
PICKLE = "pkl"
_ARRAY = "numpy.ndarray"


class PersistentNdarrayID:
    """Stores every array in a member of its own: ``array_0``, ``array_1``, ...

    Parameters
    ----------
    zip_file : zipfile.ZipFile
        Open for writing.
    """

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file = zip_file
        self.count = 0
        # The arrays are kept, so that no identity is used again while the archive is written.
        self.seen: dict[int, tuple[str, Any]] = {}

    def __call__(self, obj: Any) -> str | None:
        """Return the persistent id of an array, storing it when it is new; None for everything else."""
        if type(obj) is not np.ndarray or obj.dtype.hasobject:
            return None
        number = self.seen.get(id(obj))
        if number is None:
            number = self.seen[id(obj)] = (self.name_of(obj), obj)
            with self.zip_file.open(number[0], "w", force_zip64=True) as member:
                np.lib.format.write_array(member, obj, allow_pickle=False)
        return f"{_ARRAY}.{number[0]}"

    def name_of(self, array: Any) -> str:
        """Return the name of the member for a new array."""
        self.count += 1
        return f"array_{self.count - 1}"


class PersistentSharedVariableID(PersistentNdarrayID):
    """Stores the values of shared variables in members named after the variables, other arrays as before.

    Of several variables with one name the second is stored as ``name_2``, and so on.

    Parameters
    ----------
    zip_file : zipfile.ZipFile
    allow_unnamed : bool
        Whether shared variables may have no name; their values are then stored as ``array_0``, ...
    allow_duplicates : bool
        Whether several may have the same name.

    Raises
    ------
    ValueError
        When a variable is met that is not allowed.
    """

    def __init__(self, zip_file: zipfile.ZipFile, allow_unnamed: bool = True, allow_duplicates: bool = True) -> None:
        super().__init__(zip_file)
        self.allow_unnamed = allow_unnamed
        self.allow_duplicates = allow_duplicates
        self.names: Counter[str] = Counter({PICKLE: 1})
        self.values: dict[int, str] = {}
        # The name for the copy of an array on a device, which its pickle has on the host.
        self._of_copy: str | None = None
        self._copied: set[int] = set()

    def __call__(self, obj: Any) -> str | None:
        """Note the name of a shared variable for its value, which is stored when it is met."""
        if isinstance(obj, SharedVariable) and id(obj.container.storage[0]) not in self.values:
            self._note(obj)
        elif id(obj) in self.values and id(obj) not in self._copied and _is_elsewhere(obj):
            self._copied.add(id(obj))
            self._of_copy = self.values[id(obj)]
        return super().__call__(obj)

    def _note(self, variable: SharedVariable) -> None:
        if not variable.name:
            if not self.allow_unnamed:
                raise ValueError(
                    format_error("a shared variable without a name cannot be stored here", hint="set its name")
                )
            return
        if self.names[variable.name] and not self.allow_duplicates and variable.name != PICKLE:
            raise ValueError(
                format_error(f"two shared variables are named {variable.name!r}", hint="give each a name of its own")
            )
        self.values[id(variable.container.storage[0])] = self._free(variable.name)

    def _free(self, name: str) -> str:
        self.names[name] += 1
        return name if self.names[name] == 1 else f"{name}_{self.names[name]}"

    def name_of(self, array: Any) -> str:
        """Return the name of the variable whose value this is, or a running number."""
        name, self._of_copy = self.values.get(id(array), self._of_copy), None
        if name is not None:
            return name
        while True:
            candidate = super().name_of(array)
            if not self.names[candidate]:
                return candidate


def _is_elsewhere(value: Any) -> bool:
    """Tell whether a value is an array on a device: its pickle consists of a copy on the host."""
    return hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic))


class PersistentNdarrayLoad:
    """Loads arrays of :class:`PersistentNdarrayID`; an array that was stored once is loaded once.

    Parameters
    ----------
    zip_file : zipfile.ZipFile
        Open for reading.
    """

    def __init__(self, zip_file: zipfile.ZipFile) -> None:
        self.zip_file = zip_file
        self.cache: dict[str, Any] = {}

    def __call__(self, persid: Any) -> Any:
        """Return the array with a persistent id.

        Raises
        ------
        ValueError
            If the archive has no such array.
        """
        kind, _, name = str(persid).rpartition(f"{_ARRAY}.")
        if kind or not name or name not in self.zip_file.namelist():
            raise ValueError(
                format_error(f"the archive refers to {persid!r}, which it does not hold", hint="use an undamaged copy")
            )
        if name not in self.cache:
            with self.zip_file.open(name) as member:
                self.cache[name] = np.lib.format.read_array(io.BytesIO(member.read()), allow_pickle=False)
        return self.cache[name]


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol)
        self._persistent_id = persistent_id

    def persistent_id(self, obj: Any) -> Any:
        return self._persistent_id(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], persistent_load: Callable[[Any], Any], encoding: str) -> None:
        super().__init__(file, encoding=encoding)
        self._persistent_load = persistent_load

    def persistent_load(self, pid: Any) -> Any:
        return self._persistent_load(pid)


def dump(
    obj: Any,
    file_handler: IO[bytes],
    protocol: int = pickle.DEFAULT_PROTOCOL,
    persistent_id: Callable[[zipfile.ZipFile], Callable[[Any], Any]] = PersistentSharedVariableID,
) -> None:
    """Store an object in a ZIP file, with its arrays in members that ``numpy.load`` reads without this library.

    Parameters
    ----------
    obj : object
    file_handler : file
        Open for writing in binary mode.
    protocol : int
        Of the pickle.
    persistent_id : callable
        Called with the ZIP file; returns a function that decides which objects are stored beside the pickle.

    Raises
    ------
    TypeError
        If the file is not open for writing in binary mode.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> file = io.BytesIO()
    >>> dump({"weights": np.ones(3)}, file)
    >>> load(file)["weights"]
    array([1., 1., 1.])
    """
    _check_file(file_handler, "writable", "open(name, 'wb')")
    with zipfile.ZipFile(file_handler, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        text = io.BytesIO()
        _Pickler(text, protocol, persistent_id(archive)).dump(obj)
        archive.writestr(PICKLE, text.getvalue())


def load(
    f: IO[bytes],
    persistent_load: Callable[[zipfile.ZipFile], Callable[[Any], Any]] = PersistentNdarrayLoad,
    *,
    safe: bool = False,
    encoding: str = "ASCII",
    max_bytes: int | None = None,
) -> Any:
    """Load an object that :func:`dump` stored.

    Parameters
    ----------
    f : file
        Open for reading in binary mode.
    persistent_load : callable
        Called with the ZIP file; returns a function that loads the objects beside the pickle.
    safe : bool
        Whether only harmless objects are loaded: numbers, texts, containers, plain arrays, and variables,
        ops, graphs and shared variables of this library, each checked. Anything else is refused before it is made:
        functions, ops and classes of programs, arrays of objects. Nothing is imported but modules of this library.
    encoding : str
        Of texts that Python 2 pickled; "latin1" where there are arrays among them.
    max_bytes : int, optional
        How many bytes may be unpacked, where `safe` is true; by default 256 MiB, or 100 times the length of the file if
        that is more.

    Raises
    ------
    TypeError
        If the file is not open for reading in binary mode.
    ValueError
        If it is no archive of this kind.
    UnsafeArchiveError
        If `safe` forbids something in it, or it is damaged. It is a ValueError and a pickle.UnpicklingError.

    Examples
    --------
    >>> import io
    >>> from theano_linker_c import shared
    >>> file = io.BytesIO()
    >>> dump({"w": shared(2.0, name="w")}, file)
    >>> load(file, safe=True)["w"].get_value()
    2.0
    """
    _check_file(f, "readable", "open(name, 'rb')")
    if safe:
        loader = None if persistent_load is PersistentNdarrayLoad else persistent_load
        return safe_archive().load_safely(f, loader, encoding=encoding, max_bytes=max_bytes)
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile as error:
        text = format_error(f"this is no archive of `dump`: {error}", hint="use pickle.load for a plain pickle")
        raise ValueError(text) from error
    with archive:
        if PICKLE not in archive.namelist():
            raise ValueError(
                format_error(
                    f"this archive has no member {PICKLE!r}, only {', '.join(archive.namelist()) or 'nothing'}",
                    hint="numpy.load reads archives of arrays alone",
                )
            )
        with archive.open(PICKLE) as member:
            stream = io.BytesIO(member.read())
        return _Unpickler(stream, persistent_load(archive), encoding).load()


def _check_file(file: Any, ability: str, hint: str) -> None:
    asked = getattr(file, ability, None)
    if isinstance(file, io.TextIOBase) or asked is None or not asked():
        raise TypeError(format_error(f"{file!r} is no {ability} binary file", hint=f"pass {hint}"))


class StripPickler(pickle.Pickler):
    """A pickler that leaves out parts of graphs that running them does not need: the origins of nodes.

    Parameters
    ----------
    file : file
        Open for writing in binary mode.
    protocol : int
    extra_tag_to_remove : iterable of str, optional
        Attributes of tags that are left out as well, for instance ``"test_value"``.

    Examples
    --------
    >>> import io
    >>> import pickle
    >>> from theano_linker_c import generic
    >>> file = io.BytesIO()
    >>> StripPickler(file, protocol=-1).dump(generic("x"))
    >>> pickle.loads(file.getvalue()).origin is None
    True
    """

    def __init__(self, file: IO[bytes], protocol: int = 0, extra_tag_to_remove: Iterable[str] | None = None) -> None:
        # Nodes need the second protocol; an older one, the historical default, is raised to it.
        super().__init__(file, protocol if protocol < 0 else max(protocol, 2))
        self.tag_to_remove = ("trace", *(extra_tag_to_remove or ()))

    def reducer_override(self, obj: Any) -> Any:
        """Replace origins by None, and tags by tags without the left-out attributes."""
        if isinstance(obj, Origin):
            return type(None), ()
        if type(obj) is Tag and any(name in vars(obj) for name in self.tag_to_remove):
            tag = Tag()
            vars(tag).update((k, v) for k, v in vars(obj).items() if k not in self.tag_to_remove)
            return tag.__reduce_ex__(2)
        return NotImplemented


class CompatUnpickler(pickle.Unpickler):
    """An unpickler for arrays that Python 2 pickled.

    Parameters
    ----------
    file : file
        Open for reading in binary mode.
    encoding : str
        Of texts and array data; the default is right for arrays.

    Examples
    --------
    >>> import io
    >>> import pickle
    >>> import numpy as np
    >>> CompatUnpickler(io.BytesIO(pickle.dumps(np.arange(3))), encoding="latin1").load()
    array([0, 1, 2])
    """

    def __init__(
        self, file: IO[bytes], *, fix_imports: bool = True, encoding: str = "latin1", errors: str = "strict"
    ) -> None:
        super().__init__(file, fix_imports=fix_imports, encoding=encoding, errors=errors)
