"""Parts of arrays on devices, and indices as devices want them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def check_and_convert_boolean_masks(input: Any, idx_list: Sequence[Any]) -> list[Any]:
    """Return an index with arrays of integers in the place of boolean masks.

    Parameters
    ----------
    input : object with a shape
        The array to index.
    idx_list : sequence
        Integers, slices, None, arrays of integers, and boolean masks.

    Raises
    ------
    IndexError
        If a mask has not the shape of the dimensions that it stands for.

    Examples
    --------
    >>> from theano.gpuarray import subtensor
    >>> import numpy as np
    >>> mask = np.array([[True, False, False], [False, False, True]])
    >>> subtensor.check_and_convert_boolean_masks(np.zeros((2, 3)), [mask])
    [array([0, 1]), array([0, 2])]
    """
    dimension = 0
    converted: list[Any] = []
    for index in idx_list:
        dtype = getattr(index, "dtype", None)
        if dtype is None or str(dtype) != "bool":
            converted.append(index)
            dimension += index is not None and index is not np.newaxis
            continue
        for offset, length in enumerate(index.shape):
            if length != input.shape[dimension + offset]:
                raise IndexError(
                    f"boolean index did not match indexed array along dimension {dimension + offset}; dimension is "
                    f"{input.shape[dimension + offset]} but corresponding boolean dimension is {length}"
                )
        dimension += index.ndim
        converted += index.nonzero()
    return converted
