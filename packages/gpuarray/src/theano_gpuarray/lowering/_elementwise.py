"""Groups of steps that become one, and fusion of elementwise steps with each other and with reductions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from theano_graph import record
from theano_linker_c.kernels import ElementwiseKernel, ReductionKernel, broadcast_lengths
from theano_linker_c.scalar import Composite, NoNativeForm, ProgramBuilder

from ..codegen import device_form
from ..codegen.reduction import ReductionUpdateKernel
from ..region import Entry, Fusion, Step, StepRecorder, entry_on_device, ordered

# ---- Groups: conditions, and the steps in an order in which the groups can run

Numbered: TypeAlias = tuple[int, Step]
#: Makes a fusion of parts, which gives some values to others.
MakeFusion: TypeAlias = Callable[[Sequence[Numbered], Sequence[int]], Fusion]


def _makers(steps: Sequence[Numbered]) -> dict[int, int]:
    """Return the position of the step that makes each value."""
    return {v: i for i, (_, step) in enumerate(steps) for v in step.outputs}


def connected_groups(steps: Sequence[Numbered], members: Collection[int], links: Collection[int]) -> list[list[int]]:
    """Return groups of members that values connect, none of which needs another one by way of other steps.

    Parameters
    ----------
    steps : sequence of Numbered
    members : collection of int
        Positions of the steps that may be in a group.
    links : collection of int
        The values by which members are connected.
    """
    makers = _makers(steps)
    phases = [0] * len(steps)
    roots = list(range(len(steps)))

    def root(i: int) -> int:
        while roots[i] != i:
            roots[i] = roots[roots[i]]
            i = roots[i]
        return i

    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            j = makers.get(v, -1)
            # A group that a path leaves is in an earlier phase than the next one on the path.
            leaves = j in members and (i not in members or v not in links)
            phases[i] = max(phases[i], phases[j] + leaves if j >= 0 else 0)
        if i in members:
            for v in step.inputs:
                j = makers.get(v, -1)
                if v in links and j in members and phases[j] == phases[i]:
                    roots[root(i)] = root(j)
    groups: dict[int, list[int]] = {}
    for i in sorted(members):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def with_sources(
    steps: Sequence[Numbered], group: Sequence[int], members: Collection[int], outputs: Collection[int]
) -> list[int]:
    """Return a group with the members besides whose results nobody reads but the group."""
    makers = _makers(steps)
    readers: dict[int, set[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            readers.setdefault(v, set()).add(i)
    sources = set(group)
    waiting = list(group)
    while waiting:
        for v in steps[waiting.pop()][1].inputs:
            i = makers.get(v, -1)
            if i not in members or i in sources:
                continue
            made = steps[i][1].outputs
            if all(v not in outputs and readers.get(v, set()) <= sources for v in made):
                sources.add(i)
                waiting.append(i)
    return sorted(sources)


def with_groups(
    steps: Sequence[Numbered],
    groups: Iterable[tuple[Sequence[int], MakeFusion]],
    outputs: Collection[int],
) -> list[Numbered]:
    """Return the steps with groups as fusions, each after its needs, and otherwise in their order.

    Of groups that need each other, the later ones are left as single steps.

    Parameters
    ----------
    steps : sequence of Numbered
    groups : iterable of (positions, callable)
        The steps of each, and the constructor of the fusion.
    outputs : collection of int
        Values that are read when all steps have run.
    """
    candidates = list(groups)
    fusions = _together(steps, candidates, outputs)
    if fusions is not None:
        return fusions
    kept: list[tuple[Sequence[int], MakeFusion]] = []
    fusions = list(steps)
    for group in candidates:
        more = _together(steps, [*kept, group], outputs)
        if more is not None:
            kept.append(group)
            fusions = more
    return fusions


def _together(
    steps: Sequence[Numbered], groups: Iterable[tuple[Sequence[int], MakeFusion]], outputs: Collection[int]
) -> list[Numbered] | None:
    """Return the steps with groups as fusions; None where some need each other."""
    read: dict[int, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in step.inputs:
            read.setdefault(v, []).append(i)
    items: dict[int, Numbered] = dict(enumerate(steps))
    places = list(range(len(steps)))
    for positions, make in groups:
        inside, last = set(positions), positions[-1]
        parts = [steps[i] for i in positions]
        produced = {v for _, step in parts for v in step.outputs}
        inputs = dict.fromkeys(v for _, step in parts for v in step.inputs if v not in produced)
        leaving = sorted(v for v in produced if v in outputs or not inside.issuperset(read.get(v, ())))
        for i in positions:
            places[i] = last
            items.pop(i)
        items[last] = parts[-1][0], Step(make(parts, leaving), tuple(inputs), tuple(leaving))
    return _sorted(items, places, _makers(steps))


def _sorted(items: Mapping[int, Numbered], places: Sequence[int], makers: Mapping[int, int]) -> list[Numbered] | None:
    """Return steps so that each comes after its needs; None where some need each other."""
    needs = {i: {places[makers[v]] for v in step.inputs if v in makers} - {i} for i, (_, step) in items.items()}
    order = ordered(needs)
    return None if order is None else [items[i] for i in order]


# ---- Elementwise steps over one shape, with results that others read


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
        if len(group) > 1 and _joined_kernel([steps[i][1] for i in group], read | set(outputs)) is not None:
            groups.append((group, ElementwiseFusion))
    return with_groups(steps, groups, outputs)


def _spread(steps: Sequence[Numbered], members: Collection[int]) -> set[int]:
    """Return the values that a member broadcasts, or reads with other dimensions than it has."""
    ndims = {v: step.task.ndim for _, step in steps if isinstance(step.task, ElementwiseKernel) for v in step.outputs}
    positions: set[int] = set()
    for i in members:
        task = steps[i][1].task
        assert isinstance(task, ElementwiseKernel), "members are"
        for v, pattern in zip(steps[i][1].inputs, task.broadcast, strict=True):
            if any(pattern) or ndims.get(v, task.ndim) != task.ndim:
                positions.add(v)
    return positions


def _joined_kernel(parts: Sequence[Step], requested: Collection[int]) -> _Joined | None:
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
        joined = _joined_kernel([step for _, step in self.parts], self.outputs)
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


# ---- Elementwise kernels with the reduction of a result that others read, too


def fuse_beside(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put reductions together with the elementwise step that makes their operands.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    makers = {v: i for i, (_, step) in enumerate(steps) for v in step.outputs}
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for j, (_, step) in enumerate(steps):
        i = makers.get(step.inputs[0], -1) if isinstance(step.task, ReductionKernel) else -1
        if i >= 0 and i not in taken and _keeping_kernel(steps[i][1], step) is not None:
            taken.add(i)
            groups.append(((i, j), BesideFusion))
    return with_groups(steps, groups, outputs)


def _keeping_kernel(produced: Step, reduced: Step) -> ReductionKernel | None:
    """Return the kernel that keeps the elements and reduces them; None where there is none."""
    first, task = produced.task, reduced.task
    if not isinstance(first, ElementwiseKernel) or not isinstance(task, ReductionKernel):
        return None
    alone = len(first.output_dtypes) == len(task.input_dtypes) == 1 and not task.kept_dtypes
    if not alone or any(task.broadcast[0]) or "float16" in first.output_dtypes:
        return None
    if any(all(pattern[d] for pattern in first.broadcast) for d in range(task.ndim)):
        return None
    builder = ProgramBuilder(first.input_dtypes)
    try:
        results = builder.step(first.scalar_op, range(len(first.input_dtypes)), first.input_dtypes)
        elements = builder.step(task.scalar_op, results, task.input_dtypes)
    except NoNativeForm:
        return None
    op = Composite.from_program(builder.finish([*results, *elements]))
    kernel = ReductionKernel(
        op, first.input_dtypes, first.output_dtypes, task.reductions, first.broadcast, task.ndim, task.axes
    )
    form = device_form.get(kernel)
    return kernel if form is not None and form.supports(kernel) else None


class BesideFusion(Fusion):
    """An elementwise step and the reduction of its result: each element is computed once."""

    @property
    def kernel(self) -> ReductionKernel:
        """The reduction that keeps the elements."""
        (_, producer), (_, reduced) = self.parts
        kernel = _keeping_kernel(producer, reduced)
        assert kernel is not None, "there was one when the steps were put together"
        return kernel

    @property
    def values(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The values that the kernel reads, and the values that it makes."""
        (_, producer), (_, reduced) = self.parts
        return producer.inputs, (*producer.outputs, *reduced.outputs)

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one kernel; None where shapes do not fit."""
        kernel, (inputs, outputs) = self.kernel, self.values
        operands = [entry_on_device(recorder, values[v]) for v in inputs]
        try:
            results = device_form.lookup(kernel).run(kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip(outputs, results, strict=True))


# ---- Reductions with the elementwise step that alone reads the result


def fuse_updates(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put reductions together with the elementwise step that alone reads the result.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    readers: dict[int, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in dict.fromkeys(step.inputs):
            readers.setdefault(v, []).append(i)
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for i, (_, step) in enumerate(steps):
        kernel = _reduction(step)
        if kernel is None or len(kernel.reductions) != 1:
            continue
        result = _made(step)[-1]
        (j, *others) = readers.get(result, [-1])
        if j < 0 or others or result in outputs or j in taken or _needs(steps, i, j):
            continue
        if _updating_kernel(step, steps[j][1]) is not None:
            taken.add(j)
            groups.append(((i, j), UpdateFusion))
    return with_groups(steps, groups, outputs)


def _needs(steps: Sequence[Numbered], i: int, j: int) -> bool:
    """Tell whether step j reads results of other steps on outputs of step i, so that both cannot be one."""
    outputs = set(steps[i][1].outputs)
    for _, step in steps[i + 1 : j]:
        if not outputs.isdisjoint(step.inputs):
            outputs.update(step.outputs)
    return not (outputs - set(steps[i][1].outputs)).isdisjoint(steps[j][1].inputs)


def _reduction(step: Step) -> ReductionKernel | None:
    """Return the reduction of a step, which may be one that keeps elements; None where it is no reduction."""
    task = step.task
    if isinstance(task, BesideFusion):
        return task.kernel
    return task if isinstance(task, ReductionKernel) else None


def _made(step: Step) -> tuple[int, ...]:
    """Return the values that the kernel of a reduction makes: the stored ones, then the result."""
    return step.task.values[1] if isinstance(step.task, BesideFusion) else step.outputs


def _updating_kernel(reduced: Step, after: Step) -> ReductionUpdateKernel | None:
    """Return the kernel that does both; None where there is none."""
    task, first, produced = after.task, _reduction(reduced), _made(reduced)
    if not isinstance(task, ElementwiseKernel) or first is None or not produced:
        return None
    positions = [k for k, v in enumerate(after.inputs) if v == produced[-1]]
    if any(any(task.broadcast[k]) for k in positions) or not set(produced[:-1]).isdisjoint(after.inputs):
        return None
    others = [k for k in range(len(after.inputs)) if k not in positions]
    dtypes = tuple(task.input_dtypes[k] for k in others)
    if "float16" in (first.reductions[0].output_dtype, *dtypes, *task.output_dtypes):
        return None
    inputs = tuple(-1 if k in positions else others.index(k) for k in range(len(after.inputs)))
    patterns = tuple(task.broadcast[k] for k in others)
    kernel = ReductionUpdateKernel(first, task.scalar_op, inputs, dtypes, patterns, task.output_dtypes)
    form = device_form.get(kernel)
    return kernel if form is not None and form.supports(kernel) else None


class UpdateFusion(Fusion):
    """A reduction and the work on its result: a kernel of reductions that does it before it stores."""

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one kernel; None where shapes do not fit."""
        (_, reduced), (_, after) = self.parts
        kernel = _updating_kernel(reduced, after)
        assert kernel is not None, "there was one when the steps were put together"
        given = reduced.task.values[0] if isinstance(reduced.task, BesideFusion) else reduced.inputs
        produced = _made(reduced)
        others = [v for v in after.inputs if v != produced[-1]]
        operands = [entry_on_device(recorder, values[v]) for v in (*given, *others)]
        try:
            results = device_form.lookup(kernel).run(kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip((*produced[:-1], *after.outputs), results, strict=True))


__all__ = [
    "MakeFusion",
    "Numbered",
    "connected_groups",
    "with_groups",
    "with_sources",
    "ElementwiseFusion",
    "fuse_elementwise",
    "BesideFusion",
    "fuse_beside",
    "UpdateFusion",
    "fuse_updates",
]
