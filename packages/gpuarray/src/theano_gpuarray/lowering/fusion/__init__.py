"""Fusion for launches: steps of a region that one launch can do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ._beside import BesideFusion as BesideFusion, fuse_beside as fuse_beside
from ._bias_gradients import BiasGradientFusion as BiasGradientFusion, fuse_bias_gradients as fuse_bias_gradients
from ._elementwise import ElementwiseFusion as ElementwiseFusion, fuse_elementwise as fuse_elementwise
from ._epilogues import EpilogueFusion as EpilogueFusion, fuse_epilogues as fuse_epilogues
from ._groups import Numbered
from ._rows import RowFusion as RowFusion, fuse_rows as fuse_rows
from ._updates import UpdateFusion as UpdateFusion, fuse_updates as fuse_updates

__all__ = [
    "BesideFusion",
    "BiasGradientFusion",
    "ElementwiseFusion",
    "EpilogueFusion",
    "RowFusion",
    "UpdateFusion",
    "fuse",
    "fuse_beside",
    "fuse_bias_gradients",
    "fuse_elementwise",
    "fuse_epilogues",
    "fuse_rows",
    "fuse_updates",
]


def fuse(
    steps: Sequence[Numbered], outputs: Collection[int], counting: Collection[int] = frozenset()
) -> list[Numbered]:
    """Put steps together that one launch can do.

    Parameters
    ----------
    steps : sequence of (int, Step)
        With their numbers.
    outputs : collection of int
        Values that are read when all steps have run.
    counting : collection of int
        Values that are vectors of the numbers 0, 1, 2, ...
    """
    steps = fuse_rows(steps, outputs, counting)
    for rule in (fuse_epilogues, fuse_beside, fuse_bias_gradients, fuse_updates, fuse_elementwise):
        steps = rule(steps, outputs)
    return list(steps)
