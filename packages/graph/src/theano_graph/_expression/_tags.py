"""Scratchpads of nodes, and what stands for parameters that an op does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._nodes import Node
    from ._origin import Origin


class Tag:
    """A scratchpad on a node: any attribute may be set. It does not take part in comparisons.

    Attributes
    ----------
    trace : list of lists of tuple
        Where the node was made: one stack, outermost frame first, of (file, line number, function, source line). Worked
        out from the node's origin when asked for; empty when that is unknown.
    test_value : object
        A value to compute with while the graph is built; see the flag `compute_test_value`.
    nan_guard_mode_check : bool
        Set to False, it keeps the checks of NanGuardMode away from a variable, and from what replaces it.
    """

    __slots__ = ("__dict__", "_origin")
    test_value: Any
    nan_guard_mode_check: bool
    _origin: Origin | None

    def __getattr__(self, name: str) -> Any:
        if name == "trace":
            origin = getattr(self, "_origin", None)
            return [] if origin is None else [origin.entries()]
        raise AttributeError(f"the tag has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return "Tag(" + ", ".join(f"{k}={v!r}" for k, v in vars(self).items()) + ")"

    def copy(self) -> Tag:
        """Return a scratchpad with the same attributes."""
        new = Tag()
        new.__dict__.update(self.__dict__)
        return new


class _NoParams:
    """Stands for the parameters of an op that has none; there is one instance."""

    def __repr__(self) -> str:
        return "NoParams"

    def __reduce__(self) -> str:
        return "NoParams"


#: What :meth:`Apply.run_params` returns for an op without parameters.
NoParams = _NoParams()


class TagOfNode:
    """The attribute `tag` of nodes: a scratchpad that is made on first use; of the class, what scratchpads are."""

    def __get__(self, node: Node | None, owner: type[Node]) -> Any:
        if node is None:
            return Tag
        tag = node._tag
        if tag is None:
            tag = node._tag = Tag()
        if isinstance(tag, Tag):
            tag._origin = node.origin  # current also after a copy, a pickle or a change of the origin
        return tag

    def __set__(self, node: Node, value: Any) -> None:
        node._tag = value


class AutoName:
    """A name for each variable that somebody asks for one, numbered by ``Variable.__count__``; programs may set it."""

    def __get__(self, variable: Any, owner: Any = None) -> Any:
        if variable is None:
            return self
        name = vars(variable)["auto_name"] = f"auto_{next(owner.__count__)}"
        return name
