"""Comparisons of variables with ``==`` and ``!=`` whose result becomes an operand.

Variables compare by identity, and the result is a bool of Python: dictionaries and `in` need it. In
``T.switch(x == y, a, b)`` that bool becomes a constant, and the result is a wrong number. A bool cannot carry its
history, so the comparison leaves a note: the frame of the user's program and the instruction that compared. The
conversion of a Python number to an operand looks up the notes of the calling frames. The source positions of the
instructions then tell whether the result of the comparison is the argument that is converted.

A comparison that is decided at once (``if x == y``) leaves no note, and neither does one inside the library.
"""

from __future__ import annotations

import dis
import sys
from bisect import bisect_right
from types import CodeType, FrameType
from typing import Any

from .._errors import ComparisonWarning, format_error, is_library, shown_name, warn_at

#: Codes that are remembered, and frames with notes.
_CODE_LIMIT, _FRAME_LIMIT = 4096, 256
#: Frames of the user's program that are searched from an operand outwards.
_DEPTH = 8
_PASSING = frozenset({"COPY", "SWAP", "POP_TOP", "TO_BOOL", "NOT_TAKEN", "UNARY_NOT", "PRECALL", "NOP"})
_NUMBERS = frozenset({"UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE", "CALL_INTRINSIC_1"})
_LISTS = frozenset({"BUILD_LIST", "BUILD_TUPLE", "LIST_EXTEND", "LIST_TO_TUPLE"})


class _Comparisons:
    """How the results of comparisons flow through one code object."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        #: Offsets of instructions that compared variables, and whose result is not kept.
        self.quiet: set[int] = set()
        self._steps = [s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG")]
        self._offsets = [step.offset for step in self._steps]
        self._flows: dict[tuple[int, int], type | None] = {}
        #: The instructions that assign to each name, or delete it.
        self._stores: dict[str, list[int]] = {}
        for i, step in enumerate(self._steps):
            for name in _stored_names(step):
                self._stores.setdefault(name, []).append(i)

    def at(self, frame: FrameType) -> int:
        """Return the number of the instruction that a frame carries out; a call may stand at its cache entries."""
        return bisect_right(self._offsets, frame.f_lasti) - 1

    def line(self, i: int) -> int | None:
        """Return the line of an instruction."""
        positions = self._steps[i].positions
        return None if positions is None else positions.lineno

    def compares(self, i: int) -> bool:
        """Tell whether an instruction is ``==`` or ``!=``; others look for equal items, as `in` does."""
        return self._steps[i].opname == "COMPARE_OP"

    def fate(self, i: int) -> str:
        """Return the fate of the result of an instruction: "decided", "returned" or "kept"."""
        i += 1
        while self._steps[i].opname in ("TO_BOOL", "UNARY_NOT"):
            i += 1
        name = self._steps[i].opname
        if name.startswith("POP_JUMP") or name == "POP_TOP":
            return "decided"
        return "returned" if name == "RETURN_VALUE" else "kept"

    def flow(self, start: int, end: int) -> type | None:
        """Return the type that the result of one instruction has as an operand of another; None where it is none."""
        key = start, end
        if key not in self._flows:
            kind = self._direct(start, end)
            self._flows[key] = self._stored(start, end) if kind is None else kind
        return self._flows[key]

    def passed_names(self, end: int) -> list[str]:
        """Return the parameters, never assigned to, that are operands of an instruction."""
        count = self.code.co_argcount + self.code.co_kwonlyargcount
        parameters = set(self.code.co_varnames[:count]).difference(self._stores)
        return [
            name
            for i in self._loads(parameters, end)
            for name in parameters.intersection(_loaded_names(self._steps[i]))
        ]

    def _loads(self, names: set[str], end: int) -> list[int]:
        """Return the instructions of one expression that load some names as operands of its last instruction."""
        start, outer = end, self._steps[end].positions
        while start and _holds(outer, self._steps[start - 1].positions):
            start -= 1
        loads = [i for i in range(start, end) if names.intersection(_loaded_names(self._steps[i]))]
        return [i for i in loads if self._direct(i, end) is not None]

    def _direct(self, start: int, end: int) -> type | None:
        """Follow a value that stays in one expression: each instruction around it may change its type."""
        if start == end:  # a function of the library called one of the user's, which returned a comparison
            return bool
        inner, outer = self._steps[start].positions, self._steps[end].positions
        if start > end or not _holds(outer, inner):
            return None
        kind: type | None = bool
        for step in self._steps[start + 1 : end]:
            around = step.positions
            if around != outer and around != inner and _holds(outer, around) and _holds(around, inner):
                kind = None if kind is None else _made(step, kind)
        return kind

    def _stored(self, start: int, end: int) -> type | None:
        """Follow a value that is assigned to a name before it is used."""
        store = start + 1
        while self._steps[store].opname in _PASSING:
            store += 1
        names = set(_stored_names(self._steps[store]))
        for load in self._loads(names, end) if store < end else ():
            for name in names.intersection(_loaded_names(self._steps[load])):
                stores = self._stores[name]
                if stores[bisect_right(stores, load) - 1] == store:
                    return self._direct(load, end)
        return None


def _holds(outer: Any, inner: Any) -> bool:
    """Tell whether one piece of source contains another; nothing is known without positions."""
    if None in (*outer, *inner):
        return False
    first, last, left, right = outer
    return bool((first, left) <= (inner[0], inner[2]) and (inner[1], inner[3]) <= (last, right))


def _made(step: dis.Instruction, kind: type) -> type | None:
    """Return the type that an instruction makes of a bool, a number or a list that it takes."""
    name = step.opname
    if name in _PASSING or "JUMP" in name or (name == "BINARY_OP" and step.argrepr in ("&", "|", "^")):
        return kind
    if name in _LISTS:
        return list
    return complex if kind is not list and (name == "BINARY_OP" or name in _NUMBERS) else None


def _names(step: dis.Instruction) -> tuple[str, ...]:
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def _stored_names(step: dis.Instruction) -> tuple[str, ...]:
    name = step.opname
    if not name.startswith(("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "DELETE_")):
        return ()
    return _names(step)[:1] if name == "STORE_FAST_LOAD_FAST" else _names(step)


def _loaded_names(step: dis.Instruction) -> tuple[str, ...]:
    name = step.opname
    if name == "STORE_FAST_LOAD_FAST":
        return _names(step)[1:]
    return _names(step) if name.startswith(("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")) else ()


#: Facts about a code, by its identity: the instructions that need no note (all, in the library), and the flow of
#: results in a code of the user. The code itself is held, so that its identity stays unique.
_codes: dict[int, tuple[range | set[int], _Comparisons | None, CodeType | None]] = {}
_UNKNOWN: tuple[set[int], None, None] = set(), None, None
_ALL = range(sys.maxsize)
#: The instructions that compared variables and kept the result, by the identity of their frame.
_notes: dict[int, tuple[_Comparisons, set[int]]] = {}
_getframe = sys._getframe


def _comparisons_of(code: CodeType) -> _Comparisons | None:
    entry = _codes.get(id(code))
    if entry is None:
        if len(_codes) >= _CODE_LIMIT:
            _codes.clear()
        if is_library(code.co_filename):
            entry = _ALL, None, code
        else:
            comparisons = _Comparisons(code)
            entry = comparisons.quiet, comparisons, code
        _codes[id(code)] = entry
    return entry[1]


class ComparedByIdentity:
    """Base of variables: compares as `object` does, and notes that it was compared."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        frame = _getframe(1)
        if frame.f_lasti not in _codes.get(id(frame.f_code), _UNKNOWN)[0]:
            _note(frame)
        return self is other or (False if isinstance(other, ComparedByIdentity) else NotImplemented)


def _note(frame: FrameType) -> None:
    """Keep the frame and the instruction whose result is the comparison that is being made, if it is kept at all."""
    comparisons = _comparisons_of(frame.f_code)
    if comparisons is None:
        return
    step = comparisons.at(frame)
    fate = comparisons.fate(step) if comparisons.compares(step) else "decided"
    if fate == "decided":
        comparisons.quiet.add(frame.f_lasti)
        return
    while fate == "returned":
        outer = _user_frame(frame.f_back)
        if outer is None:
            return
        frame, comparisons = outer, _of_user(outer)
        step = comparisons.at(frame)
        fate = comparisons.fate(step)
    if fate == "decided":
        return
    notes = _notes.get(id(frame))
    if notes is None or notes[0] is not comparisons:
        if len(_notes) >= _FRAME_LIMIT:
            _notes.clear()
        notes = _notes[id(frame)] = comparisons, set()
    notes[1].add(step)


def _of_user(frame: FrameType) -> _Comparisons:
    comparisons = _comparisons_of(frame.f_code)
    assert comparisons is not None, "a frame of the user's program is of no library"
    return comparisons


def _user_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def warn_of_comparison(value: object) -> None:
    """Warn at the line of the user's program if `value`, an operand, is the result of comparing variables by ``==``.

    Parameters
    ----------
    value : object
        Number of Python, or sequence of numbers, that is about to become a constant.

    Examples
    --------
    >>> warn_of_comparison(True)
    """
    if not _notes or not isinstance(value, (bool, int, float, complex, list, tuple)):
        return
    frame = _user_frame(_getframe(1))
    for _ in range(_DEPTH):
        if frame is None:
            return
        comparisons = _of_user(frame)
        use = comparisons.at(frame)
        noted, steps = _notes.get(id(frame), (None, ()))
        if noted is comparisons:
            for step in steps:
                if _is_of(value, comparisons.flow(step, use)):
                    _warn(frame, comparisons.line(step))
                    return
        if not any(frame.f_locals.get(name) is value for name in comparisons.passed_names(use)):
            return
        frame = _user_frame(frame.f_back)


def _is_of(value: object, kind: type | None) -> bool:
    """Tell whether a value may come of a comparison; the items of a list may become operands one by one."""
    if isinstance(value, (list, tuple)):
        return kind is list
    return kind is not None and isinstance(value, bool) == (kind is not complex)


def _warn(frame: FrameType, line: int | None) -> None:
    warn_at(
        frame,
        format_error(
            "an operand is the result of `==` or `!=`, which compare variables as objects: it is True or False of "
            "Python, and says nothing about the elements",
            context=[f"compared at {shown_name(frame.f_code.co_filename)}:{line}"],
            hint="write T.eq(x, y) for `x == y` and T.neq(x, y) for `x != y`; bool(x == y) where identity is meant",
        ),
        ComparisonWarning,
    )
