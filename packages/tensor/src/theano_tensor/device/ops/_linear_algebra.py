"""Linear algebra on devices, and ops that devices compute as expressions of others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from theano_gpuarray.codegen.ctc import AlignmentsKernel
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel
from theano_gpuarray.codegen.linear_algebra import (
    CholeskyGradKernel,
    CholeskyKernel,
    DeterminantKernel,
    EigenKernel,
    InverseKernel,
    OrthogonalKernel,
    SingularValuesKernel,
    SolveKernel,
)
from theano_gpuarray.types import DEVICE, host_from_gpu, is_host_array
from theano_graph import Apply, Variable
from theano_linker_c.kernels import Kernel, MatrixProductKernel, native_kernel

from ..._core._convert import as_tensor_variable, constant
from ..._core._ops import CheckAndRaise
from ..._core._type import Tensor
from ...control import IfElse
from ...elemwise import maximum, mod, switch
from ...extra_ops import FillDiagonal, FillDiagonalOffset
from ...extra_ops._diagonal import diagonal_mask
from ...fourier import InverseRealFourier, RealFourier
from ...indexing import AdvancedIncSubtensor, IncSubtensor, inc_subtensor
from ...indexing._rules import write_kernel
from ...joining import join
from ...linalg import (
    SVD,
    Cholesky,
    CholeskyGrad,
    Cofactors,
    CofactorsChange,
    Det,
    Eigh,
    EighGrad,
    MatrixInverse,
    QRFull,
    QRIncomplete,
    SLogDet,
    Solve,
)
from ...linear import BatchedDot, Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger, batched_dot
from ...linear._dot import product_kernel
from ...nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from ...nnet.convolution._ops import AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights, convolution_kernel
from ...nnet.ctc import ConnectionistTemporalClassification
from ...on_devices import device_expression
from ...shape import Roll, shape_i, static_int
from ...signal._ops import POOLING_OPS, pooling_kernel
from .._table import NamedDeviceOp, lifters, stands_for
from .._variables import as_gpuarray_variable

# ---- Products of matrices and vectors on devices


class _Accumulation(NamedDeviceOp):
    """The base of products that are added to something.

    Parameters
    ----------
    inplace : bool
        States that the addend of the product may be overwritten. Memory of dead arrays is used
        again either way.
    """

    host_op: Any
    inplace: bool = False
    _host_class: type[Any]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(self._host_class())
        self.inplace = bool(inplace)

    __props__ = ("host_op", "inplace")

    @classmethod
    def of(cls, host_op: Any) -> Self:
        """Return the device op of an op of the host, which overwrites the same operands."""
        op = cls(bool(host_op.inplace))
        op.host_op = host_op
        return op

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to arrays and numbers; numbers of Python are of the dtype of the first array."""
        kind: Any = inputs[0].type if inputs and isinstance(inputs[0], Variable) else None
        dtype: str | None = None if kind is None else kind.dtype
        operands = [constant(x, dtype=dtype) if isinstance(x, (int, float)) and dtype else x for x in inputs]
        return super().make_node(*operands)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace={self.inplace}}}"


@stands_for(Gemm)
class GpuGemm(_Accumulation):
    """General product of matrices on a device, ``b z + a x y``; inputs are z, a, x, y and b.

    Parameters
    ----------
    inplace : bool
        States that z may be overwritten.
    """

    _host_class = Gemm


@stands_for(Gemv)
class GpuGemv(_Accumulation):
    """General product of a matrix and a vector on a device, ``b y + a A x``; inputs are y, a, A, x and b.

    Parameters
    ----------
    inplace : bool
        States that y may be overwritten.
    """

    _host_class = Gemv


@stands_for(Ger)
class GpuGer(_Accumulation):
    """Rank-1 update of a matrix on a device, ``A + a x y'``; inputs are A, a, x and y.

    Parameters
    ----------
    inplace : bool
        States that A may be overwritten.
    """

    _host_class = Ger


@stands_for(Dot22)
class GpuDot22(NamedDeviceOp):
    """Product of two matrices on a device."""

    __props__ = ()

    def __init__(self) -> None:
        super().__init__(Dot22())

    def make_node(self, x: Any, y: Any) -> Apply[Self]:
        """Apply to matrices of shapes (m, k) and (k, n)."""
        return super().make_node(x, y)


@stands_for(Dot22Scalar)
class GpuDot22Scalar(NamedDeviceOp):
    """Product of two matrices and a number on a device."""


@stands_for(Dot)
class GpuDot(NamedDeviceOp):
    """Product of vectors or matrices on a device, where there is none for matrices alone."""

    def __str__(self) -> str:
        return "GpuDot"


@stands_for(BatchedDot)
class GpuBatchedDot(NamedDeviceOp):
    """Products of the matrices of two stacks, on a device."""


gpu_dot22 = GpuDot22()
gpugemm_no_inplace = GpuGemm()
gpugemm_inplace = GpuGemm(inplace=True)
gpugemv_no_inplace = GpuGemv()
gpugemv_inplace = GpuGemv(inplace=True)
gpuger_no_inplace = GpuGer()
gpuger_inplace = GpuGer(inplace=True)


# ---- Factors of matrices, solutions of linear equations, eigenvalues and singular values on devices


_rules = native_kernel.for_target(DEVICE)


@_rules.register(Cholesky)
def _cholesky(node: Apply[Cholesky, Tensor]) -> Kernel | None:
    return CholeskyKernel(node.inputs[0].type.dtype, node.op.lower, node.op.on_error == "nan")


@_rules.register(CholeskyGrad)
def _cholesky_gradient(node: Apply[CholeskyGrad, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return CholeskyGradKernel(node.inputs[0].type.dtype, node.op.lower) if len(dtypes) == 1 else None


@_rules.register(Solve)
def _solve(node: Apply[Solve, Tensor]) -> Kernel | None:
    structure: Any = node.op.A_structure
    return SolveKernel(node.inputs[0].type.dtype, structure, node.op.lower)


@_rules.register(MatrixInverse)
def _inverse_matrix(node: Apply[MatrixInverse, Tensor]) -> Kernel | None:
    return InverseKernel(node.inputs[0].type.dtype)


@_rules.register(Det)
def _determinant(node: Apply[Det, Tensor]) -> Kernel | None:
    return DeterminantKernel(node.inputs[0].type.dtype, False)


@_rules.register(SLogDet)
def _logarithm(node: Apply[SLogDet, Tensor]) -> Kernel | None:
    return DeterminantKernel(node.inputs[0].type.dtype, True)


@_rules.register(QRFull, QRIncomplete)
def _orthogonal(node: Apply[QRFull | QRIncomplete, Tensor]) -> Kernel | None:
    mode: Any = node.op.mode
    return OrthogonalKernel(node.inputs[0].type.dtype, mode)


@_rules.register(Eigh)
def _eigenvalues(node: Apply[Eigh, Tensor]) -> Kernel | None:
    return EigenKernel(node.inputs[0].type.dtype, node.op.UPLO == "L")


@_rules.register(SVD)
def _singular_values(node: Apply[Any, Tensor]) -> Kernel | None:
    return SingularValuesKernel(node.inputs[0].type.dtype, node.op.compute_uv, node.op.full_matrices)


@device_expression.register(EighGrad)
def _eigenvalues_gradient(op: EighGrad, inputs: Sequence[Any]) -> Tensor:
    return op.expression(*inputs)


@device_expression.register(Cofactors, CofactorsChange)
def _cofactors(op: Cofactors | CofactorsChange, inputs: Sequence[Any]) -> Tensor:
    return op.expression(*inputs)


# ---- Fourier transforms, and the loss of sequences whose alignment is not known, on devices


@_rules.register(RealFourier)
def _forward(node: Apply[RealFourier, Tensor]) -> Kernel | None:
    return RealFourierKernel(node.inputs[0].type.dtype)


@_rules.register(InverseRealFourier)
def _inverse_transform(node: Apply[InverseRealFourier, Tensor]) -> Kernel | None:
    return InverseRealFourierKernel(node.inputs[0].type.dtype)


@_rules.register(ConnectionistTemporalClassification)
def _alignments(node: Apply[ConnectionistTemporalClassification, Tensor]) -> Kernel | None:
    return AlignmentsKernel(node.inputs[0].type.dtype, node.op.compute_grad)


# ---- Products, windows and increments of float16, which devices have kernels of and the runtime of the host has not

_device = native_kernel.for_target(DEVICE)
#: Kernels of devices compute with half precision, too: they add up in single precision.
_FLOATS = frozenset({"float16", "float32", "float64"})
_ADDED = _FLOATS | {"bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))}


@_device.register(Dot)
def _product(node: Apply[Dot, Tensor]) -> Kernel | None:
    return product_kernel(node, _FLOATS)


@_device.register(BatchedDot)
def _products(node: Apply[BatchedDot, Tensor]) -> Kernel | None:
    dtypes = {v.type.dtype for v in (*node.inputs, *node.outputs)}
    return MatrixProductKernel("batched", dtypes.pop()) if len(dtypes) == 1 and dtypes <= _FLOATS else None


@_device.register(IncSubtensor, AdvancedIncSubtensor)
def _change(node: Apply[IncSubtensor | AdvancedIncSubtensor, Tensor]) -> Kernel | None:
    return write_kernel(node, _ADDED)


@_device.register(AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights)
def _convolution(node: Apply[Any, Tensor]) -> Kernel | None:
    return convolution_kernel(node, _FLOATS)


@_device.register(*POOLING_OPS)
def _pooling(node: Apply[Any, Tensor]) -> Kernel | None:
    return pooling_kernel(node, _FLOATS)


# ---- Ops that devices compute as expressions of others, and choices between arrays on devices

Inputs = Sequence[Any]


@device_expression.register(Roll)
def _roll(op: Roll, inputs: Inputs) -> Tensor | None:
    x, shift, where = inputs
    axis = static_int(where)
    if axis is None:
        return None
    n = shape_i(x, axis)
    begin = n - mod(shift, maximum(n, 1))
    before = (slice(None),) * axis
    return join(axis, x[(*before, slice(begin, None))], x[(*before, slice(None, begin))])


@device_expression.register(FillDiagonal)
def _fill(op: FillDiagonal, inputs: Inputs) -> Tensor:
    x, value = inputs
    return switch(diagonal_mask(x, 0), value, x)


@device_expression.register(FillDiagonalOffset)
def _fill_offset(op: FillDiagonalOffset, inputs: Inputs) -> Tensor:
    x, value, offset = inputs
    return switch(diagonal_mask(x, offset), value, x)


def blocks_product(o: Any, W: Any, h: Any, first: Any, second: Any) -> Tensor:
    """Return the result of :class:`~theano_tensor.nnet.blocksparse.SparseBlockGemv`, as one batch of products."""
    target, matrices, vectors, rows, columns = map(as_tensor_variable, (o, W, h, first, second))
    chosen = matrices[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)].dimshuffle(0, 1, 3, 2, 4)
    batch, n_first, width, n_second, height = (shape_i(chosen, d) for d in range(5))
    long = chosen.reshape((batch, n_first * width, n_second * height))
    products = batched_dot(vectors.reshape((batch, 1, n_first * width)), long)
    return target + products.reshape((batch, n_second, height))


def blocks_outer(o: Any, x: Any, y: Any, first: Any, second: Any, alpha: Any) -> Tensor:
    """Return the result of :class:`~theano_tensor.nnet.blocksparse.SparseBlockOuter`, as one addition at indices."""
    target, left, right, rows, columns = map(as_tensor_variable, (o, x, y, first, second))
    products = alpha * left.dimshuffle(0, 1, "x", 2, "x") * right.dimshuffle(0, "x", 1, "x", 2)
    return inc_subtensor(target[rows.dimshuffle(0, 1, "x"), columns.dimshuffle(0, "x", 1)], products)


@device_expression.register(SparseBlockGemv)
def _gemv(op: SparseBlockGemv, inputs: Inputs) -> Tensor:
    return blocks_product(*inputs)


@device_expression.register(SparseBlockOuter)
def _outer(op: SparseBlockOuter, inputs: Inputs) -> Tensor:
    return blocks_outer(*inputs)


@lifters.register(CheckAndRaise)
def _check(op: CheckAndRaise, name: Hashable, inputs: Inputs, outputs: Sequence[Variable]) -> list[Variable] | None:
    """Let an array on the device pass where conditions of the host hold."""
    value, *conditions = inputs
    if not _is_array(value) or not _was_on_device(value):
        return None
    return list(op.make_node(as_gpuarray_variable(value, name), *conditions).outputs)


@lifters.register(IfElse)
def _choice(op: IfElse, name: Hashable, inputs: Inputs, outputs: Sequence[Variable]) -> list[Variable] | None:
    """Choose between arrays on the device, where a branch has one; numbers of the host stay there."""
    condition, *branches = inputs
    if not any(map(_was_on_device, branches)):
        return None
    pairs = list(zip(branches[: op.n_outs], branches[op.n_outs :], strict=True))
    moved = [
        tuple(as_gpuarray_variable(v, name) for v in pair) if all(map(_is_array, pair)) else pair for pair in pairs
    ]
    choice = IfElse(op.n_outs, op.as_view, gpu=True, name=op.name)
    results: list[Variable] = choice.make_node(condition, *(a for a, _ in moved), *(b for _, b in moved)).outputs
    return results


def _was_on_device(variable: Variable) -> bool:
    return variable.owner is not None and variable.owner.op == host_from_gpu


def _is_array(variable: Variable) -> bool:
    return is_host_array(variable) and getattr(variable.type, "ndim", 0) > 0


__all__ = [
    "GpuBatchedDot",
    "GpuDot",
    "GpuDot22",
    "GpuDot22Scalar",
    "GpuGemm",
    "GpuGemv",
    "GpuGer",
    "blocks_outer",
    "blocks_product",
    "gpu_dot22",
    "gpugemm_inplace",
    "gpugemm_no_inplace",
    "gpugemv_inplace",
    "gpugemv_no_inplace",
    "gpuger_inplace",
    "gpuger_no_inplace",
]
