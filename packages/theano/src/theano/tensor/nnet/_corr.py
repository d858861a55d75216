"""Convolutions with the historical arguments, and ops of correlations."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

from theano_graph import Apply, config, format_error
from theano_linker_c.cop import OpenMPOp
from theano_linker_c.scalar import upcast
from theano_tensor import Tensor, as_tensor_variable
from theano_tensor.nnet.convolution import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
    BaseAbstractConv,
    get_conv_gradinputs_shape,
    get_conv_gradweights_shape,
)
from theano_tensor.shape import lengths_of

# ---- Whether SciPy is there, with whose convolutions tests compare those of Theano

imported_scipy_signal = find_spec("scipy") is not None


# ---- Convolutions as products of matrices, under the names that graphs of Theano 1.0 show

_PADS = {"half": -1, "full": -2, "valid": 0}
#: The class that stands for a convolution or a gradient along so many axes.
_FAMILY: dict[tuple[type, int], type[Correlation]] = {}


class Correlation(BaseAbstractConv, OpenMPOp):
    """Base of correlations and their gradients: convolutions whose filters are not flipped.

    Parameters
    ----------
    convdim : int
        Number of axes along which filters slide.
    border_mode : {'valid', 'half', 'full'}, int, or tuple of (int or pair of int)
    subsample, filter_dilation : tuple of int
    num_groups : int
    unshared : bool
    openmp : bool, optional
        Kept; the runtime shares work out as its flags say.

    Attributes
    ----------
    filter_flip : bool
        Whether filters are flipped after all: graphs of compiled functions have such ops in the place of
        convolutions, and need no node that flips the filters.

    Raises
    ------
    ValueError
        If an argument cannot be.
    """

    __props__: ClassVar[tuple[str, ...]] = (
        "border_mode",
        "subsample",
        "filter_dilation",
        "num_groups",
        "unshared",
        "filter_flip",
    )
    check_broadcast = False
    _direction: ClassVar[str | None] = None

    def __init__(
        self,
        convdim: int,
        border_mode: Any,
        subsample: Any,
        filter_dilation: Any,
        num_groups: int,
        unshared: bool,
        openmp: bool | None,
    ) -> None:
        if self._direction is None:
            raise ValueError(
                format_error(
                    f"{type(self).__name__} is a base", hint="use one of its subclasses, which define their result"
                )
            )
        OpenMPOp.__init__(self, openmp=openmp)
        for name, value in (("subsample", subsample), ("filter_dilation", filter_dilation)):
            if len(value) != convdim:
                raise ValueError(
                    format_error(f"{name}={value!r}: there are {convdim} axes", hint="give a number for each")
                )
        BaseAbstractConv.__init__(
            self,
            convdim,
            border_mode=border_mode,
            subsample=tuple(subsample),
            filter_flip=False,
            filter_dilation=tuple(filter_dilation),
            num_groups=num_groups,
            unshared=unshared,
        )

    @classmethod
    def standing_for(cls, op: BaseAbstractConv) -> Correlation:
        """Return the op of this class that computes the same as a convolution, or a gradient of one."""
        instance = object.__new__(cls)
        instance.__dict__.update(op.__dict__)
        instance.__dict__.setdefault("openmp", bool(config.openmp))  # as a pickle of it would have it
        return instance

    def sibling(self, kind: type[BaseAbstractConv]) -> BaseAbstractConv:
        """Return the correlation, or one of its gradients, with the same arguments."""
        return _FAMILY[kind, self.convdim].standing_for(self)

    @property
    def direction(self) -> str | None:
        """The result: 'forward', 'backprop weights' or 'backprop inputs'."""
        return self._direction

    @property
    def pad(self) -> tuple[Any, ...]:
        """Widths of the borders along the axes; -1 for 'half' and -2 for 'full'."""
        if not isinstance(self.border_mode, str):
            return tuple(self.border_mode)
        width = _PADS[self.border_mode]
        return ((width, width),) * self.convdim

    @staticmethod
    def as_common_dtype(in1: Tensor, in2: Tensor) -> tuple[Tensor, Tensor]:
        """Return two variables, cast to the dtype that holds both."""
        dtype = upcast(in1.type.dtype, in2.type.dtype)
        return in1.astype(dtype), in2.astype(dtype)

    def _shown(self) -> list[Any]:
        return [self.border_mode, self.subsample, self.filter_dilation, self.num_groups]

    def __str__(self) -> str:
        flipped = [", flipped"] if self.filter_flip else []
        return "".join([f"{type(self).__name__}{{", ", ".join(map(str, self._shown())), *flipped, "}"])


def _needs_shape(op: Correlation) -> bool:
    """Tell whether several shapes are possible."""
    return any(n != 1 for n in op.subsample) or (op.border_mode == "half" and op._direction == "backprop weights")


def _refused(op: Correlation) -> ValueError:
    return ValueError(
        format_error(
            f"{type(op).__name__}: shape must be given where subsample is not 1, or border_mode is 'half'",
            hint="give the lengths along the axes along which filters slide",
        )
    )


class Forward(Correlation, AbstractConv):
    """Correlation of images with filters."""

    _direction = "forward"


class ByWeights(Correlation, AbstractConv_gradWeights):
    """Gradient of a correlation by its filters."""

    _direction = "backprop weights"

    def make_node(self, img: Any, topgrad: Any, shape: Any = None) -> Apply:
        """Apply to images, the cotangent of the result, and the lengths of the filters where they are not clear."""
        if shape is None:
            if _needs_shape(self):
                raise _refused(self)
            images, top = (lengths_of(as_tensor_variable(v)) for v in (img, topgrad))
            how = self.border_mode, self.subsample, self.filter_dilation
            shape = get_conv_gradweights_shape(images, top, *how)[-self.convdim :]
        return AbstractConv_gradWeights.make_node(self, img, topgrad, shape)


class ByInputs(Correlation, AbstractConv_gradInputs):
    """Gradient of a correlation by its images."""

    _direction = "backprop inputs"

    def make_node(self, kern: Any, topgrad: Any, shape: Any = None) -> Apply:
        """Apply to filters, the cotangent of the result, and the lengths of the images where they are not clear."""
        if shape is None:
            if _needs_shape(self):
                raise _refused(self)
            kernel, top = (lengths_of(as_tensor_variable(v)) for v in (kern, topgrad))
            how = self.border_mode, self.subsample, self.filter_dilation
            shape = get_conv_gradinputs_shape(kernel, top, *how)[-self.convdim :]
        return AbstractConv_gradInputs.make_node(self, kern, topgrad, shape)


class BaseCorrMM(Correlation):
    """Base of correlations of images, and of their gradients."""

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Sequence[int] = (1, 1),
        filter_dilation: Sequence[int] = (1, 1),
        num_groups: int = 1,
        unshared: bool = False,
        openmp: bool | None = None,
    ) -> None:
        super().__init__(2, border_mode, subsample, filter_dilation, num_groups, unshared, openmp)

    # Steps, distances and borders along rows (H) and columns (W).
    dH = property(lambda self: self.subsample[0])
    dW = property(lambda self: self.subsample[1])
    dilH = property(lambda self: self.filter_dilation[0])
    dilW = property(lambda self: self.filter_dilation[1])
    padH_l = property(lambda self: self.pad[0][0])
    padH_r = property(lambda self: self.pad[0][1])
    padW_l = property(lambda self: self.pad[1][0])
    padW_r = property(lambda self: self.pad[1][1])

    def _shown(self) -> list[Any]:
        *shown, groups = super()._shown()
        return [*shown, f"{groups} {self.unshared}"]


class CorrMM(BaseCorrMM, Forward):
    """Correlation of images with filters, as products of matrices.

    Examples
    --------
    >>> CorrMM()([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]).eval()
    array([[[[21., 32.]]]])
    """


class CorrMM_gradWeights(BaseCorrMM, ByWeights):
    """Gradient of a correlation by its filters.

    Examples
    --------
    >>> CorrMM_gradWeights()([[[[1.0, 2.0, 3.0]]]], [[[[1.0, 10.0]]]]).eval()
    array([[[[21., 32.]]]])
    """


class CorrMM_gradInputs(BaseCorrMM, ByInputs):
    """Gradient of a correlation by its images.

    Examples
    --------
    >>> CorrMM_gradInputs()([[[[1.0, 10.0]]]], [[[[1.0, 1.0]]]]).eval()
    array([[[[ 1., 11., 10.]]]])
    """


class BaseCorr3dMM(Correlation):
    """Base of correlations of volumes, and of their gradients."""

    def __init__(
        self,
        border_mode: Any = "valid",
        subsample: Sequence[int] = (1, 1, 1),
        filter_dilation: Sequence[int] = (1, 1, 1),
        openmp: bool | None = None,
        num_groups: int = 1,
    ) -> None:
        super().__init__(3, border_mode, subsample, filter_dilation, num_groups, False, openmp)

    # Steps, distances and borders along rows (H), columns (W) and depth (D).
    dH = property(lambda self: self.subsample[0])
    dW = property(lambda self: self.subsample[1])
    dD = property(lambda self: self.subsample[2])
    dilH = property(lambda self: self.filter_dilation[0])
    dilW = property(lambda self: self.filter_dilation[1])
    dilD = property(lambda self: self.filter_dilation[2])
    padH = property(lambda self: self.pad[0])
    padW = property(lambda self: self.pad[1])
    padD = property(lambda self: self.pad[2])

    @property
    def pad(self) -> tuple[Any, ...]:
        """Width of the border along each axis; -1 for 'half' and -2 for 'full'."""
        return tuple(before for before, _ in super().pad)


class Corr3dMM(BaseCorr3dMM, Forward):
    """Correlation of volumes with filters, as products of matrices.

    Examples
    --------
    >>> Corr3dMM()([[[[[1.0, 2.0, 3.0]]]]], [[[[[1.0, 10.0]]]]]).eval()
    array([[[[[21., 32.]]]]])
    """


class Corr3dMM_gradWeights(BaseCorr3dMM, ByWeights):
    """Gradient of a correlation of volumes by its filters.

    Examples
    --------
    >>> Corr3dMM_gradWeights()([[[[[1.0, 2.0, 3.0]]]]], [[[[[1.0, 10.0]]]]]).eval()
    array([[[[[21., 32.]]]]])
    """


class Corr3dMM_gradInputs(BaseCorr3dMM, ByInputs):
    """Gradient of a correlation of volumes by these.

    Examples
    --------
    >>> Corr3dMM_gradInputs()([[[[[1.0, 10.0]]]]], [[[[[1.0, 1.0]]]]]).eval()
    array([[[[[ 1., 11., 10.]]]]])
    """


_FAMILY.update(
    {
        (AbstractConv, 2): CorrMM,
        (AbstractConv_gradWeights, 2): CorrMM_gradWeights,
        (AbstractConv_gradInputs, 2): CorrMM_gradInputs,
        (AbstractConv, 3): Corr3dMM,
        (AbstractConv_gradWeights, 3): Corr3dMM_gradWeights,
        (AbstractConv_gradInputs, 3): Corr3dMM_gradInputs,
    }
)
