"""What is computed: tensors in order along an axis, and their largest or smallest elements."""

from __future__ import annotations

from theano_graph import record
from theano_linker_c.kernels import Kernel

__all__ = ["SortKernel", "TopKKernel"]


@record
class SortKernel(Kernel):
    """The elements in ascending order along an axis, NaN last, or the numbers that bring them there.

    Elements that are equal stay in order.

    Parameters
    ----------
    dtype : str
    axis : int
        From 0 up.
    numbers : bool
        Whether the result is the numbers of the elements, int64.
    """

    dtype: str
    axis: int
    numbers: bool


@record
class TopKKernel(Kernel):
    """The k largest elements along an axis, or the -k smallest, in order; the second input, on the host, is k.

    Parameters
    ----------
    dtype : str
    axis : int
        From 0 up.
    index_dtype : str
        Of the numbers of the elements.
    values, indices : bool
        Which results there are: the elements, and their numbers.
    """

    dtype: str
    axis: int
    index_dtype: str
    values: bool
    indices: bool
