"""Which code belongs to the library, and warnings that point at the line of the user's program."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

_library_roots: list[str] = []
#: File name -> whether it belongs to the library, as far as somebody has asked.
library_files: dict[str, bool] = {}


def register_library(filename: str) -> None:
    """Leave the frames of a package out of all origins.

    Parameters
    ----------
    filename : str
        The ``__file__`` of the package's ``__init__``; all files below its folder count as library files.
    """
    root = os.path.dirname(os.path.abspath(filename)) + os.sep
    if root not in _library_roots:
        _library_roots.append(root)
        library_files.clear()


def is_library(filename: str) -> bool:
    """Tell whether a file belongs to the library, or to Python's own way of importing."""
    known = library_files.get(filename)
    if known is None:
        known = filename.startswith("<frozen") or any(filename.startswith(root) for root in _library_roots)
        library_files[filename] = known
    return known


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program that is being carried out; the usual filters apply.

    Parameters
    ----------
    message : str
    category : type, optional

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("this flag has no effect")
    >>> caught[0].category.__name__
    'UserWarning'
    """
    caller = sys._getframe(1)
    frame: FrameType | None = caller
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    at = caller if frame is None else frame
    names = at.f_globals
    warnings.warn_explicit(
        message,
        category,
        at.f_code.co_filename,
        at.f_lineno,
        module=names.get("__name__") or "<unknown>",
        registry=names.setdefault("__warningregistry__", {}),
    )
