"""Modes that look at every node while a function runs: :class:`MonitorMode` and :class:`NanGuardMode`."""

from __future__ import annotations

import pdb
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from theano_graph import (
    Apply,
    BoolFlag,
    EnumFlag,
    FunctionGraph,
    Variable,
    add_flag,
    config,
    debugprint,
    describe,
    format_error,
    record,
    warn_user,
)

from ._perform import as_host
from .linkers import Linker, StepMachine, WrapLinker
from .modes import Mode, as_linker, register_mode
from .program import Hooks, Machine, MachineView, Program, Thunk

#: Modules of the former package are found under their earlier names, which pickles have.
__path__: list[str] = []

# ---- Flags of the modes that look at every node

add_flag("NanGuardMode.nan_is_error", "Whether NanGuardMode minds a NaN.", BoolFlag(True))
add_flag("NanGuardMode.inf_is_error", "Whether NanGuardMode minds an infinity.", BoolFlag(True))
add_flag("NanGuardMode.big_is_error", "Whether NanGuardMode minds a finite value beyond 1e10.", BoolFlag(True))
add_flag(
    "NanGuardMode.action",
    "NanGuardMode's reaction to a value that it minds: 'raise' an AssertionError, 'warn', or start 'pdb'.",
    EnumFlag("raise", "warn", "pdb"),
)


# ---- MonitorMode: functions of the user are called before and after each node

Watcher = Callable[[int, Apply, Thunk], Any]


class MonitorMode(Mode):
    """Calls functions of the user around every node of a compiled function.

    Parameters
    ----------
    pre_func, post_func : callable, optional
        Called ``(i, node, fn)`` before and after node number `i` runs. ``fn.inputs`` and ``fn.outputs`` are lists of
        one-element lists, so ``fn.inputs[0][0]`` is the value of the first input.
    optimizer : str, RewriteQuery or GraphRewriter
        As for :class:`Mode`.
    linker : str or Linker, optional
        Which code the nodes run; by default the flag `linker`.

    Examples
    --------
    >>> from theano_linker_c import MonitorMode, function, generic, view_op
    >>> def after(i, node, fn):
    ...     print(i, node.op, [cell[0] for cell in fn.outputs])
    >>> x = generic("x")
    >>> function([x], view_op(x), mode=MonitorMode(post_func=after))(3)
    0 ViewOp [3]
    1 DeepCopyOp [3]
    3
    """

    def __init__(
        self,
        pre_func: Watcher | None = None,
        post_func: Watcher | None = None,
        optimizer: Any = "default",
        linker: str | Linker | None = None,
    ) -> None:
        self.pre_func = pre_func
        self.post_func = post_func
        self._inner = as_linker(linker)
        super().__init__(WrapLinker(self._inner, self._around, "monitor"), optimizer)

    def _around(self, i: int, node: Apply, fn: Thunk) -> None:
        if self.pre_func is not None:
            self.pre_func(i, node, fn)
        fn()
        if self.post_func is not None:
            self.post_func(i, node, fn)

    def _like(self, linker: str | Linker, optimizer: Any) -> MonitorMode:
        inner = self._inner if linker is self.linker else linker
        return type(self)(self.pre_func, self.post_func, optimizer, inner)


def detect_nan(i: int, node: Apply, fn: Thunk) -> None:
    """Print the node and its values when one of its results contains a NaN; for ``MonitorMode(post_func=...)``."""
    for cell in fn.outputs:
        value = as_host(cell[0])
        if isinstance(value, (np.ndarray, np.number)) and _has_nan(value):
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[cell[0] for cell in fn.inputs]}")
            print(f"Outputs: {[cell[0] for cell in fn.outputs]}")
            return


def _has_nan(value: Any) -> bool:
    return value.dtype.kind in "fc" and bool(np.isnan(value).any())


# ---- NanGuardMode: an error as soon as a node meets or makes a NaN, an infinity or a very big number

#: From which absolute value on a number is big.
BIG = 1e10


@record
class Limits:
    """Which values are minded."""

    nan: bool
    inf: bool
    big: bool

    def complaints(self, value: object) -> Iterator[str]:
        """Yield the faults of a value, in words."""
        array = _numbers(value)
        if array is None:
            return
        finite = np.isfinite(array)
        if not finite.all():
            nan = np.isnan(array)
            if self.nan and nan.any():
                yield "NaN"
            if self.inf and not (finite | nan).all():
                yield "Inf"
        if self.big and (np.abs(array[finite]) > BIG).any():
            yield "Big value"


def _numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """Return the floating-point numbers in a value: an array, a scalar, or something sparse that has `data`."""
    value = as_host(value)
    if not isinstance(value, (np.ndarray, np.generic, float, complex)):
        value = getattr(value, "data", None)
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.generic, float, complex)) else None
    return array if array is not None and array.dtype.kind in "fc" else None


class NanGuardMode(Mode):
    """Stops a compiled function at the node where an abnormal value comes up.

    The values of all arguments and shared variables are looked at before the first node runs, those of each node's
    results after it has run. A variable with ``variable.tag.nan_guard_mode_check = False`` is left out; the mark goes
    over to variables that rewriting puts in its place.

    Parameters
    ----------
    nan_is_error, inf_is_error, big_is_error : bool, optional
        Whether a NaN, an infinity, and a finite value beyond 1e10 are minded; by default the flags
        `NanGuardMode.nan_is_error`, `NanGuardMode.inf_is_error` and `NanGuardMode.big_is_error`.
    optimizer : str, RewriteQuery or GraphRewriter
        As for :class:`Mode`.
    linker : str or Linker, optional
        Which code the nodes run; by default the flag `linker`.

    Raises
    ------
    AssertionError
        By calls of the function. The flag `NanGuardMode.action` says whether there is a warning or a debugger instead.

    Examples
    --------
    >>> from theano_linker_c import NanGuardMode, function, generic, view_op
    >>> x = generic("x")
    >>> f = function([x], view_op(x), mode=NanGuardMode(nan_is_error=True, inf_is_error=False, big_is_error=False))
    >>> f(float("inf"))
    inf
    >>> f(float("nan"))
    Traceback (most recent call last):
    AssertionError: NaN detected in the value of an input...
    """

    def __init__(
        self,
        nan_is_error: bool | None = None,
        inf_is_error: bool | None = None,
        big_is_error: bool | None = None,
        optimizer: Any = "default",
        linker: str | Linker | None = None,
    ) -> None:
        self.nan_is_error = nan_is_error
        self.inf_is_error = inf_is_error
        self.big_is_error = big_is_error
        self._inner = as_linker(linker)
        guard = GuardLinker(self._inner, nan_is_error, inf_is_error, big_is_error)
        super().__init__(guard, optimizer)

    def _like(self, linker: str | Linker, optimizer: Any) -> NanGuardMode:
        inner = self._inner if linker is self.linker else linker
        return type(self)(self.nan_is_error, self.inf_is_error, self.big_is_error, optimizer, inner)


class GuardLinker(Linker):
    """Runs graphs node by node and checks the values; made by :class:`NanGuardMode`."""

    __slots__ = ("choices",)
    choices: tuple[bool | None, bool | None, bool | None]

    def __init__(self, inner: Linker, nan: bool | None, inf: bool | None, big: bool | None) -> None:
        Linker.__init__(self, "NanGuardMode", inner.target, inner.allow_gc, inner.native_only, inner.lazy)
        object.__setattr__(self, "choices", (nan, inf, big))

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine that checks values."""
        guard = Guard(self._limits())
        return StepMachine(
            program, hooks, guard.around, [self.target], allow_gc=self.frees, on_call=guard.check_arguments
        )

    def _limits(self) -> Limits:
        flags = config.NanGuardMode
        defaults = (flags.nan_is_error, flags.inf_is_error, flags.big_is_error)
        chosen = (
            default if choice is None else bool(choice) for choice, default in zip(self.choices, defaults, strict=True)
        )
        return Limits(*chosen)


class Guard:
    """Checks values while a function runs.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def check_arguments(self, view: MachineView) -> None:
        """Check the values at the beginning of a call: arguments, shared variables and constants."""
        for variable, cell in view.storage_map.items():
            if variable.owner is None:
                self._check(variable, cell[0], "the value of an input")

    def around(self, i: int, node: Apply, thunk: Thunk) -> None:
        """Run a node and check its results."""
        thunk()
        for variable, cell in zip(node.outputs, thunk.outputs, strict=True):
            self._check(variable, cell[0], "the output of a node", node)

    def _check(self, variable: Variable, value: object, index: str, node: Apply | None = None) -> None:
        if getattr(variable.tag, "nan_guard_mode_check", None) is False:
            return
        complaints = list(self._limits.complaints(value))
        if complaints:
            _act(_message(complaints, variable, index, node))


def _message(message_part: list[str], variable: Variable, index: str, node: Apply | None) -> str:
    where = [describe(variable)]
    if node is not None:
        text = str(debugprint(node, depth=4, file="str")).rstrip().replace("\n", "\n    ")
        where.append(f"{node.op}:\n    {text}")
    return format_error(
        f"{' and '.join(message_part)} detected in {index}",
        context=where,
        hint="look where the operands come from; a variable that may hold such values is left out with "
        "`variable.tag.nan_guard_mode_check = False`.",
    )


def _act(text: str) -> None:
    action = config.NanGuardMode.action
    if action == "raise":
        raise AssertionError(text)
    if action == "warn":
        warn_user(text)
        return
    print(text)
    pdb.set_trace()  # as the flag asks


register_mode("NanGuardMode", NanGuardMode(optimizer="fast_run", linker="cvm"))

__all__ = ["MonitorMode", "NanGuardMode", "detect_nan"]
