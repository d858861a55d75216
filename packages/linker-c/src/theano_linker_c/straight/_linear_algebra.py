"""Linear algebra on matrices: calls of the library's functions.

Eigenvectors and singular vectors are determined but for their signs (and rotations, where values are equal); these may
differ from those that LAPACK finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..kernels import LapackKernel, memory_type
from ..scalar import CValue
from ._arrays import CArray
from ._block import Block
from ._lengths import ONE, Length, as_length
from ._rules import straight_kernel

__all__: list[str] = []

_SQUARE = "a matrix is not square"
_SINGULAR = "the matrix is singular"
_FIT = "a matrix and a right-hand side differ in their numbers of rows"


@straight_kernel.register(LapackKernel)
def _lapack(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return _TASKS[kernel.task](kernel, block, inputs)


def _name(kernel: LapackKernel, what: str) -> str:
    return f"theano_{what}_{memory_type(kernel.dtype)}"


def _rows(block: Block, a: CArray) -> Length:
    return block.same(a.shape[0], a.shape[1], _SQUARE)


def _copied(block: Block, x: CArray) -> CArray:
    """Return a copy in C order, which the present instruction overwrites."""
    made = block.allocate(x.dtype, x.shape, local=True)
    block.copy(x, made)
    return made


def _put(block: Block, k: int, x: CArray) -> CArray:
    """Return a result that begins as a copy of an operand."""
    made = block.result(k, x.dtype, x.shape)
    block.copy(x, made)
    return made


def _space(block: Block, dtype: str, *shape: Length) -> CArray:
    return block.allocate(dtype, shape, local=True)


def _cholesky(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    assert block.step is not None
    n, a = _rows(block, inputs[0]), block.in_order(inputs[0])
    made = block.result(0, kernel.dtype, (n, n))
    call = block.call(_name(kernel, "cholesky"), n, int(bool(kernel.flag)), a.pointer, made.pointer)
    if getattr(block.step.instruction.node.op, "on_error", "raise") != "nan":
        block.check(f"{call} == 0", "the matrix is not positive definite")
        return [made]
    with block.block(f"if ({call} != 0)"), block.loops(block.nest(made.shape, (made,))) as (at,):
        block.line(f"{made.element(at)} = ({memory_type(kernel.dtype)})NAN;")
    return [made]


def _factor_back(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    _, factor, g = inputs
    n = _rows(block, factor)
    for length in g.shape:
        block.same(length, n, "a factor and the gradient by it differ in shape")
    factor, made = block.in_order(factor), _put(block, 0, g)
    block.line(block.call(_name(kernel, "factor_back"), n, factor.pointer, made.pointer) + ";")
    return [made]


def _columns(b: CArray) -> Length:
    return b.shape[1] if b.ndim == 2 else ONE


def _triangular(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    n = block.same(_rows(block, a), b.shape[0], _FIT)
    a, made = block.in_order(a), _put(block, 0, b)
    given = (n, _columns(b), int(bool(kernel.flag)), 0, a.pointer, made.pointer)
    block.check(block.call(_name(kernel, "triangular"), *given) + " == 0", _SINGULAR)
    return [made]


def _solve(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    n = block.same(_rows(block, a), b.shape[0], _FIT)
    work, made, pivots = _copied(block, a), _put(block, 0, b), _space(block, "int64", n)
    if kernel.task == "symmetric":
        block.line(block.call(_name(kernel, "mirror"), n, int(bool(kernel.flag)), work.pointer) + ";")
    given = (n, _columns(b), work.pointer, made.pointer, pivots.pointer)
    block.check(block.call(_name(kernel, "solve"), *given) + " == 0", _SINGULAR)
    return [made]


def _inverse(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, pivots = _copied(block, inputs[0]), _space(block, "int64", n)
    made = block.result(0, kernel.dtype, (n, n))
    block.line(block.call(_name(kernel, "unit"), n, made.pointer) + ";")
    given = (n, n, work.pointer, made.pointer, pivots.pointer)
    block.check(block.call(_name(kernel, "solve"), *given) + " == 0", _SINGULAR)
    return [made]


def _determinant(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, pivots = _copied(block, inputs[0]), _space(block, "int64", n)
    if kernel.task == "det":
        made = block.result(0, kernel.dtype, ())
        call = block.call(_name(kernel, "det"), n, work.pointer, pivots.pointer)
        block.line(made.store("0", CValue(call, kernel.dtype)))
        return [made]
    sign = block.result(0, kernel.dtype, ())
    logarithm = block.fresh("x")
    block.line(f"{memory_type(kernel.dtype)} {logarithm};")
    call = block.call(_name(kernel, "slogdet"), n, work.pointer, pivots.pointer, f"&{logarithm}")
    block.line(sign.store("0", CValue(call, kernel.dtype)))
    return [sign, block.local(kernel.dtype, logarithm)]


def _eigh(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, space = _copied(block, inputs[0]), _space(block, kernel.dtype, n, n)
    values, vectors = block.result(0, kernel.dtype, (n,)), block.result(1, kernel.dtype, (n, n))
    block.line(block.call(_name(kernel, "mirror"), n, int(bool(kernel.flag)), work.pointer) + ";")
    given = (n, work.pointer, values.pointer, vectors.pointer, space.pointer)
    block.check(block.call(_name(kernel, "eigh"), *given) + " == 0", "the matrix has elements that are not finite")
    return [values, vectors]


def _shorter(block: Block, a: Length, b: Length) -> tuple[Length, bool]:
    """Return the smaller length, and whether that is the first one; it must be known which one is."""
    if a == b:
        return a, False
    if not (a.known and b.known):
        raise block.refuse(
            "it is not known whether a matrix has more rows or more columns", "give the shape, by shapes=... or so"
        )
    return (a, True) if a.factor < b.factor else (b, False)


def _svd(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a = inputs[0]
    rows, columns = a.shape
    k, wide = _shorter(block, rows, columns)
    long = columns if wide else rows
    count = long if kernel.flag == 2 else k
    # The columns of the matrix stand in rows, or those of its transpose.
    swapped = a if wide else block.view(a, (columns, rows), (a.strides[1], a.strides[0]))
    first = _space(block, kernel.dtype, count, long)
    block.copy(swapped, block.view(first, (k, long), (long, ONE)))
    values = block.result(0 if kernel.flag == 0 else 1, kernel.dtype, (k,))
    second = None if kernel.flag == 0 else _space(block, kernel.dtype, k, k)
    pointer = "NULL" if second is None else second.pointer
    given = (long, k, count, first.pointer, values.pointer, pointer)
    block.check(block.call(_name(kernel, "svd"), *given) + " == 0", "the matrix has elements that are not finite")
    if second is None:
        return [values]
    left, right = (second, first) if wide else (first, second)
    u = block.result(0, kernel.dtype, (left.shape[1], left.shape[0]))
    block.copy(block.view(left, u.shape, (left.strides[1], left.strides[0])), u)
    vt = block.result(2, kernel.dtype, right.shape)
    block.copy(right, vt)
    return [u, values, vt]


def _qr(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a = inputs[0]
    rows, columns = a.shape
    k, _ = (rows, True) if kernel.flag == 2 else _shorter(block, rows, columns)
    work = _copied(block, a)
    space = _space(block, kernel.dtype, block.sum([rows, columns, rows, columns]))
    q = None if kernel.flag == 0 else block.result(0, kernel.dtype, (rows, k))
    r = block.result(int(q is not None), kernel.dtype, (k, columns))
    pointer = "NULL" if q is None else q.pointer
    block.line(block.call(_name(kernel, "qr"), rows, columns, k, work.pointer, pointer, space.pointer) + ";")
    block.copy(block.view(work, r.shape, (as_length(columns), ONE)), r)
    return [r] if q is None else [q, r]


_TASKS: dict[str, Callable[[LapackKernel, Block, Sequence[CArray]], list[CArray]]] = {
    "cholesky": _cholesky,
    "triangular": _triangular,
    "solve": _solve,
    "symmetric": _solve,
    "inverse": _inverse,
    "det": _determinant,
    "slogdet": _determinant,
    "eigh": _eigh,
    "svd": _svd,
    "factor_back": _factor_back,
    "qr": _qr,
}
