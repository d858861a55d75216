"""Random numbers on devices."""

from ._mrg import MRGKernel as MRGKernel, mrg_text as mrg_text

__all__ = ["MRGKernel", "mrg_text"]
