"""Products of matrices as libraries want them described: sizes, leading dimensions, transposes."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np

from theano_graph import config, record

from ..codegen import DeviceOperand
from ..contexts import GpuContext

__all__ = ["LibraryProduct", "has_products", "library_product"]

#: Lengths are 32-bit numbers there.
_MOST = 2**31 - 1
#: For each context, the dtypes that have been asked for.
_products: WeakKeyDictionary[GpuContext, dict[str, bool]] = WeakKeyDictionary()


@record
class Matrices:
    """A matrix, or a stack of them, in elements: offset, leading dimension, stride from matrix to matrix."""

    operand: DeviceOperand
    offset: int
    leading: int
    stride: int
    transposed: bool


@record
class LibraryProduct:
    """A product of row-major matrices: ``z[m, n] = a[m, k] @ b[k, n]``, maybe of a stack of them.

    Its dtype is "tf32" where matrices of float32 may be rounded before they are multiplied.
    """

    dtype: str
    sizes: tuple[int, int, int, int]
    a: Matrices
    b: Matrices
    z: Matrices


def has_products(context: GpuContext, dtype: str) -> bool:
    """Tell whether a library multiplies matrices of a dtype; found out by a product of one element."""
    products = _products.setdefault(context, {})
    if dtype not in products:
        itemsize = np.dtype(dtype).itemsize
        memory = context.allocate(3 * itemsize)
        memory.fill(0, 3 * itemsize, 0)
        a, b, z = ((memory, k, 1, 1) for k in range(3))
        products[dtype] = context.native.product(dtype, (False, False), (1, 1, 1, 1), 1.0, a, b, 0.0, z)
    return products[dtype]


def library_product(
    z: DeviceOperand, a: DeviceOperand, b: DeviceOperand, factors: Iterable[float | DeviceOperand] = ()
) -> LibraryProduct | None:
    """Describe a product for a library; None where the strides or lengths of an operand are none that libraries know.

    Parameters
    ----------
    z, a, b : DeviceOperand
    factors : iterable of float or DeviceOperand
        The scale of the product. Libraries want factors of float16 as float32, which are on the host alone.
    """
    if z.dtype == "float16" and any(isinstance(factor, DeviceOperand) for factor in factors):
        return None
    first, second, result = (_matrices(operand) for operand in (a, b, z))
    m, n = z.shape[-2:]
    sizes = m, n, a.shape[-1], z.shape[0] if z.ndim == 3 else 1
    if first is None or second is None or result is None or result.transposed:
        return None
    if max(*sizes, first.leading, second.leading, result.leading) > _MOST:
        return None
    dtype = "tf32" if z.dtype == "float32" and config.gpuarray.tf32 else z.dtype
    return LibraryProduct(dtype, sizes, first, second, result)


def _matrices(operand: DeviceOperand) -> Matrices | None:
    itemsize = operand.itemsize
    if operand.offset % itemsize or any(step % itemsize for step in operand.strides):
        return None
    rows, columns = operand.shape[-2:]
    down, across = (step // itemsize for step in operand.strides[-2:])
    stride = operand.strides[0] // itemsize if operand.ndim == 3 and operand.shape[0] > 1 else rows * columns
    offset = operand.offset // itemsize
    if (across == 1 or columns == 1) and (down >= columns or rows == 1) and stride >= 0:
        return Matrices(operand, offset, max(down if rows > 1 else columns, 1), stride, False)
    if (down == 1 or rows == 1) and (across >= rows or columns == 1) and stride >= 0:
        return Matrices(operand, offset, max(across if columns > 1 else rows, 1), stride, True)
    return None
