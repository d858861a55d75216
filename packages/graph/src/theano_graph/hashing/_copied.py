"""Which variables say nothing by their class: those whose copies are plain ones."""

from __future__ import annotations

from functools import cache
from types import GetSetDescriptorType
from typing import Any

from .._expression._nodes import Variable
from ._names import known_name

#: What is asked when an object is made, shown to somebody or described, which copying a graph does not do.
_NOT_COPYING = frozenset(
    {"__annotations__", "__dir__", "__doc__", "__format__", "__init__", "__init_subclass__", "__module__", "__new__"}
    | {"__repr__", "__sizeof__", "__slots__", "__str__", "__subclasshook__", "_repr_html_", "auto_name"}
    # What Python itself notes of a class, from 3.13 and 3.14 on.
    | {"__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__"}
)


@cache
def _looked_at() -> frozenset[str]:
    """Return the attributes of variables on which a copy may depend."""
    return frozenset(dir(Variable)) - _NOT_COPYING | {"__getattr__"}


def copies_plainly(kind: type[Variable]) -> bool:
    """Tell whether copies of the variables of a class are of the plain class that their type has.

    :meth:`Variable.clone` makes them so, if neither it nor anything that it reads has been replaced by code of the
    user's. Whatever else the class defines is then out of reach for all that is done with the copy.
    """
    if known_name(type(kind)) is None:
        return False
    known: dict[type, bool] = {}
    for name in _looked_at():
        owner = next(
            (base for base in kind.__mro__ if name in vars(base) and not _is_pythons(vars(base)[name])), object
        )
        if name == "clone" and owner is not Variable:
            return False
        if owner not in known:
            known[owner] = known_name(owner) is not None
        if not known[owner]:
            return False
    return True


def _is_pythons(value: Any) -> bool:
    """Tell whether Python itself has given a class an attribute: `__dict__` and `__weakref__` of its objects."""
    return isinstance(value, GetSetDescriptorType)


def has_attributes_in_the_way(variable: Any) -> bool:
    """Tell whether a variable itself has something in the place of what its class says of copies."""
    return not _looked_at().isdisjoint(vars(variable))
