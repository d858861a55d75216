"""Convolutions and their gradients on devices, by descriptors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from theano_gpuarray.codegen import ChosenOnce, DnnConvolutionKernel
from theano_gpuarray.dnn_flags import (
    BACKWARD_DATA,
    BACKWARD_DATA_3D,
    BACKWARD_FILTER,
    BACKWARD_FILTER_3D,
    FORWARD,
    FORWARD_3D,
    PRECISIONS,
)
from theano_gpuarray.types import GpuArrayType, host_from_gpu
from theano_graph import (
    Apply,
    Op,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    generic,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.kernels import ConvolutionKernel, Kernel
from theano_linker_c.scalar import upcast

from ..._core._convert import as_tensor_variable
from ..._core._ops import CheckAndRaise
from ...elemwise import cast, eq
from ...nnet.convolution import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    BaseAbstractConv,
    get_conv_output_shape,
)
from ...shape import as_lengths, make_vector
from .._table import DnnBase
from .._variables import as_gpuarray_variable

# ---- Arguments of convolutions that name ways of computing: which of them exist, and the dtypes that they stand for

CONV_MODES = ("conv", "cross")


def one_of(where: str, name: str, value: object, known: Sequence[str | None]) -> None:
    """Raise ValueError if an argument has a value that is not known."""
    if value not in known:
        raise ValueError(
            format_error(f"{where}: unknown {name} {value!r}", hint="use one of " + ", ".join(map(repr, known)))
        )


def working_dtype(where: str, precision: str | None, *dtypes: str) -> str:
    """Return the dtype in which a convolution of operands of some dtypes is computed.

    Raises
    ------
    ValueError
        If `precision` is unknown.
    """
    chosen = config.dnn.conv.precision if precision is None else precision
    one_of(where, "precision", chosen, PRECISIONS)
    dtype: str = upcast(*dtypes)
    if chosen == "as_input":
        return dtype
    if chosen == "as_input_f32":
        return "float32" if dtype == "float16" else dtype
    return str(chosen)


# ---- Convolutions and their gradients on devices, by descriptors


class GpuDnnConvDesc(Op):
    """A descriptor of convolutions; ops of convolutions take it, or its result for the shape of filters.

    Parameters
    ----------
    border_mode : {'valid', 'full', 'half'}, int, or tuple of int
        Zeros around the images.
    subsample, dilation : tuple of two or three int
        Steps of the filters, and distances of the elements that neighbouring elements of a filter meet.
    conv_mode : {'conv', 'cross'}
        Whether filters are flipped.
    precision : {'as_input_f32', 'as_input', 'float16', 'float32', 'float64'}
        Is kept for programs that read it: ops compute in the dtype of their operands, and add up float16 in float32.
        :func:`dnn_conv` converts its operands.
    num_groups : int
        Number of parts of the channels, each convolved for itself.

    Raises
    ------
    ValueError
        If an argument cannot be.

    Examples
    --------
    >>> from theano.gpuarray.dnn import GpuDnnConvDesc
    >>> GpuDnnConvDesc("half", conv_mode="cross").conv_mode
    'cross'
    """

    __props__ = ("border_mode", "subsample", "dilation", "conv_mode", "precision", "num_groups")

    def __init__(
        self,
        border_mode: Any,
        subsample: Sequence[int] = (1, 1),
        dilation: Sequence[int] = (1, 1),
        conv_mode: str = "conv",
        precision: str = "float32",
        num_groups: int = 1,
    ) -> None:
        where = type(self).__name__
        one_of(where, "conv_mode", conv_mode, CONV_MODES)
        one_of(where, "precision", precision, PRECISIONS)
        if len(subsample) not in (2, 3) or len(dilation) != len(subsample):
            raise ValueError(
                format_error(
                    f"{where}: subsample has {len(subsample)} entries, dilation {len(dilation)}",
                    hint="give two or three for each, as many as there are axes",
                )
            )
        host = (AbstractConv2d if len(subsample) == 2 else AbstractConv3d)(
            border_mode=border_mode, subsample=subsample, filter_dilation=dilation, num_groups=num_groups
        )
        self.border_mode, self.subsample, self.dilation = host.border_mode, host.subsample, host.filter_dilation
        self.num_groups, self.conv_mode, self.precision = host.num_groups, conv_mode, precision

    def make_node(self, kern_shape: Any) -> Apply[Self]:
        """Apply to the shape of the filters."""
        lengths = as_lengths(kern_shape, len(self.subsample) + 2)
        return Apply(self, [make_vector(*lengths)], [generic.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Give the descriptor itself."""
        output_storage[0][0] = self

    def host_op(self, kinds: Sequence[type[BaseAbstractConv]]) -> BaseAbstractConv:
        """Return the op of the host that is described, of the first of some classes for images or the second."""
        make: Any = kinds[len(self.subsample) - 2]
        op: BaseAbstractConv = make(
            border_mode=self.border_mode,
            subsample=self.subsample,
            filter_flip=self.conv_mode == "conv",
            filter_dilation=self.dilation,
            num_groups=self.num_groups,
        )
        return op


class _Convolution(DnnBase):
    """The base of a convolution and its gradients.

    Parameters
    ----------
    algo : str, optional
        One of the documented names; by default the flags ``dnn.conv.algo_*``. It says how cuDNN computes;
        where that is not used, or has no such algorithm for some operands, the result is the same.
    inplace : bool
        Whether memory of an operand may be overwritten: functions decide on that themselves.
    num_groups : int
        As the descriptor says it.
    """

    __props__ = ("host_op", "algo", "inplace")
    host_op: BaseAbstractConv
    _kinds: ClassVar[tuple[type[BaseAbstractConv], type[BaseAbstractConv]]]
    _algorithms: ClassVar[tuple[str, ...]]
    _algorithms_3d: ClassVar[tuple[str, ...]]

    def _set(self, algo: str | None, default: str, inplace: bool, num_groups: int) -> None:
        self.algo = default if algo is None else algo
        self._is_default = algo is None
        one_of(type(self).__name__, "algo", self.algo, self._algorithms)
        self.inplace = bool(inplace)
        make: Any = self._kinds[0]
        super().__init__(make(num_groups=num_groups))

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Apply to operands; see `make_node`.

        After the descriptor come `alpha` and `beta`, 1 and 0 by default: the result is ``alpha`` times the op's
        computes, plus ``beta`` times the operand before the descriptor, which has the shape of the result.

        Raises
        ------
        TypeError
            If `beta` is given, and that operand is a shape.
        """
        factors = operands[4:]
        result = super().__call__(*operands[:4], **options)
        alpha, beta = (*factors, *(None,) * 2)[:2] if len(factors) <= 2 else self._too_many(len(operands))
        if _is_number(alpha, 1) and _is_number(beta, 0):
            return result
        name = result.type.context_name
        total = host_from_gpu(result) * cast(1 if alpha is None else alpha, result.type.dtype)
        if not _is_number(beta, 0):
            total = total + cast(beta, result.type.dtype) * self._output(operands[2], result.type.ndim)
        return as_gpuarray_variable(total, name)

    def _too_many(self, count: int) -> Any:
        raise TypeError(
            format_error(
                f"{type(self).__name__} takes at most 6 operands, got {count}",
                hint="pass two arrays, the output, the descriptor, alpha and beta",
            )
        )

    def _output(self, value: Any, ndim: int) -> Any:
        """Return the operand to which a result is added, on the host."""
        if not isinstance(value, Variable) or getattr(value.type, "ndim", None) != ndim:
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: beta multiplies the third operand, which is no array of {ndim} dimensions",
                    hint="pass an array of the shape of the result, or beta=0",
                )
            )
        return host_from_gpu(value) if isinstance(value.type, GpuArrayType) else value

    @property
    def num_groups(self) -> int:
        """Number of parts of the channels, each convolved for itself."""
        return self.host_op.num_groups

    def _described(self, descriptor: Any) -> Self:
        """Return the op for a descriptor."""
        if isinstance(descriptor, Variable) and descriptor.owner is not None:
            descriptor = descriptor.owner.op
        if not isinstance(descriptor, GpuDnnConvDesc):
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: {descriptor!r} is no descriptor of a convolution",
                    hint="make one with GpuDnnConvDesc(border_mode)(kernel.shape)",
                )
            )
        if descriptor.num_groups != self.num_groups:
            raise ValueError(
                format_error(
                    f"{type(self).__name__}: num_groups={self.num_groups}, the descriptor has {descriptor.num_groups}",
                    hint="give the op and its descriptor the same number of groups",
                )
            )
        return self.with_host_op(descriptor.host_op(self._kinds))

    def with_host_op(self, host_op: Op) -> Self:
        """Return an op like this one for another op of the host.

        Raises
        ------
        ValueError
            If it is along three axes, and there is no such algorithm for these. A flag is no error: volumes
            are then computed by the algorithm that needs no memory.
        """
        if getattr(host_op, "convdim", 2) == 3 and not self._is_default:
            one_of(f"{type(self).__name__} of volumes", "algo", self.algo, self._algorithms_3d)
        return super().with_host_op(host_op)

    def device_kernel(self, kernel: Kernel) -> Kernel:
        """Return the kernel by which the library computes, with the algorithm."""
        if not isinstance(kernel, ConvolutionKernel):
            return kernel
        is_supported = len(kernel.strides) < 3 or self.algo in self._algorithms_3d
        chosen = ChosenOnce() if self.algo.endswith("_once") else None
        return DnnConvolutionKernel(kernel, self.algo if is_supported else "none", chosen)

    @classmethod
    def of(cls, host_op: Op, algo: str | None = None) -> Self:
        """Return the op of an op of the host.

        Parameters
        ----------
        host_op : AbstractConv2d or AbstractConv3d, or the like
        algo : str, optional
            As for the constructor, but for volumes as where a flag says it.
        """
        op = cls(algo=algo, num_groups=getattr(host_op, "num_groups", 1))  # type: ignore[call-arg]  # of all subclasses
        op._is_default = True
        return op.with_host_op(host_op)


def _is_number(value: Any, number: int) -> bool:
    """Tell whether a factor was left out, or is a number that changes nothing."""
    return value is None or (not isinstance(value, Variable) and float(value) == number)


class GpuDnnConv(_Convolution):
    """Convolution of images or volumes with filters; operands are these, and the descriptor.

    Parameters
    ----------
    algo : {'none', 'small', 'large', 'fft', 'fft_tiling', 'winograd', 'guess_once', 'guess_on_shape_change', \
'time_once', 'time_on_shape_change'}, optional
        How cuDNN computes where it is used: see ``dnn.conv.algo_fwd``. Of volumes there are 'none', 'small',
        'fft_tiling' and the last four.
    inplace : bool
        Whether memory may be overwritten; functions decide on that themselves.
    num_groups : int
        As in the descriptor.
    """

    _kinds = (AbstractConv2d, AbstractConv3d)
    _algorithms = FORWARD
    _algorithms_3d = FORWARD_3D

    def __init__(self, algo: str | None = None, inplace: bool = False, num_groups: int = 1) -> None:
        self._set(algo, config.dnn.conv.algo_fwd, inplace, num_groups)

    def make_node(self, img: Any, kern: Any, *output_and_desc: Any) -> Apply[Self]:
        """Apply to images, filters and a descriptor; without one, as the op was applied before.

        Parameters
        ----------
        img, kern : variable
        *output_and_desc : GpuDnnConvDesc or its result
            An array of the shape of the result may come before it; functions decide themselves on memory.

        Raises
        ------
        TypeError
            If the descriptor is none.
        ValueError
            If it has another number of groups.
        ShapeError
            If operands have a wrong number of dimensions.
        """
        if len(output_and_desc) > 2:
            self._too_many(2 + len(output_and_desc))
        op = self._described(output_and_desc[-1]) if output_and_desc else self
        return DnnBase.make_node(op, img, kern)

    @staticmethod
    def get_out_shape(
        ishape: Any, kshape: Any, border_mode: Any, subsample: Sequence[int], dilation: Sequence[int]
    ) -> tuple[Any, ...]:
        """Return the shape of the result for shapes of images and filters, which are numbers or symbolic.

        Examples
        --------
        >>> from theano.gpuarray.dnn import GpuDnnConv
        >>> GpuDnnConv.get_out_shape((2, 3, 8, 9), (5, 3, 3, 3), "valid", (2, 1), (1, 1))
        (2, 5, 3, 7)
        """
        count = len(subsample) + 2
        images, kernels = (as_lengths(v, count) if isinstance(v, Variable) else v for v in (ishape, kshape))
        return get_conv_output_shape(images, kernels, border_mode, subsample, dilation)


class _Gradient(_Convolution):
    """The base of the gradients; operands are two arrays, one of the shape of the result, and the descriptor."""

    def make_node(self, first: Any, topgrad: Any, like: Any, desc: Any = None) -> Apply[Self]:
        """Apply to the other operand of the convolution, the gradient of the result, the shape, and a descriptor.

        Parameters
        ----------
        first : variable
            Images for the gradient by filters, filters for the gradient by images.
        topgrad : variable
            The gradient by the result of the convolution.
        like : variable or sequence
            A variable of the shape that the gradient shall have, or this shape.
        desc : GpuDnnConvDesc or its result, optional
            Without it, as the op was applied before.

        Raises
        ------
        TypeError, ValueError, ShapeError
            As for :class:`GpuDnnConv`; also if `like` has a wrong number of dimensions.
        """
        op = self if desc is None else self._described(desc)
        return DnnBase.make_node(op, first, topgrad, self._lengths(op, first, topgrad, like))

    def _lengths(self, op: Self, first: Any, topgrad: Any, like: Any) -> Any:
        """Return the lengths along which filters slide, of a variable of the shape of the result or of its shape."""
        count = op.host_op.convdim
        kind: Any = like.type if isinstance(like, Variable) else None
        if kind is not None and kind.ndim > 1:
            if kind.ndim != count + 2:
                raise ValueError(
                    format_error(
                        f"{type(self).__name__}: the third operand must have {count + 2} dimensions",
                        context=[describe(like)],
                        hint="pass a variable of the shape of the result, or this shape",
                    )
                )
            return as_lengths(like.shape, count + 2)[-count:]
        length = None if kind is None else kind.shape[0]
        lengths = as_lengths(like, count + 2 if length is None else length)
        return lengths if len(lengths) == count else self._checked(op, first, topgrad, lengths)

    def _checked(self, op: Self, first: Any, topgrad: Any, lengths: Sequence[Any]) -> Sequence[Any]:
        """Return the lengths along which filters slide; a call is refused whose operands the other two do not fit."""
        fits = [eq(a, b) for a, b in zip(lengths, self._outer(op, first, topgrad), strict=False)]
        check = CheckAndRaise(
            ValueError, f"{type(self).__name__}: the first two numbers of the wanted shape do not fit the operands"
        )
        outermost, *others = lengths[2:]
        return [check(as_tensor_variable(outermost), *fits), *others]

    @abstractmethod
    def _outer(self, op: Self, first: Any, topgrad: Any) -> tuple[Any, Any]:
        """Return the first two lengths of the gradient, which follow from its operands."""


class GpuDnnConvGradW(_Gradient):
    """Gradient of a convolution by its filters; operands are images, gradient, something like filters, descriptor.

    Parameters
    ----------
    inplace : bool
    algo : {'none', 'deterministic', 'fft', 'small', 'guess_once', 'guess_on_shape_change', 'time_once', \
'time_on_shape_change'}, optional
    num_groups : int
        As for :class:`GpuDnnConv`.
    """

    _kinds = (AbstractConv2d_gradWeights, AbstractConv3d_gradWeights)
    _algorithms = BACKWARD_FILTER
    _algorithms_3d = BACKWARD_FILTER_3D

    def __init__(self, inplace: bool = False, algo: str | None = None, num_groups: int = 1) -> None:
        self._set(algo, config.dnn.conv.algo_bwd_filter, inplace, num_groups)

    def _outer(self, op: Self, first: Any, topgrad: Any) -> tuple[Any, Any]:
        """Return the number of filters, and of their channels."""
        return topgrad.shape[1], first.shape[1] // op.num_groups


class GpuDnnConvGradI(_Gradient):
    """Gradient of a convolution by its images; operands are filters, gradient, something like images, descriptor.

    Parameters
    ----------
    inplace : bool
    num_groups : int
    algo : {'none', 'deterministic', 'fft', 'fft_tiling', 'winograd', 'guess_once', 'guess_on_shape_change', \
'time_once', 'time_on_shape_change'}, optional
        As for :class:`GpuDnnConv`.
    """

    _kinds = (AbstractConv2d_gradInputs, AbstractConv3d_gradInputs)
    _algorithms = BACKWARD_DATA
    _algorithms_3d = BACKWARD_DATA_3D

    def __init__(self, inplace: bool = False, num_groups: int = 1, algo: str | None = None) -> None:
        self._set(algo, config.dnn.conv.algo_bwd_data, inplace, num_groups)

    def _outer(self, op: Self, first: Any, topgrad: Any) -> tuple[Any, Any]:
        """Return the number of images, and of their channels."""
        return topgrad.shape[0], first.shape[1] * op.num_groups


for _table in (pullback, pushforward, shape_rule):
    _table.declare_absent(GpuDnnConvDesc, "descriptors have neither gradients nor shapes")


batch_rule.declare_absent(GpuDnnConvDesc, "graphs are applied to batches before they are compiled for a device")
