"""Ops of Theano 1.0 that are expressions of other ops here, and give way to these when a function is compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    Type,
    Variable,
    batch_rule,
    clone_replace,
    config,
    io_connection_pattern,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c import function, optdb
from theano_optimize import WalkRewriter, node_rewriter
from theano_tensor import Rop, grad
from theano_tensor.batching import batch_of_expression
from theano_tensor.gradient import DisconnectedType
from theano_tensor.shape import shape_i


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
