"""Errors and warnings of the layer, and the line of the user's program that they name.

Users should see their own lines, not those of this library.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable
from itertools import pairwise
from types import FrameType

# ---- User code: which code belongs to the library, and warnings at the user's line

#: When this process began to load the library, in ns since 1970: the code of files that change later does not run.
LOADED_AT = time.time_ns()
_library_roots: list[str] = []
#: The packages of the library. Others may be called `theano_...` as well: they are the user's.
_PACKAGES = frozenset(
    (
        *("theano", "theano_graph", "theano_optimize", "theano_linker_c", "theano_gpuarray", "theano_tensor"),
        *("theano_scan", "theano_sparse", "theano_testing"),
    )
)
#: Packages that run cells of notebooks.
_SHELLS = frozenset({"IPython", "ipykernel", "tornado", "traitlets"})
#: Modules of Python that begin threads.
_THREADS = frozenset({"threading", "concurrent.futures.thread"})
_ASYNCIO = os.path.join(os.path.dirname(os.__file__), "asyncio") + os.sep
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


def _is_shell(filename: str) -> bool:
    """Tell whether a file runs the cells of notebooks: no line of the user is in it."""
    if filename.startswith(_ASYNCIO) or filename.endswith("ipykernel_launcher.py"):
        return True
    parts = filename.replace("\\", "/").split("/")
    return any(
        folder in ("site-packages", "dist-packages") and package in _SHELLS for folder, package in pairwise(parts)
    )


def is_library(filename: str) -> bool:
    """Tell whether a file belongs to the library, or to Python's own way of importing."""
    cached = library_files.get(filename)
    if cached is None:
        cached = filename.startswith("<frozen") or belongs_to_library(filename)
        cached = cached or _is_shell(filename)
        library_files[filename] = cached
    return cached


def belongs_to_library(filename: str) -> bool:
    """Tell whether a file is one of the library's own."""
    return any(filename.startswith(root) for root in _library_roots)


def is_library_module(name: object) -> bool:
    """Tell by its name whether a module is one of the library's: also while these are being imported."""
    return isinstance(name, str) and name.partition(".")[0] in _PACKAGES


def asked_by_user() -> bool:
    """Tell whether the caller's caller was called by code of the user, and not while the library was being imported."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_library_module(frame.f_globals.get("__name__")):
        if frame.f_code.co_name == "<module>":
            return False
        frame = frame.f_back
    return True


def shown_name(filename: str) -> str:
    """Return how a file is called in messages: its last part, or ``In[3]`` where it is a cell of a notebook."""
    return cell_of(filename) or os.path.basename(filename)


def cell_of(filename: str) -> str | None:
    """Return the name of the cell of a notebook, as ``In[3]``, or None where a file is none."""
    # Shells of other versions, and modules that are being imported, have no such names: then nothing is known.
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if ask is None else ask()
    name_cell = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = None if name_cell is None else name_cell(filename)
    return None if named is None else str(named[1])


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
    # A thread of the library's own has no line of the user behind it, only Python's code that began it.
    warn_at(caller if frame is None or frame.f_globals.get("__name__") in _THREADS else frame, message, category)


def warn_at(frame: FrameType, message: str, category: type[Warning]) -> None:
    """Warn at the line that a frame carries out."""
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__") or "<unknown>",
        registry=names.setdefault("__warningregistry__", {}),
    )


class TheanoError(Exception):
    """Root of all errors that the project raises on purpose."""


class GraphError(TheanoError, ValueError):
    """A graph, or a piece of one, that breaks an invariant of graphs."""


class CycleError(GraphError):
    """A graph in which a variable is needed to compute itself."""


class MissingInputError(TheanoError, ValueError):
    """A variable without an owner is needed but is neither an input nor a constant."""


class InconsistencyError(TheanoError, ValueError):
    """A change to a function graph that one of its features refuses."""


class IncompatibleReplacementError(InconsistencyError, TypeError):
    """A variable was to be replaced by one whose type does not fit."""


class AlreadyThere(TheanoError):
    """Raised by a feature in ``on_attach`` when an equivalent feature is attached: the attachment is cancelled."""


class MissingTestValueError(TheanoError, AttributeError, ValueError):
    """A test value is needed of a variable that has none, or none that fits its type."""


class WrongTestValueError(MissingTestValueError, TypeError):
    """The test value of a variable is none of its type."""


class ReplacementKeptError(InconsistencyError):
    """A replacement should have removed some nodes from a graph, but they are there still; it has been undone."""


class MissingRuleError(TheanoError, NotImplementedError):
    """A rule table has no entry for an op that needs one."""


class DuplicateRuleError(TheanoError, ValueError):
    """A second rule was registered for one op class in one table."""


class ConfigError(TheanoError, ValueError):
    """A configuration flag is unknown, malformed, out of its allowed values, or fixed after start."""


class ConfigWarning(UserWarning):
    """A source of configuration cannot be read, and the program goes on without it."""


class ComparisonWarning(UserWarning):
    """The result of ``==`` between variables, which says whether they are one object, becomes an operand."""


class UnknownFlagError(ConfigError, AttributeError):
    """A configuration flag that no layer has declared."""


def format_error(problem: str, *, context: Iterable[str] = (), hint: str | None = None) -> str:
    """Build the text of an error.

    Parameters
    ----------
    problem : str
        The rule that was broken, with the values that broke it. One sentence.
    context : iterable of str
        One line for each thing involved, as given by :func:`theano_graph.describe`.
    hint : str, optional
        A step that the user can take.

    Returns
    -------
    str
        The lines of the message.

    Examples
    --------
    >>> print(format_error("dot: inner lengths differ: 3 and 4", context=["x: matrix"], hint="pass `x.T`"))
    dot: inner lengths differ: 3 and 4
      x: matrix
      Hint: pass `x.T`
    """
    lines = [problem]
    lines.extend(f"  {line}" for line in context)
    if hint is not None:
        lines.append(f"  Hint: {hint}")
    return "\n".join(lines)


def no_op_error(op_class: object) -> TypeError:
    """Return the error for applying an object that is no op."""
    if isinstance(op_class, type):
        return TypeError(
            format_error(f"{op_class.__name__} is a class of ops, not an op", hint=f"pass {op_class.__name__}(...)")
        )
    return TypeError(
        format_error(f"what is applied is an op, not {op_class!r}", hint="pass an instance of a subclass of Op")
    )
