"""The common part of ops that change a part of a tensor: which values fit, and the sums of their gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theano_graph import Apply, describe, format_error

from .._core._convert import constant
from .._core._dtypes import DISCRETE_DTYPES, Array
from .._core._ops import refused
from .._core._type import StaticShape, Tensor, TensorConstant
from .._errors import PartError
from ..elemwise import cast
from ..reduce import sum as sum_over


def fitting_part(x: Tensor, part: Tensor, shape: StaticShape, *, replaces: bool) -> Tensor:
    """Return a part in the dtype of `x`; refuse one that does not fit where `x` is indexed, into static `shape`.

    Parameters
    ----------
    x, part : Tensor
    shape : tuple of (int or None)
    replaces : bool
        Whether the part is replaced. In a tensor of truth values integers may: numbers other than 0 are
        true, as in products of masks.

    Raises
    ------
    TypeError
        If its numbers are of a kind that `x` cannot have, as fractions in a tensor of integers.
    PartError
        If its shape is known not to fit.
    """
    # As NumPy assigns: digits may be lost, the kind of number may not.
    truth = replaces and x.type.dtype == "bool" and part.type.dtype in DISCRETE_DTYPES
    if not truth and not np.can_cast(part.type.dtype, x.type.dtype, "same_kind"):
        raise TypeError(
            format_error(
                f"a part of {part.type.dtype} cannot be put into a tensor of {x.type.dtype}: it is another kind",
                context=[describe(x), describe(part)],
                hint=f"convert it: T.cast(y, '{x.type.dtype}')",
            )
        )
    if part.type.ndim > len(shape):
        raise PartError(
            format_error(
                f"a part of {part.type.ndim} dimensions does not fit where {len(shape)} are indexed",
                context=[describe(x), describe(part)],
                hint="index more dimensions, or reshape the part",
            )
        )
    for length, length_needed in zip(reversed(part.type.shape), reversed(shape), strict=False):
        if length not in (None, 1) and length_needed is not None and length != length_needed:
            error = PartError(
                format_error(
                    f"a part of shape {part.type.shape} does not fit into {shape}",
                    context=[describe(x), describe(part)],
                    hint="give the new part the shape of the indexed part",
                )
            )
            part = refused(error, part, [n if n == 1 else None for n in part.type.shape], x)
            break
    if isinstance(part, TensorConstant) and part.type.dtype != x.type.dtype:
        return constant(part.data.astype(x.type.dtype), name=part.name)
    return cast(part, x.type.dtype)


def check_values(node: Apply, y: Array, shape: Sequence[int]) -> None:
    """Check the value of a part: only dimensions that are known to have length 1 broadcast.

    Raises
    ------
    ValueError
        If it does not fit into `shape`.
    """
    part = node.inputs[1]
    pattern = part.type.broadcastable
    fits = all(
        have == want or (pattern[len(pattern) - 1 - k] and have == 1)
        for k, (have, want) in enumerate(zip(reversed(y.shape), reversed(shape), strict=False))
    )
    if not fits:
        raise ValueError(
            format_error(
                f"a part of shape {y.shape} does not fit into the indexed part of shape {tuple(shape)}",
                context=[describe(v) for v in node.inputs[:2]],
                hint="give the new part the shape of the indexed part; only a dimension that is declared "
                "broadcastable broadcasts (T.addbroadcast)",
            )
        )


def sum_to(value: Tensor, like: Tensor) -> Tensor:
    """Sum over the dimensions along which `like` was broadcast."""
    extra = value.type.ndim - like.type.ndim
    if extra:
        value = sum_over(value, axis=list(range(extra)))
    broadcasted = [i for i, n in enumerate(like.type.shape) if n == 1 and value.type.shape[i] != 1]
    return sum_over(value, axis=broadcasted, keepdims=True) if broadcasted else value


def out_of_range(error: IndexError, node: Apply, x: Array) -> IndexError:
    """Return an error of NumPy with the tensor that was indexed, and a hint."""
    text = str(error.args[0]) if error.args else str(error)
    if "Hint" in text:
        return error
    return IndexError(
        format_error(
            f"{text} (shape {x.shape})",
            context=[describe(v) for v in node.inputs[:1]],
            hint="use indices from -length up to length - 1, or T.clip them",
        )
    )


def index_pattern(node: Apply, differentiable: int) -> list[list[bool]]:
    """Return the connection pattern of an op whose first inputs are differentiable, the others an index."""
    return [[i < differentiable] for i in range(len(node.inputs))]
