"""The C contract of ops and types as base classes whose methods raise.

No op has to derive from these: the machine asks each op for the methods that it defines. They are for programs that
derive from them, ask `isinstance`, or call methods of the base class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theano_graph import MissingRuleError, Op, format_error

_SIMPLE = (
    "c_headers",
    "c_header_dirs",
    "c_libraries",
    "c_lib_dirs",
    "c_support_code",
    "c_compile_args",
    "c_no_compile_args",
    "c_init_code",
)
_OF_NODES = (
    "c_code",
    "c_code_cleanup",
    "c_support_code_apply",
    "c_support_code_struct",
    "c_init_code_apply",
    "c_init_code_struct",
    "c_cleanup_code_struct",
)


def _undefined(name: str) -> Callable[..., Any]:
    """Return a method of the contract that is not defined; the machine passes over it."""

    def method(self: Any, *args: Any) -> Any:
        raise MissingRuleError(
            format_error(f"{type(self).__name__} defines no {name}", hint=f"define {type(self).__qualname__}.{name}")
        )

    method.__name__ = name
    method.__doc__ = f"Raise MethodNotDefined: there is no {name} yet."
    method.is_default = True  # type: ignore[attr-defined]
    return method


def _version(self: Any, *args: Any) -> tuple[Any, ...]:
    """Return no version: compiled code is found by its text."""
    return ()


def _with_methods(*names: str) -> Callable[[type], type]:
    def fill(cls: type) -> type:
        for name in names:
            setattr(cls, name, _undefined(name))
        return cls

    return fill


class _ForAllOps(type):
    """Lets every op count as an instance, and every class of ops as a subclass."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Op) or super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Op) or super().__subclasscheck__(subclass)


@_with_methods(*_SIMPLE)
class CLinkerObject:
    """The C code for all nodes of an op, or all variables of a type."""

    __module__ = "theano.gof.op"
    c_code_cache_version = _version


@_with_methods(*_OF_NODES)
class CLinkerOp(CLinkerObject, metaclass=_ForAllOps):
    """The C code of a node; each op may define it, derived from this class or not."""

    __module__ = "theano.gof.op"
    c_code_cache_version_apply = _version


@_with_methods(*_SIMPLE, *_OF_NODES)
class HideC:
    """Hides the C code of the class that stands after it among the bases, so that the op runs in Python."""

    __module__ = "theano.gof.cc"
    c_code_cache_version = _version
    c_code_cache_version_apply = _version
