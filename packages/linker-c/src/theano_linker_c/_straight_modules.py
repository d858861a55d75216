"""Modules with rules for straight-line C, which are imported when somebody writes any."""

from __future__ import annotations

import importlib

__all__ = ["announce_straight_rules", "import_straight_rules"]

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
