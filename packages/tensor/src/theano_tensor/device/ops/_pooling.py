"""Pooling and cumulative sums on devices."""

from __future__ import annotations

from typing import Any, Self

from theano_graph import Apply, format_error

from ...extra_ops import Cumulative
from ...on_devices import NamedDeviceOp, stands_for
from ...signal.pool import AveragePoolGrad, MaxPoolGrad, MaxPoolGradGrad, Pool


class _Pooling(NamedDeviceOp):
    """The base of ops on windows of arrays on a device."""

    host_op: Any

    @property
    def ignore_border(self) -> bool:
        """Whether windows that reach over the border are left out."""
        return bool(self.host_op.ignore_border)

    @property
    def mode(self) -> str:
        """The reduction of a window."""
        return str(self.host_op.mode)

    @property
    def ndim(self) -> int:
        """Number of axes of the windows."""
        return int(self.host_op.ndim)


@stands_for(Pool)
class GpuPool(_Pooling):
    """Pooling on a device; inputs are images, and lengths, steps and padding of the windows.

    Parameters
    ----------
    ignore_border : bool
        Whether windows that reach over the border are left out.
    mode : {'max', 'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
        Number of axes of the windows.
    """

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        super().__init__(Pool(ignore_border, mode, ndim))

    def make_node(self, inp: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images and the layout of the windows; the default step is their size."""
        host = self.host_op
        return super().make_node(inp, *host.layout(ws, stride, pad))


@stands_for(MaxPoolGrad)
class GpuMaxPoolGrad(_Pooling):
    """Gradient of the pooling of largest elements on a device; inputs are images, their pooling, its gradient, windows.

    Parameters
    ----------
    ignore_border : bool
    mode : {'max'}
    ndim : int
    """

    _host_class: type[Any] = MaxPoolGrad

    def __init__(self, ignore_border: bool, mode: str = "max", ndim: int = 2) -> None:
        if mode not in ("max", "max_deterministic"):
            raise ValueError(
                format_error(
                    f"{type(self).__name__} is for the mode 'max', not {mode!r}", hint="use GpuAveragePoolGrad"
                )
            )
        super().__init__(self._host_class(ignore_border, ndim))

    def make_node(self, inp: Any, out: Any, grad: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images, their pooled images, an array of the shape of one of them, and the windows."""
        return super().make_node(inp, out, grad, *self.host_op.layout(ws, stride, pad))


@stands_for(MaxPoolGradGrad)
class GpuDownsampleFactorMaxGradGrad(GpuMaxPoolGrad):
    """Elements of another array at the first largest one of each window, on a device; see :class:`GpuMaxPoolGrad`."""

    _host_class = MaxPoolGradGrad


@stands_for(AveragePoolGrad)
class GpuAveragePoolGrad(_Pooling):
    """Gradient of the pooling of averages and sums on a device; inputs are images, the gradient and the windows.

    Parameters
    ----------
    ignore_border : bool
    mode : {'sum', 'average_inc_pad', 'average_exc_pad'}
    ndim : int
    """

    def __init__(self, ignore_border: bool, mode: str = "average_inc_pad", ndim: int = 2) -> None:
        super().__init__(AveragePoolGrad(ignore_border, mode, ndim))

    def make_node(self, inp: Any, out_grad: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images, the gradient of the pooled images, and the windows."""
        return super().make_node(inp, out_grad, *self.host_op.layout(ws, stride, pad))


@stands_for(Cumulative)
class GpuCumOp(NamedDeviceOp):
    """Cumulative sum or product of an array on a device.

    Parameters
    ----------
    axis : int
        Negative ones count from the end; None stands for 0.
    mode : {'add', 'mul'}
    """

    host_op: Cumulative

    def __init__(self, axis: int | None, mode: str = "add") -> None:
        super().__init__(Cumulative(0 if axis is None else axis, mode))

    @property
    def axis(self) -> int:
        """The axis."""
        return self.host_op.axis

    @property
    def mode(self) -> str:
        """Whether elements are added or multiplied."""
        return self.host_op.mode

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to an array; ValueError if it has no such axis."""
        ndim: int = x.type.ndim if hasattr(x, "type") else getattr(x, "ndim", 1)
        if not -ndim <= self.axis < ndim:
            raise ValueError(
                format_error(f"{self}: axis(={self.axis}) out of bounds for {ndim} dimensions", hint="use another axis")
            )
        if self.axis < 0:
            return type(self)(self.axis + ndim, self.mode).make_node(x)
        return super().make_node(x)
