"""Layers that cuDNN computes in one call: ops that say what, with expressions that compute the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, DnnKernel
from theano_gpuarray.contexts import get_context, has_cudnn
from theano_gpuarray.lowering.fusion import fuse
from theano_gpuarray.region import Step, record_inside
from theano_gpuarray.types import DEVICE, GpuArrayType, host_from_gpu, host_type
from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    clone_replace,
    config,
    io_connection_pattern,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import Kernel, native_kernel

from ...gradient import DisconnectedType, Rop
from ...gradient._accumulation._backward import backward
from .._convert import as_gpuarray_variable
from ..ops._table import stands_for
from ._base import DnnBase

__all__ = ["GpuDnnLayer", "LayerOp", "library_results"]


class LayerOp(Op):
    """The base of ops of the host that say what cuDNN computes in one call.

    Devices run them, by a kernel that asks the library first. Derivatives and shapes are those of :meth:`expression`,
    unless a subclass has its own; where the library does not compute, :meth:`steps` does.

    Attributes
    ----------
    task : str
        The name that the kernel has for it.
    dtypes : frozenset of str
        Those that the library has it for; all arrays have the same.
    numbers : tuple of int
        Positions of operands that are numbers on the host.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    task: ClassVar[str]
    dtypes: ClassVar[frozenset[str]] = frozenset({"float16", "float32", "float64"})
    numbers: tuple[int, ...] = ()

    def options(self) -> tuple[int, ...]:
        """Return what the kernel has to know of the op."""
        return ()

    def expression(self, *inputs: Any) -> list[Any]:
        """Return what the op computes, as an expression of the host."""
        raise TypeError(f"{type(self).__name__} does not say what it computes")

    def steps(self, *inputs: Any) -> list[Any]:
        """Return the same of ops that all have kernels; inputs may be followed by what :meth:`known` gives."""
        return self.expression(*inputs)

    def known(self, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
        """Return numbers that :meth:`steps` needs and that follow from the shapes of operands."""
        return []

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Tell whether the library has it for operands of such types."""
        return True

    def instead(self, inputs: Sequence[Any]) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
        """Return what records kernels where the library does not compute, ``(recorder, operands) -> results``."""
        return _Steps(self, inputs)

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the results from those of the operands; None for one that is not known."""
        raise TypeError(f"{type(self).__name__} does not say what shapes its results have")

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the derivatives by the operands, made of arrays on the device; None where the expression has them.

        Cotangents are None for results on which nothing depends.
        """
        return None

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to variables of the host."""
        return Apply(self, list(inputs), [v.type.make_variable() for v in self.expression(*inputs)])

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Tell which outputs depend on which inputs: as in the expression."""
        inputs = [v.type.make_variable() for v in node.inputs]
        pattern: list[list[bool]] = io_connection_pattern(inputs, self.expression(*inputs))
        return pattern


@stands_for(LayerOp)
class GpuDnnLayer(DnnBase):
    """A layer that cuDNN computes on a device, in contexts that have it.

    Parameters
    ----------
    host_op : LayerOp
    """

    def __init__(self, host_op: LayerOp) -> None:
        super().__init__(host_op)

    def __str__(self) -> str:
        return f"GpuDnnLayer{{{self.host_op}}}"


def library_results(op: LayerOp, context_name: Hashable, *inputs: Any) -> list[Any] | None:
    """Return the results of a layer as nodes that ask cuDNN; None where cuDNN has none for them.

    Parameters
    ----------
    op : LayerOp
    context_name : hashable
    *inputs : Variable
        On the device or on the host.
    """
    dtypes = {v.type.dtype for i, v in enumerate(inputs) if i not in op.numbers}
    if not has_cudnn(get_context(context_name)) or len(dtypes) > 1 or not dtypes <= op.dtypes:
        return None
    if not op.takes(inputs):
        return None
    made: dict[str, Any] = {"return_list": True}
    return list(GpuDnnLayer(op)(*inputs, **made))


class _Steps:
    """Records the steps that compute what the library does not."""

    def __init__(self, op: LayerOp, inputs: Sequence[Variable]) -> None:
        self._op = op
        self._types = [v.type for v in inputs]
        self._found: tuple[list[tuple[int, Step]], dict[int, Any], list[int]] | None = None

    def __call__(self, recorder: Any, operands: Sequence[Any]) -> Sequence[Any]:
        shapes = [x.shape if isinstance(x, DeviceOperand) else np.shape(x) for x in operands]
        known = [np.asarray(v) for v in self._op.known(shapes)]
        if self._found is None:
            self._found = self._lowered(known)
        steps, constants, outputs = self._found
        return record_inside(recorder, steps, {**constants, **dict(enumerate([*operands, *known]))}, outputs)

    def _lowered(self, known: Sequence[Any]) -> tuple[list[tuple[int, Step]], dict[int, Any], list[int]]:
        inputs = [kind.make_variable() for kind in self._types]
        inputs += [host_type(value.dtype.name, value.shape).make_variable() for value in known]
        graph = FunctionGraph(inputs, self._op.steps(*inputs), clone=False)
        nodes = graph.toposort()
        numbers: dict[Variable, int] = {}
        for v in (*inputs, *(v for node in nodes for v in (*node.inputs, *node.outputs)), *graph.outputs):
            numbers.setdefault(v, len(numbers))
        steps = [
            (i, Step(_kernel(node), tuple(numbers[v] for v in node.inputs), tuple(numbers[v] for v in node.outputs)))
            for i, node in enumerate(nodes)
        ]
        constants = {k: np.asarray(v.data) for v, k in numbers.items() if isinstance(v, Constant)}
        outputs = [numbers[v] for v in graph.outputs]
        return list(fuse(steps, outputs)), constants, outputs


def _kernel(node: Apply) -> Kernel:
    kernel: Kernel | None = native_kernel.describe(node, DEVICE)
    assert kernel is not None, f"{node.op} has no kernel"
    return kernel


@native_kernel.for_target(DEVICE).register(LayerOp)
def _describe(node: Apply[LayerOp]) -> Kernel | None:
    op, dtype = node.op, node.inputs[0].type.dtype
    return DnnKernel(op.task, dtype, op.options(), op.numbers, op.instead(node.inputs))


@shape_rule.register(LayerOp)
def _shape(node: Apply[LayerOp], input_shapes: list[Any]) -> Sequence[Any]:
    return node.op.shapes(input_shapes)


@pullback.register(LayerOp)
def _by_expression(node: Apply[LayerOp], cotangents: list[Variable]) -> list[Variable | None]:
    inputs = [v.type.make_variable() for v in node.inputs]
    outputs = node.op.expression(*inputs)
    known = {v: g for v, g in zip(outputs, cotangents, strict=True) if _is_there(g)}
    # Of the results, averages are what others are computed from, and what flows to them is added.
    with config.change_flags(warn_integer_gradient=False):
        found = backward(known, inputs, additive=True)
    return _placed(node, inputs, outputs, found)


@pushforward.register(LayerOp)
def _forwards(node: Apply[LayerOp], tangents: list[Variable | None]) -> list[Variable | None]:
    inputs = [v.type.make_variable() for v in node.inputs]
    outputs = node.op.expression(*inputs)
    pairs = [(v, t) for v, t in zip(inputs, tangents, strict=True) if t is not None]
    if not pairs:
        return [None] * len(outputs)
    wrt, points = [v for v, _ in pairs], [t for _, t in pairs]
    options: dict[str, Any] = {"disconnected_outputs": "ignore", "return_disconnected": "Disconnected"}
    found: Any = Rop(outputs, wrt, points, **options)
    return _placed(node, inputs, outputs, found)


def _placed(
    node: Apply[LayerOp], inputs: Sequence[Variable], outputs: Sequence[Variable], found: Sequence[Variable | None]
) -> list[Variable | None]:
    """Return derivatives of the expression in terms of the operands; None where there is no connection."""
    values = dict(zip((*inputs, *outputs), (*node.inputs, *node.op.expression(*node.inputs)), strict=True))
    return [None if v is None or not _is_there(v) else clone_replace(v, values) for v in found]


def _is_there(cotangent: Variable) -> bool:
    return not isinstance(cotangent.type, DisconnectedType)


@pullback.register(GpuDnnLayer)
def _pullback(node: Apply[GpuDnnLayer], cotangents: list[Variable]) -> Sequence[Variable | None]:
    op: Any = node.op.host_op
    name = node.outputs[0].type.context_name
    given = [as_gpuarray_variable(g, name) if _is_there(g) else None for g in cotangents]
    found = op.gradient(node.inputs, node.outputs, given)
    if found is not None:
        return [host_from_gpu(v) if isinstance(getattr(v, "type", None), GpuArrayType) else v for v in found]
    host = [host_from_gpu(g) if isinstance(g.type, GpuArrayType) else g for g in cotangents]
    return _by_expression(node.op.host_node(node, transfer=True), host)
