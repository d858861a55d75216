"""Fusion for launches: steps of a region that one launch can do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ._groups import Numbered
from ._rows import RowFusion as RowFusion, fuse_rows as fuse_rows

__all__ = ["RowFusion", "fuse", "fuse_rows"]


def fuse(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put steps together that one launch can do.

    Parameters
    ----------
    steps : sequence of (int, Step)
        With their numbers.
    outputs : collection of int
        Values that are read when all steps have run.
    """
    return fuse_rows(steps, outputs)
