"""Errors of batches."""

from __future__ import annotations


class BatchError(TypeError):
    """An expression cannot be computed for a batch, or a batch does not fit its variable."""
