"""Ops that are expressions, Fourier transforms along one axis, and products with logarithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

import theano_tensor as tensor
from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Type,
    Variable,
    batch_rule,
    clone_replace,
    config,
    describe,
    format_error,
    io_connection_pattern,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c import function, optdb
from theano_optimize import WalkRewriter, node_rewriter
from theano_tensor import Elemwise, Rop, Tensor, TensorConstant, as_tensor_variable, grad
from theano_tensor.batching import batch_of_expression, run_in_a_loop
from theano_tensor.gradient import DisconnectedType
from theano_tensor.shape import shape_i

from ..scalar import BinaryScalarOp, UnaryScalarOp, eq, log, switch, upgrade_to_float

# ---- Ops of Theano 1.0 that are expressions of other ops here, and give way to these when a function is compiled


class ExpressionOp(Op):
    """Base of ops that are written as expressions of others.

    Subclasses define their operands in :meth:`operands`, and their result in :meth:`expression`. Values,
    derivatives, shapes and connections are those of the expression.

    Attributes
    ----------
    inline : bool
        Whether compiled functions contain the expression in the place of the op; else the op stays in their graphs,
        and runs a function of its own.

    Examples
    --------
    >>> from theano.tensor._expression_ops import ExpressionOp
    >>> import theano.tensor as T
    >>> class Square(ExpressionOp):
    ...     __props__ = ()
    ...     def operands(self, x):
    ...         return [T.as_tensor_variable(x)]
    ...     def expression(self, x):
    ...         return [x * x]
    >>> Square()(3).eval()
    array(9, dtype=int8)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ()
    inline: ClassVar[bool] = True

    def operands(self, *inputs: Any, **options: Any) -> list[Any]:
        """Return the inputs of the node as variables, checked."""
        raise TypeError(f"{type(self).__name__} does not define its operands")

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the outputs, computed from variables of the types that :meth:`operands` gives."""
        raise TypeError(f"{type(self).__name__} does not define its expression")

    def make_node(self, *inputs: Any, **options: Any) -> Apply:
        """Apply to operands."""
        operands = self.operands(*inputs, **options)
        return Apply(self, operands, [v.type.make_variable() for v in self.expression(*operands)])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute the values of the expression."""
        results = _compiled(self, tuple(v.type for v in node.inputs))(*inputs)
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Tell which outputs depend on which inputs: as in the expression."""
        inputs, outputs = _stand_ins(self, [v.type for v in node.inputs])
        pattern: list[list[bool]] = io_connection_pattern(inputs, outputs)
        return pattern


def _stand_ins(op: ExpressionOp, types: Sequence[Type]) -> tuple[list[Variable], list[Variable]]:
    """Return new inputs of some types, and the op's expression of them."""
    inputs = [type_.make_variable() for type_ in types]
    return inputs, op.expression(*inputs)


@lru_cache(maxsize=64)
def _compiled(op: ExpressionOp, types: tuple[Type, ...]) -> Callable[..., Any]:
    inputs, outputs = _stand_ins(op, types)
    compiled: Callable[..., Any] = function(inputs, outputs, on_unused_input="ignore")
    return compiled


def _is_there(cotangent: Variable) -> bool:
    return not isinstance(cotangent.type, DisconnectedType)


@pullback.register(ExpressionOp)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    inputs, outputs = _stand_ins(node.op, [v.type for v in node.inputs])
    cotangent_of = {output: g for output, g in zip(outputs, cotangents, strict=True) if _is_there(g)}
    # Derivatives by all inputs are taken, those by integers too, for which nobody may have asked.
    with config.change_flags(warn_integer_gradient=False):
        gradients = grad(
            None,
            inputs,
            known_grads=cotangent_of,
            disconnected_inputs="ignore",
            return_disconnected="Disconnected",
            null_gradients="return",
        )
    return _placed(node, inputs, outputs, gradients)


@pushforward.register(ExpressionOp)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    inputs, outputs = _stand_ins(node.op, [v.type for v in node.inputs])
    pairs = [(v, t) for v, t in zip(inputs, tangents, strict=True) if t is not None]
    if not pairs:
        return [None] * len(outputs)
    found = Rop(
        outputs,
        [v for v, _ in pairs],
        [t for _, t in pairs],
        disconnected_outputs="ignore",
        return_disconnected="Disconnected",
    )
    return _placed(node, inputs, outputs, found)


def _placed(
    node: Apply, inputs: Sequence[Variable], outputs: Sequence[Variable], found: Sequence[Variable]
) -> list[Variable | None]:
    """Return derivatives of the expression in terms of the inputs and outputs of the node; None for no connection."""
    values = dict(zip((*outputs, *inputs), (*node.outputs, *node.inputs), strict=True))
    return [None if not _is_there(v) else clone_replace(v, values) for v in found]


@shape_rule.register(ExpressionOp)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    """Lengths as the expression has them; rewriting then traces them back to the inputs."""
    outputs = node.op.expression(*node.inputs)
    return [tuple(shape_i(v, i) for i in range(v.type.ndim)) for v in outputs]


@node_rewriter([ExpressionOp], name="expressions_of_former_ops")
def expressions_of_former_ops(fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
    """An op of Theano 1.0 gives way to its expression."""
    if not node.op.inline:
        return None
    pairs = zip(node.outputs, node.op.expression(*node.inputs), strict=True)
    return [old.type.filter_variable(new, allow_convert=True) for old, new in pairs]


#: Before the first merge, as all that is put in the place of an op.
optdb.register(
    "expressions_of_former_ops",
    WalkRewriter(expressions_of_former_ops, order="out_to_in", visit_new=True),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe"),
    position=-0.01,
)


def is_float(variable: Any) -> bool:
    """Tell whether a tensor is of real floats."""
    return bool(np.dtype(variable.type.dtype).kind == "f")


@batch_rule.register(ExpressionOp)
def _batch(node: Apply, inputs: list[Any], stacked: Sequence[bool]) -> Sequence[Any]:
    return batch_of_expression(node, inputs, stacked, node.op.expression(*node.inputs))


# ---- The Fourier transform of complex numbers along one axis, with a length that may be symbolic

_INTEGERS = frozenset([f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)])


class Fourier(Op):
    """Transform of `n` elements along an axis, as ``numpy.fft.fft(a, n, axis)``; always complex128.

    `n` elements are the first ones, or all and zeros after them.

    Examples
    --------
    >>> from theano.tensor import fourier
    >>> fourier.fft([1.0, 0.0], 2, 0).eval()
    array([1.+0.j, 1.+0.j])
    """

    __props__ = ()

    def make_node(self, a: Any, n: Any = None, axis: Any = None) -> Apply:
        """Apply to a tensor; by default along its last axis, and to all elements.

        Raises
        ------
        TypeError
            If the tensor has no dimension, or the length or the axis is no integer that it can have.
        """
        x = as_tensor_variable(a)
        if x.type.ndim < 1:
            raise TypeError(format_error("Fourier: input must be an array, not a scalar", context=[describe(x)]))
        axis_variable = as_tensor_variable(x.type.ndim - 1 if axis is None else axis)
        self._check("index", axis_variable, range(x.type.ndim))
        length = as_tensor_variable(x.shape[axis_variable] if n is None else n)
        self._check("length", length, None)
        pattern = [
            length_ if isinstance(axis_variable, TensorConstant) and int(axis_variable.data) != i else None
            for i, length_ in enumerate(x.type.shape)
        ]
        return Apply(self, [x, length, axis_variable], [tensor.TensorType("complex128", pattern).make_variable()])

    def _check(self, what: str, number: Tensor, known: range | None) -> None:
        fits = number.type.dtype in _INTEGERS and number.type.ndim == 0
        if fits and isinstance(number, TensorConstant):
            fits = int(number.data) in known if known is not None else int(number.data) > 0
        if not fits:
            raise TypeError(
                format_error(
                    f"Fourier: {what} of the transformed axis must be an integer "
                    f"{'from 0 to the number of dimensions' if known is not None else 'greater than 0'}",
                    context=[describe(number)],
                )
            )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Use NumPy."""
        a, n, axis = inputs
        output_storage[0][0] = np.fft.fft(a, n=int(n), axis=int(axis)).astype("complex128", copy=False)

    def infer_shape(self, node: Apply, in_shapes: Sequence[Any]) -> list[Any]:
        """Replace one length."""
        _, n, axis = node.inputs
        return [tuple(tensor.switch(tensor.eq(axis, i), n, old) for i, old in enumerate(in_shapes[0]))]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Length and axis have no gradient."""
        return [[True], [False], [False]]

    def grad(self, inputs: Sequence[Any], cost_grad: Sequence[Any]) -> list[Variable]:
        """Return the gradient for a constant axis: the transform back, of the elements that were taken.

        Raises
        ------
        NotImplementedError
            If the axis is not a constant.
        """
        a, n, axis = inputs
        if not isinstance(axis, TensorConstant):
            raise NotImplementedError(
                format_error(
                    "Fourier: gradient is currently implemented only for axis being a Theano constant",
                    context=[describe(axis)],
                    hint="give the axis as a number",
                )
            )
        axis_number = int(axis.data)
        # conj(fft(conj(g))) is the sum with the opposite sign in the exponent.
        back = tensor.conj(self(tensor.conj(cost_grad[0]), n, axis_number))
        length = tensor.minimum(n, a.shape[axis_number])
        part = (slice(None),) * axis_number + (slice(None, length),)
        result = tensor.set_subtensor(tensor.zeros_like(a, dtype="complex128")[part], back[part])
        if a.type.dtype not in ("complex64", "complex128"):
            result = tensor.real(result)
        return [
            result.astype(a.type.dtype) if a.type.dtype in ("complex64", "float32") else result,
            *(tensor.DisconnectedType()() for _ in range(2)),
        ]


fft = Fourier()


batch_rule.register(Fourier)(run_in_a_loop)


# ---- Products with a logarithm that are zero where the other factor is


class XlogX(UnaryScalarOp):
    """``x * log(x)``, and 0 at 0."""

    @staticmethod
    def st_impl(x: Any) -> Any:
        """Compute one number."""
        return x * np.log(x) if x != 0 else x

    def impl(self, x: Any) -> Any:
        """Compute one number."""
        return self.st_impl(x)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """The same in C."""
        (x,), (z,) = inputs, outputs
        return f"{z} = {x} == 0 ? 0 : {x} * log({x});"

    def c_headers(self) -> list[str]:
        """Where the logarithm is declared."""
        return ["<math.h>"]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """``1 + log(x)``, which goes to minus infinity at 0."""
        (x,), (gz,) = inputs, output_gradients
        return [gz * (1 + log(x))]


class XlogY0(BinaryScalarOp):
    """``x * log(y)``, and 0 where `x` is 0, for any `y`."""

    @staticmethod
    def st_impl(x: Any, y: Any) -> Any:
        """Compute one number."""
        return x * np.log(y) if x != 0 else x

    def impl(self, x: Any, y: Any) -> Any:
        """Compute one number."""
        return self.st_impl(x, y)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """The same in C."""
        (x, y), (z,) = inputs, outputs
        return f"{z} = {x} == 0 ? 0 : {x} * log({y});"

    def c_headers(self) -> list[str]:
        """Where the logarithm is declared."""
        return ["<math.h>"]

    def grad(self, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
        """``log(y)`` and ``x / y``; by `y` it is 0 where `x` is."""
        (x, y), (gz,) = inputs, output_gradients
        return [gz * log(y), switch(eq(x, 0), 0 * gz, gz * x / switch(eq(x, 0), 1, y))]


scalar_xlogx = XlogX(upgrade_to_float, name="scalar_xlogx")
xlogx = Elemwise(scalar_xlogx, name="xlogx")
scalar_xlogy0 = XlogY0(upgrade_to_float, name="scalar_xlogy0")
xlogy0 = Elemwise(scalar_xlogy0, name="xlogy0")
