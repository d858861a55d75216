"""The content of functions and classes that are written by users: their bytecode, and all that it leads to.

Code of the library, of Python and of the numerical packages is named, not read: who compares hashes between processes
compares the versions of these, too.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ._modules import taken_from_modules
from ._names import known_name

#: Parts of a class that say nothing of what it does, or that are found elsewhere.
_NO_CONTENT = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__parameters__"}
    | {"__orig_bases__", "__static_attributes__", "__firstlineno__", "__annotations__", "__qualname__"}
)
#: What counts by the functions inside of it.
_WRAPPERS = (staticmethod, classmethod, property)


def parts_of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class of the user consists of, by name: its bases, its metaclass, and what its body defines."""
    yield "bases", cls.__bases__
    if known_name(type(cls)) is None:
        yield "metaclass", type(cls)
    for name, value in sorted(vars(cls).items()):
        if name in _NO_CONTENT or type(value).__name__ in ("member_descriptor", "getset_descriptor"):
            continue
        kind = type(value)
        if issubclass(kind, (staticmethod, classmethod)):
            yield f"{name} {kind.__name__}", value.__func__
        elif issubclass(kind, property):
            yield name, (value.fget, value.fset, value.fdel)
        else:
            yield name, value
        if issubclass(kind, _WRAPPERS) and known_name(kind) is None:
            yield f"kind of {name}", (kind, getattr(value, "__dict__", None))


def parts_of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function of the user consists of: its code, its defaults, and the values of the names that it uses.

    Raises
    ------
    NoStructuralHashError
        If it uses a module of the user's as a whole, or imports one that has not been loaded.
    """
    yield "defaults", function.__defaults__
    yield "keyword defaults", function.__kwdefaults__
    yield "attributes", {k: v for k, v in vars(function).items() if k != "__wrapped__"}
    for cell in function.__closure__ or ():
        try:
            yield "closure", cell.cell_contents
        except ValueError:
            yield "closure", None
    names: dict[str, None] = {}
    codes = list(codes_in(function.__code__))
    for code in codes:
        yield "code", (code.co_code, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield "names", (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        yield "constants", [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield "exceptions", getattr(code, "co_exceptiontable", b"")
        names.update(dict.fromkeys(code.co_names))
    for name in names:
        if name in function.__globals__:
            yield name, _global(function.__globals__[name])
        elif name in vars(builtins) and known_name(vars(builtins)[name]) is None:  # put there by a program
            yield name, _global(vars(builtins)[name])
    yield from taken_from_modules(codes, function.__globals__)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    waiting = [code]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += [c for c in found.co_consts if isinstance(c, CodeType)]


def _global(value: Any) -> Any:
    """Return by what a global counts: a module by its name, since what is taken from it is told besides."""
    return f"module {value.__name__}" if isinstance(value, ModuleType) else value
