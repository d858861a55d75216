"""A tiny language for the tests: values of two types and an op with any number of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theano_graph import Apply, Op, Type, Variable


@dataclass(frozen=True)
class Number(Type):
    """Integers; `positive` refines the type."""

    positive: bool = False

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"not an integer: {value!r}")
        if self.positive and value <= 0:
            raise ValueError(f"not positive: {value}")
        return value

    def is_super(self, other: Type) -> bool:
        return isinstance(other, Number) and (other.positive or not self.positive)

    def __str__(self) -> str:
        return "positive" if self.positive else "number"


NUMBER = Number()
POSITIVE = Number(True)


class Join(Op):
    """An op without a meaning: any inputs, one output."""

    __props__ = ("name",)

    def __init__(self, name: str = "join") -> None:
        self.name = name

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, [NUMBER.filter_variable(v) for v in inputs], [NUMBER.make_variable()])


class Halves(Op):
    """An op with two outputs."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(
            self, [NUMBER.filter_variable(v) for v in inputs], [NUMBER.make_variable(), NUMBER.make_variable()]
        )


join = Join()
other = Join("other")
halves = Halves()


def names(count: str) -> list[Variable]:
    """Return one variable for each letter."""
    return [NUMBER.make_variable(letter) for letter in count]


def chain(start: Variable, length: int) -> Variable:
    """Return a chain of `length` nodes on `start`."""
    out = start
    for _ in range(length):
        out = join(out, start)
    return out


def ops_of(nodes: Sequence[Apply]) -> list[str]:
    """Return the names of the ops of `nodes`."""
    return [str(node.op) for node in nodes]
