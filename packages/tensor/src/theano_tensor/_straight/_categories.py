"""Draws of categories from uniform numbers, in straight-line C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from theano_graph import Apply
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import Block, CArray, Length, straight_op

from ..random.mrg import ChoiceFromUniform, MultinomialFromUniform
from ..random.mrg._choose import SLACK

__all__: list[str] = []


class _Rows:
    """The loops over rows of probabilities and draws."""

    def __init__(self, node: Apply[Any], block: Block, inputs: Sequence[CArray]) -> None:
        self.block, self.dtype = block, str(node.outputs[0].type.dtype)
        self.chances, self.numbers, count = inputs
        self.rows, self.k = self.chances.shape
        self.draws = block.number(count)
        block.at_least(self.draws, 0, "the number of draws is negative")
        wanted = self.rows * self.draws
        block.same(self.numbers.shape[0], wanted, "draws need as many uniform numbers")
        self.p, self.total = block.fresh("p"), block.fresh("x")
        self.row, self.draw, self.u = block.fresh("i"), block.fresh("i"), block.fresh("x")

    def begin_row(self, places: CArray) -> None:
        """Write the loop that reads the probabilities of a row, and adds them."""
        block, j = self.block, self.block.fresh("j")
        block.let("double *", self.p, places.pointer)
        block.let("double *", f"{self.p}_taken", f"{self.p} + {self.k}")
        block.variable("double", self.total, "0")
        at = f"{self.row} * {self.chances.strides[0].atom} + {j} * {self.chances.strides[1].atom}"
        with block.loop(j, self.k):
            block.line(f"{self.p}[{j}] = {self.chances.load(at).text};")
            block.line(f"{self.total} += {self.p}[{j}];", changes=(self.total,))
            block.line(f"{self.p}_taken[{j}] = 0;")

    def uniform(self) -> None:
        """Write the load of the uniform number of a draw."""
        at = f"({self.draw} * {self.rows.atom} + {self.row}) * {self.numbers.strides[0].atom}"
        self.block.let("double", self.u, self.numbers.load(at).text)

    @contextmanager
    def each_draw(self) -> Iterator[None]:
        """Write the loops over rows and over draws, with their first statements."""
        block, places = self.block, self.places()
        with block.block(f"for (int64_t {self.row} = 0; {self.row} < {self.rows}; {self.row}++)"):
            self.begin_row(places)
            with block.block(f"for (int64_t {self.draw} = 0; {self.draw} < {self.draws}; {self.draw}++)"):
                self.uniform()
                yield

    def category(self, number: str, closed: str) -> str:
        """Return the call that finds the category of a number."""
        return self.block.call("theano_category", self.p, self.k, number, closed)

    def places(self) -> CArray:
        """Return memory for the probabilities of a row, and for which of them have been taken."""
        return self.block.allocate("float64", (self.block.sum([self.k * Length(2), Length(1)]),), local=True)


@straight_op.register(MultinomialFromUniform)
def _counts(node: Apply[MultinomialFromUniform], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    rows = _Rows(node, block, inputs)
    target = block.result(0, rows.dtype, (rows.rows, rows.k))
    with block.loops(block.nest(target.shape, (target,))) as (at,):
        block.store(target, at, CValue("0", rows.dtype, 0))
    with rows.each_draw():
        j = block.fresh("j")
        block.let("int64_t", j, rows.category(rows.u, f"{rows.total} > {1 - SLACK!r}"))
        at = f"{rows.row} * {rows.k.atom} + {j}"
        one = CValue(f"({target.load(at).text} + 1)", rows.dtype)
        with block.block(f"if ({j} >= 0)"):
            block.store(target, at, one)
    return [target]


@straight_op.register(ChoiceFromUniform)
def _chosen(node: Apply[ChoiceFromUniform], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    rows = _Rows(node, block, inputs)
    most = f"{rows.draws.atom} == 0 || {rows.k.atom} > 0" if node.op.replace else f"{rows.draws.atom} <= {rows.k.atom}"
    block.check(most, "there are not so many categories")
    target = block.result(0, rows.dtype, (rows.rows, rows.draws))
    with rows.each_draw():
        j = block.fresh("j")
        block.variable("int64_t", j, "0")
        with block.block(f"if ({rows.total} > 0)"):
            (_with if node.op.replace else _without)(rows, j)
        at = f"{rows.row} * {rows.draws.atom} + {rows.draw}"
        block.store(target, at, CValue(j, "int64"))
    return [target]


def _with(rows: _Rows, j: str) -> None:
    rows.block.assign(j, rows.category(f"{rows.u} * {rows.total}", "1"))


def _without(rows: _Rows, j: str) -> None:
    block, left, at = rows.block, rows.block.fresh("x"), rows.block.fresh("j")
    block.variable("double", left, "0")
    with block.loop(at, rows.k):
        block.line(f"{left} += {rows.p}[{at}];", changes=(left,))
    block.assign(j, f"{left} > 0 ? {rows.category(f'{rows.u} * {left}', '1')} : -1")
    with block.block(f"if ({j} < 0)"):
        block.assign(j, "0")
        block.line(f"while ({rows.p}_taken[{j}] != 0) {j}++;", changes=(j,))
    block.line(f"{rows.p}[{j}] = 0;")
    block.line(f"{rows.p}_taken[{j}] = 1;")
