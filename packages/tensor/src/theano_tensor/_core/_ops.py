"""The common part of ops: types of calls, axes, batches, impossible results, and conditions that must hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Unstacked,
    Variable,
    batch_rule,
    config,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.program import certain_error

from .._errors import AxisError, PartError, ShapeError, SpecifiedShapeError
from .._protocols._methods import call
from ._convert import as_tensor_variable
from ._dtypes import DISCRETE_DTYPES, TensorLike
from ._type import Tensor, TensorType, tensor_type

# ---- Ops with one result that is a tensor: the types of calls for type checkers

if TYPE_CHECKING:

    class TensorOp(Op):
        """An op that gives one tensor when it is called. When programs run, this is :class:`Op` itself."""

        def __call__(self, *inputs: Any, **kwargs: Any) -> Tensor: ...

else:
    TensorOp = Op


def is_same(one: Variable, other: Variable) -> bool:
    """Tell whether two variables are one, or one op has been applied to the same variables for both."""
    if one is other:
        return True
    node, twin = one.owner, other.owner
    if node is None or twin is None or one.type != other.type or len(node.inputs) != len(twin.inputs):
        return False
    if any(v is not w for v, w in zip(node.inputs, twin.inputs, strict=True)):
        return False
    return node.op == twin.op and node.outputs.index(one) == twin.outputs.index(other)


# ---- Ops through which nothing is differentiated: their results are whole numbers, or jump


class DiscreteOp(Op):
    """An op whose results are step functions of its inputs: no result depends differentiably on any input."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """No output is connected with an input."""
        return [[False] * len(node.outputs) for _ in node.inputs]


@pullback.register(DiscreteOp)
def _pullback_discrete(node: Apply[DiscreteOp, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [None] * len(node.inputs)


@pushforward.register(DiscreteOp)
def _pushforward_discrete(node: Apply[DiscreteOp, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None] * len(node.outputs)


# ---- One axis of a tensor, as users give it


def one_axis(name: str, axis: object, x: Tensor, extra: int = 0) -> int:
    """Return `axis` as a number from 0 up.

    Parameters
    ----------
    name : str
        The operation, for errors.
    axis : int
        Also a NumPy integer, or a constant variable that holds one.
    x : Tensor
    extra : int
        How many dimensions the result has more than `x`, if `axis` is one of the result.

    Raises
    ------
    TypeError
        If `axis` is no integer.
    AxisError
        If there is no such axis.
    """
    number = getattr(axis, "data", axis) if isinstance(axis, Tensor) else axis
    if isinstance(number, (bool, Tensor)) or not hasattr(number, "__index__"):
        raise TypeError(
            format_error(
                f"{name}: {axis!r} is no axis: it must be a number that is known while the expression is built",
                context=[describe(x)],
                hint="use a Python int",
            )
        )
    ndim = x.type.ndim + extra
    axis_number = int(number.__index__())
    if not -ndim <= axis_number < ndim:
        raise AxisError(
            format_error(
                f"{name}: axis {axis_number} is out of range for {ndim} dimensions",
                context=[describe(x)],
                hint=f"use an axis from {-ndim} to {ndim - 1}" if ndim else "the tensor is a scalar: flatten it first",
            )
        )
    return axis_number % ndim


# ---- Parts that rules of batches share: the length of a batch, and inputs brought into one form


def batch_length(inputs: Sequence[Any], stacked: Sequence[bool]) -> Any:
    """Return the length of a batch: an int where the type of a stacked input tells it, else a scalar variable."""
    stacks = [x for x, is_stacked in zip(inputs, stacked, strict=True) if is_stacked]
    for x in stacks:
        length = x.type.shape[0]
        if length is not None:
            return length
    return call("lengths", stacks[0])[0]


def stack_of(x: Any, length: Any) -> Tensor:
    """Return `x` for each entry of a batch of some length."""
    variable = as_tensor_variable(x)
    result: Tensor = call("alloc", variable, length, *call("lengths", variable))
    return result


def all_stacked(inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Tensor]:
    """Return the inputs with a dimension for the batch in front of each."""
    length = batch_length(inputs, stacked)
    return [x if is_stacked else stack_of(x, length) for x, is_stacked in zip(inputs, stacked, strict=True)]


def fronted(x: Any, is_stacked: bool) -> Tensor:
    """Return `x` with a dimension for the batch in front, of length 1 where it is not stacked."""
    variable = as_tensor_variable(x)
    if is_stacked:
        return variable
    result: Tensor = call("dimshuffle", variable, ("x", *range(variable.type.ndim)))
    return result


def padded(x: Any, is_stacked: bool, ndim: int) -> Tensor:
    """Return `x` with dimensions of length 1 after that of the batch, `ndim` of them without that of the batch.

    An input that is not stacked stays as it is: it broadcasts from the left.
    """
    variable = as_tensor_variable(x)
    missing = ndim + 1 - variable.type.ndim
    if not is_stacked or not missing:
        return variable
    order = (0, *["x"] * missing, *range(1, variable.type.ndim))
    result: Tensor = call("dimshuffle", variable, order)
    return result


def batch_of_expression(
    node: Any, inputs: Sequence[Any], stacked: Sequence[bool], outputs: Sequence[Any]
) -> list[Variable | Unstacked]:
    """Return expressions of a node's inputs for all entries of a batch: the rule of an op that they say the same as."""
    sources = dict(zip(node.inputs, zip(inputs, stacked, strict=True), strict=True))
    entries = call("batch_entries", list(outputs), sources)
    return [variable if is_stacked else Unstacked(variable) for variable, is_stacked in entries]


def run_in_a_loop(node: Any, inputs: Sequence[Any], stacked: Sequence[bool]) -> None:
    """Return None: the rule of an op that nothing is better for than a loop over the entries."""


def on_stacks(node: Any, inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Variable]:
    """Return the outputs of the same op: the rule of an op on the last dimensions of tensors of any number of them."""
    return list(node.op(*all_stacked(inputs, stacked), return_list=True))


# ---- Nodes that stand for impossible results: they raise an error when a function is compiled or runs

inner: ContextVar[bool] = ContextVar("compiles_inner_graph", default=False)
"""Whether a function is compiled that an op calls, perhaps never."""

at_once: ContextVar[bool] = ContextVar("refuses_at_once", default=False)
"""Whether the error is raised in the place of making a node that raises it."""

_ERRORS = {error.__name__: error for error in (ShapeError, PartError, SpecifiedShapeError, IndexError)}


class Refused(Op):
    """Stands for results that there cannot be, and raises an error where they are computed.

    A program may contain such an expression and never run it: in the branch of a choice that is not taken. Where every
    call runs it, the program is not compiled.

    Parameters
    ----------
    error : str
        The name of its class.
    message : str
        Of the error.
    types : tuple of TensorType
        Of the results.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("error", "message", "types")

    def __init__(self, error: str, message: str, types: tuple[TensorType, ...]) -> None:
        if error not in _ERRORS:
            raise ValueError(f"Refused: {error!r} is no error of lengths; use one of {', '.join(_ERRORS)}")
        self.error = error
        self.message = message
        self.types = types

    def make_node(self, *inputs: Variable) -> Apply[Self, Tensor]:
        """Apply to the operands."""
        operands: list[Any] = list(inputs)
        return Apply(self, operands, [t.make_variable() for t in self.types])

    def exception(self) -> Exception:
        """Return the error."""
        return _ERRORS[self.error](self.message)

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Raise the error."""
        raise self.exception()

    def do_constant_folding(self, node: Apply[Self, Tensor]) -> bool:
        """Return False: there is no value."""
        return False

    def __str__(self) -> str:
        return "Refused"


def refused_node(
    error: ShapeError | IndexError, inputs: Sequence[Variable], types: Sequence[TensorType]
) -> Apply[Any, Tensor]:
    """Return a node that raises `error` when it runs, in the place of one with results of such types."""
    if at_once.get():
        raise error
    return Refused(type(error).__name__, str(error), tuple(types)).make_node(*inputs)


def refused(error: ShapeError | IndexError, x: Tensor, shape: Sequence[int | None], *others: Variable) -> Tensor:
    """Return a variable in the place of an operand that does not fit; computing it raises `error`.

    Parameters
    ----------
    error : ShapeError or IndexError
    x : Tensor
        The operand.
    shape : sequence of int or None
        The static shape that would fit.
    others : Variable
        The other operands, shown where the error is raised.
    """
    return refused_node(error, [x, *others], [tensor_type(x.type.dtype, shape)]).outputs[0]


@certain_error.register(Refused)
def _error(node: Apply[Refused, Tensor]) -> Exception | None:
    return None if inner.get() else node.op.exception()


@pullback.register(Refused)
def _pullback_refused(node: Apply[Refused, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    dtypes = [config.floatX if x.type.dtype in DISCRETE_DTYPES else x.type.dtype for x in node.inputs]
    types = [tensor_type(dtype, x.type.shape) for dtype, x in zip(dtypes, node.inputs, strict=True)]
    return list(Refused(node.op.error, node.op.message, tuple(types)).make_node(*node.inputs).outputs)


@pushforward.register(Refused)
def _pushforward_refused(node: Apply[Refused, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return list(node.op.make_node(*node.inputs).outputs)


@batch_rule.register(Refused)
def _batch_refused(node: Apply[Refused, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    types = tuple(tensor_type(t.dtype, (None, *t.shape)) for t in node.op.types)
    return list(Refused(node.op.error, node.op.message, types).make_node(*inputs).outputs)


@shape_rule.register(Refused)
def _shape_refused(node: Apply[Refused, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [t.shape for t in node.op.types]  # asking for the other lengths raises the error, too


# ---- Conditions that must hold when a graph runs


class CheckAndRaise(Op):
    """The first input as it is, as long as all others are true; an error otherwise.

    The check is made only where the result is used, and goes where conditions are known to hold. The rewrite
    ``local_remove_all_assert`` takes all checks out.

    Parameters
    ----------
    exc_type : class
        Of the error.
    msg : str
        Text of the error.

    Raises
    ------
    TypeError
        If `exc_type` is no class of exceptions.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dscalar("x")
    >>> y = T.log(T.CheckAndRaise(ValueError, "x has to be above 0")(x, x > 0))
    >>> y.eval({x: 1.0})
    array(0.)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("exc_type", "msg")
    view_map = {0: [0]}

    def __init__(self, exc_type: type[Exception], msg: str = "") -> None:
        if not isinstance(exc_type, type) or not issubclass(exc_type, Exception):
            raise TypeError(
                format_error(
                    f"CheckAndRaise: {exc_type!r} is no class of exceptions", hint="pass a class such as ValueError"
                )
            )
        self.exc_type = exc_type
        self.msg = msg

    def make_node(self, value: TensorLike, *conds: TensorLike) -> Apply[Self]:
        """Apply to a value and conditions without dimensions; ShapeError for conditions with dimensions."""
        variable = value if isinstance(value, Variable) else as_tensor_variable(value)
        conditions = [as_tensor_variable(c) for c in conds]
        for condition in conditions:
            if condition.type.ndim:
                raise ShapeError(
                    format_error(
                        f"{type(self).__name__}: a condition has {condition.type.ndim} dimensions, expected none",
                        context=[describe(condition)],
                        hint="reduce it with T.all(condition)",
                    )
                )
        return Apply(self, [variable, *conditions], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Check and return the value."""
        value, *conditions = inputs
        if not all(np.asarray(c).item() for c in conditions):
            raise self.exc_type(self.msg)
        output_storage[0][0] = value

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """The result does not depend differentiably on conditions."""
        return [[True]] + [[False]] * (len(node.inputs) - 1)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.exc_type.__name__}({self.msg!r})}}"


class Assert(CheckAndRaise):
    """The first input as it is, as long as all others are true; AssertionError otherwise.

    Parameters
    ----------
    msg : str
        Text of the error.

    See Also
    --------
    CheckAndRaise

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dvector("x")
    >>> T.Assert("two elements at most")(x, x.size < 3).type
    TensorType(float64, vector)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("msg",)

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        super().__init__(AssertionError, msg)

    def __str__(self) -> str:
        return f"Assert{{msg={self.msg!r}}}"


assert_op = Assert()


@pullback.register(CheckAndRaise)
def _pullback_check(node: Apply[CheckAndRaise], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0], *(None for _ in node.inputs[1:])]


@pushforward.register(CheckAndRaise)
def _pushforward_check(node: Apply[CheckAndRaise], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


@batch_rule.register(CheckAndRaise)
def _batch_check(node: Apply[CheckAndRaise], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """A condition has to hold for all entries."""
    value, *conditions = inputs
    checks = [call("all", c) if flag else c for c, flag in zip(conditions, stacked[1:], strict=True)]
    checked = node.op(value, *checks)
    return [checked if stacked[0] else Unstacked(checked)]


@shape_rule.register(CheckAndRaise)
def _shape_check(node: Apply[CheckAndRaise], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]
