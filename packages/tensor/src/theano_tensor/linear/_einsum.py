"""Matrix products that broadcast, inner products, and sums of products written with letters for axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from theano_graph import describe, format_error

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import refused
from .._core._type import Tensor
from .._errors import ShapeError
from .._protocols._methods import operation
from ..creation import alloc
from ..elemwise import broadcast_static, conj, dimshuffle, mul
from ..extra_ops import diagonal
from ..reduce import sum as sum_over
from ..shape import flatten, reshape, shape_i, specify_shape
from ._dot import fitting, matrix_product, stack_product

# ---- Matrix products of stacks of matrices that broadcast, as ``@``; and inner products


@operation("matmul")
def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """Matrix product ``x @ y``, with the rules of ``numpy.matmul``.

    Parameters
    ----------
    x, y : tensor_like
        Vectors, matrices, or stacks of matrices in the last two dimensions. The dimensions before them broadcast:
        lengths must be equal, or declared to be 1.

    Returns
    -------
    Tensor

    Raises
    ------
    ShapeError
        For scalars, and for lengths that are known and do not fit.
    ValueError
        When it runs, for lengths that do not fit.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.matmul(T.dtensor3("x"), T.dmatrix("y")).ndim
    3
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        raise ShapeError(
            format_error(
                "@ needs tensors with dimensions", context=[describe(a), describe(b)], hint="use * with scalars"
            )
        )
    if a.type.ndim <= 2 and b.type.ndim <= 2:
        return matrix_product(a, b)
    b = fitting("matmul", a, b, a.type.ndim - 1, max(b.type.ndim - 2, 0))
    if b.type.ndim <= 2:
        return _rows_joined(a, b)
    if a.type.ndim == 1:
        return dimshuffle(_stacks(dimshuffle(a, ("x", 0)), b), [*range(b.type.ndim - 2), b.type.ndim - 1])
    return _stacks(a, b)


def _rows_joined(a: Tensor, b: Tensor) -> Tensor:
    """One product for the whole stack: all its rows, with one matrix or vector."""
    lengths = [shape_i(a, i) for i in range(a.type.ndim)]
    rows = reshape(a, [_product(lengths[:-1]), lengths[-1]])
    columns = [shape_i(b, 1)] if b.type.ndim == 2 else []
    return reshape(matrix_product(rows, b), [*lengths[:-1], *columns])


def _stacks(a: Tensor, b: Tensor) -> Tensor:
    """Products of two stacks; the dimensions before the last two broadcast."""
    ndim = max(a.type.ndim, b.type.ndim) - 2
    if ndim == 1 and a.type.ndim == b.type.ndim and a.type.broadcastable[0] == b.type.broadcastable[0]:
        return stack_product(a, b)
    left, right = (dimshuffle(v, ["x"] * (ndim + 2 - v.type.ndim) + list(range(v.type.ndim))) for v in (a, b))
    try:
        broadcast_static("matmul", [_stack_of(v) for v in (left, right)], [a, b])
    except ShapeError as error:
        right = refused(error, right, [*[None] * ndim, *right.type.shape[-2:]], left)
    lengths: list[Any] = []
    for i in range(ndim):
        source = right if left.type.shape[i] == 1 else left
        lengths.append(shape_i(source, i))
        if left.type.shape[i] != 1 and right.type.shape[i] != 1:
            # Joined lengths could agree where the lengths themselves do not.
            right = specify_shape(right, [lengths[i] if j == i else None for j in range(ndim + 2)])
    parts = []
    for v in (left, right):
        ends = [shape_i(v, ndim), shape_i(v, ndim + 1)]
        full = v if not any(v.type.broadcastable[:ndim]) else alloc(v, *lengths, *ends)
        parts.append(reshape(full, [_product(lengths), *ends]))
    result = stack_product(*parts)
    return reshape(result, [*lengths, shape_i(left, ndim), shape_i(right, ndim + 1)])


def _stack_of(x: Tensor) -> Tensor:
    """Return a variable with the static shape of the dimensions before the last two."""
    return x.type.clone(shape=x.type.shape[:-2]).make_variable()


def _product(lengths: Sequence[Any]) -> Any:
    total: Any = 1
    for n in lengths:
        total = n if isinstance(total, int) else total * n
    return total


def inner(x: TensorLike, y: TensorLike) -> Tensor:
    """Sum of products over the last dimensions of both, as ``numpy.inner``; a product if one is a scalar.

    Parameters
    ----------
    x, y : tensor_like
        With equal lengths in the last dimension.

    Raises
    ------
    ShapeError
        If the last lengths are known and differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.inner([1.0, 2.0], [3.0, 4.0]).eval()
    array(11.)
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    if a.type.ndim == 0 or b.type.ndim == 0:
        return a * b
    b = fitting("inner", a, b, a.type.ndim - 1, b.type.ndim - 1)
    if a.type.ndim == 1 and b.type.ndim == 1:
        return matrix_product(a, b)
    order = (b.type.ndim - 1, *range(b.type.ndim - 1))
    flat = b if b.type.ndim == 1 else reshape(dimshuffle(b, order), [shape_i(b, b.type.ndim - 1), -1])
    product = _rows_joined(a, flat) if a.type.ndim > 1 else matrix_product(a, flat)
    lengths = [shape_i(a, i) for i in range(a.type.ndim - 1)] + [shape_i(b, i) for i in range(b.type.ndim - 1)]
    return product if b.type.ndim <= 2 else reshape(product, lengths)


def vdot(x: TensorLike, y: TensorLike) -> Tensor:
    """Sum of products of all elements, those of `x` conjugated, as ``numpy.vdot``.

    Parameters
    ----------
    x, y : tensor_like
        With equally many elements.

    Returns
    -------
    Tensor
        A scalar.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.vdot([1.0, 2.0], [3.0, 4.0]).eval()
    array(11.)
    """
    a, b = as_tensor_variable(x), as_tensor_variable(y)
    a, b = (v if v.type.ndim == 1 else flatten(v) for v in (a, b))
    return matrix_product(conj(a) if a.type.dtype.startswith("complex") else a, b)


# ---- Sums of products written with letters for axes

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#: The assumed length of an axis of unknown length when the order of contractions is chosen.
_GUESS = 32


class _Term:
    """A tensor with one letter for each of its axes."""

    def __init__(self, value: Tensor, letters: str) -> None:
        self.value, self.letters = value, letters

    def length(self, letter: str) -> Any:
        return shape_i(self.value, self.letters.index(letter))

    def static(self, letter: str) -> int | None:
        return self.value.type.shape[self.letters.index(letter)]


def einsum(subscripts: str, *operands: TensorLike) -> Tensor:
    """Sum products of elements, as ``numpy.einsum``.

    Parameters
    ----------
    subscripts : str
        A letter for each axis of each operand, operands separated by commas; then ``->`` and the letters of the
        result. A letter that the result lacks is summed over; without ``->``, letters that occur once are the result,
        in alphabetical order. ``...`` stands for all further axes, which broadcast. A letter that stands twice in one
        operand takes its diagonal.
    *operands : tensor_like

    Returns
    -------
    Tensor
        Operands are contracted two at a time, by matrix products; the pair whose result is smallest comes first.

    Raises
    ------
    ValueError
        If the subscripts are malformed.
    ShapeError
        If there are other numbers of operands or axes, or lengths are known and differ.
    AssertionError, ValueError
        When it runs, for lengths that differ.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.einsum("ij,jk->ik", T.dmatrix("x"), T.dmatrix("y")).type
    TensorType(float64, matrix)
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            format_error("einsum: subscripts come first, as a string", hint='write einsum("ij,jk->ik", x, y)')
        )
    values = [as_tensor_variable(x) for x in operands]
    groups, result = _parsed(subscripts.replace(" ", ""), values)
    values = _fitting(groups, values)
    terms = [_diagonals(value, letters) for value, letters in zip(values, groups, strict=True)]
    while len(terms) > 1:
        i, j = _next_pair(terms, result)
        first, second = terms[i], terms[j]
        others = [t for k, t in enumerate(terms) if k not in (i, j)]
        needed = set(result).union(*(t.letters for t in others))
        terms = [*others, _contracted(first, second, needed)]
    last = _summed(terms[0], set(result))
    return dimshuffle(last.value, [last.letters.index(letter) for letter in result])


def _malformed(subscripts: str, reason: str) -> ValueError:
    return ValueError(format_error(f"einsum: {subscripts!r}: {reason}", hint='write for instance "ij,jk->ik"'))


def _parsed(subscripts: str, values: Sequence[Tensor]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result; axes under an ellipsis get letters of their own."""
    left, arrow, right = subscripts.partition("->")
    groups = left.split(",")
    if len(groups) != len(values):
        raise ShapeError(format_error(f"einsum: {subscripts!r} is for {len(groups)} operands, not for {len(values)}"))
    for text in (*groups, right):
        if text.count("...") > 1 or set(text.replace("...", "", 1)) - set(_LETTERS):
            raise _malformed(subscripts, "axes are letters, with one ellipsis for each operand at most")
    counts = []
    for text, value in zip(groups, values, strict=True):
        missing = value.type.ndim - len(text.replace("...", ""))
        if missing < 0 or (missing and "..." not in text):
            raise ShapeError(
                format_error(f"einsum: {text!r} does not name the axes of the operand", context=[describe(value)])
            )
        counts.append(missing)
    free = [letter for letter in _LETTERS if letter not in subscripts]
    dots = "".join(free[: max(counts, default=0)])
    named = [text.replace("...", dots[len(dots) - n :]) for text, n in zip(groups, counts, strict=True)]
    if not arrow:
        often = Counter("".join(groups).replace(".", ""))
        return named, dots + "".join(sorted(letter for letter, n in often.items() if n == 1))
    result = right.replace("...", dots)
    if len(set(result)) != len(result) or set(result) - set("".join(named)):
        raise _malformed(subscripts, "the result names each of its axes once, and only those of operands")
    if dots and "..." not in right:
        raise _malformed(subscripts, "the result needs an ellipsis, as operands have one")
    return named, result


def _fitting(groups: Sequence[str], values: Sequence[Tensor]) -> list[Tensor]:
    """Return the operands; one whose known lengths differ from earlier ones is replaced by a node that raises."""
    firsts: dict[str, tuple[int, Tensor]] = {}
    fitting = list(values)
    for position, (letters, value) in enumerate(zip(groups, values, strict=True)):
        for letter, n in zip(letters, value.type.shape, strict=True):
            if n in (None, 1):
                continue
            first = firsts.setdefault(letter, (int(n or 0), value))
            if first[0] != n:
                error = ShapeError(
                    format_error(
                        f"einsum: the lengths of axis {letter!r} differ: {first[0]} and {n}",
                        context=[describe(first[1]), describe(value)],
                    )
                )
                fitting[position] = refused(error, value, [k if k == 1 else None for k in value.type.shape], first[1])
    return fitting


def _diagonals(value: Tensor, letters: str) -> _Term:
    """Take the diagonal for each letter that stands twice; the axis of a diagonal comes last."""
    while True:
        twice = next((letter for letter in letters if letters.count(letter) > 1), None)
        if twice is None:
            return _Term(value, letters)
        i = letters.index(twice)
        j = letters.index(twice, i + 1)
        n = shape_i(value, i)
        square = specify_shape(value, [n if k == j else None for k in range(len(letters))])
        value = diagonal(square, 0, i, j)
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + twice


def _cost(terms: Sequence[_Term], pair: tuple[int, int], result: str) -> tuple[int, int]:
    """Return how much larger the contraction of two terms is than the terms, and how much work it is."""
    i, j = pair
    lengths: dict[str, int] = {}
    for t in (terms[i], terms[j]):
        for letter in t.letters:
            lengths[letter] = max(lengths.get(letter, 1), t.static(letter) or _GUESS)
    needed = set(result).union(*(t.letters for k, t in enumerate(terms) if k not in (i, j)))

    def size(letters: Any) -> int:
        total = 1
        for letter in letters:
            total *= lengths[letter]
        return total

    kept = [letter for letter in lengths if letter in needed]
    return size(kept) - size(terms[i].letters) - size(terms[j].letters), size(lengths)


def _next_pair(terms: Sequence[_Term], result: str) -> tuple[int, int]:
    pairs = [(i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))]
    return min(pairs, key=lambda pair: (_cost(terms, pair, result), pair))


def _summed(term: _Term, needed: set[str]) -> _Term:
    axes = [i for i, letter in enumerate(term.letters) if letter not in needed]
    if not axes:
        return term
    return _Term(
        sum_over(term.value, axis=axes, dtype=term.value.type.dtype), "".join(x for x in term.letters if x in needed)
    )


def _without_ones(term: _Term, other: _Term) -> _Term:
    """Drop axes of static length 1 that the other term has too: they broadcast."""
    gone = [x for x in term.letters if x in other.letters and term.static(x) == 1 and other.static(x) != 1]
    keep = [i for i, letter in enumerate(term.letters) if letter not in gone]
    return _Term(dimshuffle(term.value, keep), "".join(term.letters[i] for i in keep))


def _contracted(first: _Term, second: _Term, needed: set[str]) -> _Term:
    """Return the sum of products of two terms over the letters that nobody needs any more."""
    a = _summed(_without_ones(first, second), needed | set(second.letters))
    b = _summed(_without_ones(second, first), needed | set(first.letters))
    shared = [x for x in a.letters if x in b.letters]
    summed = [x for x in shared if x not in needed]
    batch = [x for x in shared if x in needed]
    rows = [x for x in a.letters if x not in shared]
    columns = [x for x in b.letters if x not in shared]
    # Joined lengths could agree where the lengths themselves do not.
    b = _Term(specify_shape(b.value, [a.length(x) if x in shared else None for x in b.letters]), b.letters)
    letters = "".join(batch + rows + columns)
    if not summed:
        return _Term(mul(_spread(a, letters), _spread(b, letters)), letters)
    left = _as_matrices(a, batch, rows, summed)
    right = _as_matrices(b, batch, summed, columns)
    product = stack_product(left, right) if batch else matrix_product(left, right)
    lengths = [a.length(x) for x in batch + rows] + [b.length(x) for x in columns]
    one_each = all(len(group) == 1 for group in (batch or [""], rows, columns))
    return _Term(product if one_each else reshape(product, lengths), letters)


def _spread(term: _Term, letters: str) -> Tensor:
    return dimshuffle(term.value, [term.letters.index(x) if x in term.letters else "x" for x in letters])


def _as_matrices(term: _Term, batch: list[str], rows: list[str], columns: list[str]) -> Tensor:
    """Return a term as a matrix, or as a stack of matrices if there are letters for it."""
    value = dimshuffle(term.value, [term.letters.index(x) for x in batch + rows + columns])
    groups = [group for group in (batch, rows, columns) if group is not batch or batch]
    if all(len(group) == 1 for group in groups):
        return value
    lengths = []
    for group in groups:
        total: Any = 1
        for letter in group:
            total = term.length(letter) if isinstance(total, int) else total * term.length(letter)
        lengths.append(total)
    return reshape(value, lengths)
