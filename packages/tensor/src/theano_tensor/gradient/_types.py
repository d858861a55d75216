"""Types of gradients that have no value, and rules of ops as methods of their classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

from theano_graph import (
    Apply,
    Op,
    PureOp,
    SingletonType,
    Type,
    Variable,
    format_error,
    origin_from,
    pullback,
    pushforward,
    shape_rule,
)

from .._errors import GradNotImplementedError, GradUndefinedError, NullTypeGradError
from .._protocols._methods import operation

# ---- Types of gradients that have no value, and the functions that make such gradients


class DisconnectedType(SingletonType):
    """The type of the gradient of a cost with respect to something that it does not depend on.

    A variable of this type is a symbolic zero that also says why it is zero. It has no value and cannot be compiled.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.DisconnectedType() == T.DisconnectedType()
    True
    """

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Never:
        """Refuse every value.

        Raises
        ------
        TypeError
            Always.
        """
        raise self.no_value()

    def no_value(self) -> TypeError:
        """Return the error for whoever needs a value of this type, for instance to compile a function."""
        return TypeError(
            format_error(
                "a disconnected gradient has no value",
                hint="ask `grad` for zeros instead: return_disconnected='zero', disconnected_inputs='ignore'",
            )
        )

    def is_valid_value(self, value: object) -> bool:
        """Tell whether `value` has this type: none has."""
        return False


class NullType(Type):
    """The type of a gradient that is undefined or that nobody has written.

    Parameters
    ----------
    reason : str
        Why there is no gradient, as one sentence without a full stop.
    error : type
        The exception when the gradient is asked for.

    Invariants
    ----------
    All instances with one reason are equal. No value has this type.
    """

    def __init__(
        self, reason: str = "this gradient cannot be computed", error: type[NullTypeGradError] = NullTypeGradError
    ) -> None:
        self.reason = reason
        self.error = error

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Never:
        """Refuse every value.

        Raises
        ------
        NullTypeGradError
            Always; the class is the one given at construction.
        """
        raise self.no_value()

    def no_value(self) -> NullTypeGradError:
        """Return the error for whoever needs a value of this type, for instance to compile a function."""
        return self.error(format_error(self.reason, hint="leave this gradient out of the expression"))

    def is_valid_value(self, value: object) -> bool:
        """Tell whether `value` has this type: none has."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NullType) and (self.reason, self.error) == (other.reason, other.error)

    def __hash__(self) -> int:
        return hash((NullType, self.reason, self.error))

    def __str__(self) -> str:
        return f"NullType({self.reason})"


def _where(op: Op, position: int, x: Variable, comment: str) -> str:
    origin = f", made at {x.origin}" if x.origin is not None else ""
    return f"{op} with respect to its input {position} (`{x}`{origin})" + (f": {comment}" if comment else "")


@operation("grad_undefined")
def grad_undefined(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return a variable that stands for a gradient which does not exist mathematically.

    Parameters
    ----------
    op : Op
        The op that is differentiated.
    x_pos : int
        Position of the input among the inputs of the node.
    x : Variable
        That input.
    comment : str
        Why; becomes part of the error.

    Returns
    -------
    NullType
        Asking for a gradient that contains it raises :class:`GradUndefinedError`.
    """
    reason = f"the gradient is undefined for {_where(op, x_pos, x, comment)}"
    variable: Variable = NullType(reason, GradUndefinedError)()
    return variable


def grad_not_implemented(op: Op, x_pos: int, x: Variable, comment: str = "") -> Variable:
    """Return a variable that stands for a gradient which exists but has not been written.

    Parameters
    ----------
    op : Op
    x_pos : int
    x : Variable
    comment : str
        As for :func:`grad_undefined`.

    Returns
    -------
    NullType
        Asking for a gradient that contains it raises :class:`GradNotImplementedError`, a ``NotImplementedError``.
    """
    reason = f"no gradient has been written for {_where(op, x_pos, x, comment)}"
    variable: Variable = NullType(reason, GradNotImplementedError)()
    return variable


def is_disconnected(variable: Variable | None) -> bool:
    """Tell whether a cotangent stands for "no dependence"."""
    return variable is None or isinstance(variable.type, DisconnectedType)


def is_null(variable: Variable | None) -> bool:
    """Tell whether a cotangent stands for "cannot be computed"."""
    return variable is not None and isinstance(variable.type, NullType)


# ---- Rules of an op as methods of its class: `grad`, `L_op`, `R_op` and `infer_shape`
#
# Programs call them, and subclasses that override one call that of the base. A class that has a rule gets the methods
# with it; classes that define them themselves keep theirs. Every op has `L_op`, which asks `grad`, and `R_op`.


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
