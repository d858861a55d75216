"""Sums over alignments of labels with sequences, on devices."""

from . import _alignments as _alignments
from ._kernel import AlignmentsKernel as AlignmentsKernel

__all__ = ["AlignmentsKernel"]
