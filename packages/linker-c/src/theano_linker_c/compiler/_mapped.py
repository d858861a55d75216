"""Machine code in memory."""

from __future__ import annotations

import _ctypes
import ctypes
import weakref

from .._stopwatch import loading

_CLOSE = getattr(_ctypes, "dlclose", None) or getattr(_ctypes, "FreeLibrary", None)


class MappedCode:
    """A shared object that is loaded, and unloaded when nothing refers to it any more.

    Whoever keeps an address of its code must keep this too.

    Parameters
    ----------
    path : str
        The file. It may be removed once it is loaded.

    Attributes
    ----------
    library : ctypes.CDLL
        The loaded library.

    Raises
    ------
    OSError
        If the file cannot be loaded.
    """

    __slots__ = ("__weakref__", "library")

    def __init__(self, path: str) -> None:
        with loading:
            self.library = ctypes.CDLL(path)
        # At the end of the process the system unloads everything, when no code runs any more.
        weakref.finalize(self, _unload, self.library._handle).atexit = False

    def address(self, symbol: str) -> int:
        """Give the address of a function.

        Raises
        ------
        AttributeError
            If there is none of this name.
        """
        return ctypes.cast(getattr(self.library, symbol), ctypes.c_void_p).value or 0


def _unload(handle: int) -> None:
    if _CLOSE is not None:
        _CLOSE(handle)
