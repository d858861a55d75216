"""Pooling on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_gpuarray.codegen import DnnPoolingKernel
from theano_gpuarray.types import DeviceOp, host_from_gpu
from theano_graph import Apply, Op, Variable, batch_rule, format_error, generic, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, PoolingKernel

from ...on_devices import DnnBase
from ...shape import lengths_of, make_vector
from ...signal.pool import AveragePoolGrad, MaxPoolGrad, Pool
from .._convert import as_gpuarray_variable
from ._options import one_of

MODES = ("max", "max_deterministic", "sum", "average", "average_inc_pad", "average_exc_pad")


class GpuDnnPoolBase(DnnBase):
    """The base of pooling and its gradient.

    Parameters
    ----------
    mode : {'max', 'max_deterministic', 'sum', 'average_inc_pad', 'average_exc_pad'}
        The largest element, the sum, or the mean of windows; 'average' is 'average_inc_pad'.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """

    __props__ = ("host_op", "mode")

    def __init__(self, mode: str = "max") -> None:
        one_of(type(self).__name__, "mode", mode, MODES)
        self.mode = "average_inc_pad" if mode == "average" else mode
        super().__init__(Pool(True, self.mode))

    def _axes_of(self, variable: Any) -> int:
        """Return along how many axes windows lie."""
        ndim = int(variable.type.ndim)
        if ndim not in (4, 5):
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: images have {ndim} dimensions",
                    hint="use four, or five for volumes: batch and channels come first",
                )
            )
        return ndim - 2

    def device_kernel(self, kernel: Kernel) -> Kernel:
        """Return the kernel by which the library computes, where it does."""
        return (
            DnnPoolingKernel(kernel, self.mode == "max_deterministic") if isinstance(kernel, PoolingKernel) else kernel
        )


class GpuDnnPool(GpuDnnPoolBase):
    """Pooling of images or volumes; windows that reach over the border are left out.

    Operands are the images, and lengths, steps and padding of the windows.
    """

    def make_node(self, img: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images and the layout of windows; steps are the lengths of windows by default, padding 0.

        Raises
        ------
        TypeError
            If images have other than four or five dimensions.
        ShapeError, ValueError
            If the layout cannot be.
        """
        image = as_operand(img)
        op = self.with_host_op(Pool(True, self.mode, self._axes_of(image)))
        layout = op.host_op.layout(ws, stride, pad)  # type: ignore[attr-defined]  # of Pool
        return DnnBase.make_node(op, image, *layout)


class GpuDnnPoolGrad(GpuDnnPoolBase):
    """The gradient of pooling.

    Operands are the images, the result, the gradient by the result, and lengths, steps and padding of the windows.
    """

    def make_node(self, *operands: Any) -> Apply[Self]:
        """Apply to images, result, gradient, and the layout of the windows.

        Raises
        ------
        TypeError
            If there are other than six operands, or images have other than four or five dimensions.
        ShapeError, ValueError
            If the layout cannot be.
        """
        if len(operands) == _OF_NODES_OF_MEANS and not self.mode.startswith("max"):
            return DnnBase.make_node(self, *operands)
        if len(operands) != _OPERANDS:
            raise TypeError(
                format_error(
                    f"GpuDnnPoolGrad takes {_OPERANDS} operands, got {len(operands)}",
                    hint="pass images, result, gradient, ws, stride and pad",
                )
            )
        image, result, gradient = map(as_operand, operands[:3])
        count = self._axes_of(image)
        layout = Pool(True, self.mode, count).layout(*operands[3:])
        if self.mode.startswith("max"):
            op = self.with_host_op(MaxPoolGrad(True, count))
            return DnnBase.make_node(op, image, result, gradient, *layout)
        op = self.with_host_op(AveragePoolGrad(True, self.mode, count))
        return DnnBase.make_node(op, gradient, make_vector(*lengths_of(image)[2:]), *layout)


@pullback.register(GpuDnnPool)
def _pullback(node: Apply[GpuDnnPool], cotangents: list[Variable]) -> Sequence[Variable | None]:
    """Gradients of means are nodes of the same kind; others are those of the op of the host."""
    if not node.op.mode.startswith("average"):
        return pullback.lookup(DeviceOp(node.op.host_op))(node, cotangents)
    image, *layout = node.inputs
    gradient = as_gpuarray_variable(cotangents[0], image.type.context_name)
    found = GpuDnnPoolGrad(node.op.mode)(image, node.outputs[0], gradient, *layout)
    return [host_from_gpu(found), *(None for _ in layout)]


#: How many operands the gradient has, and a node of it for sums and means, which needs no more than lengths of images.
_OPERANDS, _OF_NODES_OF_MEANS = 6, 5


def as_operand(x: Any) -> Any:
    """Return images as they are where they are variables, else as a constant of the default device."""
    return x if hasattr(x, "type") else as_gpuarray_variable(x, None)


class GpuDnnPoolDesc(Op):
    """A descriptor of pooling, which old pickles have; :class:`GpuDnnPool` takes the layout of windows itself.

    Parameters
    ----------
    ws, stride, pad : tuple of int
        Lengths, steps and padding of windows, two or three of each.
    mode : {'max', 'average_inc_pad', 'average_exc_pad'}

    Raises
    ------
    ValueError
        If they are not equally long, or the mode is unknown.
    """

    __props__ = ("ws", "stride", "mode", "pad")

    def __init__(
        self,
        ws: Sequence[int] = (1, 1),
        stride: Sequence[int] = (1, 1),
        mode: str = "max",
        pad: Sequence[int] = (0, 0),
    ) -> None:
        one_of(type(self).__name__, "mode", mode, MODES)
        if not len(ws) == len(stride) == len(pad) or len(ws) not in (2, 3):
            raise ValueError(
                format_error(
                    f"GpuDnnPoolDesc: ws={tuple(ws)}, stride={tuple(stride)} and pad={tuple(pad)} do not fit",
                    hint="give two or three numbers for each",
                )
            )
        self.ws, self.stride, self.pad = tuple(ws), tuple(stride), tuple(pad)
        self.mode = "average_inc_pad" if mode == "average" else mode

    def make_node(self) -> Apply[Self]:
        """Apply to nothing."""
        return Apply(self, [], [generic.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Give the descriptor itself."""
        output_storage[0][0] = self


for _table in (pullback, pushforward, shape_rule):
    _table.declare_absent(GpuDnnPoolDesc, "descriptors have neither gradients nor shapes")


batch_rule.declare_absent(GpuDnnPoolDesc, "graphs are applied to batches before they are compiled for a device")
