"""Random numbers on devices."""

from ._categories import CategoriesKernel as CategoriesKernel
from ._mrg import MRGKernel as MRGKernel, mrg_text as mrg_text

__all__ = ["CategoriesKernel", "MRGKernel", "mrg_text"]
