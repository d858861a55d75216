"""Products of vectors and matrices: calls of the library's functions, or loops where there is little to do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np

from ..kernels import MatrixProductKernel
from ..scalar import CValue
from ._arrays import CArray
from ._block import Block
from ._lengths import ONE, ZERO, Length
from ._rules import straight_kernel

__all__ = ["product_room"]

#: Products of so few multiplications are written as loops where they stand.
_SMALL = 512
#: So many rows, of so many elements, of a left factor are copied together, and at most so many more.
_PANEL, _TILE = 256, 8
_KINDS = {"float32": "float", "float64": "double"}


@straight_kernel.register(MatrixProductKernel)
def _product(kernel: MatrixProductKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    if kernel.dtype not in _KINDS:
        raise block.refuse(f"products of {kernel.dtype} have no form in C", "use real numbers of 32 or 64 bits")
    if kernel.kind == "batched":
        return [_batched(kernel, block, inputs)]
    one = block.constant(np.asarray(1, kernel.dtype))
    zero = block.constant(np.asarray(0, kernel.dtype))
    z: CArray | None = None
    alpha, beta = one, zero
    if len(inputs) >= 4:
        z, alpha, a, b = inputs[:4]
        beta = inputs[4] if len(inputs) == 5 else one
    else:
        a, b = inputs[:2]
        alpha = inputs[2] if len(inputs) == 3 else one
    left, right, shape, sizes = _as_matrices(kernel.kind, block, a, b)
    if z is not None:
        shape = tuple(
            block.same(x, y, "the array that is added to has not the shape of the product")
            for x, y in zip(shape, z.shape, strict=True)
        )
    target = block.result(0, kernel.dtype, shape, (0,) if z is not None else ())
    if z is not None and target.pointer != z.pointer and beta.value != 0:
        block.copy(z, target)
    _write(block, kernel.dtype, sizes, alpha, left, right, beta, target, _target_strides(kernel.kind, target))
    return [target]


Operand = tuple[CArray, Length, Length]


def _as_matrices(
    kind: str, block: Block, a: CArray, b: CArray
) -> tuple[Operand, Operand, tuple[Length, ...], tuple[Length, Length, Length]]:
    """Return both factors as matrices, with strides of rows and columns; the result's shape; rows, columns, terms."""
    text = "the factors of a product do not fit each other"
    if kind == "ger":
        m, n = a.shape[0], b.shape[0]
        return (a, a.strides[0], ZERO), (b, ZERO, b.strides[0]), (m, n), (m, n, ONE)
    terms = block.same(a.shape[-1], b.shape[0], text)
    rows = a.shape[0] if a.ndim == 2 else ONE
    columns = b.shape[1] if b.ndim == 2 else ONE
    left = (a, a.strides[0] if a.ndim == 2 else ZERO, a.strides[-1])
    right = (b, b.strides[0], b.strides[1] if b.ndim == 2 else ZERO)
    shape = (*a.shape[:-1], *b.shape[1:])
    return left, right, shape, (rows, columns, terms)


def _target_strides(kind: str, target: CArray) -> tuple[Length, Length]:
    if target.ndim == 2:
        return target.strides[0], target.strides[1]
    if target.ndim == 0:
        return ZERO, ZERO
    return (ZERO, target.strides[0]) if kind == "vecmat" else (target.strides[0], ZERO)


def _write(
    block: Block,
    dtype: str,
    sizes: tuple[Length, Length, Length],
    alpha: CArray,
    left: Operand,
    right: Operand,
    beta: CArray,
    target: CArray,
    steps: tuple[Length, Length],
    offsets: tuple[str, str, str] = ("0", "0", "0"),
) -> None:
    """Write ``made = alpha * left @ right + beta * made``."""
    rows, columns, terms = sizes
    kind = _KINDS[dtype]
    factor, factors = alpha.load("0").text, beta.load("0").text
    work = rows * columns * terms
    block.largest_product = max(block.largest_product, work.factor if work.known else float("inf"))
    if work.known and work.factor <= _SMALL:
        _write_loops(block, dtype, sizes, factor, left, right, factors, target, steps, offsets, beta.value == 0)
        return
    a, b, c = (
        x.pointer if offset == "0" else f"{x.pointer} + {offset}"
        for x, offset in zip((left[0], right[0], target), offsets, strict=True)
    )
    if rows == ONE and columns == ONE:
        dot = block.call(f"theano_dot_{kind}", terms, a, left[2], b, right[1])
        old = "" if beta.value == 0 else f" + {factors} * {target.element(offsets[2])}"
        block.store(target, offsets[2], CValue(f"{factor} * {dot}{old}", dtype))
        return
    if columns == ONE:
        arguments = (rows, terms, factor, a, left[1], left[2], b, right[1], factors, c, steps[0])
        block.line(block.call(f"theano_gemv_{kind}", *arguments) + ";")
    elif rows == ONE:
        arguments = (columns, terms, factor, b, right[2], right[1], a, left[2], factors, c, steps[1])
        block.line(block.call(f"theano_gemv_{kind}", *arguments) + ";")
    else:
        room = product_room(block, dtype, rows, terms, left[2])
        operands = (a, left[1], left[2], b, right[1], right[2], factors, c, steps[0], steps[1], room)
        block.line(block.call(f"theano_gemm_{kind}", rows, columns, terms, factor, *operands) + ";")


def product_room(block: Block, dtype: str, rows: Length, terms: Length, step: Length) -> str:
    """Return a pointer to memory to which a product of matrices copies a part of its left factor.

    Parameters
    ----------
    block : Block
    dtype : str
    rows, terms : Length
        Lengths of the left factor.
    step : Length
        How far the elements of a row are apart; nothing is copied where they follow each other.
    """
    if ONE in (step, terms):
        return "NULL"
    least = [length.factor if length.known else _PANEL for length in (rows, terms)]
    size = Length((min(least[0], _PANEL) + _TILE) * min(least[1], _PANEL))
    return block.allocate(dtype, (size,), local=True).pointer


def _write_loops(
    block: Block,
    dtype: str,
    sizes: tuple[Length, Length, Length],
    factor: str,
    left: Operand,
    right: Operand,
    factors: str,
    target: CArray,
    steps: tuple[Length, Length],
    offsets: tuple[str, str, str],
    fresh: bool,
) -> None:
    rows, columns, terms = sizes
    i, j, k, total = (block.fresh(prefix) for prefix in "ijkr")
    with block.scope(), ExitStack() as stack:
        for index, length in ((i, rows), (j, columns)):
            if length != ONE:
                stack.enter_context(block.loop(index, length))
        i, j = ("0" if rows == ONE else i), ("0" if columns == ONE else j)
        block.variable(_KINDS[dtype], total, "0")
        a = _at(offsets[0], (i, left[1]), (k, left[2]))
        b = _at(offsets[1], (k, right[1]), (j, right[2]))
        with block.loop(k, terms):
            block.line(f"{total} += {left[0].load(a).text} * {right[0].load(b).text};", changes=(total,))
        c = _at(offsets[2], (i, steps[0]), (j, steps[1]))
        old = "" if fresh else f" + {factors} * {target.element(c)}"
        product = total if factor in ("(1.0)", "(1.0f)") else f"{factor} * {total}"
        block.store(target, c, CValue(f"({product}{old})", dtype))


def _at(start: str, *terms: tuple[str, Length]) -> str:
    found = [] if start == "0" else [start]
    for index, stride in terms:
        if index != "0" and stride != ZERO:
            found.append(index if stride == ONE else f"{index} * {stride.atom}")
    return " + ".join(found) or "0"


def _batched(kernel: MatrixProductKernel, block: Block, inputs: Sequence[CArray]) -> CArray:
    a, b = inputs
    count = block.same(a.shape[0], b.shape[0], "two stacks of matrices have not the same length")
    terms = block.same(a.shape[2], b.shape[1], "the factors of a product do not fit each other")
    rows, columns = a.shape[1], b.shape[2]
    target = block.result(0, kernel.dtype, (count, rows, columns))
    one, zero = (block.constant(np.asarray(k, kernel.dtype)) for k in (1, 0))
    index = block.fresh("i")
    with block.loop(index, count):
        offsets = tuple(_at("0", (index, x.strides[0])) for x in (a, b, target))
        left, right = (a, a.strides[1], a.strides[2]), (b, b.strides[1], b.strides[2])
        steps = target.strides[1], target.strides[2]
        _write(block, kernel.dtype, (rows, columns, terms), one, left, right, zero, target, steps, offsets)  # type: ignore[arg-type]
    return target
