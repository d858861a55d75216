"""Where in the user's program a node was made.

Each node keeps the innermost frames of the user's program at its construction; frames of registered library packages
are left out. Only code objects and instruction offsets are kept; line numbers are worked out when somebody asks, so
that building a node stays cheap.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Protocol, TypeVar

from .._errors import is_library, library_files, shown_name
from .._record import record

MadeT = TypeVar("MadeT")


class _FrameLimit:
    """Number of user frames that are kept with each node; asked for once, then told of changes."""

    value: int | None = None
    ask: Callable[[], int] = staticmethod(lambda: 8)
    #: Number of the library's own frames that are kept with nodes which it makes on behalf of others.
    internal: int = 0


_frame_limit = _FrameLimit()


def set_frame_limit(value: int | None, ask: Callable[[], int] | None = None) -> None:
    """Say how many user frames are kept; with None, `ask` is called when the first node is made."""
    _frame_limit.value = value
    if ask is not None:
        _frame_limit.ask = ask


def set_internal_limit(value: int) -> None:
    """Say how many of the library's own frames are kept with nodes that it makes on behalf of the user's nodes."""
    _frame_limit.internal = value


_boundaries: set[CodeType] = set()


def mark_boundary(code: CodeType) -> None:
    """Let everything that is called from a function count as that function's doing.

    Used for ``Op.__call__``: a node made in a user-written ``make_node`` belongs to the line that applied the op.
    """
    _boundaries.add(code)


@record
class UserFrame:
    """One frame of the user's program: file, line and function."""

    filename: str
    lineno: int
    function: str

    def __str__(self) -> str:
        return f"{shown_name(self.filename)}:{self.lineno}"


def _line_of(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


class Origin:
    """The user's frames at the construction of a node, innermost first.

    Attributes
    ----------
    frames : tuple of UserFrame
        At least one frame; the first is the line that made the node.
    """

    __slots__ = ("_frames", "_raw")

    def __init__(self, raw: tuple[tuple[CodeType, int], ...] = (), frames: tuple[UserFrame, ...] | None = None) -> None:
        self._raw = raw
        self._frames = frames

    @property
    def frames(self) -> tuple[UserFrame, ...]:
        """The frames, innermost first."""
        if self._frames is None:
            self._frames = tuple(UserFrame(c.co_filename, _line_of(c, i), c.co_name) for c, i in self._raw)
        return self._frames

    @property
    def filename(self) -> str:
        """File of the innermost user frame."""
        return self.frames[0].filename

    @property
    def lineno(self) -> int:
        """Line number of the innermost user frame, from 1."""
        return self.frames[0].lineno

    def entries(self) -> list[tuple[str, int, str, str]]:
        """Return file, line number, function and source line of each frame, outermost first, as tracebacks do."""
        return [
            (f.filename, f.lineno, f.function, linecache.getline(f.filename, f.lineno).strip())
            for f in reversed(self.frames)
        ]

    def __str__(self) -> str:
        return str(self.frames[0])

    def __repr__(self) -> str:
        return f"<Origin {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self.frames == other.frames

    def __hash__(self) -> int:
        return hash(self.frames)

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (self.frames,))


def _restore(frames: tuple[UserFrame, ...]) -> Origin:
    return Origin((), frames)


class HasOrigin(Protocol):
    """Anything that knows where it was made."""

    @property
    def origin(self) -> Origin | None:
        """Where it was made, or None when nothing of the user's program was on the stack."""


_inherited: ContextVar[Origin | None] = ContextVar("theano_graph_origin", default=None)


def current_origin(limit: int | None = None) -> Origin | None:
    """Return the origin for a node that is made now, or None when no user frame is on the stack.

    Parameters
    ----------
    limit : int, optional
        Number of frames to keep; the flag ``traceback.limit`` by default. With 0 there is no origin.
    """
    inherited = _inherited.get()
    if inherited is not None:
        return _with_internal_frames(inherited) if _frame_limit.internal else inherited
    if limit is None:
        limit = _frame_limit.value
        if limit is None:
            limit = _frame_limit.value = _frame_limit.ask()
    if not limit:
        return None
    frame: FrameType | None = sys._getframe(1)
    raw: list[tuple[CodeType, int]] = []
    libraries = library_files
    while frame is not None:
        code = frame.f_code
        cached = libraries.get(code.co_filename)
        if cached is None:
            cached = is_library(code.co_filename)
        if cached:
            if raw and code in _boundaries:
                raw.clear()
        else:
            raw.append((code, frame.f_lasti))
            if len(raw) == limit:
                break
        frame = frame.f_back
    return _shared(tuple(raw)) if raw else None


def _with_internal_frames(origin: Origin) -> Origin:
    """Return an origin with the library's own frames after those of the user."""
    frame: FrameType | None = sys._getframe(2)
    internal: list[UserFrame] = []
    while frame is not None and len(internal) < _frame_limit.internal:
        code = frame.f_code
        if is_library(code.co_filename):
            internal.append(UserFrame(code.co_filename, _line_of(code, frame.f_lasti), code.co_name))
        frame = frame.f_back
    # The replaced variable may itself come from the library: its internal frames give way.
    user = tuple(f for f in origin.frames if not is_library(f.filename)) or origin.frames[:1]
    return Origin(frames=(*user, *internal))


#: The last origin by its innermost frame. Nodes made by one line share one object: a loop makes thousands of them.
_latest: dict[tuple[int, int], Origin] = {}
_LATEST_LIMIT = 4096


def _shared(raw: tuple[tuple[CodeType, int], ...]) -> Origin:
    """Return an origin of these frames, the present one where the line has made nodes before in the same way."""
    code, offset = raw[0]
    # Code objects hash by all their contents; their identity is enough, since an origin keeps them alive.
    key = (id(code), offset)
    cached = _latest.get(key)
    if cached is not None and cached._raw == raw:
        return cached
    if len(_latest) >= _LATEST_LIMIT:
        _latest.clear()
    origin = _latest[key] = Origin(raw)
    return origin


#: Returns the origin that nodes made now inherit, None where it is worked out: the argument for :func:`end_origin`.
inherited_origin: Callable[[], Origin | None] = _inherited.get
#: Undoes :func:`begin_origin` or :func:`begin_origin_from`; its argument is the value that :func:`inherited_origin`
#: returned before. Unlike a token that is known before anything changes: an interrupt may come between any two calls.
end_origin: Callable[[Origin | None], object] = _inherited.set


def begin_origin() -> None:
    """Work out the present origin once, for all nodes that are made until :func:`end_origin`.

    Changes nothing where an origin is given already, or there is none.
    """
    if _inherited.get() is None and not _frame_limit.internal:
        origin = current_origin()
        if origin is not None:
            _inherited.set(origin)


def begin_origin_from(source: HasOrigin) -> None:
    """Give new nodes the origin of `source` until :func:`end_origin`; no change where it has none.

    The same as :func:`origin_from`, without a context manager: for engines, which do it at each node of a graph.
    """
    origin = source.origin
    if origin is not None:
        _inherited.set(origin)


def with_origin(make: Callable[[], MadeT], origin: Origin | None) -> MadeT:
    """Return the result of `make`, with the given origin instead of the present one; quicker than a context manager."""
    before = _inherited.get()
    try:
        _inherited.set(origin)
        return make()
    finally:
        _inherited.set(before)


class _OriginScope:
    """The result of :func:`origin_from`: a class, since rewriting enters one for each node that it looks at."""

    __slots__ = ("_before", "_origin")

    def __init__(self, origin: Origin | None) -> None:
        self._origin = origin
        self._before: Origin | None = None

    def __enter__(self) -> None:
        self._before = _inherited.get()
        if self._origin is not None:
            _inherited.set(self._origin)

    def __exit__(self, *exception: object) -> None:
        _inherited.set(self._before)


def origin_from(source: HasOrigin | Origin | None) -> contextlib.AbstractContextManager[None]:
    """Give every node that is made inside the origin of `source`.

    Used where the library makes nodes on behalf of a node of the user's: gradients and rewriting.

    Parameters
    ----------
    source : Variable, Apply, Origin or None
        None, or a source without an origin, changes nothing.

    Examples
    --------
    >>> with origin_from(None):
    ...     pass
    """
    return _OriginScope(source if isinstance(source, Origin) or source is None else source.origin)
