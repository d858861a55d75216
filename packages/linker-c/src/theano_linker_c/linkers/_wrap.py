"""Linkers that call code of the user around every node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from theano_graph import Apply, FunctionGraph, format_error

from ..program import Hooks, Machine, Program, Thunk
from ..targets import PYTHON
from ._linker import Linker
from ._step import StepMachine

Wrapper = Callable[..., None]


class WrapLinker(Linker):
    """Runs graphs through a function that is called for every node.

    Parameters
    ----------
    linkers : Linker or sequence of Linker
        With several, each node has a thunk of each; the first one's results are those of the function, the others work
        on copies.
    wrapper : callable
        ``wrapper(i, node, *thunks)`` is called for node number i. It has to call the thunks, and may look at
        ``thunk.inputs`` and ``thunk.outputs``, lists of one-element lists, before and after.

    Examples
    --------
    >>> from theano_linker_c import Mode, function, generic, view_op
    >>> from theano_linker_c.linkers import PerformLinker, WrapLinker
    >>> def show(i, node, thunk):
    ...     thunk()
    ...     print(i, node.op, thunk.outputs[0][0])
    >>> x = generic("x")
    >>> mode = Mode(WrapLinker(PerformLinker(), show), None)
    >>> function([x], view_op(view_op(x)), mode=mode)(5)
    0 ViewOp 5
    1 ViewOp 5
    2 DeepCopyOp 5
    5
    """

    __slots__ = ("linkers", "wrapper")
    linkers: tuple[Linker, ...]
    wrapper: Wrapper

    def __init__(self, linkers: Linker | Sequence[Linker], wrapper: Wrapper, name: str | None = None) -> None:
        chosen = (linkers,) if isinstance(linkers, Linker) else tuple(linkers)
        if not chosen:
            raise ValueError(format_error("WrapLinker: there is no linker to wrap", hint="pass one linker or more."))
        first = chosen[0]
        name = name or f"wrapped {'+'.join(linker.name for linker in chosen)}"
        target = next((linker.target for linker in chosen if linker.target != PYTHON), PYTHON)
        Linker.__init__(self, name, target, first.allow_gc, first.native_only, first.lazy)
        object.__setattr__(self, "linkers", chosen)
        object.__setattr__(self, "wrapper", wrapper)

    def machine(self, program: Program, hooks: Hooks, fgraph: FunctionGraph, *, thread_scale: float = 1.0) -> Machine:
        """Return a machine that runs each node through the wrapper."""
        targets = [linker.target for linker in self.linkers]
        return StepMachine(program, hooks, self.wrapper, targets, allow_gc=self.frees)


def WrapLinkerMany(linkers: Sequence[Linker], wrappers: Sequence[Wrapper]) -> WrapLinker:
    """Return a :class:`WrapLinker` that calls several functions for every node, one after the other.

    Parameters
    ----------
    linkers : sequence of Linker
    wrappers : sequence of callable
        Each is called ``wrapper(i, node, *thunks)``.
    """

    def wrapper(i: int, node: Apply, *thunks: Thunk) -> None:
        for each in wrappers:
            each(i, node, *thunks)

    return WrapLinker(linkers, wrapper)
