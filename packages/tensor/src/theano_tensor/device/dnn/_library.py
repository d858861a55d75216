"""Layers that cuDNN computes in one call: their description, softmax of images, and batch normalization."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_gpuarray.codegen import DeviceOperand, DnnKernel
from theano_gpuarray.contexts import get_context, has_cudnn
from theano_gpuarray.region import Step, record_inside
from theano_gpuarray.types import DEVICE, GpuArrayType, host_from_gpu
from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    batch_rule,
    clone_replace,
    config,
    io_connection_pattern,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import Kernel, native_kernel

from ..._core._convert import as_tensor_variable
from ..._core._ops import run_in_a_loop
from ...elemwise import cast, exp, log
from ...gradient import DisconnectedType, Rop
from ...gradient._backward import backward
from ...nnet.bn import batch_normalization_test, batch_normalization_train
from ...reduce import max as max_over, sum as sum_over
from ...shape import ShapeI, ShapeOf, addbroadcast, shape_i
from .._table import DnnBase, stands_for
from .._variables import as_gpuarray_variable

# ---- Layers that cuDNN computes in one call: ops that describe them, with expressions that compute the same


class LayerOp(Op):
    """The base of ops of the host for layers that cuDNN computes in one call.

    Devices run them, by a kernel that asks the library first. Derivatives and shapes are those of :meth:`expression`,
    unless a subclass has its own; where the library does not compute, its kernels do.

    Attributes
    ----------
    task : str
        The name that the kernel has for it.
    dtypes : frozenset of str
        The dtypes of the library; all arrays have the same.
    numbers : tuple of int
        Positions of operands that are numbers on the host.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    task: ClassVar[str]
    dtypes: ClassVar[frozenset[str]] = frozenset({"float16", "float32", "float64"})
    numbers: tuple[int, ...] = ()

    def options(self) -> tuple[int, ...]:
        """Return the op's parameters for the kernel."""
        return ()

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the op as an expression of the host."""
        raise TypeError(f"{type(self).__name__} does not define its expression")

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Tell whether the library has it for operands of such types."""
        return True

    def instead(self, inputs: Sequence[Any]) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
        """Return a recorder of kernels where the library does not compute, ``(recorder, operands) -> results``."""
        return _Kernels(self, inputs)

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the results from those of the operands; None for one that is not known."""
        raise TypeError(f"{type(self).__name__} does not define the shapes of its results")

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
    options: dict[str, Any] = {"return_list": True}
    return list(GpuDnnLayer(op)(*inputs, **options))


class _Kernels:
    """Records the kernels of an expression, node by node; numbers made of lengths are computed on the host."""

    def __init__(self, op: LayerOp, inputs: Sequence[Variable]) -> None:
        self._op = op
        self._types = [v.type for v in inputs]
        self._found: tuple[list[Variable], list[Apply], list[Variable]] | None = None

    def __call__(self, recorder: Any, operands: Sequence[Any]) -> Sequence[Any]:
        if self._found is None:
            variables = [kind.make_variable() for kind in self._types]
            graph = FunctionGraph(variables, self._op.expression(*variables), clone=False)
            self._found = variables, graph.toposort(), list(graph.outputs)
        inputs, nodes, outputs = self._found
        replacements: dict[Variable, Any] = dict(zip(inputs, operands, strict=True))
        for node in nodes:
            variables = [np.asarray(v.data) if isinstance(v, Constant) else replacements[v] for v in node.inputs]
            replacements.update(zip(node.outputs, _run(recorder, node, variables), strict=True))
        return [np.asarray(v.data) if isinstance(v, Constant) else replacements[v] for v in outputs]


def _run(recorder: Any, node: Apply, given: Sequence[Any]) -> Sequence[Any]:
    """Return the results of a node: lengths and numbers made of them on the host, others as they are recorded."""
    if isinstance(node.op, ShapeI):
        return [np.asarray(np.shape(given[0])[node.op.i], "int64")]
    if isinstance(node.op, ShapeOf):
        return [np.asarray(np.shape(given[0]), "int64")]
    if not any(isinstance(v, DeviceOperand) for v in given):
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, list(given), cells)
        return [np.asarray(cell[0]) for cell in cells]
    kernel: Kernel | None = native_kernel.describe(node, DEVICE)
    assert kernel is not None, f"{node.op} has no kernel"
    inputs = tuple(range(len(given)))
    outputs = tuple(range(len(given), len(given) + len(node.outputs)))
    step = Step(kernel, inputs, outputs)
    return record_inside(recorder, [(0, step)], dict(enumerate(given)), outputs)


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
    cotangent_of = {v: g for v, g in zip(outputs, cotangents, strict=True) if _is_there(g)}
    # Of the results, averages are inputs of others, and cotangents to them are added.
    with config.change_flags(warn_integer_gradient=False):
        gradients = backward(cotangent_of, inputs, additive=True)
    return _placed(node, inputs, outputs, gradients)


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
    cotangents_on_device = [as_gpuarray_variable(g, name) if _is_there(g) else None for g in cotangents]
    gradients = op.gradient(node.inputs, node.outputs, cotangents_on_device)
    if gradients is not None:
        return [host_from_gpu(v) if isinstance(getattr(v, "type", None), GpuArrayType) else v for v in gradients]
    host = [host_from_gpu(g) if isinstance(g.type, GpuArrayType) else g for g in cotangents]
    return _by_expression(node.op.host_node(node, transfer=True), host)


batch_rule.register(LayerOp)(run_in_a_loop)


# ---- Softmax of images as cuDNN computes it

#: The library's numbers.
_ALGORITHMS = {"fast": 0, "accurate": 1, "log": 2}
_SOFTMAX_MODES = {"instance": 0, "channel": 1}


class SoftmaxLayer(LayerOp):
    """Softmax of images, or its logarithm.

    Parameters
    ----------
    algo : {'fast', 'accurate', 'log'}
        'fast' does not take the largest element out before where the library computes.
    mode : {'instance', 'channel'}
        Whether softmax is over all of each image, or over the channels at each position.
    """

    __props__ = ("algo", "mode")
    task = "softmax"

    def __init__(self, algo: str, mode: str) -> None:
        self.algo, self.mode = algo, mode

    def options(self) -> tuple[int, ...]:
        """Return algorithm and mode as the library has them."""
        return _ALGORITHMS[self.algo], _SOFTMAX_MODES[self.mode]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes over which sums are taken."""
        return (1,) if self.mode == "channel" else (1, 2, 3)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the softmax of scores."""
        (x,) = inputs
        shifted = x - max_over(x, axis=self.axes, keepdims=True)
        total = sum_over(exp(shifted), axis=self.axes, keepdims=True)
        return [shifted - log(total) if self.algo == "log" else exp(shifted) / total]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the scores."""
        return [shapes[0]]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the gradient by the scores, which the library computes, too."""
        return [GpuDnnLayer(SoftmaxLayerGrad(self.algo, self.mode))(cotangents[0], outputs[0])]


class SoftmaxLayerGrad(SoftmaxLayer):
    """The gradient of softmax by the scores; operands are the gradient by its result, and this result."""

    task = "softmax_grad"

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradient."""
        dy, y = inputs
        if self.algo == "log":
            return [dy - exp(y) * sum_over(dy, axis=self.axes, keepdims=True)]
        return [y * (dy - sum_over(dy * y, axis=self.axes, keepdims=True))]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Leave second derivatives to the expression."""
        return None


# ---- Batch normalization as cuDNN computes it


def _is_constant(v: Any) -> bool:
    """Tell whether a variable is made of constants alone."""
    return isinstance(v, Constant) or (v.owner is not None and all(_is_constant(u) for u in v.owner.inputs))


#: The library's numbers.
_NORMALIZATION_MODES = {"per-activation": 0, "spatial": 1}


class _Normalization(LayerOp):
    """The base of normalization and its gradient.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
        Whether averages are over the first axis, or over all but the second.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("mode",)
    dtypes = frozenset({"float32", "float64"})

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def options(self) -> tuple[int, ...]:
        """Return the mode as the library has it."""
        return (_NORMALIZATION_MODES[self.mode],)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes that are averaged over."""
        return (0,) if self.mode == "per-activation" else (0, *range(2, ndim))

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Tell whether all arrays have as many dimensions as the batch, and there are channels."""
        ndim = inputs[0].type.ndim
        arrays = [v for i, v in enumerate(inputs) if i not in self.numbers]
        return ndim > _NORMALIZATION_MODES[self.mode] and all(v.type.ndim == ndim for v in arrays)

    def of_channels(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Return the shape of averages over a batch."""
        axes = self.axes(len(shape))
        return tuple(as_tensor_variable(np.int64(1)) if i in axes else n for i, n in enumerate(shape))

    def count(self, x: Any) -> Any:
        """Return how many elements are averaged, as an expression."""
        total: Any = cast(1, "float64")
        for axis in self.axes(x.type.ndim):
            total = total * shape_i(x, axis)
        return total


class NormalizationLayer(_Normalization):
    """Normalization of a batch with its own mean and variance.

    Operands are the batch, scale, shift and epsilon, and where there are running averages the weight of the batch in
    them, and these two. Results are the normalized batch, its mean, the inverse of its standard deviation, and the new
    running averages.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
    running : bool
        Whether there are running averages.
    """

    __props__ = ("mode", "running")
    task = "norm_train"

    def __init__(self, mode: str, running: bool) -> None:
        super().__init__(mode)
        self.running = running
        self.numbers = (3, 4) if running else (3,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the normalized batch, and averages."""
        x, scale, shift, epsilon, *running = inputs
        return list(batch_normalization_train(x, scale, shift, self.mode, epsilon, *running))

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the batch, and those of averages."""
        return [shapes[0], *(self.of_channels(shapes[0]) for _ in range(4 if self.running else 2))]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the library's layer, where nothing depends on averages or on a variable epsilon."""
        if cotangents[0] is None or any(v is not None for v in cotangents[1:]) or not _is_constant(inputs[3]):
            return None
        layer = GpuDnnLayer(NormalizationLayerGrad(self.mode))
        options: dict[str, Any] = {"return_list": True}
        results = layer(inputs[0], cotangents[0], inputs[1], outputs[1], outputs[2], inputs[3], **options)
        return [*results, as_tensor_variable(np.zeros((), inputs[3].type.dtype)), *(None for _ in inputs[4:])]


class NormalizationLayerTest(_Normalization):
    """Normalization of a batch with a given mean and variance; operands are the batch, scale, shift, these, epsilon."""

    task = "norm_test"
    numbers = (5,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the normalized batch."""
        x, scale, shift, mean, var, epsilon = inputs
        return [batch_normalization_test(x, scale, shift, mean, var, self.mode, epsilon)]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the batch."""
        return [shapes[0]]


class NormalizationLayerGrad(_Normalization):
    """The gradients by a batch, scale and shift.

    Operands are the batch, the gradient by the normalized one, scale, mean, the inverse of the standard deviation, and
    epsilon.
    """

    task = "norm_grad"
    numbers = (5,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradients: Ioffe and Szegedy (2015), section 3."""
        x, dy, *parameters = inputs[:5]
        axes = self.axes(x.type.ndim)
        scale, mean, inverse = (addbroadcast(v, *axes) for v in parameters)
        normalized, many = (x - mean) * inverse, cast(self.count(x), x.type.dtype)
        by_shift = sum_over(dy, axis=axes, keepdims=True)
        by_scale = sum_over(dy * normalized, axis=axes, keepdims=True)
        by_batch = (scale * inverse) * (dy - by_shift / many - normalized * (by_scale / many))
        return [by_batch, by_scale, by_shift]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the batch, and twice that of its averages."""
        return [shapes[0], *[self.of_channels(shapes[0])] * 2]


__all__ = [
    "GpuDnnLayer",
    "LayerOp",
    "library_results",
    "SoftmaxLayer",
    "SoftmaxLayerGrad",
    "NormalizationLayer",
    "NormalizationLayerGrad",
    "NormalizationLayerTest",
]
