"""Ops that move arrays between the host and devices; contexts as parameters of ops, and told by their operands."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    SingletonType,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c import as_host, function_cache_depends_on
from theano_linker_c.profiling import device_kind
from theano_linker_c.program import call_form

from ..arrays import GpuArray, asarray
from ..contexts import GpuContext, get_context, identity_of_contexts, list_contexts
from ._array_type import ContextCode, GpuArrayType, context_of, host_spec, host_type, set_conversions

# ---- The type of contexts


class GpuContextType(ContextCode, SingletonType):
    """The type of contexts, for the `params_type` of ops; no variable of a graph has it.

    Examples
    --------
    >>> from theano_gpuarray.types import GpuContextType
    >>> GpuContextType() == GpuContextType()
    True
    """

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> GpuContext:
        """Return a context; TypeError for anything else."""
        if not isinstance(value, GpuContext):
            raise TypeError(
                format_error(
                    f"{value!r} ({type(value).__name__}) is no context of a device",
                    hint="pass get_context(name), or the attribute `context` of a GpuArrayType",
                )
            )
        return value

    def values_eq(self, a: GpuContext, b: GpuContext) -> bool:
        """Tell whether two contexts are the same one."""
        return a is b or a == b

    def get_params(self, op: Any) -> GpuContext:
        """Return the context that an op names by its attribute `context_name`."""
        return get_context(op.context_name)


#: The one instance that is needed.
gpu_context_type = GpuContextType()


# ---- Transfers


class TransferOp(Op):
    """The base of ops that move arrays; the result equals the operand."""

    def infer_shape(self, node: Apply[Self], input_shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the operand."""
        return [input_shapes[0]]

    def move(self, value: Any) -> Any:
        """Return a value moved."""
        raise TypeError(format_error(f"{type(self).__name__} moves nothing", hint="use one of its subclasses"))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Move the value."""
        output_storage[0][0] = self.move(inputs[0])

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Leave constants to the rewrites for devices, which know whether anybody wants them there."""
        return False


class GpuFromHost(TransferOp):
    """Move an array from the host to a context.

    Parameters
    ----------
    context_name : str or None
    """

    __props__ = ("context_name",)

    def __init__(self, context_name: Hashable) -> None:
        self.context_name = context_name

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to a tensor; TypeError for other variables."""
        variable = _variable(x, self)
        spec = host_spec(variable)
        return Apply(self, [variable], [GpuArrayType(spec.dtype, spec.shape, self.context_name).make_variable()])

    def move(self, value: Any) -> GpuArray:
        """Return a copy in the context."""
        return asarray(value, context=get_context(self.context_name))

    def __str__(self) -> str:
        return f"GpuFromHost<{self.context_name}>"


class HostFromGpu(TransferOp):
    """Move an array from a device to the host; this waits for the work that computes it."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to a variable on a device; TypeError for others."""
        kind = _device_type(x, self)
        return Apply(self, [x], [host_type(kind.dtype, kind.shape).make_variable()])

    def move(self, value: Any) -> Any:
        """Return a copy on the host."""
        return np.asarray(value)

    def __str__(self) -> str:
        return "HostFromGpu(gpuarray)"


class GpuToGpu(TransferOp):
    """Move an array from one context to another.

    Parameters
    ----------
    context_name : str or None
        Where it goes.
    """

    __props__ = ("context_name",)
    #: Two names may stand for one device: the array is the operand itself then.
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, context_name: Hashable) -> None:
        self.context_name = context_name

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to a variable on a device; TypeError for others."""
        kind = _device_type(x, self)
        return Apply(self, [x], [GpuArrayType(kind.dtype, kind.shape, self.context_name).make_variable()])

    def move(self, value: Any) -> GpuArray:
        """Return the array in the context."""
        context = get_context(self.context_name)
        moved: GpuArray = value if value.context is context else value.transfer(context)
        return moved

    def __str__(self) -> str:
        return f"GpuToGpu<{self.context_name}>"


#: The one op to the host that is needed.
host_from_gpu = HostFromGpu()


def gpu_from_host(context_name: Hashable) -> GpuFromHost:
    """Return the op that moves arrays from the host to a context."""
    return GpuFromHost(context_name)


def gpu_to_gpu(context_name: Hashable) -> GpuToGpu:
    """Return the op that moves arrays from another context to this one."""
    return GpuToGpu(context_name)


def _variable(x: Any, op: Op) -> Variable:
    if isinstance(x, Variable):
        return x
    raise TypeError(
        format_error(f"{op}: {x!r:.60} is no variable", hint="use as_gpuarray_variable(value, context_name)")
    )


def _device_type(x: Any, op: Op) -> GpuArrayType:
    kind = _variable(x, op).type
    if isinstance(kind, GpuArrayType):
        return kind
    raise TypeError(
        format_error(
            f"{op} takes an array on a device", context=[describe(x)], hint="leave the transfer out for tensors"
        )
    )


def _to_host(x: Variable) -> Any:
    return host_from_gpu(x) if isinstance(x.type, GpuArrayType) else x


set_conversions(
    from_host=lambda x, name: GpuFromHost(name)(x), to_host=_to_host, between=lambda x, name: GpuToGpu(name)(x)
)


@as_host.register(GpuArray)
def _elements(value: GpuArray) -> Any:
    return np.asarray(value)


function_cache_depends_on(identity_of_contexts)


@pullback.register(GpuFromHost, HostFromGpu)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    # Gradients are added and used by expressions on the host, for variables of both kinds; rewriting moves these.
    return [_to_host(cotangents[0])]


@pullback.register(GpuToGpu)
def _pullback_between(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    (g,) = cotangents
    return [node.inputs[0].type.convert_variable(g) if isinstance(g.type, GpuArrayType) else g]


@pushforward.register(TransferOp)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    (t,) = tangents
    return [None if t is None else _to_host(t)]


@shape_rule.register(TransferOp)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@call_form.register(TransferOp)
def _call(node: Apply[TransferOp]) -> Any:
    move = node.op.move
    return lambda values: [move(values[0])]


@device_kind.register(TransferOp)
def _kind(node: Apply) -> Any:
    return "transfer"


batch_rule.declare_absent(TransferOp, "arrays on a device have no dimension for a batch; transfer the batch")


# ---- The context of an op, told by its operands


def infer_context_name(*vars: Any) -> Hashable:
    """Return the name of the context for an op on some variables.

    Parameters
    ----------
    *vars : Variable
        Variables that shall be on the device. The first one that is there decides, or has just been transferred from
        there, or has the name in its attribute ``tag.context_name``; or, where it is computed of one variable, that one
        does.

    Raises
    ------
    ValueError
        If none tells, and there is no context of the name None.
    """
    for v in vars:
        while isinstance(v, Variable):
            if isinstance(v.type, GpuArrayType):
                return v.type.context_name
            if v.owner is not None and isinstance(v.owner.op, HostFromGpu):
                return context_of(v.owner.inputs[0])
            if v.has_tag() and hasattr(v.tag, "context_name"):
                name: Hashable = v.tag.context_name
                return name
            v = v.owner.inputs[0] if v.owner is not None and len(v.owner.inputs) == 1 else None
    if None in list_contexts():
        return None
    raise ValueError(
        format_error(
            "no context can be inferred from the variables",
            context=[describe(v) for v in vars if isinstance(v, Variable)],
            hint="set the flag `device` to a device, or transfer one of them: x.transfer(name)",
        )
    )


__all__ = [
    "GpuContextType",
    "gpu_context_type",
    "GpuFromHost",
    "GpuToGpu",
    "HostFromGpu",
    "TransferOp",
    "gpu_from_host",
    "gpu_to_gpu",
    "host_from_gpu",
    "infer_context_name",
]
