"""Nodes of a graph that run on a device, put together to regions when the graph is lowered."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Variable, config
from theano_linker_c.kernels import ArrayRoutineKernel, native_kernel
from theano_linker_c.program import ClusterRule, NodeError, cluster_rule

from ..arrays import GpuArray
from ..contexts import find_kept, get_context, store_kept
from ..region import Download, Outline, Region, Step, StepError, StoredRecording, Upload, form_of
from ..types import DEVICE, DeviceOp, GpuArrayType, GpuFromHost, HostFromGpu, as_device_value, device_kernel
from .fusion import fuse

# ---- Recordings on disk
#
# A region has a name on disk where its function has one. That stands for the rewritten graph, the library, the flags
# and
# the devices; the key of a recording adds shapes and the flags that are asked for when steps are recorded.

#: Recordings that a region of one process puts on disk: whoever has many shapes seldom has the same ones again.
_MOST_RECORDINGS = 16
#: Bytes of a recording, above which making it anew is no slower than reading it.
_MOST_BYTES = 4_000_000
_ASKED_FOR = ("gpuarray.", "dnn.", "nvcc.", "deterministic")


class DiskShelf:
    """Keeps recordings of one region beside compiled kernels.

    Parameters
    ----------
    name : str
        That of the region.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._room = _MOST_RECORDINGS

    def _text(self, key: Hashable) -> str:
        flags = [f"{flag}={attrgetter(flag)(config)!r}" for flag in config.flag_names() if flag.startswith(_ASKED_FOR)]
        return "\n".join([self._name, repr(key), *flags])

    def find(self, key: Hashable) -> StoredRecording | None:
        """Return the entry of a key; None where there is nothing."""
        data = find_kept(self._text(key))
        if data is None:
            return None
        try:
            recording: StoredRecording = pickle.loads(data)
        except Exception:  # noqa: BLE001  # an object it refers to is gone: the steps are recorded
            return None
        return recording

    def put(self, key: Hashable, recording: StoredRecording) -> None:
        """Keep a recording, if it can be pickled and there is room; otherwise others make it for themselves."""
        if not self._room:
            return
        try:
            data = pickle.dumps(recording, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001  # objects of a program's own device forms raise anything
            return
        if len(data) <= _MOST_BYTES:
            self._room -= 1
            store_kept(self._text(key), data)


# ---- The rule by which nodes run together: as the steps of a region

#: Bytes of the largest constants that are looked at.
_SMALL = 1 << 20


class RegionRunner:
    """Computes the outputs of nodes on a device from the values of their inputs.

    Parameters
    ----------
    nodes : sequence of Apply
    inputs, outputs : sequence of Variable
    outline : Outline, optional
        Another process's analysis of the steps; then the steps are made of the nodes only where they are needed.

    Attributes
    ----------
    region : Region
    given : list of int
        The inputs of the region without constants.
    """

    def __init__(
        self,
        nodes: Sequence[Apply],
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        outline: Outline | None = None,
    ) -> None:
        self._nodes = tuple(nodes)
        self._context = _context(nodes[0])
        numbers: dict[Variable, int] = {}
        for variable in (*inputs, *(v for node in nodes for v in (*node.inputs, *node.outputs))):
            numbers.setdefault(variable, len(numbers))
        self.given = [i for i, v in enumerate(inputs) if not isinstance(v, Constant)]
        constants = {numbers[v]: _constant(v) for v in inputs if isinstance(v, Constant)}
        self._moves = len(self.given) < len(inputs)
        #: The results that have to be on the device.
        self._there = [i for i, v in enumerate(outputs) if isinstance(v.type, GpuArrayType)]
        sources, targets = [numbers[inputs[i]] for i in self.given], [numbers[v] for v in outputs]
        steps, together = partial(_steps, self._nodes, numbers), partial(_fused, numbers)
        self.region = Region(self._context, steps, sources, targets, constants, together, outline)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs.

        Raises
        ------
        NodeError
            If a node refuses its operands, or has found a wrong value.
        """
        try:
            results = self.region([values[i] for i in self.given] if self._moves else values)
        except StepError as failure:
            raise NodeError(self._nodes[failure.step], failure.operands, failure.error) from failure
        for i in self._there:
            if type(results[i]) is not GpuArray:
                results[i] = as_device_value(results[i], self._context)
        return results


def _steps(nodes: Sequence[Apply], numbers: Mapping[Variable, int]) -> list[Step]:
    return [
        Step(_task(node), tuple(numbers[v] for v in node.inputs), tuple(numbers[v] for v in node.outputs))
        for node in nodes
    ]


def _fused(
    numbers: Mapping[Variable, int], steps: Sequence[tuple[int, Step]], outputs: Collection[int]
) -> list[tuple[int, Step]]:
    return fuse(steps, outputs, {number for v, number in numbers.items() if _counts(v)})


def _constant(variable: Constant) -> Any:
    """Return the value of a constant: on the host, where fusion can look at it, unless it is large."""
    value = variable.data
    return np.asarray(value) if isinstance(value, GpuArray) and value.nbytes <= _SMALL else value


def _counts(variable: Variable) -> bool:
    """Tell whether a variable is the vector of the numbers from 0 up to one that is known when a function runs."""
    node = variable.owner
    if node is not None and isinstance(node.op, GpuFromHost):
        return _counts(node.inputs[0])
    kernel = None if node is None else native_kernel.describe(node, DEVICE)
    if node is None or not isinstance(kernel, ArrayRoutineKernel) or kernel.task != "arange":
        return False
    start, _, step = node.inputs
    return all(isinstance(v, Constant) and v.data == n for v, n in ((start, 0), (step, 1)))


def _task(node: Apply) -> Any:
    if isinstance(node.op, GpuFromHost):
        return Upload()
    return Download() if isinstance(node.op, HostFromGpu) else device_kernel(node)


def _context(node: Apply) -> Any:
    variable = node.inputs[0] if isinstance(node.op, HostFromGpu) else node.outputs[0]
    return get_context(variable.type.context_name)


def _claims(node: Apply) -> Hashable | None:
    """Return the context of a node that can be a step of a region.

    A value that moves to the host for a length or a position of a step is moved by itself, before; and a kernel
    whose launches depend on values runs by itself.
    """
    if isinstance(node.op, DeviceOp) and form_of(kernel := device_kernel(node)).needs_values(kernel):
        return None
    if isinstance(node.op, HostFromGpu) and any(_wants_on_host(client) for client, _ in node.outputs[0].clients):
        return None
    return id(_context(node))


def _wants_on_host(client: Any) -> bool:
    return isinstance(client, Apply) and isinstance(client.op, (DeviceOp, GpuFromHost))


def _build(nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable]) -> RegionRunner:
    return RegionRunner(nodes, inputs, outputs)


def _keep(runner: RegionRunner, name: str) -> Outline:
    """Return the facts about the steps of a region, whose recordings are kept on disk from now on."""
    runner.region.keep_on(DiskShelf(name))
    return runner.region.outline


def _restore(
    nodes: Sequence[Apply], inputs: Sequence[Variable], outputs: Sequence[Variable], state: Outline, name: str
) -> RegionRunner:
    runner = RegionRunner(nodes, inputs, outputs, state)
    runner.region.keep_on(DiskShelf(name))
    return runner


def _late(nodes: Sequence[Apply]) -> list[Apply]:
    """Return transfers to the host, where there are several devices: each waits until one of them has done its work."""
    if len({id(_context(node)) for node in nodes}) < 2:
        return []
    return [node for node in nodes if isinstance(node.op, HostFromGpu)]


#: How nodes on a device run together.
DEVICE_CLUSTERS = ClusterRule(_claims, _build, _late, _keep, _restore)
cluster_rule.register(DeviceOp, GpuFromHost, HostFromGpu)(DEVICE_CLUSTERS)

__all__ = ["DEVICE_CLUSTERS", "RegionRunner"]
