"""Modules that are imported on first use only: slow packages, and rules for straight-line C."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import threading
from functools import cache
from types import ModuleType
from typing import Any

# ---- Modules with rules for straight-line C, which are imported when somebody writes any

_modules: dict[str, None] = {}


def announce_straight_rules(module: str) -> None:
    """Name a module of a higher layer that registers rules with `theano_linker_c.straight`.

    Parameters
    ----------
    module : str
        It is imported before the first program is written.
    """
    _modules[module] = None


def import_straight_rules() -> None:
    """Import the announced modules, once, in the first thread that asks."""
    for module in list(_modules):
        importlib.import_module(module)
        _modules.pop(module, None)


@cache
def scipy_special() -> Any:
    """Return `scipy.special`."""
    import scipy.special

    module: ModuleType = scipy.special
    return module


@cache
def cython_special() -> Any:
    """Return the module of SciPy that exports its special functions as C function pointers."""
    import scipy.special.cython_special

    module: ModuleType = scipy.special.cython_special
    return module


@cache
def scipy_blas() -> Any:
    """Return the extension module of SciPy that exports its BLAS routines as C function pointers."""
    return _linear_algebra("cython_blas")


@cache
def scipy_lapack() -> Any:
    """Return the extension module of SciPy that exports its LAPACK routines as C function pointers."""
    return _linear_algebra("cython_lapack")


#: Extension modules that are loaded by themselves, which each of them allows once; threads wait for the first.
_loaded: dict[str, Any] = {}
_loading = threading.RLock()


def _linear_algebra(short: str) -> Any:
    """Return a module of `scipy.linalg`, loaded by the first thread that asks."""
    with _loading:
        if short not in _loaded:
            _loaded[short] = _load_alone(short)
        return _loaded[short]


def _load_alone(short: str) -> Any:
    """Load a module by itself: importing all of `scipy.linalg` for it takes ten times as long."""
    name = f"scipy.linalg.{short}"
    if name in sys.modules:
        return sys.modules[name]
    package = importlib.util.find_spec("scipy")
    folders = [os.path.join(path, "linalg") for path in (package.submodule_search_locations or ())] if package else []
    spec = importlib.machinery.PathFinder.find_spec(short, folders)
    if spec is None or spec.origin is None or sys.platform == "win32":
        return importlib.import_module(name)
    loader = importlib.machinery.ExtensionFileLoader(name, spec.origin)
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, loader, origin=spec.origin))
    loader.exec_module(module)
    # It enters itself in the table of modules; a later import by SciPy has to go its own way, and finds this module.
    sys.modules.pop(name, None)
    return module


@cache
def safe_archive() -> Any:
    """Return the module that loads archives from anywhere; few programs do."""
    return importlib.import_module(".archive._safe", __package__)


@cache
def exporting() -> Any:
    """Return the module that writes functions as C; few programs do."""
    return importlib.import_module(".export", __package__)


@cache
def loop_code() -> Any:
    """Return the package of code for loops and functions that are busy; few programs have such."""
    return importlib.import_module(".loop_code", __package__)


@cache
def cached_functions() -> Any:
    """Return the module that reads and writes functions on disk; not all programs have such."""
    return importlib.import_module("._function._disk_files", __package__)
