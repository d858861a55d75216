"""The content of functions and classes that are written by users: their bytecode, and all that it leads to.

Code of the library, of Python and of the numerical packages is named, not read: who compares hashes between processes
compares the versions of these, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dis import get_instructions
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._errors import compose
from .._user_code import is_library
from ._errors import NoStructuralHashError

_KNOWN_PACKAGES = frozenset({"numpy", "scipy", "builtins"})
#: Folders of the standard library: a program of the user may have a module of the same name.
#: `sysconfig` would read how Python was built first, which takes longer than all else here.
_FOLDER = os.path.dirname(os.__file__)
_FOLDERS = tuple({path + os.sep for path in (_FOLDER, _FOLDER.replace(sys.base_prefix, sys.base_exec_prefix, 1))})
#: Parts of a class that say nothing of what it does, or that are found elsewhere.
_NO_CONTENT = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__abstractmethods__", "_abc_impl", "__parameters__"}
    | {"__orig_bases__", "__static_attributes__", "__firstlineno__", "__annotations__", "__qualname__"}
)


def is_known_module(name: Any) -> bool:
    """Tell whether the code of a module is named by versions: the library's, Python's, or that of NumPy and SciPy."""
    if not isinstance(name, str) or name == "__main__":
        return False
    package = name.partition(".")[0]
    if package in _KNOWN_PACKAGES:
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if package in sys.stdlib_module_names:
        # What is built in or compiled may be anywhere, and no code of it could be read.
        return file is None or not file.endswith((".py", ".pyc")) or file.startswith(_FOLDERS)
    return file is not None and is_library(file)


def global_name(value: Any) -> str | None:
    """Return the name by which each process finds a function or class; None where there is none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module is None and type(value).__name__ in ("builtin_function_or_method", "ufunc"):
        module, name = "numpy" if type(value).__name__ == "ufunc" else "builtins", getattr(value, "__name__", None)
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    if found is None or not isinstance(name, str):
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is value else None


def known_name(value: Any) -> str | None:
    """Return the name of a function or class whose code is named by versions; None for others."""
    name = global_name(value)
    return name if name is not None and is_known_module(name.partition(":")[0]) else None


def parts_of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class of the user consists of, by name: its bases, its metaclass, and what its body defines."""
    yield "bases", cls.__bases__
    if known_name(type(cls)) is None:
        yield "metaclass", type(cls)
    for name, value in sorted(vars(cls).items()):
        if name in _NO_CONTENT or type(value).__name__ in ("member_descriptor", "getset_descriptor"):
            continue
        if isinstance(value, (staticmethod, classmethod)):
            yield f"{name} {type(value).__name__}", value.__func__
        elif isinstance(value, property):
            yield name, (value.fget, value.fset, value.fdel)
        else:
            yield name, value


def parts_of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield what a function of the user consists of: its code, its defaults, and the values of the names that it uses.

    Raises
    ------
    NoStructuralHashError
        If it uses a module of the user's as a whole, or imports from one.
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
    for code in codes_in(function.__code__):
        yield "code", (code.co_code, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        yield "names", (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        yield "constants", [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield "exceptions", getattr(code, "co_exceptiontable", b"")
        names.update(dict.fromkeys(code.co_names))
        _check_imports(code)
    for name in names:
        if name in function.__globals__:
            yield name, _global(name, function.__globals__[name])


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the functions inside it."""
    waiting = [code]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += [c for c in found.co_consts if isinstance(c, CodeType)]


def _check_imports(code: CodeType) -> None:
    """Refuse code that imports from a module of the user's when it runs."""
    steps = [step for step in get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for i, step in enumerate(steps):
        # The constants before it say how many packages up the name starts, and what is taken from the module.
        if step.opname == "IMPORT_NAME" and (steps[i - 2].argval or not is_known_module(step.argval.partition(".")[0])):
            what = f"the module {step.argval}" if step.argval else "a module"
            raise NoStructuralHashError(
                compose(
                    f"the code imports {what} when it runs, so that nobody can tell on what it depends",
                    mend="import at the top of the module what is used.",
                )
            )


def _global(name: str, value: Any) -> Any:
    if not isinstance(value, ModuleType):
        return value
    if is_known_module(value.__name__):
        return f"module {value.__name__}"
    raise NoStructuralHashError(
        compose(
            f"the code uses the module {value.__name__} as a whole, so that nobody can tell on what it depends",
            mend=f"import from it what is used: from {value.__name__} import ...",
        )
    )
