"""Fusion of elementwise steps over one shape, of which others read results on the way, too: those of an optimizer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theano_graph import record
from theano_linker_c.kernels import ElementwiseKernel, broadcast_lengths
from theano_linker_c.scalar import Composite, NoNativeForm, ProgramBuilder

from ...codegen import device_form
from ...region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._groups import MakeFusion, Numbered, connected_groups, with_groups

__all__ = ["ElementwiseFusion", "fuse_elementwise"]


@record
class _Joined:
    """The kernel of a group.

    Parameters
    ----------
    kernel : ElementwiseKernel
    inputs, outputs : tuple of int
        The values that it reads and makes.
    """

    kernel: ElementwiseKernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def fuse_elementwise(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put elementwise steps together that read each other's results element by element.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    members = {i for i, (_, step) in enumerate(steps) if isinstance(step.task, ElementwiseKernel)}
    links = {v for i in members for v in steps[i][1].outputs} - _spread(steps, members)
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    for group in connected_groups(steps, members, links):
        read = {v for i, (_, step) in enumerate(steps) if i not in group for v in step.inputs}
        if len(group) > 1 and _joined([steps[i][1] for i in group], read | set(outputs)) is not None:
            groups.append((group, ElementwiseFusion))
    return with_groups(steps, groups, outputs)


def _spread(steps: Sequence[Numbered], members: Collection[int]) -> set[int]:
    """Return the values that a member broadcasts, or reads with other dimensions than those that they are made with."""
    ndims = {v: step.task.ndim for _, step in steps if isinstance(step.task, ElementwiseKernel) for v in step.outputs}
    positions: set[int] = set()
    for i in members:
        task = steps[i][1].task
        assert isinstance(task, ElementwiseKernel), "members are"
        for v, pattern in zip(steps[i][1].inputs, task.broadcast, strict=True):
            if any(pattern) or ndims.get(v, task.ndim) != task.ndim:
                positions.add(v)
    return positions


def _joined(parts: Sequence[Step], requested: Collection[int]) -> _Joined | None:
    """Return the kernel that makes the needed results of some steps; None where there is none."""
    kernels = [part.task for part in parts if isinstance(part.task, ElementwiseKernel)]
    produced = {v for part in parts for v in part.outputs}
    operands: dict[tuple[int, tuple[bool, ...]], str] = {}
    for kernel, part in zip(kernels, parts, strict=True):
        for v, pattern, dtype in zip(part.inputs, kernel.broadcast, kernel.input_dtypes, strict=True):
            if v not in produced:
                operands[v, pattern] = dtype
    builder = ProgramBuilder(list(operands.values()))
    numbers = {key: k for k, key in enumerate(operands)}
    results: dict[int, tuple[int, str]] = {}
    try:
        for kernel, part in zip(kernels, parts, strict=True):
            args = [
                results[v][0] if v in produced else numbers[v, pattern]
                for v, pattern in zip(part.inputs, kernel.broadcast, strict=True)
            ]
            outcomes = builder.step(kernel.scalar_op, args, kernel.input_dtypes)
            results.update(zip(part.outputs, zip(outcomes, kernel.output_dtypes, strict=True), strict=True))
    except NoNativeForm:
        return None
    outputs = [v for v in results if v in requested]
    dtypes = tuple(results[v][1] for v in outputs)
    if not outputs or any(dtype == "float16" for _, dtype in results.values()):
        return None
    op = Composite.from_program(builder.finish([results[v][0] for v in outputs]))
    patterns = tuple(pattern for _, pattern in operands)
    whole = ElementwiseKernel(op, tuple(operands.values()), dtypes, patterns, kernels[0].ndim)
    form = device_form.get(whole)
    if form is None or not form.supports(whole):
        return None
    return _Joined(whole, tuple(v for v, _ in operands), tuple(outputs))


class ElementwiseFusion(Fusion):
    """Elementwise steps over one shape, as one kernel with several results."""

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record all steps as one kernel; None where shapes do not fit."""
        joined = _joined([step for _, step in self.parts], self.outputs)
        assert joined is not None, "there was one when the steps were put together"
        given = {v: entry_on_device(recorder, values[v]) for v in joined.inputs}
        operands = [given[v] for v in joined.inputs]
        try:
            if not self._alike({v: x.shape for v, x in given.items()}):
                return None
            results = device_form.lookup(joined.kernel).run(joined.kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip(joined.outputs, results, strict=True))

    def _alike(self, shapes: dict[int, tuple[int, ...]]) -> bool:
        """Tell whether all steps have one shape, of which none is broadcast to that of another."""
        groups: set[tuple[int, ...]] = set()
        for _, step in self.parts:
            task = step.task
            assert isinstance(task, ElementwiseKernel), "there are no others"
            shape = tuple(broadcast_lengths([shapes[v] for v in step.inputs], task.broadcast, task.ndim))
            shapes.update(dict.fromkeys(step.outputs, shape))
            groups.add(shape)
        return len(groups) == 1
