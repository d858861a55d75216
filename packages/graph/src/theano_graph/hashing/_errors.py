"""The error of the structural hash."""

from __future__ import annotations

from .._errors import TheanoError


class NoStructuralHashError(TheanoError, ValueError):
    """Something in a graph has no content that could be compared between processes."""
