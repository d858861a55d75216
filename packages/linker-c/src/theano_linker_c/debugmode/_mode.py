"""DebugMode."""

from __future__ import annotations

from typing import Any

from theano_graph import FunctionGraph, config

from ..linkers import Linker
from ..modes import Mode
from ..program import Hooks, Machine, Program
from . import _flags as _flags
from ._evaluate import Choices
from ._layouts import chosen_layouts
from ._machine import DebugMachine
from ._stability import check_stability
from ._tracker import ReplacementTracker


class DebugMode(Mode):
    """Verifies everything that it can about rewrites and ops, at a high price in time.

    A function compiled in this mode computes each node in Python and in native code and compares; it computes nodes
    that rewrites replaced and compares; it looks whether ops change inputs or share memory in ways that they do not
    declare; and it rewrites the graph several times and looks whether the same happens.

    A rewrite that is there for accuracy may change digits, and put numbers in the place of infinities and NaN, as long
    as the outputs of the function are those of the graph before rewriting, up to the errors that this graph has. A
    failure fails outside of the program that is left, or in a branch of a choice that is not taken, has no value to
    compare.

    Parameters
    ----------
    optimizer : str, RewriteQuery or GraphRewriter
        As for :class:`Mode`.
    stability_patience : int, optional
        How many times the graph is rewritten; by default the flag `DebugMode.patience`.
    check_c_code, check_py_code : bool, optional
        Whether native code and Python code of ops is run where there are both; by default the flags `DebugMode.check_c`
        and `DebugMode.check_py`.
    check_isfinite : bool, optional
        Whether NaN and infinities are errors; by default the flag `DebugMode.check_finite`.
    check_preallocated_output : list of str, optional
        In which memory ops are made to put results; by default the flag `DebugMode.check_preallocated_output`.
    require_matching_strides : int, optional
        0, 1 or 2: nothing, a warning or an error where results of both kinds of code have different strides; by default
        the flag `DebugMode.check_strides`.
    linker : optional
        Not used.

    Raises
    ------
    DebugModeError
        When the function is compiled or called: :class:`BadThunkOutput`, :class:`BadOptimization`,
        :class:`BadDestroyMap`, :class:`BadViewMap`, :class:`StochasticOrder` or :class:`InvalidValueError`.

    Examples
    --------
    >>> from theano_linker_c import DebugMode, function, generic, view_op
    >>> x = generic("x")
    >>> function([x], view_op(x), mode=DebugMode(stability_patience=2))(3)
    3
    """

    def __init__(
        self,
        optimizer: Any = "fast_run",
        stability_patience: int | None = None,
        check_c_code: bool | None = None,
        check_py_code: bool | None = None,
        check_isfinite: bool | None = None,
        check_preallocated_output: list[str] | None = None,
        require_matching_strides: int | None = None,
        linker: Any = None,
    ) -> None:
        self._given: dict[str, Any] = {
            "stability_patience": stability_patience,
            "check_c_code": check_c_code,
            "check_py_code": check_py_code,
            "check_isfinite": check_isfinite,
            "check_preallocated_output": check_preallocated_output,
            "require_matching_strides": require_matching_strides,
        }
        if check_preallocated_output is not None:
            self._given["check_preallocated_output"] = chosen_layouts(":".join(check_preallocated_output))
        super().__init__(DebugLinker(self), optimizer)

    def _chosen(self, name: str, default: Any) -> Any:
        value = self._given[name]
        return default if value is None else value

    @property
    def stability_patience(self) -> int:
        """How many times the graph is rewritten."""
        return int(self._chosen("stability_patience", config.DebugMode.patience))

    @stability_patience.setter
    def stability_patience(self, value: int) -> None:
        self._given["stability_patience"] = value

    @property
    def check_c_code(self) -> bool:
        """Whether native code is run."""
        return bool(self._chosen("check_c_code", config.DebugMode.check_c))

    @check_c_code.setter
    def check_c_code(self, value: bool) -> None:
        self._given["check_c_code"] = value

    @property
    def check_py_code(self) -> bool:
        """Whether the Python code of ops is run."""
        return bool(self._chosen("check_py_code", config.DebugMode.check_py))

    @check_py_code.setter
    def check_py_code(self, value: bool) -> None:
        self._given["check_py_code"] = value

    @property
    def check_isfinite(self) -> bool:
        """Whether NaN and infinities are errors."""
        return bool(self._chosen("check_isfinite", config.DebugMode.check_finite))

    @check_isfinite.setter
    def check_isfinite(self, value: bool) -> None:
        self._given["check_isfinite"] = value

    @property
    def check_preallocated_output(self) -> list[str]:
        """In which memory ops are made to put results."""
        flag = config.DebugMode.check_preallocated_output
        return list(self._chosen("check_preallocated_output", chosen_layouts(flag)))

    @check_preallocated_output.setter
    def check_preallocated_output(self, value: list[str]) -> None:
        self._given["check_preallocated_output"] = value

    @property
    def require_matching_strides(self) -> int:
        """The reaction to different strides: 0 nothing, 1 a warning, 2 an error."""
        return int(self._chosen("require_matching_strides", config.DebugMode.check_strides))

    @require_matching_strides.setter
    def require_matching_strides(self, value: int) -> None:
        self._given["require_matching_strides"] = value

    def choices(self) -> Choices:
        """Return the checks of calls of functions."""
        return Choices(
            self.check_c_code,
            self.check_py_code,
            self._given,
            self.require_matching_strides,
            bool(config.DebugMode.warn_input_not_reused),
            tuple(self.check_preallocated_output),
            int(config.DebugMode.check_preallocated_output_ndim),
        )

    def rewrite(self, fgraph: FunctionGraph) -> Any:
        """Apply the rewrites of this mode to `fgraph`, in place, and record them.

        Raises
        ------
        StochasticOrder
            If rewriting does not do the same each time.
        """
        rewrite = super().rewrite
        check_stability(fgraph, rewrite, self.stability_patience)
        unrewritten = FunctionGraph(fgraph.inputs, fgraph.outputs)
        tracker = ReplacementTracker()
        fgraph.attach_feature(tracker)
        profile = rewrite(fgraph)
        if any(r.stabilizes for r in tracker.replacements):
            tracker.unrewritten = unrewritten
        return profile

    def _like(self, linker: str | Linker, optimizer: Any) -> DebugMode:
        return type(self)(optimizer, **self._given)


class DebugLinker(Linker):
    """Runs graphs with the checks of a :class:`DebugMode`."""

    __slots__ = ("mode",)
    mode: DebugMode

    def __init__(self, mode: DebugMode) -> None:
        Linker.__init__(self, "DebugMode", allow_gc=False, lazy=False)
        object.__setattr__(self, "mode", mode)

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine that checks everything."""
        return DebugMachine(program, hooks, fgraph, self.mode.choices())
