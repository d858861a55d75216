"""Results of calls, kept in memory and in a file."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

_logger = logging.getLogger("theano.gof.callcache")


class CallCache:
    """Results of functions, by the functions and their arguments.

    Parameters
    ----------
    filename : str, optional
        A file with results that are taken up, and that :meth:`persist` writes.

    Examples
    --------
    >>> from theano.gof import callcache
    >>> results = callcache.CallCache()
    >>> results.call(abs, (-3,)), len(results.cache)
    (3, 1)
    """

    def __init__(self, filename: str | None = None) -> None:
        self.filename = filename
        self.cache: dict[Hashable, Any] = {}
        if filename is not None and Path(filename).exists():
            with Path(filename).open("rb") as file:
                self.cache = pickle.load(file)

    def persist(self, filename: str | None = None) -> None:
        """Write the results to a file, by default the one that they came from."""
        target = self.filename if filename is None else filename
        if target is None:
            raise ValueError("this cache has no file; pass the name of one")
        with Path(target).open("wb") as file:
            pickle.dump(self.cache, file)

    def call(self, fn: Callable[..., Any], args: Sequence[Any] = (), key: Hashable = None) -> Any:
        """Return ``fn(*args)``, computed once for each `key`; by default for each function and arguments."""
        key = (fn, tuple(args)) if key is None else key
        if key in self.cache:
            _logger.debug("cache hit %i", len(self.cache))
        else:
            _logger.debug("cache miss %i", len(self.cache))
            self.cache[key] = fn(*args)
        return self.cache[key]
