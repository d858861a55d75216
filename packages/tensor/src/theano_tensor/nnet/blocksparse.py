"""Products of some blocks of matrices with some blocks of vectors, and the outer products that their gradients need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.modes import optdb
from theano_linker_c.scalar import upcast
from theano_optimize import InplaceRewriter, Phase

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, INTEGER_DTYPES, TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from .._errors import DTypeError, ShapeError
from ..elemwise import cast, dimshuffle, zeros_like
from ..gradient import derived_pushforward
from ..indexing import take
from ..reduce import sum as sum_over

__all__ = ["SparseBlockGemm", "SparseBlockGemv", "SparseBlockOuter", "sparse_block_dot"]


class _BlockOp(Op):
    """Base of ops that add something to parts of their first input.

    Parameters
    ----------
    inplace : bool
        Whether the first input is overwritten.
    """

    __props__: ClassVar[tuple[str, ...]] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def _operands(self, ndims: dict[str, int], given: Sequence[Any]) -> list[Tensor]:
        """Return tensors; errors name the one with a wrong number of dimensions, or an index of floats."""
        operands = [as_tensor_variable(v) for v in given]
        for (name, ndim), value in zip(ndims.items(), operands, strict=True):
            if value.type.ndim != ndim:
                raise ShapeError(
                    format_error(
                        f"{type(self).__name__}: {name} has {value.type.ndim} dimensions, expected {ndim}",
                        context=[describe(v) for v in operands],
                        hint="the order is o, then the factors, then the numbers of their blocks",
                    )
                )
            if name.endswith("Idx") and value.type.dtype not in INTEGER_DTYPES:
                raise DTypeError(
                    format_error(
                        f"{type(self).__name__}: {name} holds numbers of blocks, not {value.type.dtype}",
                        context=[describe(value)],
                        hint="convert it: T.cast(index, 'int64')",
                    )
                )
        return operands

    def _target(self, o: Any, dtype: str) -> Any:
        return o if self.inplace else np.array(o, dtype=dtype)

    def _refuse(self, error: Exception, node: Apply, values: Sequence[Any]) -> Exception:
        shapes = [f"{describe(v)}; got shape {x.shape}" for v, x in zip(node.inputs, values, strict=True)]
        return type(error)(
            format_error(f"{type(self).__name__}: {error}", context=shapes, hint="make sizes and numbers fit")
        )


def _typed(op: Op, operands: list[Tensor], floats: Sequence[int]) -> Apply:
    """Return a node whose operands at some positions have the dtype of the result."""
    dtype = upcast(*(operands[i].type.dtype for i in floats))
    if dtype in COMPLEX_DTYPES:
        raise DTypeError(
            format_error(f"{op} takes real numbers", context=[describe(v) for v in operands], hint="take the real part")
        )
    inputs = [cast(v, dtype) if i in floats and v.type.dtype != dtype else v for i, v in enumerate(operands)]
    return Apply(op, list(inputs), [tensor_type(dtype, inputs[0].type.shape).make_variable()])


class SparseBlockGemv(_BlockOp):
    """``o[b, j] + sum over i of dot(h[b, i], W[inputIdx[b, i], outputIdx[b, j]])``.

    Examples
    --------
    >>> from theano.tensor.nnet import blocksparse
    >>> import numpy as np
    >>> W = np.arange(8.0).reshape(2, 2, 1, 2)
    >>> blocksparse.SparseBlockGemv()(np.zeros((1, 1, 2)), W, [[[10.0]]], [[1]], [[0]]).eval()
    array([[[40., 50.]]])
    """

    def make_node(
        self, o: TensorLike, W: TensorLike, h: TensorLike, inputIdx: TensorLike, outputIdx: TensorLike
    ) -> Apply[Self, Tensor]:
        """Apply to tensors.

        Parameters
        ----------
        o : tensor_like
            The addend, of shape (batch, blocks of the result, size of a block).
        W : tensor_like
            Matrices, of shape (input blocks, output blocks, input size, output size).
        h : tensor_like
            Some blocks of the input, of shape (batch, blocks, input size).
        inputIdx, outputIdx : tensor_like of int
            The numbers of the blocks of `h` and `o`, of shape (batch, blocks).

        Raises
        ------
        ShapeError, DTypeError
            If they are something else.
        """
        ndims = {"o": 3, "W": 4, "h": 3, "inputIdx": 2, "outputIdx": 2}
        return _typed(self, self._operands(ndims, (o, W, h, inputIdx, outputIdx)), (0, 1, 2))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute block by block with NumPy; ValueError or IndexError if shapes or numbers do not fit."""
        o, W, h, first, second = inputs
        result = self._target(o, node.outputs[0].type.dtype)
        try:
            for i in range(h.shape[1]):
                for j in range(o.shape[1]):
                    matrices = W[first[:, i], second[:, j]]
                    result[:, j] += np.matmul(h[:, i, None], matrices)[:, 0]
        except (ValueError, IndexError) as error:
            raise self._refuse(error, node, inputs) from None
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on numbers of blocks."""
        return [[True], [True], [True], [False], [False]]


#: The name that the index of the manual has.
SparseBlockGemm = SparseBlockGemv


class SparseBlockOuter(_BlockOp):
    """``o[xIdx[b, i], yIdx[b, j]] += alpha * outer(x[b, i], y[b, j])``, for all b, i and j.

    Examples
    --------
    >>> from theano.tensor.nnet import blocksparse
    >>> import numpy as np
    >>> outer, blocks = blocksparse.SparseBlockOuter(), np.zeros((1, 2, 1, 2))
    >>> outer(blocks, [[[10.0]]], [[[1.0, 2.0]]], [[0]], [[1]], 0.5).eval()[0, 1]
    array([[ 5., 10.]])
    """

    def make_node(
        self,
        o: TensorLike,
        x: TensorLike,
        y: TensorLike,
        xIdx: TensorLike,
        yIdx: TensorLike,
        alpha: TensorLike | None = None,
    ) -> Apply[Self, Tensor]:
        """Apply to tensors.

        Parameters
        ----------
        o : tensor_like
            The addend, of shape (x blocks, y blocks, x size, y size).
        x, y : tensor_like
            Some blocks of vectors, of shapes (batch, blocks, x size) and (batch, blocks, y size).
        xIdx, yIdx : tensor_like of int
            Their numbers, of shape (batch, blocks).
        alpha : tensor_like, optional
            Scalar factor of the products; 1 by default.

        Raises
        ------
        ShapeError, DTypeError
            If they are something else.
        """
        target = as_tensor_variable(o)
        factor = cast(1, target.type.dtype) if alpha is None else alpha
        ndims = {"o": 4, "x": 3, "y": 3, "xIdx": 2, "yIdx": 2, "alpha": 0}
        return _typed(self, self._operands(ndims, (target, x, y, xIdx, yIdx, factor)), (0, 1, 2, 5))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute block by block with NumPy; ValueError or IndexError if shapes or numbers do not fit."""
        o, x, y, first, second, alpha = inputs
        result = self._target(o, node.outputs[0].type.dtype)
        try:
            for i in range(x.shape[1]):
                for j in range(y.shape[1]):
                    products = (alpha * x[:, i])[:, :, None] * y[:, j, None, :]
                    np.add.at(result, (first[:, i], second[:, j]), products)
        except (ValueError, IndexError) as error:
            raise self._refuse(error, node, inputs) from None
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """Nothing depends differentiably on numbers of blocks."""
        return [[True], [True], [True], [False], [False], [True]]


_TURNED = (1, 0, 3, 2)


@pullback.register(SparseBlockGemv)
def _pullback_gemv(node: Apply[SparseBlockGemv, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (_, W, h, first, second), (g,) = node.inputs, cotangents
    by_matrices = SparseBlockOuter()(zeros_like(W), h, g, first, second)
    by_vectors = SparseBlockGemv()(zeros_like(h), dimshuffle(W, _TURNED), g, second, first)
    return [g, by_matrices, by_vectors, None, None]


@pullback.register(SparseBlockOuter)
def _pullback_outer(node: Apply[SparseBlockOuter, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    (_, x, y, first, second, alpha), (g,) = node.inputs, cotangents
    by_x = SparseBlockGemv()(zeros_like(x), dimshuffle(g, _TURNED), y, second, first)
    by_y = SparseBlockGemv()(zeros_like(y), g, x, first, second)
    return [g, by_x * alpha, by_y * alpha, None, None, sum_over(by_y * y)]


pushforward.register(_BlockOp)(derived_pushforward)


@shape_rule.register(_BlockOp)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _in_place(node: Apply) -> Iterable[_BlockOp]:
    return [] if node.op.inplace else [type(node.op)(inplace=True)]


#: The addend is mostly made for that alone.
sparse_block_inplace = InplaceRewriter(_in_place, [SparseBlockGemv, SparseBlockOuter], "sparse_block_inplace")
optdb.register(
    "sparse_block_inplace",
    sparse_block_inplace,
    *("fast_run", "inplace", "o4"),
    position=Phase.INPLACE,
    aliases=("local_inplace_sparse_block_gemv", "local_inplace_sparse_block_outer"),
)


def sparse_block_dot(
    W: TensorLike, h: TensorLike, inputIdx: TensorLike, b: TensorLike, outputIdx: TensorLike
) -> Tensor:
    """Some blocks of a product of a matrix, given in blocks, with a vector of which only some blocks are not zero.

    Parameters
    ----------
    W : tensor_like
        Matrices, of shape (input blocks, output blocks, input size, output size).
    h : tensor_like
        The blocks that are not zero, of shape (batch, blocks, input size); without batch, one dimension less.
    inputIdx : tensor_like of int
        Their numbers, of shape (batch, blocks).
    b : tensor_like
        Biases, of shape (output blocks, output size).
    outputIdx : tensor_like of int
        The numbers of the blocks of the result that are wanted, of shape (batch, blocks).

    Returns
    -------
    Tensor
        ``b[outputIdx[k, j]] + sum over i of dot(h[k, i], W[inputIdx[k, i], outputIdx[k, j]])``, of shape (batch,
        blocks, output size).

    Raises
    ------
    ShapeError, DTypeError
        If numbers of dimensions do not fit, or numbers of blocks are no integers.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> W, b = np.arange(8.0).reshape(2, 2, 1, 2), np.ones((2, 2))
    >>> T.nnet.sparse_block_dot(W, [[10.0]], [1], b, [0]).eval()
    array([[[41., 51.]]])
    """
    vectors, first, second = (as_tensor_variable(v) for v in (h, inputIdx, outputIdx))
    if vectors.type.ndim not in (2, 3) or {first.type.ndim, second.type.ndim} != {vectors.type.ndim - 1}:
        raise ShapeError(
            format_error(
                "sparse_block_dot: h has a dimension more than the numbers of blocks, three with a batch",
                context=[describe(v) for v in (vectors, first, second)],
                hint="add a dimension for the batch",
            )
        )
    if vectors.type.ndim == 2:
        vectors = dimshuffle(vectors, ["x", 0, 1])
        first, second = (dimshuffle(v, ["x", 0]) for v in (first, second))
    result: Tensor = SparseBlockGemv()(take(b, second, axis=0), W, vectors, first, second)
    return result


batch_rule.register(_BlockOp)(run_in_a_loop)
