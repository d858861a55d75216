"""Kernels that reduce along axes: what they are, and how the machine takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from theano_graph import compose, record

from ..scalar import ScalarOp, ScalarTypeError, is_discrete
from ._elementwise import EXPENSIVE as EXPENSIVE
from ._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    axis_flags,
    check_broadcast,
    donors_like,
    padded_donors,
    type_number,
)

__all__ = ["MultiOutputKernel", "Reduction", "ReductionKernel", "reduction_seed", "with_element"]

#: What joins partial results of a reduction that was cut in chunks, by the name of the op that is reduced.
_JOIN: Mapping[str, np.ufunc] = MappingProxyType(
    {
        "add": np.add,
        "mul": np.multiply,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "and_": np.bitwise_and,
        "or_": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)


@record
class ReductionKernel(Kernel):
    """A scalar op over all elements, reduced along some axes.

    Parameters
    ----------
    combine : ScalarOp
        What joins two elements: add, mul, maximum, minimum, and_, or_, xor, or any associative op of two inputs.
    element : ScalarOp
        What is computed of the inputs before: identity or a `Composite`.
    input_dtypes : tuple of str
    broadcast : tuple of tuple of bool
    ndim : int
        Number of dimensions of the inputs.
    axes : tuple of int
        Axes that disappear.
    acc_dtype, output_dtype : str
        Dtype in which elements are joined, and dtype of the result.
    identity : float or int or None
        Result for no elements; None if that is an error.
    keepdims : bool
        Whether the axes stay with length 1.
    """

    needs_code: ClassVar[bool] = True
    combine: ScalarOp
    element: ScalarOp
    input_dtypes: tuple[str, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    axes: tuple[int, ...]
    acc_dtype: str
    output_dtype: str
    identity: float | int | None
    keepdims: bool = False

    def __post_init__(self) -> None:
        check_broadcast("reduction kernel", self.input_dtypes, self.broadcast, self.ndim)

    @property
    def seed(self) -> float | int:
        """The value that accumulators start from, also where `identity` is None."""
        return reduction_seed(self.combine, self.acc_dtype) if self.identity is None else self.identity

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return self.element.cost + max(self.combine.cost, 1)

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        if code is None:
            return None
        return "reduction", (
            code.address,
            code.outer_address,
            self.ndim,
            tuple(type_number(dtype) for dtype in self.input_dtypes),
            self.broadcast,
            axis_flags(self.axes, self.ndim),
            type_number(self.acc_dtype),
            type_number(self.output_dtype),
            np.array(self.seed).astype(self.acc_dtype).tobytes(),
            self.identity is not None,
            self.keepdims,
            float(self.cost),
            _JOIN.get(self.combine.name),
        )


@record
class Reduction:
    """How one result of a scalar op is reduced along axes.

    Parameters
    ----------
    combine : ScalarOp
        What joins two elements; see :func:`can_reduce`.
    acc_dtype, output_dtype : str
        Dtype in which elements are joined, and dtype of the result.
    identity : float or int or None
        Result for no elements; None if that is an error.
    """

    combine: ScalarOp
    acc_dtype: str
    output_dtype: str
    identity: float | int | None

    @property
    def seed(self) -> float | int:
        """The value that accumulators start from, also where `identity` is None."""
        return reduction_seed(self.combine, self.acc_dtype) if self.identity is None else self.identity


@record
class MultiOutputKernel(Kernel):
    """A scalar op over all elements; its first results are kept, each of the others is reduced along the same axes.

    Parameters
    ----------
    scalar_op : ScalarOp
        With as many results as there are kept and reduced ones together.
    input_dtypes, kept_dtypes : tuple of str
    reductions : tuple of Reduction
        At least one.
    broadcast : tuple of tuple of bool
        For each input, which dimensions are known to have length 1 and broadcast.
    ndim : int
        Number of dimensions of the inputs.
    axes : tuple of int
        Axes along which is reduced; at least one.
    """

    needs_code: ClassVar[bool] = True
    overwriting: ClassVar[Overwriting | None] = Overwriting.ELEMENTWISE
    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    kept_dtypes: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_broadcast("multi-output kernel", self.input_dtypes, self.broadcast, self.ndim)

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return self.scalar_op.cost + sum(max(reduction.combine.cost, 1) for reduction in self.reductions)

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        if code is None:
            return None
        reductions = self.reductions
        dtypes = (*self.input_dtypes, *self.kept_dtypes, *(reduction.output_dtype for reduction in reductions))
        return "multi_output", (
            code.address,
            code.outer_address,
            self.ndim,
            tuple(type_number(dtype) for dtype in dtypes),
            tuple(type_number(reduction.acc_dtype) for reduction in reductions),
            tuple(np.array(reduction.seed).astype(reduction.acc_dtype).tobytes() for reduction in reductions),
            tuple(_JOIN[reduction.combine.name] for reduction in reductions),
            self.broadcast,
            axis_flags(self.axes, self.ndim),
            padded_donors(site, len(self.kept_dtypes)),
            any(reduction.identity is None for reduction in reductions),
            float(self.cost),
        )

    def donors(self, site: Site) -> Donors:
        """Return the inputs whose memory the results that are kept may take."""
        return donors_like(site, self.input_dtypes, self.broadcast, self.kept_dtypes)


def reduction_seed(combine: ScalarOp, dtype: str) -> float | int:
    """Give the value that changes nothing when it is joined by `combine` with a value of `dtype`.

    Raises
    ------
    TypeError
        If `combine` is not add, mul, maximum, minimum, and_, or_ or xor.

    Examples
    --------
    >>> from theano_linker_c.scalar import maximum
    >>> reduction_seed(maximum, "float64")
    -inf
    """
    name = combine.name
    if name in ("add", "or_", "xor"):
        return 0
    if name == "mul":
        return 1
    if name == "and_":
        return 1 if dtype == "bool" else int(np.array(-1).astype(dtype))
    if name in ("maximum", "minimum"):
        lowest = name == "maximum"
        if dtype == "bool":
            return int(not lowest)
        if is_discrete(dtype):
            return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
        return float("-inf") if lowest else float("inf")
    raise ScalarTypeError(
        compose(f"a reduction with {combine} has no starting value", mend="give the kernel an identity")
    )


def with_element(kernel: ReductionKernel, element: ScalarOp, dtypes: tuple[str, ...]) -> ReductionKernel:
    """Return `kernel` on elements computed by `element` from inputs of `dtypes` (all of full shape)."""
    flat = tuple((False,) * kernel.ndim for _ in dtypes)
    return replace(kernel, element=element, input_dtypes=dtypes, broadcast=flat)
