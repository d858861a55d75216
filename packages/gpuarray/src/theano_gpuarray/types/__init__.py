"""Types of values on devices, transfers, and the base of ops that run there, each for an op of the host."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np

from theano_graph import (
    Apply,
    Constant,
    Op,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import Kernel, native_kernel
from theano_linker_c.profiling import device_kind
from theano_linker_c.program import call_form
from theano_linker_c.targets import Target

from ..arrays import GpuArray, asarray
from ..codegen import NoDeviceForm, device_form
from ..contexts import GpuContext, get_context
from ..region import run_kernel
from ._array_type import GpuArrayType, context_of, host_type, is_host_array, register_host_type
from ._transfers import (
    GpuContextType,
    GpuFromHost,
    GpuToGpu,
    HostFromGpu,
    TransferOp,
    gpu_context_type,
    gpu_from_host,
    gpu_to_gpu,
    host_from_gpu,
    infer_context_name,
)

#: Stands for a name of a context that was not given, as None is one.
_INFERRED: Any = object()
#: The target whose descriptions of nodes devices run.
DEVICE = Target("device")


class DeviceOp(Op):
    """An op that does on a device the work of an op of the host.

    Inputs may be on the device or on the host; those on the host that are no lengths or positions are transferred when
    the node runs.

    Parameters
    ----------
    host_op : Op
        Defines the work, by its kernel (`native_kernel`).

    Notes
    -----
    Subclasses have the documented names and constructors, make `host_op` of their arguments, and may override
    :meth:`context_for`.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("host_op",)

    def __init__(self, host_op: Op) -> None:
        self.host_op = host_op
        self.view_map: Mapping[int, Sequence[int]] = dict(host_op.view_map)

    def context_for(self, inputs: Sequence[Variable]) -> Hashable:
        """Return the name of the context in which nodes with some inputs run."""
        return infer_context_name(*inputs)

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to variables on a device, on the host, and to values.

        Raises
        ------
        TypeError, ValueError
            The errors of the op of the host.
        NoDeviceForm
            If devices cannot compute this.
        """
        stand_ins = [_stand_in(x) for x in inputs]
        host = self.host_op.make_node(*stand_ins)
        operands = {stand_in: x for stand_in, x in zip(stand_ins, inputs, strict=True) if isinstance(x, Variable)}
        # Some ops settle open parameters, axes or dtypes, when they are applied.
        op = self if host.op is self.host_op else self.with_host_op(host.op)
        return op.applied(host, [_in_place_of(v, operands) for v in host.inputs])

    def with_host_op(self, host_op: Op) -> Self:
        """Return an op like this one for another op of the host."""
        twin = copy.copy(self)
        twin.host_op = host_op
        return twin

    def applied(
        self,
        host: Apply,
        inputs: Sequence[Variable],
        *,
        kernel: Kernel | None = None,
        context_name: Any = _INFERRED,
    ) -> Apply[Self]:
        """Return the node that does the work of a node of the host, for inputs of the same dtypes and shapes.

        Parameters
        ----------
        host : Apply
            A node of `host_op`.
        inputs : sequence of Variable
            On the device, or on the host.
        kernel : Kernel, optional
            The kernel of `host`, where it is known.
        context_name : str or None, optional
            Where the node runs; by default the context of the inputs.

        Raises
        ------
        NoDeviceForm
            If devices cannot compute this.
        """
        kernel = native_kernel.describe(host, DEVICE) if kernel is None else kernel
        if kernel is None or not has_device_form(kernel):
            raise NoDeviceForm(
                format_error(
                    f"{self}: devices cannot compute `{host.op}` of these operands",
                    context=[describe(v) for v in host.inputs],
                    hint=f"apply {host.op} on the host; the result can be transferred with transfer(name)",
                )
            )
        kernel = self.device_kernel(kernel)
        name = self.context_for(inputs) if context_name is _INFERRED else context_name
        if not has_library(kernel, name):
            raise NoDeviceForm(
                format_error(
                    f"{self}: the context {name!r} has no library that computes `{host.op}`",
                    context=[describe(v) for v in host.inputs],
                    hint=f"install cuSOLVER, or apply {host.op} on the host and transfer its results",
                )
            )
        stays = set(host_inputs_of(kernel, len(inputs)))
        placed = [v if i in stays else _on_device(v, name) for i, v in enumerate(inputs)]
        placed = [host_from_gpu(v) if i in stays and _is_on_device(v) else v for i, v in enumerate(placed)]
        outputs = [GpuArrayType(v.type.dtype, v.type.shape, name).make_variable() for v in host.outputs]
        node = Apply(self, placed, outputs)
        _kernels[node] = kernel
        return node

    def device_kernel(self, kernel: Kernel) -> Kernel:
        """Return the device's code for a kernel of the op of the host; subclasses may extend it."""
        return kernel

    def host_node(self, node: Apply[Self], *, transfer: bool = False) -> Apply:
        """Return the node of the host that defines the work of a node of this op.

        Parameters
        ----------
        node : Apply
        transfer : bool
            Whether its inputs are the operands, transferred to the host; otherwise they are other variables of the same
            dtypes and shapes.
        """
        inputs = [host_from_gpu(v) if transfer and _is_on_device(v) else _stand_in(v) for v in node.inputs]
        return self.host_op.make_node(*inputs)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Run the kernel of the node at once."""
        for cell, result in zip(output_storage, runner_of(node)(list(inputs)), strict=True):
            cell[0] = result

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Leave constants as they are: their values on the host were looked at before."""
        return False

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Return which outputs depend on which inputs, as for the op of the host."""
        pattern: Callable[[Apply], list[list[bool]]] | None = getattr(self.host_op, "connection_pattern", None)
        if pattern is None:
            return [[True] * len(node.outputs) for _ in node.inputs]
        return pattern(self.host_node(node))

    def __str__(self) -> str:
        return f"Gpu{self.host_op}"


#: Node -> its kernel, worked out once.
_kernels: WeakKeyDictionary[Apply, Kernel] = WeakKeyDictionary()


def device_kernel(node: Apply) -> Kernel:
    """Return the kernel of a node of a :class:`DeviceOp`.

    Raises
    ------
    NoDeviceForm
        If its op of the host has none for these operands.
    """
    kernel = _kernels.get(node)
    if kernel is None:
        kernel = native_kernel.describe(node.op.host_node(node), DEVICE)
        if kernel is None:
            raise NoDeviceForm(
                format_error(f"{node.op} has no kernel for its operands", context=[describe(v) for v in node.inputs])
            )
        kernel = node.op.device_kernel(kernel)
        _kernels[node] = kernel
    return kernel


def has_device_form(kernel: Kernel) -> bool:
    """Tell whether devices can run a kernel."""
    form = device_form.get(kernel)
    return form is not None and form.supports(kernel)


def has_library(kernel: Kernel, context_name: Hashable) -> bool:
    """Tell whether a context has the library without which devices cannot run a kernel that has a device form."""
    call = device_form.lookup(kernel).library(kernel)
    if call is None:
        return True
    return get_context(context_name).native.workspace(call.name, call.dtype, call.numbers) is not None


def host_inputs_of(kernel: Kernel, count: int) -> Sequence[int]:
    """Return the positions of the inputs of a kernel, of so many, that stay on the host."""
    return device_form.lookup(kernel).host_inputs(kernel, count)


def runner_of(node: Apply) -> Callable[[list[Any]], list[Any]]:
    """Return a function that computes the outputs of a node from values of its inputs, at once."""
    kernel, name = device_kernel(node), node.outputs[0].type.context_name

    def run(values: list[Any]) -> list[Any]:
        context = get_context(name)
        return [as_device_value(result, context) for result in run_kernel(kernel, context, values)]

    return run


def as_device_value(result: Any, context: GpuContext) -> GpuArray:
    """Return a result of a kernel as an array on the device."""
    if isinstance(result, GpuArray):
        return result
    if hasattr(result, "buffer"):
        return GpuArray(result.buffer, result.dtype, result.shape, result.strides, result.offset, context)
    return asarray(np.asarray(result), context=context)


def _is_on_device(x: Any) -> bool:
    return isinstance(x, Variable) and isinstance(x.type, GpuArrayType)


def _stand_in(x: Any) -> Any:
    """Return a variable of the host of the same dtype and shape as one on a device; all else as it is."""
    return host_type(x.type.dtype, x.type.shape).make_variable() if _is_on_device(x) else x


def _on_device(v: Any, name: Hashable) -> Any:
    if not _is_on_device(v) and not is_host_array(v):
        return v
    kind = GpuArrayType(v.type.dtype, v.type.shape, name)
    if _is_on_device(v):
        return kind.convert_variable(v)
    return kind.make_constant(v.data) if isinstance(v, Constant) else GpuFromHost(name)(v)


def _in_place_of(v: Variable, replacements: Mapping[Variable, Any]) -> Variable:
    """Return the operand for which a variable of a host node stands: an input, or a result computed from inputs."""
    if v in replacements:
        operand: Variable = replacements[v]
        return operand
    node = v.owner
    if node is None or not any(_depends(u, replacements) for u in node.inputs):
        return v
    # The op of the host has prepared an operand, by inserting dimensions or converting it: the device does the same.
    device = DeviceOp(node.op).applied(node, [_in_place_of(u, replacements) for u in node.inputs])
    replacement: Variable = device.outputs[node.outputs.index(v)]
    return replacement


def _depends(v: Variable, given: Mapping[Variable, Any]) -> bool:
    if v in given:
        return _is_on_device(given[v])
    return v.owner is not None and any(_depends(u, given) for u in v.owner.inputs)


@native_kernel.for_target(DEVICE).register(DeviceOp)
def _describe(node: Apply[DeviceOp]) -> Kernel | None:
    return device_kernel(node)


@call_form.register(DeviceOp)
def _call(node: Apply[DeviceOp]) -> Callable[[list[Any]], Sequence[Any]]:
    return runner_of(node)


@device_kind.register(DeviceOp)
def _kind(node: Apply) -> Any:
    return "gpu"


@shape_rule.register(DeviceOp)
def _shape(node: Apply[DeviceOp], input_shapes: list[Any]) -> Sequence[Any]:
    rule = shape_rule.lookup(node.op.host_op)
    return rule(node.op.host_node(node, transfer=True), input_shapes)


@pullback.register(DeviceOp)
def _pullback(node: Apply[DeviceOp], cotangents: list[Variable]) -> Sequence[Variable | None]:
    rule = pullback.lookup(node.op.host_op)
    gradients = [host_from_gpu(g) if _is_on_device(g) else g for g in cotangents]
    return rule(node.op.host_node(node, transfer=True), gradients)


@pushforward.register(DeviceOp)
def _pushforward(node: Apply[DeviceOp], tangents: list[Variable | None]) -> Sequence[Variable | None]:
    rule = pushforward.lookup(node.op.host_op)
    tangents_on_host = [host_from_gpu(t) if _is_on_device(t) else t for t in tangents]
    return rule(node.op.host_node(node, transfer=True), tangents_on_host)


batch_rule.declare_absent(DeviceOp, "graphs are applied to batches before they are compiled for a device")

__all__ = [
    "DEVICE",
    "DeviceOp",
    "GpuArrayType",
    "GpuContextType",
    "GpuFromHost",
    "GpuToGpu",
    "HostFromGpu",
    "TransferOp",
    "as_device_value",
    "context_of",
    "device_kernel",
    "gpu_context_type",
    "gpu_from_host",
    "gpu_to_gpu",
    "has_device_form",
    "has_library",
    "host_from_gpu",
    "host_inputs_of",
    "host_type",
    "infer_context_name",
    "is_host_array",
    "register_host_type",
    "runner_of",
]
