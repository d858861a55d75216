"""Tables of the device ops of host ops and of lifters, and the bases of device ops with a documented name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self, TypeVar

from theano_gpuarray.types import DeviceOp
from theano_graph import Apply, Op, RuleTable, Variable

from ..on_devices import device_expression

#: Constructors of the device op of a node of the host, by the class of its op: ``(node, context_name)``. Nodes of other
#: ops get a plain `DeviceOp`.
device_op: RuleTable[Callable[[Apply, Hashable], DeviceOp]] = RuleTable("device_op")

Lifter = Callable[[Any, Hashable, Sequence[Variable], Sequence[Variable]], Any]
#: How nodes of other ops are lifted: ``(op, context_name, inputs, outputs)`` gives an op for the device, or its
#: outputs, or None where this node stays on the host. Inputs are variables of the host.
lifters: RuleTable[Lifter] = RuleTable("device_lifter")


def lifter_of(op: Op) -> Lifter | None:
    """Return how nodes of an op are lifted, where it has no device op of its own; None for other ops."""
    lifter = lifters.get(op)
    if lifter is not None:
        return lifter
    expression = device_expression.get(op)
    return None if expression is None else lambda op, context_name, inputs, outputs: expression(op, inputs)


OpT = TypeVar("OpT", bound="NamedDeviceOp")


class NamedDeviceOp(DeviceOp):
    """The base of device ops with a documented name, whose constructors take the arguments of the op of the host."""

    #: The ops it may stand for.
    host_classes: tuple[type[Op], ...] = ()

    @classmethod
    def of(cls, host_op: Op) -> Self:
        """Return the device op of an op of the host."""
        op = cls.__new__(cls)
        DeviceOp.__init__(op, host_op)
        return op


def device_op_of(node: Apply, context_name: Hashable) -> DeviceOp:
    """Return the device op that does the work of a host's node in a context."""
    make = device_op.get(node.op)
    return DeviceOp(node.op) if make is None else make(node, context_name)


def stands_for(*host_classes: type[Op]) -> Callable[[type[OpT]], type[OpT]]:
    """Return a decorator of a class of device ops: ops of some classes of the host become such."""

    def register(device_class: type[OpT]) -> type[OpT]:
        device_class.host_classes = host_classes
        device_op.register(*host_classes)(lambda node, context_name: device_class.of(node.op))
        return device_class

    return register


# ---- The common part of ops for neural networks on devices


class DnnBase(NamedDeviceOp):
    """The base of ops for neural networks on devices.

    They are computed by kernels that are generated for the device; no library is needed.
    """

    def __str__(self) -> str:
        shown = [f"{name}={getattr(self, name)!r}" for name in self.__props__ or () if name != "host_op"]
        return f"{type(self).__name__}{{{', '.join(shown)}}}"
