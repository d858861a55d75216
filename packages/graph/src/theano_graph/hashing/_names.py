"""Whose code a module has, and by what names functions and classes are found."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from .._user_code import is_library

_KNOWN_PACKAGES = frozenset({"numpy", "scipy", "builtins"})
#: Folders of the standard library: a program of the user may have a module of the same name.
#: `sysconfig` would read how Python was built first, which takes longer than all else here.
_FOLDER = os.path.dirname(os.__file__)
_FOLDERS = tuple({path + os.sep for path in (_FOLDER, _FOLDER.replace(sys.base_prefix, sys.base_exec_prefix, 1))})


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
        return file is None or _is_pythons(file)
    return file is not None and is_library(file)


def is_known_to_be_found(package: str) -> bool:
    """Tell whether a package, which need not have been loaded yet, is a known one."""
    if package in _KNOWN_PACKAGES or package in sys.modules or package not in sys.stdlib_module_names:
        return is_known_module(package)
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    # What is built in, or frozen, has no file.
    return spec is not None and (not spec.has_location or spec.origin is None or _is_pythons(spec.origin))


def _is_pythons(file: str) -> bool:
    """Tell whether a file is one of the standard library; other compiled ones cannot be read at any rate."""
    if not file.endswith((".py", ".pyc")):
        return True
    return file.startswith(_FOLDERS) and "-packages" + os.sep not in file


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
