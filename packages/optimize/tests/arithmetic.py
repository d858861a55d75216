"""A small language of real numbers for the tests: types, ops, an interpreter and a few rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, SingletonType, Type, Variable, format_error
from theano_optimize import NodeRewriter, PatternRewriter, RewriteProfile, TransformResult, node_rewriter


class Real(SingletonType):
    """Python floats."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if not isinstance(value, (int, float)) or (strict and not isinstance(value, float)):
            raise TypeError(format_error(f"{value!r} is no real number"))
        return float(value)

    def is_super(self, other: Type) -> bool:
        return isinstance(other, Real)


class Positive(Real):
    """Python floats above zero: refines :class:`Real`."""

    def is_super(self, other: Type) -> bool:
        return isinstance(other, Positive)


class Text(SingletonType):
    """Python strings: unrelated to numbers."""


REAL = Real()
POSITIVE = Positive()
TEXT = Text()


class RealOp(Op):
    """An op on real numbers, equal to every other instance of its class."""

    __props__ = ()
    nin = 1
    commutative = False

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != self.nin:
            raise TypeError(f"{self} takes {self.nin} inputs")
        return Apply(self, [REAL.filter_variable(i) for i in inputs], [REAL()])

    def value(self, *inputs: float) -> float:
        raise TypeError(f"{self} has no value")

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = self.value(*inputs)


class Neg(RealOp):
    def value(self, *inputs: float) -> float:
        return -inputs[0]


class Exp(RealOp):
    def value(self, *inputs: float) -> float:
        return math.exp(inputs[0])


class Log(RealOp):
    def value(self, *inputs: float) -> float:
        return math.log(inputs[0])


class Identity(RealOp):
    def value(self, *inputs: float) -> float:
        return inputs[0]


class Add(RealOp):
    nin = 2
    commutative = True

    def value(self, *inputs: float) -> float:
        return inputs[0] + inputs[1]


class Mul(RealOp):
    nin = 2
    commutative = True

    def value(self, *inputs: float) -> float:
        return inputs[0] * inputs[1]


class Sub(RealOp):
    nin = 2

    def value(self, *inputs: float) -> float:
        return inputs[0] - inputs[1]


class Div(RealOp):
    nin = 2

    def value(self, *inputs: float) -> float:
        return inputs[0] / inputs[1]


class Scale(RealOp):
    """Multiplication by a fixed number: an op with a parameter."""

    __props__ = ("factor",)  # type: ignore[assignment]  # the base class has no parameters

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def value(self, *inputs: float) -> float:
        return self.factor * inputs[0]


class Sum(RealOp):
    """Sum of any number of inputs."""

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [REAL.filter_variable(i) for i in inputs], [REAL()])

    def value(self, *inputs: float) -> float:
        return math.fsum(inputs)


class DivMod(RealOp):
    """Quotient and remainder."""

    nin = 2

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [REAL.filter_variable(i) for i in inputs], [REAL(), REAL()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0], output_storage[1][0] = divmod(inputs[0], inputs[1])


class Overwrite(RealOp):
    """An op that destroys its input."""

    destroy_map = {0: [0]}

    def value(self, *inputs: float) -> float:
        return inputs[0] + 1


class View(RealOp):
    """An op whose output shares memory with its input."""

    view_map = {0: [0]}

    def value(self, *inputs: float) -> float:
        return inputs[0]


class Draw(RealOp):
    """An op that is not to be merged, nor folded."""

    mergeable = False

    def do_constant_folding(self, node: Apply) -> bool:
        return False

    def value(self, *inputs: float) -> float:
        return inputs[0] * 0.5


neg, exp, log, identity = Neg(), Exp(), Log(), Identity()
add, mul, sub, div = Add(), Mul(), Sub(), Div()
total, div_mod, overwrite, view, draw = Sum(), DivMod(), Overwrite(), View(), Draw()


def real(name: str | None = None) -> Any:
    """Return a new real variable."""
    return REAL(name)


def const(value: float, name: str | None = None) -> Any:
    """Return a new constant."""
    return REAL.make_constant(value, name)


def graph(inputs: Sequence[Variable], *outputs: Variable) -> FunctionGraph:
    """Return a function graph over the very variables that are given."""
    return FunctionGraph(list(inputs), list(outputs), clone=False)


def evaluate(fgraph: FunctionGraph, values: Mapping[Variable, float] | Sequence[float]) -> list[float]:
    """Return the values of the outputs for values of the inputs."""
    if not isinstance(values, Mapping):
        values = dict(zip(fgraph.inputs, values, strict=True))
    reference: dict[Variable, Any] = dict(values)

    def value_of(variable: Variable) -> Any:
        return variable.data if isinstance(variable, Constant) else reference[variable]

    for node in fgraph.toposort():
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        node.op.perform(node, [value_of(v) for v in node.inputs], storage)
        reference.update(zip(node.outputs, (cell[0] for cell in storage), strict=True))
    return [value_of(v) for v in fgraph.outputs]


def ops_of(fgraph: FunctionGraph) -> list[str]:
    """Return the names of the ops of a graph in topological order."""
    return [str(node.op) for node in fgraph.toposort()]


class CountingRewriter(NodeRewriter):
    """Counts how often another rule is asked."""

    def __init__(self, rule: NodeRewriter) -> None:
        super().__init__(info=rule.info, reach=rule.reach)
        self.rule = rule
        self.calls = 0

    def tracks(self) -> Any:
        return self.rule.tracks()

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        self.calls += 1
        return self.rule.transform(fgraph, node)


neg_of_neg = PatternRewriter((neg, (neg, "x")), "x", name="neg_of_neg")
log_of_exp = PatternRewriter((log, (exp, "x")), "x", name="log_of_exp")
add_zero = PatternRewriter((add, "x", 0), "x", name="add_zero")
mul_one = PatternRewriter((mul, "x", 1), "x", name="mul_one")
sub_self = PatternRewriter((sub, "x", "x"), 0, name="sub_self")


@node_rewriter([Identity])
def drop_identity(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """identity(x) is x."""
    return [node.inputs[0]]


@node_rewriter([sub])
def sub_as_add(fgraph: FunctionGraph, node: Apply) -> TransformResult:
    """x - y is x + (-y)."""
    x, y = node.inputs
    return [add(x, neg(y))]


def fired(profile: RewriteProfile) -> dict[str, int]:
    """Return the rules that fired and how often, in alphabetic order."""
    return dict(sorted(profile.total_rules().items()))
