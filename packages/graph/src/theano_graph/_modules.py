"""Modules by name: those with the allowlists of archives, and earlier names of modules, which pickles still have."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from ._errors import TheanoError, is_library_module

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # the module with the real one is slow to import

_modules: list[str] = ["theano_graph.safe_loading.words"]
#: The module of a package with its table of earlier names.
_TABLE = "_module_aliases"
_tables: dict[str, dict[str, str]] = {}


class UnsafeArchiveError(TheanoError, pickle.UnpicklingError, ValueError):
    """An archive is damaged, or says something that loading it safely does not allow."""


def announce_words(module: str) -> None:
    """Announce a module whose function `words` yields the names that archives may use; the loader imports it.

    Parameters
    ----------
    module : str
        Its full name.
    """
    if module not in _modules:
        _modules.append(module)


def word_modules() -> tuple[str, ...]:
    """Return the names of the modules that were announced."""
    return tuple(_modules)


def load_aliases(package: str) -> dict[str, str]:
    """Return the table of earlier names of a package's modules, without the name of the package."""
    table = _tables.get(package)
    if table is None:
        try:
            table = import_module(f"{package}.{_TABLE}").ALIASES
        except ModuleNotFoundError:
            table = {}
        _tables[package] = table
    return table


def current_module(name: str, *, importing: bool = True) -> str:
    """Return the present name of a module of the library, for the name that a pickle has.

    Parameters
    ----------
    name : str
        A full name.
    importing : bool
        Whether the table of the package may be imported; otherwise one that is not there counts as empty.

    Examples
    --------
    >>> current_module("theano_graph._user_code")
    'theano_graph._errors'
    >>> current_module("numpy.ma")
    'numpy.ma'
    """
    package, _, inner = name.partition(".")
    if not is_library_module(package) or inner in ("", _TABLE):
        return name
    table = load_aliases(package) if importing else _tables.get(package, {})
    return f"{package}.{table.get(inner, inner)}"


class _AliasFinder(Loader):
    """Imports modules under earlier names. It stands last: only names that nothing else finds come here."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Describe a module with an earlier name, or a folder of such modules."""
        if current_module(name) != name:
            return ModuleSpec(name, self)
        package, _, folder = name.partition(".")
        is_folder = is_library_module(package) and folder not in ("", _TABLE)
        if is_folder and any(alias.startswith(f"{folder}.") for alias in load_aliases(package)):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in the place of the empty one."""
        name = current_module(module.__name__)
        if name != module.__name__:
            sys.modules[module.__name__] = import_module(name)


sys.meta_path.append(_AliasFinder())
