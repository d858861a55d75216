"""Questions to ops and types about their C code: their part of the contract, in any of its signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from theano_graph import Generic, MissingRuleError, RuleTable, Type, format_error

from .._c_interface import CLinkerType, Sub

#: C sides of types that have none of their own, by class.
c_interface: RuleTable[CLinkerType] = RuleTable("c_interface")


class NoCCode(Exception):
    """A node cannot be written in C; the text says why."""


class GenericInterface(CLinkerType):
    """The C side of any Python object: the variable is a ``PyObject *``."""

    def c_declare(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Declare the pointer."""
        return f"PyObject *{name};\n"

    def c_init(self, name: str, sub: Sub) -> str:
        """Start without an object."""
        return f"{name} = NULL;\n"

    def c_extract(self, name: str, sub: Sub, check_input: bool = True) -> str:
        """Take a reference."""
        return f"Py_INCREF(py_{name});\n{name} = py_{name};\n"

    def c_sync(self, name: str, sub: Sub) -> str:
        """Hand the object over; NULL becomes None."""
        return f"""
{{
    PyObject *theano_result = {name} == NULL ? Py_None : {name};
    Py_INCREF(theano_result);
    Py_XDECREF(py_{name});
    py_{name} = theano_result;
}}
"""

    def c_cleanup(self, name: str, sub: Sub) -> str:
        """Let go of the reference."""
        return f"Py_XDECREF({name});\n"

    def c_code_cache_version(self) -> tuple[int, ...]:
        """Return the version of this code."""
        return (1,)


c_interface.register(Generic)(GenericInterface())


def method_of(owner: Any, name: str) -> Callable[..., Any] | None:
    """Return a method of an op or a type, or for a type that of its registered C side; None where there is none."""
    method = getattr(owner, name, None)
    if method is None and isinstance(owner, Type):
        method = getattr(c_interface.get(owner), name, None)
    # A base class may have methods that stand for undefined ones.
    return method if callable(method) and not getattr(method, "is_default", False) else None


def ask(owner: Any, name: str, *args: Any, default: Any) -> Any:
    """Call a method; `default` where it is not defined, or says itself that it is not."""
    method = method_of(owner, name)
    if method is None:
        return default
    try:
        return method(*args)
    except (MissingRuleError, NotImplementedError):
        return default


def require(owner: Any, name: str, *args: Any) -> str:
    """Call a method that returns C text.

    Raises
    ------
    NoCCode
        If there is none, or it does not apply to this case.
    """
    method = method_of(owner, name)
    if method is None:
        raise NoCCode(f"{type(owner).__qualname__} ({owner}) does not define {name}")
    try:
        return str(method(*args))
    except (MissingRuleError, NotImplementedError) as error:
        raise NoCCode(str(error) or f"{name} of {owner} does not apply here") from error


def require_checked(owner: Any, name: str, variable: str, sub: Sub, check_input: bool) -> str:
    """Call `c_declare`, `c_extract` or `c_extract_out`, in the form with `check_input` or in the one without."""
    method = method_of(owner, name)
    if method is not None and not _takes(method, variable, sub, check_input):
        return require(owner, name, variable, sub)
    return require(owner, name, variable, sub, check_input)


def ask_list(owner: Any, name: str, compiler: str) -> list[str]:
    """Call a method that returns a list and may want to know the compiler."""
    method = method_of(owner, name)
    if method is None:
        return []
    args = (compiler,) if _takes(method, compiler) else ()
    return texts(ask(owner, name, *args, default=()), owner, name)


def texts(texts: Any, owner: Any, name: str) -> list[str]:
    """Return a string, or a sequence of strings, as a list without empty ones.

    Raises
    ------
    TypeError
        For anything else.
    """
    items = [texts] if isinstance(texts, str) else texts
    if items is None:
        return []
    if not isinstance(items, Sequence) or not all(isinstance(item, str) for item in items):
        raise TypeError(
            format_error(
                f"{name} of {owner} gives {texts!r}",
                hint=f"return a string or a list of strings from {type(owner).__qualname__}.{name}",
            )
        )
    return [item for item in items if item.strip()]


def version_of(owner: Any) -> tuple[Any, ...]:
    """Return `c_code_cache_version()`; empty where it is not defined."""
    version = ask(owner, "c_code_cache_version", default=())
    return tuple(version) if isinstance(version, (tuple, list)) else (version,)


def _takes(method: Callable[..., Any], *args: Any) -> bool:
    """Tell whether a method can be called with so many positional arguments."""
    function = getattr(method, "__func__", None)
    return _accepts(method, len(args)) if function is None else _accepts(function, len(args) + 1)


@lru_cache(maxsize=1024)
def _accepts(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*(None,) * count)
    except (TypeError, ValueError):
        return False
    return True
