"""Fusion of products with the sums of a factor along the inner length: the gradients by weights and by a bias."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from theano_linker_c.kernels import MatrixProductKernel, ReductionKernel, TransposeKernel
from theano_linker_c.scalar import add, identity

from ...region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._epilogues import is_large
from ._groups import MakeFusion, Numbered, with_groups
from ._library_epilogues import Scaled, product_by_library

__all__ = ["BiasGradientFusion", "fuse_bias_gradients"]

#: Numbers of the library: the sum of its first factor, which is our second one, or of the other one.
_SUM_OF_SECOND, _SUM_OF_FIRST = 256, 512
_DTYPES = ("float32", "float64")
#: How many inputs a product has that is not added to anything, and one that is.
_PLAIN = 2
_ADDED = 5


def fuse_bias_gradients(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put products together with the sum of the columns of a factor, where nothing else needs either result first.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    turned = {step.outputs[0]: step.inputs[0] for _, step in steps if _is_transpose(step)}
    sums = {step.inputs[0]: j for j, (_, step) in enumerate(steps) if _is_sum(step)}
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    below = _descendants(steps)
    for i, (_, step) in enumerate(steps):
        summed = None if not _is_product(step) else _summed(step, turned, sums)
        if summed is None:
            continue
        j = sums[summed]
        others = {k for pair, _ in groups for k in pair}
        # No other group may stand between the two, nor they between its parts.
        if j not in others and not any((below[a] | below[b]) & {a, b} for a in (i, j) for b in {i, j, *others}):
            groups.append((tuple(sorted((i, j))), BiasGradientFusion))
    return with_groups(steps, groups, outputs)


def _descendants(steps: Sequence[Numbered]) -> list[set[int]]:
    """Return for each step those that need it."""
    makers = {v: i for i, (_, step) in enumerate(steps) for v in step.outputs}
    below: list[set[int]] = [set() for _ in steps]
    for i in reversed(range(len(steps))):
        for j in {makers[v] for v in steps[i][1].inputs if v in makers}:
            below[j] |= {i} | below[i]
    return below


def _is_transpose(step: Step) -> bool:
    return isinstance(step.task, TransposeKernel) and step.task.order == (1, 0) and not step.task.drop


def _is_sum(step: Step) -> bool:
    """Tell whether a step sums the columns of a matrix."""
    task = step.task
    if not isinstance(task, ReductionKernel) or len(task.reductions) != 1 or task.kept_dtypes:
        return False
    (reduction,) = task.reductions
    dtypes = {*task.input_dtypes, reduction.output_dtype}
    is_total = (task.ndim, task.axes) == (2, (0,)) and len(task.input_dtypes) == 1 and not any(task.broadcast[0])
    return (
        is_total and task.scalar_op == identity and reduction.combine == add and len(dtypes) == 1 and not reduction.seed
    )


def _is_product(step: Step) -> bool:
    task = step.task
    is_gemm = isinstance(task, MatrixProductKernel) and task.kind == "gemm" and task.dtype in _DTYPES
    return is_gemm and len(step.inputs) in (_PLAIN, _ADDED)


def _factors(step: Step) -> tuple[int, int]:
    a, b = step.inputs if len(step.inputs) == _PLAIN else step.inputs[2:4]
    return a, b


def _summed(step: Step, turned: Mapping[int, int], sums: Mapping[int, int]) -> int | None:
    """Return the value whose columns are summed, of which the inner length of a product is the number of rows."""
    a, b = _factors(step)
    if b in sums:
        return b
    operand = turned.get(a)
    return operand if operand in sums else None


class BiasGradientFusion(Fusion):
    """A product and the sum of one of its factors along the inner length, as one call of cuBLASLt."""

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one call; None where there is no library for it, or kernels are as fast."""
        (product,) = (step for _, step in self.parts if isinstance(step.task, MatrixProductKernel))
        (total,) = (step for _, step in self.parts if isinstance(step.task, ReductionKernel))
        left, right = _factors(product)
        a, b = entry_on_device(recorder, values[left]), entry_on_device(recorder, values[right])
        if recorder.properties.driver != "cuda" or not is_large([a, b], _PLAIN):
            return None
        added = None
        if len(product.inputs) == _ADDED:
            added = _added(recorder, [values[product.inputs[k]] for k in (0, 1, 4)])
            if added is None:
                return None
        second = total.inputs[0] == right
        row = recorder.empty(a.dtype, (b.shape[1] if second else a.shape[0],))
        sums = product_by_library(recorder, _SUM_OF_SECOND if second else _SUM_OF_FIRST, a, b, row, added)
        return None if sums is None else {product.outputs[0]: sums, total.outputs[0]: row}


def _added(recorder: StepRecorder, entries: Sequence[Entry]) -> Scaled | None:
    """Return what a product is added to; None where its factors are on the device, which the library is not told."""
    z, *factors = entries
    numbers = [float(np.asarray(v)) for v in factors if isinstance(v, (np.ndarray, np.generic))]
    return None if len(numbers) < len(factors) else Scaled(entry_on_device(recorder, z), *numbers)
