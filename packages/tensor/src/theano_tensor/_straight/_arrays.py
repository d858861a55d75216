"""Products of integers, ranges of floats, and operations that move or count elements."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply
from theano_linker_c.scalar import CValue, add, c_cast, c_type, mul
from theano_linker_c.straight import Block, CArray, Length, straight_op

from .._core._dtypes import DISCRETE_DTYPES
from .._core._type import Tensor
from ..creation import ARange
from ..extra_ops import BinCount, CpuContiguous, RepeatedNumbers
from ..indexing import Nonzero
from ..linear import Dot
from ..shape import Roll
from ._loops import loops, offset

__all__: list[str] = []


@straight_op.register(Dot)
def _dot(node: Apply[Dot, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    dtype = node.outputs[0].type.dtype
    if dtype.startswith("complex"):
        raise block.refuse("products of complex numbers have no form in C", "use their real and imaginary parts")
    terms = block.same(a.shape[-1], b.shape[0], "the factors of a product do not fit each other")
    target = block.result(0, dtype, (*a.shape[:-1], *b.shape[1:]))
    number = "float" if dtype == "float16" else c_type(dtype)
    with block.scope(not target.shape), loops(block, target.shape) as indices:
        rows, columns = indices[: a.ndim - 1], indices[a.ndim - 1 :]
        total = block.fresh("r")
        block.variable(number, total, "0")
        with loops(block, [terms]) as (k,):
            left, right = (c_cast(x.load(offset(x, at)), dtype) for x, at in ((a, [*rows, k]), (b, [k, *columns])))
            if dtype == "bool":
                block.assign(total, f"{total} || (({left}) && ({right}))")
            else:
                product = mul.c_expression([CValue(f"({left})", dtype), CValue(f"({right})", dtype)], dtype)
                both = [CValue(total, dtype), CValue(f"({product})", dtype)]
                block.assign(total, f"({number})({add.c_expression(both, dtype)})")
        block.store(target, offset(target, indices), CValue(total, dtype))
    return [target]


@straight_op.register(ARange)
def _range(node: Apply[ARange, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    dtype = node.op.dtype
    if dtype in DISCRETE_DTYPES:
        raise block.refuse("a range of integers has bounds that are none", "convert the bounds")
    start, stop, step = (c_cast(x.load("0"), "float64") for x in inputs)
    block.check(f"{step} != 0", "the step of a range is 0")
    count = block.length(block.call("theano_real_range_length", start, stop, step))
    target = block.result(0, dtype, (count,))
    number = "double" if dtype == "float64" else "float"
    first, by = block.fresh("x"), block.fresh("x")
    block.let(number, first, f"({number}){start}")
    block.let(number, by, f"({number})({start} + {step}) - {first}")
    with loops(block, [count]) as (i,):
        block.store(target, i, CValue(f"({first} + ({number}){i} * {by})", dtype))
    return [target]


@straight_op.register(CpuContiguous)
def _contiguous(node: Apply[CpuContiguous, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return list(inputs)


@straight_op.register(Roll)
def _roll(node: Apply[Roll, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, shift, where = inputs
    known = block.number(where)
    if not known.known or not -x.ndim <= known.factor < x.ndim:
        raise block.refuse("the axis that is rolled is not known, or out of range", "give the axis as a number")
    axis = known.factor % x.ndim
    length = x.shape[axis]
    target = block.result(0, x.dtype, x.shape)
    by = (
        block.length(f"{length} == 0 ? 0 : {block.number(shift).atom} % {length.atom}", total=False)
        if length != Length(0)
        else length
    )
    with loops(block, x.shape) as indices:
        to = block.fresh("k")
        block.variable("int64_t", to, f"{indices[axis]} + {by}")
        block.line(f"{to} += {to} < 0 ? {length} : {to} >= {length.atom} ? -({length}) : 0;", changes=(to,))
        moved = [to if k == axis else index for k, index in enumerate(indices)]
        block.move(x, offset(x, indices), target, offset(target, moved))
    return [target]


def _count(block: Block) -> str:
    """Define a number that is counted up."""
    name = block.fresh("n")
    block.variable("int64_t", name, "0")
    return name


@straight_op.register(Nonzero)
def _nonzero(node: Apply[Nonzero, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    count = _count(block)
    with loops(block, x.shape) as indices:
        block.line(f"{count} += {x.load(offset(x, indices)).text} != 0;", changes=(count,))
    results = [block.result(k, "int64", (Length(1, (count,)),)) for k in range(len(node.outputs))]
    position = block.fresh("k")
    block.variable("int64_t", position, "0")
    with loops(block, x.shape) as indices, block.block(f"if ({x.load(offset(x, indices)).text} != 0)"):
        for target, index in zip(results, indices, strict=True):
            block.store(target, position, CValue(index, "int64"))
        block.line(f"{position}++;", changes=(position,))
    return results


@straight_op.register(RepeatedNumbers)
def _repeated(node: Apply[RepeatedNumbers, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    count = _count(block)
    with loops(block, x.shape) as (i,):
        value = x.load(offset(x, [i])).text
        if not x.dtype.startswith(("u", "b")):
            block.check(f"{value} >= 0", "something is repeated less than 0 times")
        block.assign(count, block.call("theano_add_lengths", count, f"(int64_t){value}"))
    block.check(f"{count} >= 0", "the repetitions are more than the length of any array")
    target = block.result(0, "int64", (Length(1, (count,)),))
    position = block.fresh("k")
    block.variable("int64_t", position, "0")
    with loops(block, x.shape) as (i,):
        left = block.fresh("k")
        value = x.load(offset(x, [i])).text
        with block.block(f"for (int64_t {left} = (int64_t){value}; {left} > 0; {left}--)"):
            block.line(f"{target.element(position + '++')} = {i};", changes=(position,))
    return [target]


@straight_op.register(BinCount)
def _bincount(node: Apply[BinCount, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    x, least, *weights = inputs
    length = block.fresh("n")
    start = block.number(least)
    block.at_least(start, 0, "the least length of counts is negative")
    block.variable("int64_t", length, str(start))
    for w in weights:
        block.same(w.shape[0], x.shape[0], "there is not one weight for each number")
    with loops(block, x.shape) as (i,):
        value = x.load(offset(x, [i])).text
        if not x.dtype.startswith(("u", "b")):
            block.check(f"{value} >= 0", "a number that is counted is negative")
        if x.dtype.endswith("64"):
            block.check(f"(uint64_t){value} < INT64_MAX", "a number that is counted is too large")
        block.assign(length, f"(int64_t){value} < {length} ? {length} : (int64_t){value} + 1")
    dtype = node.outputs[0].type.dtype
    target = block.result(0, dtype, (Length(1, (length,)),))
    with loops(block, target.shape) as (i,):
        block.store(target, i, CValue("0", "int64"))
    with loops(block, x.shape) as (i,):
        at = f"(int64_t){x.load(offset(x, [i])).text}"
        more = c_cast(weights[0].load(offset(weights[0], [i])), dtype) if weights else "1"
        terms = [target.load(at), CValue(f"({more})", dtype)]
        block.store(target, at, CValue(f"({add.c_expression(terms, dtype)})", dtype))
    return [target]
