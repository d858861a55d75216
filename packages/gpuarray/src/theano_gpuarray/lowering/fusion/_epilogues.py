"""Fusion of matrix products with the elementwise work on their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from theano_linker_c.kernels import ElementwiseKernel, MatrixProductKernel
from theano_linker_c.scalar import Composite, ProgramBuilder, ScalarOp

from ...codegen import DeviceOperand, device_form
from ...codegen.products import ProductEpilogueKernel
from ...region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._groups import MakeFusion, Numbered, with_groups
from ._library_epilogues import GELU_GRADIENT, epilogue_by_library, gelu_argument, product_by_library

__all__ = ["EpilogueFusion", "fuse_epilogues", "is_large"]

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
