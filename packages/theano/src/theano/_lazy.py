"""Names that are looked up in the testing package when asked for, so that `import theano` goes without it."""

from __future__ import annotations

import importlib

FROM_TESTING = frozenset({"numeric_grad", "verify_grad"})


def from_testing(module: str, name: str) -> object:
    """Return a helper for tests, or raise what a module without the name raises."""
    if name in FROM_TESTING:
        return getattr(importlib.import_module("theano.tests.unittest_tools"), name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
