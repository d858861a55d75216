"""The attributes of nodes, for copies and pickles, and hooks of nodes that modules above set."""

from __future__ import annotations

import copyreg
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ._nodes import Apply, Node, Variable


NodeT = TypeVar("NodeT", bound="Node")


#: Slots that say nothing of a node itself: copies and pickles leave them out.
_NOT_STATE = ("__weakref__", "__dict__", "_mark", "_membership", "_place", "_position")
UNSET = object()


class _Slots:
    """Frequent facts about a class of nodes; one object each, so that pickles refer to it."""

    def __init__(self, cls: type) -> None:
        names: list[str] = []
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            names.extend(s for s in ((slots,) if isinstance(slots, str) else slots) if s not in _NOT_STATE)
        self.names = tuple(names)
        self.values = operator.attrgetter(*names)
        self.arguments = (cls,)
        self.is_marked = hasattr(cls, "_mark")
        self.is_plain = _pickles_as_nodes_do(cls)


#: How instances of a class are pickled.
_PICKLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")
_slots_of: dict[type, _Slots] = {}


def _pickles_as_nodes_do(cls: type) -> bool:
    """Tell whether nothing about the pickles of a class of nodes is its own."""
    if cls in copyreg.dispatch_table:
        return False
    definers = (base for name in _PICKLING for base in cls.__mro__ if name in base.__dict__)
    return all(base is object or base.__module__ == f"{__package__}._nodes" for base in definers)


def _slots_of_class(cls: type) -> _Slots:
    entry = _slots_of.get(cls)
    if entry is None:
        entry = _slots_of[cls] = _Slots(cls)
    return entry


def _slots(node: Node) -> _Slots:
    return _slots_of_class(type(node))


def is_plain(cls: type) -> bool:
    """Tell whether nodes of a class are pickled as all others are."""
    return _slots_of_class(cls).is_plain


def slot_names(cls: type) -> tuple[str, ...]:
    """Return the names of the slots of a class of nodes, without slots that hold no state."""
    return _slots_of_class(cls).names


def new_arguments(node: Node) -> tuple[type]:
    """Return the arguments with which :func:`new_node` makes a node of the same class."""
    return _slots(node).arguments


def slot_state(node: Node) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the names and the values of the attributes that are set."""
    slots = _slots(node)
    try:
        return slots.names, slots.values(node)
    except AttributeError:
        state = {name: value for name in slots.names if (value := getattr(node, name, UNSET)) is not UNSET}
        return tuple(state), tuple(state.values())


def slot_values(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield the names and the values of the attributes that are set."""
    return zip(*slot_state(node), strict=True)


def with_same_slots(node: NodeT) -> NodeT:
    """Return a new node of the same class with the same attributes and a tag of its own."""
    cls = type(node)
    slots = _slots_of.get(cls) or _slots_of_class(cls)
    new = cls.__new__(cls)
    if slots.is_marked:
        new._mark = new._membership = None  # type: ignore[attr-defined]  # of apply nodes
    try:
        values = slots.values(node)
    except AttributeError:  # not all are set
        for slot, value in slot_values(node):
            setattr(new, slot, value)
    else:
        for slot, value in zip(slots.names, values):  # noqa: B905  # one value for each name
            setattr(new, slot, value)
    attributes = getattr(node, "__dict__", None)
    if attributes:
        new.__dict__.update(attributes)
    if node._tag is not None:
        new._tag = node._tag.copy()
    return new


def copy_of_apply(node: Any) -> Any:
    """Return a copy of a node of the class `Apply` itself, without inputs and outputs: graphs are copied often."""
    new: Any = object.__new__(type(node))
    new._mark = new._membership = None
    new.op = node.op
    new.origin = node.origin
    new._tag = None if node._tag is None else node._tag.copy()
    return new


def new_node(cls: type[NodeT], ancestors: object = None) -> NodeT:
    """Return a node without attributes; pickles put its ancestors before it."""
    node = cls.__new__(cls)
    if (_slots_of.get(cls) or _slots_of_class(cls)).is_marked:
        node._mark = node._membership = None  # type: ignore[attr-defined]  # of apply nodes
    return node


# ---- The hook for pickles and deep copies, set by the module that walks over graphs


class _PicklingHook:
    """The functions that nodes call; set once, when the package is imported."""

    #: The reduced form of a variable; None where it is pickled with its attributes.
    reduce_variable: Callable[[Variable], tuple[Any, ...] | None]
    #: The reduced form of an apply node, by a function that reduces it with its attributes.
    reduce_apply: Callable[[Apply, Callable[[], tuple[Any, ...]]], tuple[Any, ...]]
    deep_copy: Callable[[Node, dict[int, Any]], Any]


pickling_hook = _PicklingHook()


# ---- The hook behind `Variable.eval`, set by the layer that compiles


class _EvalHook:
    """Holder of the function behind :meth:`Variable.eval`; one object so that a layer above can set it once."""

    function: Callable[[Variable, Mapping[Any, Any]], Any] | None = None
    functions: Callable[[Variable], Any] | None = None


eval_hook = _EvalHook()


def set_eval_hook(
    function: Callable[[Variable, Mapping[Any, Any]], Any], functions: Callable[[Variable], Any] | None = None
) -> None:
    """Set the function behind :meth:`Variable.eval`; called once by the layer that compiles graphs.

    Parameters
    ----------
    function : callable
        Evaluates a variable for given values.
    functions : callable, optional
        Returns the functions that are kept for a variable, None where it has not been evaluated.
    """
    eval_hook.function = function
    eval_hook.functions = functions


# ---- The hook for notebooks, set by the printers


class _HtmlHook:
    """Holder of the function behind :meth:`ShownAsHtml._repr_html_`; one object so that it can be set once."""

    function: Callable[[Any], str] | None = None


html_hook = _HtmlHook()


class ShownAsHtml:
    """Gives a class that :func:`printable_graph` knows its picture in notebooks."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        assert html_hook.function is not None, "the package has been imported whole"
        return html_hook.function(self)
