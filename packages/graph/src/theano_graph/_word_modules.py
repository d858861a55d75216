"""Which modules say what archives may name when they are loaded safely: each layer announces its own."""

from __future__ import annotations

import pickle

from ._errors import TheanoError

_modules: list[str] = ["theano_graph.safe_loading.words"]


class UnsafeArchiveError(TheanoError, pickle.UnpicklingError, ValueError):
    """An archive is damaged, or says something that loading it safely does not allow."""


def announce_words(module: str) -> None:
    """Announce a module whose function `words` yields what archives may name; it is imported when one is loaded.

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
