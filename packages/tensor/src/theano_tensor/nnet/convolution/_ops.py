"""Convolution and its two gradients as ops. Each is bilinear, and their derivatives are one another."""

from __future__ import annotations

import weakref
from collections.abc import Sequence, Set
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ConvolutionKernel, ConvolutionTask, Kernel, native_kernel
from theano_linker_c.scalar import upcast

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import COMPLEX_DTYPES, ShapeLike, TensorLike
from ..._core._ops import all_stacked, batch_length
from ..._core._type import Tensor, tensor_type
from ..._errors import DTypeError, RankError, ShapeError
from ...elemwise import cast, dimshuffle
from ...shape import as_lengths, lengths_of, make_vector, reshape, static_lengths
from ._core import Geometry, forward, input_grad, weight_grad
from ._lengths import BorderMode, as_static, border_mode_to_pad, get_conv_output_shape

_DIRECTIONS = ("forward", "backprop weights", "backprop inputs")


def _positive(name: str, values: Any, count: int) -> tuple[int, ...]:
    """Return one positive integer for each axis."""
    numbers = (1,) * count if values is None else tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if len(numbers) != count or any(int(v) != v or v < 1 for v in numbers):
        raise ValueError(
            format_error(f"convolution: {name}={values!r}", hint=f"give {count} integers from 1 up, one for each axis")
        )
    return tuple(int(v) for v in numbers)


class BaseAbstractConv(Op):
    """Base of convolutions and their gradients.

    Parameters
    ----------
    convdim : int
        Number of axes along which filters slide.
    imshp, kshp : tuple of (int or None), optional
        Shapes of images and filters of the forward convolution, as far as the user has said.
    border_mode : {'valid', 'half', 'full'}, int, or tuple of (int or pair of int)
        Where filters may overlap the border; how many zeros are around the images.
    subsample : tuple of int
        Steps of the filters.
    filter_flip : bool
        Whether filters are flipped, as in mathematics.
    filter_dilation : tuple of int
        Distances of the elements that neighbouring elements of a filter meet.
    num_groups : int
        Images, filters and result are divided along their channels into so many parts, convolved each for itself.
    unshared : bool
        Whether each position has filters of its own; these have the lengths of the result behind their first dimension.

    Raises
    ------
    ValueError
        If an argument cannot be.
    """

    __props__: ClassVar[tuple[str, ...]] = (
        "convdim",
        "border_mode",
        "subsample",
        "filter_flip",
        "imshp",
        "kshp",
        "filter_dilation",
        "num_groups",
        "unshared",
    )

    def __init__(
        self,
        convdim: int,
        imshp: Sequence[Any] | None = None,
        kshp: Sequence[Any] | None = None,
        border_mode: BorderMode = "valid",
        subsample: int | Sequence[Any] | None = None,
        filter_flip: bool = True,
        filter_dilation: int | Sequence[Any] | None = None,
        num_groups: int = 1,
        unshared: bool = False,
    ) -> None:
        self.convdim = int(convdim)
        if self.convdim < 1:
            raise ValueError(format_error(f"convolution along {convdim} axes", hint="use 2 or 3"))
        self.subsample = _positive("subsample", subsample, self.convdim)
        self.filter_dilation = _positive("filter_dilation", filter_dilation, self.convdim)
        (self.num_groups,) = _positive("num_groups", num_groups, 1)
        self.filter_flip, self.unshared = bool(filter_flip), bool(unshared)
        if not isinstance(border_mode, str):
            border_mode = border_mode_to_pad(border_mode, self.convdim, (1,) * self.convdim)
        border_mode_to_pad(border_mode, self.convdim, (1,) * self.convdim)
        self.border_mode = border_mode
        self.imshp = as_static(imshp, [2 + self.convdim], "the shape of the images")
        self.kshp = as_static(kshp, [self._filter_ndim()], "the shape of the filters")

    def _filter_ndim(self) -> int:
        return 2 + (2 if self.unshared else 1) * self.convdim

    def geometry(self, kernel: Sequence[int]) -> Geometry:
        """Return how filters with such lengths slide."""
        dilated = [(k - 1) * d + 1 for k, d in zip(kernel, self.filter_dilation, strict=True)]
        pad = border_mode_to_pad(self.border_mode, self.convdim, dilated)
        return Geometry(pad, self.subsample, self.filter_dilation, self.filter_flip, self.num_groups, self.unshared)

    def sibling(self, kind: type[BaseAbstractConv]) -> BaseAbstractConv:
        """Return the convolution, or one of its gradients, with the same arguments."""
        instance = object.__new__(_SPECIAL.get((kind, self.convdim), kind))
        instance.__dict__.update({name: getattr(self, name) for name in self.__props__})
        return instance

    def conv(
        self,
        img: Any,
        kern: Any,
        mode: str = "valid",
        dilation: Any = 1,
        num_groups: int = 1,
        unshared: bool = False,
        direction: str = "forward",
    ) -> Any:
        """Convolve arrays, filters flipped.

        Parameters
        ----------
        img, kern : array
            Images (n, channels, ...) and filters (filters, channels, ...).
        mode : {'valid', 'full'}
        dilation : int or tuple of int
        num_groups : int
        unshared : bool
        direction : {'forward'}
            Gradients have ops of their own.

        Raises
        ------
        ValueError
            If an argument is unknown, or shapes do not fit.
        """
        if mode not in ("valid", "full") or direction != "forward":
            raise ValueError(
                format_error(
                    f"conv: mode={mode!r}, direction={direction!r}", hint="use mode 'valid' or 'full', and 'forward'"
                )
            )
        spread = (dilation,) * self.convdim if isinstance(dilation, int) else tuple(dilation)
        op = AbstractConv(
            self.convdim,
            border_mode=mode,
            filter_dilation=spread,
            num_groups=num_groups,
            unshared=unshared,
        )
        return op.computed(np.asarray(img), np.asarray(kern))

    def unshared2d(self, inp: Any, kern: Any, out_shape: Sequence[int], direction: str = "forward") -> Any:
        """Convolve one image with filters of their own for each position, or compute a gradient of that.

        Parameters
        ----------
        inp : array
            The image; for 'backprop inputs' the cotangent of the result.
        kern : array
            The filters (rows and columns of the result, rows and columns), flipped when they are used; for
            'backprop weights' the cotangent of the result.
        out_shape : sequence of int
            Shape of the result.
        direction : {'forward', 'backprop weights', 'backprop inputs'}

        Raises
        ------
        ValueError
            If `direction` is unknown.
        """
        if direction not in _DIRECTIONS:
            raise ValueError(
                format_error(f"unshared2d: unknown direction {direction!r}", hint=f"use one of {_DIRECTIONS}")
            )
        way = Geometry(((0, 0), (0, 0)), (1, 1), (1, 1), True, 1, True)
        one, other = np.asarray(inp)[None, None], np.asarray(kern)
        if direction == "backprop weights":
            rows, columns = out_shape[:2], out_shape[2:]
            return weight_grad(one, other[None, None], (1, *rows, 1, *columns), way)[0, :, :, 0]
        filters = other[None, :, :, None]
        if direction == "forward":
            return forward(one, filters, way)[0, 0]
        return input_grad(filters, one, (1, 1, *out_shape), way)[0, 0]

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return the number of multiplications and additions, from the shapes of inputs and outputs."""
        raise TypeError(f"{type(self).__name__} does not define its result")

    def _count(self, images: Sequence[int], kernel: Sequence[int], output: Sequence[int]) -> int:
        taps = (images[1] // self.num_groups) * int(np.prod(kernel[-self.convdim :]))
        return 2 * int(np.prod(output)) * taps

    def _operands(self, **given: Any) -> list[Tensor]:
        """Return operands of one dtype; errors name the one with a wrong number of dimensions, or complex numbers."""
        operands = {name.replace("_", " "): as_tensor_variable(value) for name, value in given.items()}
        for name, value in operands.items():
            n_dims = self._filter_ndim() if name == "filters" else 2 + self.convdim
            if value.type.ndim != n_dims:
                raise RankError(
                    format_error(
                        f"{type(self).__name__}: {name} must have {n_dims} dimensions, not {value.type.ndim}",
                        context=[describe(v) for v in operands.values()],
                        hint="batch and channels come first; add dimensions with dimshuffle",
                    )
                )
        dtype = upcast(*(v.type.dtype for v in operands.values()))
        if dtype in COMPLEX_DTYPES:
            raise DTypeError(
                format_error(
                    f"{type(self).__name__} takes real numbers",
                    context=[describe(v) for v in operands.values()],
                    hint="convolve real and imaginary parts, or use the Fourier transform",
                )
            )
        return [v if v.type.dtype == dtype else cast(v, dtype) for v in operands.values()]

    def _result(self, node_inputs: Sequence[Variable], dtype: str, shape: Sequence[int | None]) -> Apply:
        lengths = tuple(None if n is None or n < 0 else n for n in shape)
        return Apply(self, list(node_inputs), [tensor_type(dtype, lengths).make_variable()])

    def _refuse(self, what: str, **shapes: Sequence[int]) -> ValueError:
        where = [f"{name.replace('_', ' ')}: shape {tuple(int(n) for n in shape)}" for name, shape in shapes.items()]
        return ValueError(format_error(f"{type(self).__name__}: {what}", context=where, hint=f"the op is {self}"))

    def check(self, images: Sequence[int], kernel: Sequence[int], result: Sequence[int] | None = None) -> Geometry:
        """Return how filters slide; ValueError if shapes do not fit."""
        shapes = {"images": images, "filters": kernel} | ({} if result is None else {"result": result})
        geometry = self.geometry(kernel[-self.convdim :])
        if images[1] != kernel[-self.convdim - 1] * self.num_groups:
            each = "" if self.num_groups == 1 else f", times {self.num_groups} groups"
            raise self._refuse(f"images and filters differ in input channels{each}", **shapes)
        if kernel[0] % self.num_groups:
            raise self._refuse(f"{kernel[0]} filters cannot be divided into {self.num_groups} groups", **shapes)
        output = geometry.output_lengths(images[2:], kernel[-self.convdim :])
        if any(n < 1 for n in output) or any(k < 1 for k in kernel[-self.convdim :]):
            raise self._refuse("the filters do not fit into the images", **shapes)
        if self.unshared and tuple(kernel[1 : 1 + self.convdim]) != output:
            raise self._refuse(f"there must be filters for {output} positions", **shapes)
        if result is not None and tuple(result) != (images[0], kernel[0], *output):
            raise self._refuse(
                f"the result of the convolution has the shape {(images[0], kernel[0], *output)}", **shapes
            )
        return geometry

    def __str__(self) -> str:
        shown = ("border_mode", "subsample", "filter_flip", "filter_dilation", "num_groups", "unshared")
        return f"{type(self).__name__}{{{', '.join(f'{k}={getattr(self, k)!r}' for k in shown)}}}"


def _working(array: Any) -> Any:
    """Return an array in a dtype that matrix products are fast and exact enough in."""
    return array.astype("float32") if array.dtype == "float16" else array


def _store(storage: Sequence[list[Any]], node: Apply, value: Any) -> None:
    storage[0][0] = np.asarray(value, dtype=node.outputs[0].type.dtype)


class AbstractConv(BaseAbstractConv):
    """Convolution of images with filters, along any number of axes; see :class:`BaseAbstractConv`."""

    def make_node(self, img: TensorLike, kern: TensorLike) -> Apply[Self, Tensor]:
        """Apply to images (n, channels, ...) and filters (filters, channels, ...); ShapeError for other dimensions."""
        images, kernel = self._operands(images=img, filters=kern)
        shape = get_conv_output_shape(
            images.type.shape, kernel.type.shape, self.border_mode, self.subsample, self.filter_dilation
        )
        return self._result([images, kernel], images.type.dtype, shape)

    def computed(self, images: Any, kernel: Any) -> Any:
        """Convolve arrays; ValueError if their shapes do not fit."""
        geometry = self.check(images.shape, kernel.shape)
        return forward(_working(images), _working(kernel), geometry)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by products of matrices."""
        _store(output_storage, node, self.computed(*inputs))

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return the number of multiplications and additions, from the shapes of inputs and outputs."""
        return self._count(inp[0], inp[1], outp[0])


class AbstractConv_gradInputs(BaseAbstractConv):
    """Gradient of a convolution by its images; gradients and :func:`conv2d_grad_wrt_inputs` make it."""

    def make_node(self, kern: TensorLike, topgrad: TensorLike, shape: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to filters, the cotangent of the result, and the lengths of the images along the axes of filters."""
        kernel, cotangent = self._operands(filters=kern, topgrad=topgrad)
        lengths = as_lengths(shape, self.convdim)
        if len(lengths) != self.convdim:
            raise ShapeError(
                format_error(
                    f"{type(self).__name__}: {len(lengths)} lengths for {self.convdim} axes", hint="give one for each"
                )
            )
        channels = kernel.type.shape[-self.convdim - 1]
        count = None if channels is None else channels * self.num_groups
        result = (cotangent.type.shape[0], count, *static_lengths(lengths))
        return self._result([kernel, cotangent, make_vector(*lengths)], kernel.type.dtype, result)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by products of matrices; ValueError if shapes do not fit."""
        kernel, cotangent, lengths = inputs
        shape = (cotangent.shape[0], kernel.shape[-self.convdim - 1] * self.num_groups, *map(int, lengths))
        geometry = self.check(shape, kernel.shape, cotangent.shape)
        _store(output_storage, node, input_grad(_working(kernel), _working(cotangent), shape, geometry))

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return the number of multiplications and additions, from the shapes of inputs and outputs."""
        return self._count(outp[0], inp[0], inp[1])

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on lengths."""
        return [[True], [True], [False]]


class AbstractConv_gradWeights(BaseAbstractConv):
    """Gradient of a convolution by its filters; gradients and :func:`conv2d_grad_wrt_weights` make it."""

    def make_node(self, img: TensorLike, topgrad: TensorLike, shape: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to images, the cotangent of the result, and the lengths of the filters."""
        images, cotangent = self._operands(images=img, topgrad=topgrad)
        lengths = as_lengths(shape, self.convdim)
        if len(lengths) != self.convdim:
            raise ShapeError(
                format_error(
                    f"{type(self).__name__}: {len(lengths)} lengths for {self.convdim} axes", hint="give one for each"
                )
            )
        channels, positions = images.type.shape[1], cotangent.type.shape[2:] if self.unshared else ()
        count = None if channels is None else channels // self.num_groups
        result = (cotangent.type.shape[1], *positions, count, *static_lengths(lengths))
        return self._result([images, cotangent, make_vector(*lengths)], images.type.dtype, result)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by products of matrices; ValueError if shapes do not fit."""
        images, cotangent, lengths = inputs
        positions = cotangent.shape[2:] if self.unshared else ()
        shape = (cotangent.shape[1], *positions, images.shape[1] // self.num_groups, *map(int, lengths))
        geometry = self.check(images.shape, shape, cotangent.shape)
        _store(output_storage, node, weight_grad(_working(images), _working(cotangent), shape, geometry))

    def flops(self, inp: Sequence[Sequence[int]], outp: Sequence[Sequence[int]]) -> int:
        """Return the number of multiplications and additions, from the shapes of inputs and outputs."""
        return self._count(inp[0], outp[0], inp[1])

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on lengths."""
        return [[True], [True], [False]]


#: Classes for a certain number of axes; the module that defines them fills it.
_SPECIAL: dict[tuple[type, int], type[BaseAbstractConv]] = {}


def register_special(kind: type[BaseAbstractConv], convdim: int, special: type[BaseAbstractConv]) -> None:
    """Say which class stands for a kind of convolution along so many axes, in derivatives."""
    _SPECIAL[kind, convdim] = special


def _spatial(x: Variable, convdim: int, shape: Sequence[int | None] | None) -> list[Any]:
    """Return the lengths along which filters slide: as the user has said, so that no value is read, or those of `x`."""
    said = (None,) * convdim if shape is None else shape[-convdim:]
    return [length if n is None else n for length, n in zip(lengths_of(x)[-convdim:], said, strict=True)]


def _input_grad(op: BaseAbstractConv, kernel: Variable, cotangent: Variable, images: Variable) -> Variable:
    result: Variable = op.sibling(AbstractConv_gradInputs)(kernel, cotangent, _spatial(images, op.convdim, op.imshp))
    result.tag.length_source = weakref.ref(images)
    return result


def _weight_grad(op: BaseAbstractConv, images: Variable, cotangent: Variable, kernel: Variable) -> Variable:
    result: Variable = op.sibling(AbstractConv_gradWeights)(images, cotangent, _spatial(kernel, op.convdim, op.kshp))
    result.tag.length_source = weakref.ref(kernel)
    return result


def _convolved(op: BaseAbstractConv, images: Variable, kernel: Variable) -> Variable:
    result: Variable = op.sibling(AbstractConv)(images, kernel)
    return result


@pullback.register(AbstractConv)
def _pullback(node: Apply[AbstractConv, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (images, kernel), (g,) = node.inputs, cotangents
    return [_input_grad(node.op, kernel, g, images), _weight_grad(node.op, images, g, kernel)]


@pullback.register(AbstractConv_gradInputs)
def _pullback_images(node: Apply[AbstractConv_gradInputs, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (kernel, cotangent, _), (g,) = node.inputs, cotangents
    return [_weight_grad(node.op, g, cotangent, kernel), _convolved(node.op, g, kernel), None]


@pullback.register(AbstractConv_gradWeights)
def _pullback_kernel(
    node: Apply[AbstractConv_gradWeights, Tensor], cotangents: list[Variable]
) -> list[Variable | None]:
    (images, cotangent, _), (g,) = node.inputs, cotangents
    return [_input_grad(node.op, g, cotangent, images), _convolved(node.op, images, g), None]


@pushforward.register(BaseAbstractConv)
def _pushforward(node: Apply[BaseAbstractConv, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    (first, second, *others), (by_first, by_second, *_) = node.inputs, tangents
    moved = [node.op(t, second, *others) for t in (by_first,) if t is not None]
    moved += [node.op(first, t, *others) for t in (by_second,) if t is not None]
    return [moved[0] + moved[1] if len(moved) == 2 else moved[0] if moved else None]


@shape_rule.register(AbstractConv)
def _shape(node: Apply[AbstractConv, Tensor], input_shapes: list[Any]) -> list[Any]:
    op = node.op
    images, kernel = input_shapes
    return [get_conv_output_shape(images, kernel, op.border_mode, op.subsample, op.filter_dilation)]


@shape_rule.register(AbstractConv_gradInputs)
def _shape_images(node: Apply[AbstractConv_gradInputs, Tensor], input_shapes: list[Any]) -> list[Any]:
    op, (kernel, cotangent, _) = node.op, input_shapes
    return [(cotangent[0], kernel[-op.convdim - 1] * op.num_groups, *as_lengths(node.inputs[2], op.convdim))]


@shape_rule.register(AbstractConv_gradWeights)
def _shape_kernel(node: Apply[AbstractConv_gradWeights, Tensor], input_shapes: list[Any]) -> list[Any]:
    op, (images, cotangent, _) = node.op, input_shapes
    positions = tuple(cotangent[2:]) if op.unshared else ()
    return [(cotangent[1], *positions, images[1] // op.num_groups, *as_lengths(node.inputs[2], op.convdim))]


# ---- Which convolutions the runtime computes itself: those along one to three axes, of floats, with shared filters

_NATIVE_DTYPES = frozenset({"float32", "float64"})
_MOST_AXES = 3
#: The runtime computes with steps, distances and borders up to here.
_MOST = 1 << 20


def _has_form(node: Apply[Any, Tensor], dtypes_taken: Set[str]) -> bool:
    op: BaseAbstractConv = node.op
    dtypes = {v.type.dtype for v in (*node.inputs[:2], *node.outputs)}
    borders = [] if isinstance(op.border_mode, str) else [n for side in op.border_mode for n in side]
    small = all(isinstance(n, int) and n <= _MOST for n in (*op.subsample, *op.filter_dilation, *borders))
    return op.convdim <= _MOST_AXES and not op.unshared and len(dtypes) == 1 and dtypes <= dtypes_taken and small


def convolution_kernel(
    node: Apply[AbstractConv | AbstractConv_gradInputs | AbstractConv_gradWeights, Tensor], dtypes_taken: Set[str]
) -> Kernel | None:
    """Return a convolution, or a gradient of it, as a kernel where its dtype is one of those."""
    if not _has_form(node, dtypes_taken):
        return None
    op: BaseAbstractConv = node.op
    task: ConvolutionTask = "forward"
    if not isinstance(op, AbstractConv):
        task = "input_grad" if isinstance(op, AbstractConv_gradInputs) else "weight_grad"
    return ConvolutionKernel(
        task,
        node.inputs[0].type.dtype,
        op.subsample,
        op.filter_dilation,
        op.border_mode,
        op.filter_flip,
        op.num_groups,
    )


@native_kernel.register(AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights)
def _convolution(
    node: Apply[AbstractConv | AbstractConv_gradInputs | AbstractConv_gradWeights, Tensor],
) -> Kernel | None:
    return convolution_kernel(node, _NATIVE_DTYPES)


# ---- Batches of convolutions: the entries join the images, the channels of images, or the filters

IMAGES, FILTERS = "images", "filters"

#: Kind of op -> its two operands, and its result. Images are also cotangents of results of convolutions.
_KINDS = {
    AbstractConv: (IMAGES, FILTERS, IMAGES),
    AbstractConv_gradInputs: (FILTERS, IMAGES, IMAGES),
    AbstractConv_gradWeights: (IMAGES, IMAGES, FILTERS),
}


@batch_rule.register(BaseAbstractConv)
def _batch(node: Apply[BaseAbstractConv, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable] | None:
    """Where filters are the same for all entries, the entries join the images; where images are, the filters.

    Otherwise entries become groups of channels, if the type of an input tells how many there are.
    """
    if any(stacked[2:]):
        return None
    kind = next(kind for kind in _KINDS if isinstance(node.op, kind))
    roles = _KINDS[kind]
    op: Any = node.op.sibling(kind)
    op.imshp = op.kshp = None
    operands, shape = inputs[:2], inputs[2:]
    n = batch_length(inputs, stacked)
    if roles[2] == IMAGES and not stacked[roles.index(FILTERS)]:
        k = roles.index(IMAGES)
        count = lengths_of(operands[k])[1]
        operands[k] = _joined(operands[k], FILTERS)  # both have the entries in the first dimension
        return [_parted(op(*operands, *shape), n, count, FILTERS)]
    if op.unshared:
        return None
    if kind is AbstractConv_gradInputs or stacked[0] or op.num_groups > 1:
        return _as_groups(op, roles, all_stacked(operands, stacked[:2]), shape, n)
    count = lengths_of(operands[1])[1 if roles[1] == FILTERS else 2]
    return [_parted(op(operands[0], _joined(operands[1], roles[1]), *shape), n, count, roles[2])]


def _as_groups(
    op: Any, roles: tuple[str, str, str], stacks: Sequence[Tensor], shape: Sequence[Any], n: Any
) -> list[Variable] | None:
    if not isinstance(n, int) or n < 1:
        return None
    op.num_groups *= n
    result = op(*(_joined(stack, role) for stack, role in zip(stacks, roles, strict=False)), *shape)
    count = lengths_of(result)[0 if roles[2] == FILTERS else 1] // n
    return [_parted(result, n, count, roles[2])]


def _joined(stack: Tensor, role: str) -> Tensor:
    """Return images with the channels of all entries, or the filters of all of them."""
    if role == FILTERS:
        n, count, *lengths = lengths_of(stack)
        return reshape(stack, [n * count, *lengths])
    n, rows, channels, *lengths = lengths_of(stack)
    return reshape(dimshuffle(stack, (1, 0, *range(2, stack.type.ndim))), [rows, n * channels, *lengths])


def _parted(result: Tensor, n: Any, count: Any, role: str) -> Tensor:
    """Return the result for each entry, with `count` channels or filters; the inverse of `_joined`."""
    first, _, *lengths = lengths_of(result)
    if role == FILTERS:
        return reshape(result, [n, count, *lengths_of(result)[1:]])
    parts = reshape(result, [first, n, count, *lengths])
    return dimshuffle(parts, (1, 0, *range(2, parts.type.ndim)))
