"""Products of matrices on devices."""

from ._matrix_product import ProductEpilogueKernel as ProductEpilogueKernel
from ._tiles import TiledProduct as TiledProduct, launch_product as launch_product

__all__ = ["ProductEpilogueKernel", "TiledProduct", "launch_product"]
