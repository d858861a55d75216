"""Fusion for launches: steps of a region that one launch can do, among them products with their epilogues."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np

from theano_linker_c.kernels import ElementwiseKernel, MatrixProductKernel, ReductionKernel, TransposeKernel
from theano_linker_c.scalar import Composite, ProgramBuilder, ScalarOp, add, identity

from ..codegen import DeviceOperand, device_form
from ..codegen.products import ProductEpilogueKernel
from ..region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._elementwise import (
    BesideFusion,
    ElementwiseFusion,
    MakeFusion,
    Numbered,
    UpdateFusion,
    fuse_beside,
    fuse_elementwise,
    fuse_updates,
    with_groups,
)
from ._library_epilogues import GELU_GRADIENT, Scaled, epilogue_by_library, gelu_argument, product_by_library
from ._rows import RowFusion, fuse_rows

# ---- Products with the elementwise work on their results

#: Multiplications of a product up to which a launch that is saved is worth more than the library's kernels.
_SMALL = 1 << 21
#: Inputs of a product that is not added to anything.
_PLAIN = 2


def fuse_epilogues(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put products together with the elementwise step that alone reads the result.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    readers: dict[int, list[int]] = {}
    makers = {v: step for _, step in steps for v in step.outputs}
    for i, (_, step) in enumerate(steps):
        for v in dict.fromkeys(step.inputs):
            readers.setdefault(v, []).append(i)
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for i, (_, step) in enumerate(steps):
        if not isinstance(step.task, MatrixProductKernel) or step.outputs[0] in outputs:
            continue
        (j, *others) = readers.get(step.outputs[0], [-1])
        if j < 0 or others or j in taken:
            continue
        kernel = _joined(step, steps[j][1])
        if kernel is not None:
            taken.add(j)
            argument = _argument(step, steps[j][1], makers)
            groups.append(((i, j), partial(EpilogueFusion, argument=argument)))
    return with_groups(steps, groups, outputs)


def _argument(product: Step, after: Step, makers: Mapping[int, Step]) -> int | None:
    """Return the argument of GELU where a product is multiplied with its derivative; None where it is not."""
    (result,) = product.outputs
    producers = {id(makers[v]): makers[v] for v in after.inputs if v in makers and v != result}
    if len(producers) != 1 or len(product.inputs) != _PLAIN or getattr(product.task, "kind", "") != "gemm":
        return None
    (first,) = producers.values()
    return gelu_argument(after, result, first)


def _joined(product: Step, after: Step) -> ProductEpilogueKernel | None:
    """Return the kernel that does both; None where there is none."""
    task, first = after.task, product.task
    if not isinstance(task, ElementwiseKernel) or not isinstance(first, MatrixProductKernel):
        return None
    positions = [k for k, v in enumerate(after.inputs) if v == product.outputs[0]]
    if len(positions) != 1 or len(task.output_dtypes) != 1 or any(task.broadcast[positions[0]]):
        return None
    at = positions[0]
    dtypes = (task.input_dtypes[at], *task.input_dtypes[:at], *task.input_dtypes[at + 1 :])
    patterns = (*task.broadcast[:at], *task.broadcast[at + 1 :])
    op = _with_first(task.scalar_op, task.input_dtypes, at)
    kernel = ProductEpilogueKernel(first, len(product.inputs), op, dtypes, patterns, task.output_dtypes[0])
    form = device_form.get(kernel)
    return kernel if form is not None and form.supports(kernel) else None


def _with_first(op: ScalarOp, dtypes: Sequence[str], at: int) -> ScalarOp:
    """Return a scalar op of which one argument comes before the others."""
    if at == 0:
        return op
    order = [at, *(k for k in range(len(dtypes)) if k != at)]
    builder = ProgramBuilder([dtypes[k] for k in order])
    numbers = builder.step(op, [order.index(k) for k in range(len(dtypes))], dtypes)
    return Composite.from_program(builder.finish(numbers))


class EpilogueFusion(Fusion):
    """A product and its epilogue: a kernel of products that computes the epilogue before it stores.

    Large products are left to cuBLASLt, where it has the epilogue, or to cuBLAS.

    Parameters
    ----------
    parts, outputs
        See :class:`Fusion`.
    argument : int, optional
        The value by which GELU is differentiated, where that is the epilogue.
    """

    def __init__(self, parts: Sequence[tuple[int, Step]], outputs: Sequence[int], argument: int | None = None) -> None:
        super().__init__(parts, outputs)
        self.argument = argument

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one launch; None where shapes do not fit, or a library multiplies faster."""
        (_, product), (_, after) = self.parts
        kernel = _joined(product, after)
        assert kernel is not None, "there was one when the steps were put together"
        rest = [v for v in after.inputs if v != product.outputs[0]]
        operands = [entry_on_device(recorder, values[v]) for v in (*product.inputs, *rest)]
        if recorder.properties.driver == "cuda" and is_large(operands, len(product.inputs)):
            if self.argument is None:
                outcomes = epilogue_by_library(kernel, recorder, operands)
            else:
                a, b, x = *operands[:2], entry_on_device(recorder, values[self.argument])
                outcomes = product_by_library(recorder, GELU_GRADIENT, a, b, a, argument=x)
            return None if outcomes is None else dict(zip(after.outputs, [outcomes], strict=True))
        try:
            results = device_form.lookup(kernel).run(kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip(after.outputs, results, strict=True))


def is_large(operands: Sequence[DeviceOperand], count: int) -> bool:
    """Tell whether the kernels of a library are worth more for a product than a launch that is saved.

    Parameters
    ----------
    operands : sequence of DeviceOperand
        Those of the product come first.
    count : int
        How many operands the product has.
    """
    a, b = operands[2:4] if count >= 4 else operands[:2]
    return (a.size * b.shape[-1] if b.ndim > 1 else a.size) > _SMALL


# ---- Products with the sums of a factor along the inner length: the gradients by weights and by a bias

#: Numbers of the library: the sum of its first factor, which is our second one, or of the other one.
_SUM_OF_SECOND, _SUM_OF_FIRST = 256, 512
_DTYPES = ("float32", "float64")
#: How many inputs a product has that is not added to anything, and one that is.
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
    """Return for each step its readers."""
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
    """Return the summand of a product; None where its factors are on the device, which the library is not told."""
    z, *factors = entries
    numbers = [float(np.asarray(v)) for v in factors if isinstance(v, (np.ndarray, np.generic))]
    return None if len(numbers) < len(factors) else Scaled(entry_on_device(recorder, z), *numbers)


# ---- All rules


def fuse(
    steps: Sequence[Numbered], outputs: Collection[int], counting: Collection[int] = frozenset()
) -> list[Numbered]:
    """Put steps together that one launch can do.

    Parameters
    ----------
    steps : sequence of (int, Step)
        With their numbers.
    outputs : collection of int
        Values that are read when all steps have run.
    counting : collection of int
        Values that are vectors of the numbers 0, 1, 2, ...
    """
    steps = fuse_rows(steps, outputs, counting)
    for rule in (fuse_epilogues, fuse_beside, fuse_bias_gradients, fuse_updates, fuse_elementwise):
        steps = rule(steps, outputs)
    return list(steps)


__all__ = [
    "BesideFusion",
    "BiasGradientFusion",
    "ElementwiseFusion",
    "EpilogueFusion",
    "RowFusion",
    "UpdateFusion",
    "fuse",
    "fuse_beside",
    "fuse_bias_gradients",
    "fuse_elementwise",
    "fuse_epilogues",
    "fuse_rows",
    "fuse_updates",
]
