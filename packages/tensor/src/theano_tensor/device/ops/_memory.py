"""Arrays that are made on devices, filled or drawn, and their shape and place in memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

from theano_gpuarray.arrays import GpuArray, empty
from theano_gpuarray.codegen.random import CategoriesKernel, MRGKernel
from theano_gpuarray.contexts import get_context
from theano_gpuarray.types import DEVICE, GpuArrayType, host_from_gpu, host_type, infer_context_name
from theano_graph import Apply, Constant, Op, Variable, batch_rule, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ConcatenateKernel, FullKernel, Kernel, native_kernel
from theano_linker_c.profiling import device_kind

from ..._core._dtypes import canonical_dtype
from ..._core._type import Tensor, TensorType, tensor_type
from ...creation import Alloc, AllocEmpty, Eye
from ...joining import Join, Split
from ...random._distributions import size_vector
from ...random.mrg import ChoiceFromUniform, MRGUniform, MultinomialFromUniform
from ...shape import Reshape, static_int
from .._table import NamedDeviceOp, device_op, lifters, stands_for
from .._variables import as_gpuarray_variable

# ---- Arrays that are made on devices, and their shape and place in memory


class _Maker(NamedDeviceOp):
    """The base of ops that make an array in a context that they name."""

    context_name: Hashable

    def context_for(self, inputs: Sequence[Variable]) -> Hashable:
        """Return the context of the op."""
        return self.context_name


class GpuAlloc(_Maker):
    """An array of some lengths on a device, filled with a value, which is broadcast to it.

    Parameters
    ----------
    context_name : str or None
    memset_0 : bool
        States that the value is 0.
    """

    __props__ = ("context_name", "memset_0")

    def __init__(self, context_name: Hashable, memset_0: bool = False) -> None:
        super().__init__(Alloc())
        self.context_name = context_name
        self.memset_0 = bool(memset_0)

    def __str__(self) -> str:
        return f"GpuAlloc<{self.context_name}>" + ("{memset_0=True}" if self.memset_0 else "")


class GpuAllocEmpty(Op):
    """An array of some lengths on a device with undefined elements; inputs are the lengths.

    Parameters
    ----------
    dtype : str
    context_name : str or None
    """

    __props__ = ("dtype", "context_name")

    def __init__(self, dtype: str, context_name: Hashable) -> None:
        self.dtype = canonical_dtype(dtype, "float64")
        self.context_name = context_name

    def make_node(self, *lengths: Any) -> Apply[Self]:
        """Apply to lengths. Checks for NaN and large numbers leave the result alone."""
        host = AllocEmpty(self.dtype).make_node(*lengths)
        output = GpuArrayType(self.dtype, host.outputs[0].type.shape, self.context_name).make_variable()
        output.tag.nan_guard_mode_check = False
        output.tag.values_eq_approx = _always_near
        return Apply(self, host.inputs, [output])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Allocate; ValueError if a length is negative."""
        shape = tuple(int(n) for n in inputs)
        if any(n < 0 for n in shape):
            raise ValueError(
                format_error(f"{self}: {shape} is no shape: a length is negative", hint="pass lengths from 0 up")
            )
        output_storage[0][0] = empty(shape, dtype=self.dtype, context=get_context(self.context_name))

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Leave it: its elements mean nothing."""
        return False

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """The elements do not depend on the lengths."""
        return [[False]] * len(node.inputs)


def _always_near(a: GpuArray, b: GpuArray) -> bool:
    return bool(tuple(a.shape) == tuple(b.shape) and a.dtype == b.dtype)


class GpuEye(_Maker):
    """A matrix of zeros on a device with ones on one diagonal; inputs are numbers of rows, columns and the diagonal.

    Parameters
    ----------
    dtype : str, optional
        The flag ``floatX`` by default.
    context_name : str or None
    """

    __props__ = ("dtype", "context_name")

    def __init__(self, dtype: str | None = None, context_name: Hashable = None) -> None:
        host = Eye(dtype)
        super().__init__(host)
        self.dtype = host.dtype
        self.context_name = context_name

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to numbers of rows and columns, and maybe that of the diagonal."""
        return super().make_node(*inputs, *([0] if len(inputs) == 2 else []))

    def __str__(self) -> str:
        return f"GpuEye{{dtype={self.dtype!r}, context_name={self.context_name!r}}}"


class GpuContiguous(Op):
    """The array itself where its elements lie one behind the other in C order, otherwise such a copy."""

    __props__ = ()
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, x: Any) -> Apply[Self]:
        """Apply to an array on a device; others are transferred."""
        variable = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Copy where that is needed."""
        (x,) = inputs
        output_storage[0][0] = x if x.flags["C_CONTIGUOUS"] else x.copy()

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Leave constants on the device."""
        return False


gpu_contiguous = GpuContiguous()


@stands_for(Reshape)
class GpuReshape(NamedDeviceOp):
    """Give the elements of an array on a device, in C order, another shape.

    Parameters
    ----------
    ndim : int
        Number of dimensions of the result.
    name : str, optional
        Name for printing.
    """

    host_op: Reshape
    name: str | None = None

    def __init__(self, ndim: int, name: str | None = None) -> None:
        super().__init__(Reshape(ndim))
        if name is not None:
            self.name = name

    @property
    def ndim(self) -> int:
        """Number of dimensions of the result."""
        return self.host_op.ndim

    def __str__(self) -> str:
        return f"Gpu{self.host_op}" if self.name is None else self.name


@stands_for(Join)
class GpuJoin(NamedDeviceOp):
    """Arrays on a device one after the other along an axis; inputs are the axis and the arrays.

    Parameters
    ----------
    view : int
        The number of the array of which the result may be a view because all others are empty; -1 for none.
    """

    host_op: Join

    def __init__(self, view: int = -1) -> None:
        super().__init__(Join(view))

    @property
    def view(self) -> int:
        """The number of the array of which the result may be a view; -1 for none."""
        return self.host_op.view


gpu_join = GpuJoin()


@stands_for(Split)
class GpuSplit(NamedDeviceOp):
    """An array on a device taken apart along an axis; inputs are the array, the axis and the vector of lengths.

    Parameters
    ----------
    len_splits : int
        Number of parts.
    """

    host_op: Split

    def __init__(self, len_splits: int) -> None:
        super().__init__(Split(len_splits))

    @property
    def len_splits(self) -> int:
        """Number of parts."""
        return self.host_op.len_splits


@native_kernel.for_target(DEVICE).register(Alloc)
def _filled(node: Apply[Alloc, Tensor]) -> Kernel | None:
    """Lengths of all dtypes are read on the host."""
    kind = node.inputs[0].type
    return FullKernel(kind.dtype, kind.broadcastable)


@native_kernel.for_target(DEVICE).register(Join)
def _joined(node: Apply[Join, Tensor]) -> Kernel | None:
    """Views are copies."""
    axis, result = static_int(node.inputs[0]), node.outputs[0].type
    return None if axis is None else ConcatenateKernel(result.dtype, result.ndim, axis % result.ndim)


@device_op.register(Alloc)
def _alloc(node: Apply, context_name: Hashable) -> GpuAlloc:
    value = node.inputs[0]
    return GpuAlloc(context_name, isinstance(value, Constant) and not value.data.any())


@device_op.register(Eye)
def _eye(node: Apply, context_name: Hashable) -> GpuEye:
    return GpuEye(node.op.dtype, context_name)


@lifters.register(AllocEmpty)
def _empty(op: AllocEmpty, context_name: Hashable, inputs: Any, outputs: Any) -> GpuAllocEmpty:
    return GpuAllocEmpty(op.dtype, context_name)


@pullback.register(GpuContiguous)
def _pullback(node: Apply[GpuContiguous], cotangents: list[Variable]) -> list[Variable | None]:
    (g,) = cotangents
    return [host_from_gpu(g) if isinstance(g.type, GpuArrayType) else g]


@pushforward.register(GpuContiguous)
def _pushforward(node: Apply[GpuContiguous], tangents: list[Variable | None]) -> list[Variable | None]:
    (t,) = tangents
    return [t]


@pullback.register(GpuAllocEmpty)
def _pullback_empty(node: Apply[GpuAllocEmpty], cotangents: list[Variable]) -> list[Variable | None]:
    return [None] * len(node.inputs)


@pushforward.register(GpuAllocEmpty)
def _pushforward_empty(node: Apply[GpuAllocEmpty], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None]


@shape_rule.register(GpuContiguous)
def _same_shape(node: Apply[GpuContiguous], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(GpuAllocEmpty)
def _given_shape(node: Apply[GpuAllocEmpty], input_shapes: list[Any]) -> list[Any]:
    return [tuple(node.inputs)]


@device_kind.register(GpuContiguous, GpuAllocEmpty)
def _kind(node: Apply) -> Any:
    return "gpu"


for _op_class in (GpuAllocEmpty, GpuContiguous):
    batch_rule.declare_absent(_op_class, "graphs are applied to batches before they are compiled for a device")


# ---- Draws from streams of MRG31k3p and of categories on devices: they equal the host's

_rules = native_kernel.for_target(DEVICE)


@_rules.register(MRGUniform)
def _draw(node: Apply[MRGUniform, Tensor]) -> Kernel | None:
    drawn = node.op.output_type
    return MRGKernel(drawn.dtype, drawn.ndim)


@stands_for(MRGUniform)
class GPUA_mrg_uniform(NamedDeviceOp):  # the documented name
    """Draw numbers between 0 and 1 from streams on a device; see :class:`~theano_tensor.random.mrg.MRGUniform`.

    Parameters
    ----------
    output_type : TensorType or GpuArrayType
        Of the draw.
    inplace : bool
        States that the states may be overwritten.
    """

    host_op: MRGUniform

    def __init__(self, output_type: Any, inplace: bool = False) -> None:
        super().__init__(MRGUniform(host_type(output_type.dtype, output_type.shape), inplace))

    @property
    def output_type(self) -> TensorType:
        """The type of the draw on the host."""
        return self.host_op.output_type

    @property
    def inplace(self) -> bool:
        """Whether the op says that the states may be overwritten."""
        return self.host_op.inplace

    @classmethod
    def new(cls, rstate: Any, ndim: int | None, dtype: str, size: Any) -> list[Any]:
        """Return the states after a draw and the draw, both on the device of the states.

        Parameters
        ----------
        rstate : variable
            States of streams, of shape (n, 6).
        ndim : int or None
            Number of dimensions; None where `size` tells it.
        dtype : {"float16", "float32", "float64"}
        size : sequence of int and scalars, or integer vector
        """
        lengths, shape = size_vector(cls.__name__, size, ndim, ())
        results: list[Any] = cls(tensor_type(dtype, shape)).make_node(rstate, lengths).outputs
        return results

    def __str__(self) -> str:
        return f"GPUA_{self.host_op}"


@_rules.register(MultinomialFromUniform)
def _counts(node: Apply[MultinomialFromUniform, Tensor]) -> Kernel | None:
    return CategoriesKernel(node.outputs[0].type.dtype, "count")


@_rules.register(ChoiceFromUniform)
def _choices(node: Apply[ChoiceFromUniform, Tensor]) -> Kernel | None:
    return CategoriesKernel(node.outputs[0].type.dtype, "choose" if node.op.replace else "choose_once")


@stands_for(MultinomialFromUniform)
class GPUAMultinomialFromUniform(NamedDeviceOp):  # the documented name
    """How often categories come up, on a device; see :class:`~theano_tensor.random.mrg.MultinomialFromUniform`.

    Parameters
    ----------
    odtype : str
        Dtype of the counts; ``"auto"`` stands for that of the probabilities.
    """

    host_op: MultinomialFromUniform

    def __init__(self, odtype: str) -> None:
        super().__init__(MultinomialFromUniform(odtype))

    @property
    def odtype(self) -> str:
        """Dtype of the result."""
        return self.host_op.odtype

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply[Self]:
        """Apply to a matrix of probabilities, ``n * rows`` uniform numbers, and the number of draws from each row."""
        return super().make_node(pvals, unis, n)


@stands_for(ChoiceFromUniform)
class GPUAChoiceFromUniform(NamedDeviceOp):  # the documented name
    """Which categories come up, on a device; see :class:`~theano_tensor.random.mrg.ChoiceFromUniform`.

    Parameters
    ----------
    odtype : str
        Dtype of the numbers of the categories; ``"auto"`` stands for int64.
    replace : bool
        Whether a category may come up in a row more than once.
    """

    host_op: ChoiceFromUniform

    def __init__(self, odtype: str, replace: bool = False) -> None:
        super().__init__(ChoiceFromUniform(odtype, replace))

    @property
    def odtype(self) -> str:
        """Dtype of the result."""
        return self.host_op.odtype

    @property
    def replace(self) -> bool:
        """Whether a category may come up in a row more than once."""
        return self.host_op.replace

    def make_node(self, pvals: Any, unis: Any, n: Any = 1) -> Apply[Self]:
        """Apply to a matrix of probabilities, ``n * rows`` uniform numbers, and the number of draws from each row."""
        return super().make_node(pvals, unis, n)
