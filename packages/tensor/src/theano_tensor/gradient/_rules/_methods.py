"""Rules of an op as methods of its class: `grad`, `L_op`, `R_op` and `infer_shape`.

Programs call them, and subclasses that override one call that of the base. A class that has a rule gets the methods
with it; classes that define them themselves keep theirs. Every op has `L_op`, which asks `grad`, and `R_op`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, Op, PureOp, Variable, origin_from, pullback, pushforward, shape_rule

from ._types import DisconnectedType


def written_method(op: Op, name: str) -> Callable[..., Any] | None:
    """Return a method that somebody has written; None where there is none, or one that stands for a rule."""
    method: Any = getattr(op, name, None)
    return None if getattr(method, "is_rule", False) else method


def _node(op: Op, inputs: Sequence[Variable], outputs: Sequence[Variable] = ()) -> Apply:
    """Return the node that made `outputs`, or a new one."""
    node = outputs[0].owner if outputs else None
    if node is not None and node.op is op and len(node.inputs) == len(inputs):
        if all(a is b for a, b in zip(node.inputs, inputs, strict=True)):
            return node
    return op.make_node(*inputs)


def add_method(op_class: type, name: str, method: Any) -> None:
    """Give a class a method that stands for a rule; one that is written in the class itself stays."""
    if name not in vars(op_class):
        method.__name__, method.__qualname__ = name, f"{op_class.__qualname__}.{name}"
        method.is_rule = True
        setattr(op_class, name, method)


def l_op_by_grad(
    self: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], output_gradients: Sequence[Variable]
) -> Sequence[Variable]:
    """Return the gradients by the inputs, from the op's ``grad``."""
    gradients: Sequence[Variable] = self.grad(inputs, output_gradients)
    return gradients


add_method(PureOp, "L_op", l_op_by_grad)


def _add_pullback(op_class: type, rule: Callable[..., Any]) -> None:
    def pulled(node: Apply, gradients: Sequence[Variable]) -> list[Variable]:
        with origin_from(node):
            terms = rule(node, list(gradients))
        return [DisconnectedType()() if g is None else g for g in terms]

    def l_op(
        self: Op, inputs: Sequence[Variable], outputs: Sequence[Variable], output_gradients: Sequence[Variable]
    ) -> list[Variable]:
        """Return the gradients by the inputs, given those by the outputs."""
        return pulled(_node(self, inputs, outputs), output_gradients)

    def grad(self: Op, inputs: Sequence[Variable], output_gradients: Sequence[Variable]) -> list[Variable]:
        """Return the gradients by the inputs, given those by the outputs."""
        return pulled(_node(self, inputs), output_gradients)

    if "grad" not in vars(op_class):
        add_method(op_class, "L_op", l_op)
    if "L_op" not in vars(op_class) or getattr(vars(op_class)["L_op"], "is_rule", False):
        add_method(op_class, "grad", grad)


def _add_pushforward(op_class: type, rule: Callable[..., Any]) -> None:
    def r_op(self: Op, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Any]:
        """Return the derivatives of the outputs along directions of the inputs; None stands for zero."""
        node = _node(self, inputs)
        with origin_from(node):
            return list(rule(node, list(eval_points)))

    add_method(op_class, "R_op", r_op)


def _add_shape_rule(op_class: type, rule: Callable[..., Any]) -> None:
    def infer_shape(self: Op, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the outputs, given those of the inputs."""
        return list(rule(node, list(input_shapes)))

    add_method(op_class, "infer_shape", infer_shape)


pullback.tell(_add_pullback)
pushforward.tell(_add_pushforward)
shape_rule.tell(_add_shape_rule)
