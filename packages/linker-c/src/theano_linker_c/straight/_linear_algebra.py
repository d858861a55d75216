"""Linear algebra on single matrices and on stacks of them: calls of the library's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..codegen.ir import Let, value_of_text
from ..kernels import LapackKernel, memory_type
from ..scalar import CValue
from ._arrays import ONE, ZERO, CArray, Length, as_length, straight_kernel
from ._block import Block, Step, takes_memory
from ._emit import Wanted

# ---- Linear algebra on matrices: calls of the library's functions
#
# Eigenvectors and singular vectors are determined but for their signs (and rotations, where values are equal); these
# may
# differ from LAPACK's.

_SQUARE = "a matrix is not square"
_SINGULAR = "the matrix is singular"
_FIT = "a matrix and a right-hand side differ in their numbers of rows"


def _name(kernel: LapackKernel, what: str) -> str:
    return f"theano_{what}_{memory_type(kernel.dtype)}"


def square_side(block: Block, shape: Sequence[Length]) -> Length:
    """Return the length of both sides of a matrix; a call fails where they differ."""
    return block.same(shape[0], shape[1], _SQUARE)


def _rows(block: Block, a: CArray) -> Length:
    return square_side(block, a.shape)


def _copied(block: Block, x: CArray) -> CArray:
    """Return a copy in C order, which the present instruction overwrites."""
    copy = block.allocate(x.dtype, x.shape, local=True)
    block.copy(x, copy)
    return copy


def _put(block: Block, k: int, x: CArray) -> CArray:
    """Return a result that begins as a copy of an operand."""
    target = block.result(k, x.dtype, x.shape)
    block.copy(x, target)
    return target


def _space(block: Block, dtype: str, *shape: Length) -> CArray:
    return block.allocate(dtype, shape, local=True)


def _cholesky(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    assert block.step is not None
    n, a = _rows(block, inputs[0]), block.in_order(inputs[0])
    target = block.result(0, kernel.dtype, (n, n))
    call = block.call(_name(kernel, "cholesky"), n, int(bool(kernel.flag)), a.pointer, target.pointer)
    if getattr(block.step.instruction.node.op, "on_error", "raise") != "nan":
        block.check(f"{call} == 0", "the matrix is not positive definite")
        return [target]
    with block.block(f"if ({call} != 0)"), block.loops(block.nest(target.shape, (target,))) as (at,):
        block.line(f"{target.element(at)} = ({memory_type(kernel.dtype)})NAN;")
    return [target]


def _factor_back(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    _, factor, g = inputs
    n = _rows(block, factor)
    for length in g.shape:
        block.same(length, n, "a factor and the gradient by it differ in shape")
    factor, target = block.in_order(factor), _put(block, 0, g)
    block.line(block.call(_name(kernel, "factor_back"), n, factor.pointer, target.pointer) + ";")
    return [target]


def _columns(b: CArray) -> Length:
    return b.shape[1] if b.ndim == 2 else ONE


def _triangular(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    n = block.same(_rows(block, a), b.shape[0], _FIT)
    a, target = block.in_order(a), _put(block, 0, b)
    arguments = (n, _columns(b), int(bool(kernel.flag)), 0, a.pointer, target.pointer)
    block.check(block.call(_name(kernel, "triangular"), *arguments) + " == 0", _SINGULAR)
    return [target]


def _solve(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, b = inputs
    n = block.same(_rows(block, a), b.shape[0], _FIT)
    work, target, pivots = _copied(block, a), _put(block, 0, b), _space(block, "int64", n)
    if kernel.task == "symmetric":
        block.line(block.call(_name(kernel, "mirror"), n, int(bool(kernel.flag)), work.pointer) + ";")
    arguments = (n, _columns(b), work.pointer, target.pointer, pivots.pointer)
    block.check(block.call(_name(kernel, "solve"), *arguments) + " == 0", _SINGULAR)
    return [target]


def _inverse(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, pivots = _copied(block, inputs[0]), _space(block, "int64", n)
    target = block.result(0, kernel.dtype, (n, n))
    block.line(block.call(_name(kernel, "unit"), n, target.pointer) + ";")
    arguments = (n, n, work.pointer, target.pointer, pivots.pointer)
    block.check(block.call(_name(kernel, "solve"), *arguments) + " == 0", _SINGULAR)
    return [target]


def _determinant(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, pivots = _copied(block, inputs[0]), _space(block, "int64", n)
    if kernel.task == "det":
        target = block.result(0, kernel.dtype, ())
        call = block.call(_name(kernel, "det"), n, work.pointer, pivots.pointer)
        block.store(target, "0", CValue(call, kernel.dtype))
        return [target]
    sign = block.result(0, kernel.dtype, ())
    logarithm = block.fresh("x")
    block.variable(memory_type(kernel.dtype), logarithm)
    call = block.call(_name(kernel, "slogdet"), n, work.pointer, pivots.pointer, f"&{logarithm}")
    result = block.fresh("x")
    block.let(memory_type(kernel.dtype), result, call, moves=True)
    block.store(sign, "0", CValue(result, kernel.dtype))
    return [sign, block.local(kernel.dtype, logarithm)]


def _cofactors(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a, g = inputs
    n = _rows(block, a)
    work, target = _copied(block, a), block.result(0, kernel.dtype, (n, n))
    rows, columns = (_space(block, "int64", n) for _ in range(2))
    arguments = (n, g.element("0"), work.pointer, target.pointer, rows.pointer, columns.pointer)
    block.line(block.call(_name(kernel, "cofactors"), *arguments) + ";")
    return [target]


def _eigh(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    n = _rows(block, inputs[0])
    work, space = _copied(block, inputs[0]), _space(block, kernel.dtype, n, n)
    values, vectors = block.result(0, kernel.dtype, (n,)), block.result(1, kernel.dtype, (n, n))
    block.line(block.call(_name(kernel, "mirror"), n, int(bool(kernel.flag)), work.pointer) + ";")
    arguments = (n, work.pointer, values.pointer, vectors.pointer, space.pointer)
    block.check(block.call(_name(kernel, "eigh"), *arguments) + " == 0", "the matrix has elements that are not finite")
    return [values, vectors]


def _eigh_back(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    _, *factors = inputs
    n = _rows(block, factors[1])
    for x in factors:
        for length in x.shape:
            block.same(length, n, "eigenvectors and the gradient by them differ in shape")
    pointers = [block.in_order(x).pointer for x in factors]
    space, made = _space(block, kernel.dtype, as_length(2), n, n), block.result(0, kernel.dtype, (n, n))
    given = (n, int(bool(kernel.flag)), *pointers, made.pointer, space.pointer)
    block.line(block.call(_name(kernel, "eigh_back"), *given) + ";")
    return [made]


class Sides:
    """Which of the two lengths of a matrix is the shorter one, as far as a call has to tell."""

    def __init__(self, block: Block, rows: Length, columns: Length) -> None:
        self._block = block
        self._wide: bool | str = False
        if rows.known and columns.known:
            self._wide = rows.factor < columns.factor
        elif rows != columns:
            self._wide = str(block.length(f"{rows} < {columns}"))
        self.short, self.long = self.choose(rows, columns), self.choose(columns, rows)

    def choose(self, wide: Length, tall: Length) -> Length:
        """Return the first length for a matrix with more columns than rows, and the second one for others."""
        if isinstance(self._wide, bool):
            return wide if self._wide else tall
        return wide if wide == tall else self._block.length(f"{self._wide} ? {wide} : {tall}")

    def choose_array(self, wide: CArray, tall: CArray) -> CArray:
        """Return the first array for a matrix with more columns than rows, and the second one for others."""
        if isinstance(self._wide, bool):
            return wide if self._wide else tall
        pointer = self._block.fresh("p")
        kind = memory_type(wide.dtype)
        self._block.let(f"const {kind} *", pointer, f"{self._wide} ? {wide.pointer} : {tall.pointer}")
        return replace(wide, pointer=pointer)


def _svd(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a = inputs[0]
    rows, columns = a.shape
    sides = Sides(block, rows, columns)
    k, long, is_full = sides.short, sides.long, kernel.flag == 2
    count = long if is_full else k
    # The columns of the matrix stand in rows, or those of its transpose.
    steps = sides.choose(a.strides[0], a.strides[1]), sides.choose(a.strides[1], a.strides[0])
    first = _space(block, kernel.dtype, count, long)
    block.copy(block.view(a, (k, long), steps), block.view(first, (k, long), (long, ONE)))
    values = block.result(0 if kernel.flag == 0 else 1, kernel.dtype, (k,))
    second = None if kernel.flag == 0 else _space(block, kernel.dtype, k, k)
    pointer = "NULL" if second is None else second.pointer
    arguments = (long, k, count, first.pointer, values.pointer, pointer)
    block.check(block.call(_name(kernel, "svd"), *arguments) + " == 0", "the matrix has elements that are not finite")
    if second is None:
        return [values]
    u = block.result(0, kernel.dtype, (rows, rows if is_full else k))
    vt = block.result(2, kernel.dtype, (columns if is_full else k, columns))
    block.copy(block.view(sides.choose_array(second, first), u.shape, (ONE, rows)), u)
    block.copy(block.view(sides.choose_array(first, second), vt.shape, (columns, ONE)), vt)
    return [u, values, vt]


def _qr(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    a = inputs[0]
    rows, columns = a.shape
    k = rows if kernel.flag == 2 else Sides(block, rows, columns).short
    work = _copied(block, a)
    space = _space(block, kernel.dtype, block.sum([rows, columns, rows, columns]))
    q = None if kernel.flag == 0 else block.result(0, kernel.dtype, (rows, k))
    r = block.result(int(q is not None), kernel.dtype, (k, columns))
    pointer = "NULL" if q is None else q.pointer
    block.line(block.call(_name(kernel, "qr"), rows, columns, k, work.pointer, pointer, space.pointer) + ";")
    block.copy(block.view(work, r.shape, (as_length(columns), ONE)), r)
    return [r] if q is None else [q, r]


#: The writer of each task, for one matrix.
TASKS: dict[str, Callable[[LapackKernel, Block, Sequence[CArray]], list[CArray]]] = {
    "cholesky": _cholesky,
    "triangular": _triangular,
    "solve": _solve,
    "symmetric": _solve,
    "inverse": _inverse,
    "det": _determinant,
    "slogdet": _determinant,
    "cofactors": _cofactors,
    "eigh": _eigh,
    "eigh_back": _eigh_back,
    "svd": _svd,
    "factor_back": _factor_back,
    "qr": _qr,
}


# ---- Linear algebra on single matrices, and on stacks of them as loops over the form for one

__all__: list[str] = []

_Shape = tuple[Length, ...]


@straight_kernel.register(LapackKernel)
def _lapack(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    lead = inputs[0].ndim - 2
    if not lead:
        return TASKS[kernel.task](kernel, block, inputs)
    if kernel.task not in ("cofactors", "eigh_back") and any(x.ndim != lead + 2 for x in inputs):
        raise block.refuse("stacks of matrices and of vectors have no form in C together", "use matrices of one column")
    return _stack(kernel, block, inputs)


def _stack(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Write the present instruction as loops over its form for single matrices."""
    outer = block.step
    assert outer is not None, "stacks belong to an instruction"
    lead = inputs[0].ndim - 2
    lengths = list(inputs[0].shape[:lead])
    for x in inputs[1:]:
        # Numbers beside matrices broadcast.
        lengths = [
            a if b == ONE and x.ndim == lead else block.same(a, b, "stacks of matrices differ in length")
            for a, b in zip(lengths, x.shape[:lead], strict=True)
        ]
    cores = _CORES[kernel.task](kernel, block, [x.shape[lead:] for x in inputs])
    made = [block.result(k, kernel.dtype, (*lengths, *core)) for k, core in enumerate(cores)]
    arrays, outer_body, start = [*inputs, *made], block.statements, len(block.statements)
    strides = [
        [ZERO if n == ONE else step for n, step in zip(x.shape[:lead], x.strides[:lead], strict=True)] for x in arrays
    ]
    nest = block.nest(lengths, (), strides)
    with block.loops(nest, independent=False) as offsets:
        parts = [
            block.view(x, x.shape[lead:], x.strides[lead:], offset, written=k >= len(inputs))
            for k, (x, offset) in enumerate(zip(arrays, offsets, strict=True))
        ]
        operands, places = parts[: len(inputs)], parts[len(inputs) :]
        targets = {
            register: Wanted(place.pointer, place.dtype, place.shape, place.root)
            for register, place in zip(outer.instruction.outputs, places, strict=True)
        }
        block.step = Step(outer.instruction, tuple(operands), targets)
        for target, part in zip(places, TASKS[kernel.task](kernel, block, operands), strict=True):
            if part.pointer != target.pointer:
                block.copy(part, target)
                part.root.end = block.time
        if takes_memory(block.statements):
            # Each turn gives back the memory that it has taken.
            mark = block.fresh("m")
            remembered = value_of_text(block.call("theano_remember", "memory"))
            outer_body.insert(start, Let(mark, "theano_mark", remembered, False))
            block.line(f"{block.call('theano_give_back', 'memory', mark)};")
    block.step = outer
    return made


def _square(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    n = square_side(block, shapes[0])
    return [(n, n)]


def _numbers(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    return [()] if kernel.task == "det" else [(), ()]


def _right_side(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    return [shapes[1]]


def _eigh_shapes(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    n = square_side(block, shapes[0])
    return [(n,), (n, n)]


def _svd_shapes(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    rows, columns = shapes[0]
    k, is_full = Sides(block, rows, columns).short, kernel.flag == 2
    return [(k,)] if kernel.flag == 0 else [(rows, rows if is_full else k), (k,), (columns if is_full else k, columns)]


def _qr_shapes(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    rows, columns = shapes[0]
    k = rows if kernel.flag == 2 else Sides(block, rows, columns).short
    return [(k, columns)] if kernel.flag == 0 else [(rows, k), (k, columns)]


#: The shapes of the results for one matrix, by task.
_CORES: dict[str, Callable[[LapackKernel, Block, Sequence[_Shape]], list[_Shape]]] = {
    **dict.fromkeys(("cholesky", "inverse", "factor_back", "cofactors", "eigh_back"), _square),
    **dict.fromkeys(("solve", "symmetric", "triangular"), _right_side),
    **dict.fromkeys(("det", "slogdet"), _numbers),
    "eigh": _eigh_shapes,
    "svd": _svd_shapes,
    "qr": _qr_shapes,
}

__all__ = ["TASKS", "Sides", "square_side"]
