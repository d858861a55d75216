"""Products of matrices on devices."""

from ._matrix_product import ProductEpilogueKernel as ProductEpilogueKernel, add_product as add_product
from ._tiles import TiledProduct as TiledProduct, launch_product as launch_product

__all__ = ["ProductEpilogueKernel", "TiledProduct", "add_product", "launch_product"]
