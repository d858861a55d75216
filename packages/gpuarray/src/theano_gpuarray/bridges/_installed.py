"""Libraries of devices that somebody may have installed."""

from __future__ import annotations

import importlib
from typing import Any

from theano_graph import format_error

__all__ = ["library"]


def library(name: str) -> Any:
    """Return a module of another library.

    Raises
    ------
    ImportError
        If it is not installed, or does not work here.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            format_error(f"{name} cannot be imported: {error}", hint=f"pip install 'theano-gpuarray[{package}]'")
        ) from error
