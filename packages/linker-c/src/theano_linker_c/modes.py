"""Modes: how the graph of a function is rewritten, and the linker that runs it.

A mode is a linker (runs the program) and an optimizer (a query on :data:`optdb`, the database of rewrites). Higher
layers register their rewrites in :data:`optdb`; a mode finds them the next time it is used.
"""

from __future__ import annotations

import sys
from typing import Any

from theano_graph import FunctionGraph, TheanoError, config, format_error
from theano_optimize import (
    AddDestroyHandler,
    AddOriginGuard,
    EquilibriumDatabase,
    GraphRewriter,
    MergeRewriter,
    Phase as Phase,
    RewriteQuery,
    RewriteTrace,
    SequenceDatabase,
    constant_folding,
)

from . import _flags as _flags
from .kernels import Overwriting
from .linkers import CLinker, Linker as Linker, OpWiseCLinker, PerformLinker, VM_Linker
from .runtime._buffer_donation import AllowOverwriting
from .targets import PYTHON

__all__ = [
    "FAST_COMPILE",
    "FAST_RUN",
    "Linker",
    "Mode",
    "ModeError",
    "Phase",
    "as_linker",
    "get_default_mode",
    "get_mode",
    "optdb",
    "predefined_linkers",
    "predefined_modes",
    "predefined_optimizers",
    "register_linker",
    "register_mode",
    "register_optimizer",
]


class ModeError(TheanoError, ValueError):
    """There is no mode, linker or optimizer of the given name, or a name is taken."""


predefined_linkers: dict[str, Linker] = {}
"""The linkers that may be given by name."""


def register_linker(name: str, linker: Linker) -> None:
    """Make `linker` known under `name`.

    Parameters
    ----------
    name : str
    linker : Linker

    Raises
    ------
    ModeError
        If the name is taken.
    """
    _add(predefined_linkers, name, linker, "linker")


def _add(table: dict[Any, Any], name: str, item: Any, kind: str) -> None:
    if name in table:
        raise ModeError(format_error(f"there is already a {kind} called {name!r}", hint="choose another name."))
    table[name] = item


# "cvm" and "vm" evaluate lazily; with the others, operations such as ifelse get all of their inputs.
for _name, _made in {
    "cvm": VM_Linker(use_cloop=True),
    "cvm_nogc": VM_Linker(allow_gc=False, use_cloop=True),
    "vm": VM_Linker(),
    "vm_nogc": VM_Linker(allow_gc=False),
    "c|py": OpWiseCLinker(),
    "clpy": OpWiseCLinker(),
    "c|py_nogc": OpWiseCLinker(allow_gc=False),
    "clpy_nogc": OpWiseCLinker(allow_gc=False),
    "c": CLinker(),
    "py": PerformLinker(),
}.items():
    register_linker(_name, _made)

optdb = SequenceDatabase("optdb")
"""All rewrites, in the order of their phases. Its databases `canonicalize`, `stabilize`, `specialize` and
`uncanonicalize` take node rewriters; whole-graph rewriters are registered with a position."""

_ALL = ("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe")
_MOST = ("fast_run", "o3", "o4", "unsafe")

optdb.register("merge1", MergeRewriter(), *_ALL, position=Phase.MERGE, aliases=("merge",))
canonicalize = EquilibriumDatabase("canonicalize")
optdb.register("canonicalize", canonicalize, *_ALL, position=Phase.CANONICALIZE)
canonicalize.register("constant_folding", constant_folding, "fast_run", "fast_compile")
optdb.register("stabilize", EquilibriumDatabase("stabilize"), *_MOST, "Stabilization", position=Phase.STABILIZE)
optdb.register("specialize", EquilibriumDatabase("specialize"), *_MOST, position=Phase.SPECIALIZE)
optdb.register("uncanonicalize", EquilibriumDatabase("uncanonicalize"), *_MOST, position=Phase.UNCANONICALIZE)
optdb.register("merge2", MergeRewriter(), *_ALL, position=Phase.FUSE, aliases=("merge",))
optdb.register("add_destroy_handler", AddDestroyHandler(), "fast_run", position=Phase.ADD_DESTROY, aliases=("inplace",))
for _name, _kind, _aliases in (
    (
        "overwrite_elementwise",
        Overwriting.ELEMENTWISE,
        ("inplace_elemwise", "inplace_elemwise_optimizer", "insert_inplace_optimizer", "inplace_opt"),
    ),
    ("local_inplace_setsubtensor", Overwriting.INDEX_WRITE, ("inplace_setsubtensor",)),
    (
        "overwrite_products",
        Overwriting.PRODUCT,
        ("InplaceBlasOpt", "local_inplace_gemm", "local_inplace_gemv", "local_inplace_ger"),
    ),
):
    optdb.register(
        _name, AllowOverwriting(_name, _kind), "fast_run", "o4", "inplace", position=Phase.INPLACE, aliases=_aliases
    )
optdb.register("merge3", MergeRewriter(), *_ALL, position=Phase.FINAL_MERGE, aliases=("merge",))

_NOTHING = RewriteQuery([], name="OPT_NONE")
_FAST_RUN = RewriteQuery(["fast_run"], name="OPT_FAST_RUN")
_FAST_COMPILE = RewriteQuery(["fast_compile"], name="OPT_FAST_COMPILE")
_STABILIZE = RewriteQuery(["stabilize", "Stabilization", "fast_compile"], name="OPT_STABILIZE")

predefined_optimizers: dict[str | None, RewriteQuery] = {
    None: _NOTHING,
    "None": _NOTHING,
    "merge": RewriteQuery(["merge"], name="OPT_MERGE"),
    "fast_compile": _FAST_COMPILE,
    "o1": _FAST_COMPILE,
    "o2": RewriteQuery(["fast_compile", "o2", "fusion"], exclude=["inplace"], name="OPT_O2"),
    "o3": RewriteQuery(["fast_run"], exclude=["inplace"], name="OPT_O3"),
    "o4": _FAST_RUN,
    "fast_run": _FAST_RUN,
    "unsafe": RewriteQuery(["fast_run", "unsafe"], exclude=["inplace"], name="OPT_UNSAFE"),
    "stabilize": _STABILIZE,
    "Stabilization": _STABILIZE,
    "fast_run_stable": RewriteQuery(["fast_run"], require=["stable"], name="OPT_FAST_RUN_STABLE"),
}
"""The queries on :data:`optdb` that may be given by name."""


def register_optimizer(name: str, optimizer: RewriteQuery) -> None:
    """Make the query `optimizer` known under `name`.

    Parameters
    ----------
    name : str
    optimizer : RewriteQuery or rewriter

    Raises
    ------
    ModeError
        If the name is taken.
    """
    _add(predefined_optimizers, name, optimizer, "optimizer")


class Mode:
    """How a function is compiled: the rewrites of its graph and its linker.

    Parameters
    ----------
    linker : str or Linker, optional
        By default the flag `linker`.
    optimizer : str, RewriteQuery, GraphRewriter or None
        By default the flag `optimizer`. The name ``"None"`` or the value ``None`` given explicitly applies no rewrite.

    Raises
    ------
    ModeError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from theano_linker_c import FAST_RUN, Mode
    >>> mode = FAST_RUN.excluding("inplace")
    >>> mode.linker.name
    'cvm'
    >>> Mode(linker="py", optimizer="fast_compile").linker.target
    <target python>
    """

    linker: Linker

    def __init__(self, linker: str | Linker | None = None, optimizer: Any = "default") -> None:
        self.provided_linker = linker
        self.provided_optimizer = optimizer
        self.linker = as_linker(linker)
        chosen = config.optimizer if isinstance(optimizer, str) and optimizer == "default" else optimizer
        self._optimizer: RewriteQuery | GraphRewriter = (
            chosen
            if isinstance(chosen, (RewriteQuery, GraphRewriter))
            else _find(predefined_optimizers, chosen, "optimizer")
        )

    @property
    def query(self) -> RewriteQuery | None:
        """The query on :data:`optdb`; None where the mode has a rewriter of its own."""
        return self._optimizer if isinstance(self._optimizer, RewriteQuery) else None

    @property
    def optimizer(self) -> GraphRewriter:
        """The rewriter for graphs; later registrations in :data:`optdb` are seen by later uses.

        Without a compiler, rewrites with the tag "cxx_only" are left out; where Python code of ops is run, those with
        the tag "gpuarray".
        """
        query = self._optimizer
        if not isinstance(query, RewriteQuery):
            return query
        without = [] if config.cxx else ["cxx_only"]
        if self.linker.target == PYTHON:
            without.append("gpuarray")
        return optdb.query(query.excluding(*without) if without else query)

    def rewrite(self, fgraph: FunctionGraph) -> Any:
        """Apply the rewrites of this mode to `fgraph`, in place; return the profile, None where there is no rewrite."""
        if self._optimizer == _NOTHING:
            return None
        if config.check_stack_trace != "off":
            AddOriginGuard(config.check_stack_trace).rewrite(fgraph)
        trace = RewriteTrace(sys.stdout) if config.optimizer_verbose else None
        return self.optimizer.rewrite(
            fgraph, on_error=config.on_opt_error, trace=trace, details=config.profile_optimizer
        )

    def clone(self, linker: str | Linker | None = None, optimizer: Any = "same") -> Mode:
        """Return a mode like this one with another linker or optimizer."""
        same = isinstance(optimizer, str) and optimizer == "same"
        return self._like(self.linker if linker is None else linker, self._optimizer if same else optimizer)

    def _like(self, linker: str | Linker, optimizer: Any) -> Mode:
        return Mode(linker, optimizer)

    def including(self, *tags: str) -> Mode:
        """Return a mode that also applies the rewrites with one of `tags`."""
        return self._like(self.linker, self._need_query("including").including(*tags))

    def excluding(self, *tags: str) -> Mode:
        """Return a mode without the rewrites that have one of `tags` (or of these names)."""
        return self._like(self.linker, self._need_query("excluding").excluding(*tags))

    def requiring(self, *tags: str) -> Mode:
        """Return a mode with only those rewrites that have all of `tags`."""
        return self._like(self.linker, self._need_query("requiring").requiring(*tags))

    def register(self, *rewriters: tuple[GraphRewriter, float]) -> Mode:
        """Return a mode that also runs some graph rewriters, given as pairs of a rewriter and its position."""
        return self._like(self.linker, self._need_query("register").register(*rewriters))

    def _need_query(self, method: str) -> RewriteQuery:
        if isinstance(self._optimizer, RewriteQuery):
            return self._optimizer
        raise ModeError(
            format_error(
                f"Mode.{method}: this mode has a rewriter of its own, which has no tags",
                hint="make the mode with the name of an optimizer or a RewriteQuery.",
            )
        )

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Mode):
            return NotImplemented
        return self.linker == other.linker and self._optimizer == other._optimizer

    def __hash__(self) -> int:
        return hash((type(self), self.linker, self._optimizer))

    def __repr__(self) -> str:
        return f"Mode(linker={self.linker.name!r}, optimizer={self.provided_optimizer!r})"


def _find(table: dict[Any, Any], name: Any, kind: str) -> Any:
    try:
        return table[name]
    except (KeyError, TypeError):
        names = ", ".join(sorted(repr(key) for key in table))
        raise ModeError(format_error(f"there is no {kind} called {name!r}", hint=f"use one of {names}.")) from None


def as_linker(linker: str | Linker | None) -> Linker:
    """Return the linker that `linker` stands for: itself, the one of that name, or for None that of the flag `linker`.

    Raises
    ------
    ModeError
        For an unknown name.
    """
    chosen = config.linker if linker is None else linker
    if isinstance(chosen, Linker):
        return chosen
    found: Linker = _find(predefined_linkers, chosen, "linker")
    return found


FAST_COMPILE = Mode("vm", "fast_compile")
FAST_RUN = Mode("cvm", "fast_run")

predefined_modes: dict[str, Mode] = {"FAST_COMPILE": FAST_COMPILE, "FAST_RUN": FAST_RUN}
"""The modes that may be given by name."""


def register_mode(name: str, mode: Mode) -> None:
    """Make `mode` known under `name`, for `function(..., mode=name)` and the flag `mode`.

    Parameters
    ----------
    name : str
    mode : Mode

    Raises
    ------
    ModeError
        If the name is taken.

    Examples
    --------
    >>> import theano
    >>> theano.compile.register_mode("no_fusion_mode", theano.compile.get_default_mode().excluding("fusion"))
    >>> type(theano.compile.get_mode("no_fusion_mode")).__name__
    'Mode'
    """
    if name in ("Mode", "default"):
        raise ModeError(
            format_error(f"the name {name!r} stands for the mode that flags describe", hint="choose another.")
        )
    _add(predefined_modes, name, mode, "mode")


def get_mode(mode: str | Mode | None) -> Mode:
    """Return the mode that `mode` stands for.

    Parameters
    ----------
    mode : str, Mode or None
        A mode is returned as it is; None stands for the flag `mode`.

    Raises
    ------
    ModeError
        For an unknown name.

    Examples
    --------
    >>> from theano_linker_c import FAST_RUN, get_mode
    >>> get_mode("FAST_RUN") is FAST_RUN
    True
    """
    if isinstance(mode, Mode):
        return mode
    if mode is not None and not isinstance(mode, str):
        raise TypeError(
            format_error(
                f"a mode is a string or a Mode, not {type(mode).__name__}", hint="write `mode='FAST_RUN'`, say."
            )
        )
    name: str = config.mode if mode is None else mode
    found = Mode() if name == "Mode" else _find({**predefined_modes, "Mode": None}, name, "mode")
    return _with_tag_flags(found) if mode is None or name == "Mode" else found


def get_default_mode() -> Mode:
    """Return the mode that the flags describe: `mode`, `linker`, `optimizer`, and the `optimizer_...ing` tags.

    Returns
    -------
    Mode

    Examples
    --------
    >>> import theano
    >>> type(theano.get_default_mode()).__name__
    'Mode'
    """
    return get_mode(None)


def _with_tag_flags(mode: Mode) -> Mode:
    """Refine the default mode by the flags `optimizer_including`, `optimizer_excluding` and `optimizer_requiring`."""
    for tags, method in (
        (config.optimizer_including, "including"),
        (config.optimizer_excluding, "excluding"),
        (config.optimizer_requiring, "requiring"),
    ):
        if tags:
            mode = getattr(mode, method)(*tags.split(":"))
    return mode
