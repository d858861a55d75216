"""Advanced indexing: parts by arrays, changes of such parts, and their derivatives and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from theano_graph import Apply, Constant, Op, Variable, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.program import overwriting_form

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import INTEGER_DTYPES, Array, TensorLike
from .._core._ops import TensorOp, refused
from .._core._type import StaticShape, Tensor, tensor_type
from .._errors import IndexingError
from ..creation import Alloc, arange
from ..elemwise import cast, eq, switch, zeros_like
from ..reduce import sum as sum_over
from ..shape import shape_i, size
from ._parse import Layout, array_ndim, array_shape, check_arrays, consumed, is_mask, layout, static_advanced
from ._subtensor import check_values, fitting_part, index_pattern, out_of_range, slice_length, sum_to
from .entries import Entries, Slice, Symbol, as_python, count_symbols, entries_text, fill_in, from_python, known_number

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []

# ---- Parts of tensors by arrays of integers and truth values: copies of the selected elements
#
# The index is that of NumPy. Where arrays are broadcast against each other, only dimensions that are declared
# broadcastable broadcast. There is no view, so the ops have no place in alias analysis.


class AdvancedSubtensor(TensorOp):
    """A part of a tensor by an index with arrays in it: ``x[entries]``, as NumPy has it.

    Parameters
    ----------
    entries : tuple of (int, SYMBOL, NEWAXIS or Slice), optional
        From the left. SYMBOL stands for a further input: an array of integers, of truth values (a mask, which stands
        for as many dimensions as it has), or an integer scalar. An op without entries takes all parts of the index as
        inputs, slices and None included.
    """

    __props__: ClassVar[tuple[str, ...]] = ("entries",)

    def __init__(self, entries: Entries | None = None) -> None:
        self.entries: Any = None if entries is None else tuple(entries)

    def make_node(self, x: TensorLike, *inputs: TensorLike | None) -> Apply[Self, Tensor]:
        """Apply to a tensor and the values of the symbols, or of an op without entries to all parts of the index.

        Raises
        ------
        IndexingError
            If the dtype of an index is wrong, or there are too many.
        """
        if self.entries is None:
            entries, operands = split_index(inputs)
            return type(self)(entries).make_node(x, *operands)
        variable = as_tensor_variable(x)
        index = [as_index(i) for i in inputs]
        variable, shape = indexed(variable, self.entries, index)
        return Apply(self, [variable, *index], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy the part; IndexError if a number is out of range or arrays do not fit."""
        x, *numbers = inputs
        try:
            check_index(self.entries, node.inputs[1:], numbers, x)
            output_storage[0][0] = np.asarray(x[fill_in(self.entries, numbers)])
        except IndexError as error:
            raise out_of_range(error, node, x) from error

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 1)

    def __str__(self) -> str:
        return type(self).__name__ + (f"{{{entries_text(self.entries)}}}" if self.entries is not None else "")


class AdvancedBooleanSubtensor(AdvancedSubtensor):
    """A part of a tensor by an index with at least one mask in it; see :class:`AdvancedSubtensor`."""


class AdvancedSubtensor1(AdvancedSubtensor):
    """Rows of a tensor by a vector of integers: ``x[ilist]``.

    Parameters
    ----------
    sparse_grad : bool
        Whether the gradient with respect to `x` is a sparse matrix; see :func:`sparse_grad`.
    """

    __props__ = ("sparse_grad",)

    def __init__(self, sparse_grad: bool = False) -> None:
        super().__init__((Symbol.SYMBOL,))
        self.sparse_grad = bool(sparse_grad)

    def make_node(self, x: TensorLike, *inputs: TensorLike | None) -> Apply[Self, Tensor]:
        """Apply to a tensor and a vector of integers."""
        check_vector(x, inputs)
        return super().make_node(x, *inputs)

    def __str__(self) -> str:
        return "AdvancedSubtensor1" + ("{sparse_grad}" if self.sparse_grad else "")


def split_index(index: Sequence[Any]) -> tuple[Entries, list[Variable]]:
    """Return entries and inputs for an index that has been given with its slices, numbers and None.

    Slices and None may be constants, or slices results of an op on their bounds.
    """
    items = []
    for item in index:
        value = item.data if isinstance(item, Constant) else item
        if isinstance(item, Variable) and not isinstance(item, Tensor) and not isinstance(value, slice | None):
            node = item.owner
            if node is None or len(node.inputs) != 3:
                raise IndexingError(
                    format_error(
                        f"`{item}` is no index: the graph does not tell the kind of slice",
                        context=[describe(item)],
                        hint="make the slice of its bounds: slice(start, stop, step)",
                    )
                )
            value = slice(*[None if isinstance(v, Constant) and v.data is None else v for v in node.inputs])
        if isinstance(value, slice):
            value = slice(*(known_number(b) if isinstance(b, Constant) else b for b in _bounds(value)))
        items.append(value if value is None or isinstance(value, slice | int) else as_index(item))
    return from_python(items)


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def check_vector(x: TensorLike, inputs: Sequence[Any]) -> None:
    """Refuse an index that is not one vector of integers.

    Raises
    ------
    IndexingError
        If it is anything else.
    """
    index = [as_index(i) for i in inputs]
    if len(index) != 1 or index[0].type.ndim != 1 or index[0].type.dtype == "bool":
        raise IndexingError(
            format_error(
                "rows are taken by one vector of integers",
                context=[describe(as_tensor_variable(x)), *(describe(i) for i in index)],
                hint="use x[index], which takes any index",
            )
        )


def as_index(value: object) -> Tensor:
    """Return part of an index as a tensor of integers or truth values."""
    variable = as_tensor_variable(value)
    if variable.type.dtype not in INTEGER_DTYPES and variable.type.dtype != "bool":
        raise IndexingError(
            format_error(
                f"an index must be of integers or truth values, not {variable.type.dtype}",
                context=[describe(variable)],
                hint="convert it: T.cast(i, 'int64')",
            )
        )
    return variable


def indexed(x: Tensor, entries: Entries, inputs: Sequence[Variable]) -> tuple[Tensor, StaticShape]:
    """Return `x` and the static shape of the part of it; where a known index cannot fit, what stands for x."""

    def where() -> list[str]:
        return [describe(v) for v in (x, *inputs)]

    if count_symbols(entries) != len(inputs):
        raise IndexingError(
            format_error(
                f"{len(inputs)} inputs for an index with {count_symbols(entries)} symbols",
                context=where(),
                hint="give one input for each SYMBOL of the entries",
            )
        )
    items = as_python(entries, inputs)
    wanted = sum(consumed(item) for item in items)
    if wanted > x.type.ndim or not any(_is_array(e, i) for e, i in zip(entries, items, strict=True)):
        raise IndexingError(
            format_error(
                f"an index for {wanted} dimensions cannot be used here: the tensor has {x.type.ndim}, and an "
                "advanced index has an array in it",
                context=where(),
                hint="use x[index], which takes any index",
            )
        )
    try:
        return x, static_advanced(x.type.shape, entries, inputs)
    except IndexError as error:
        text = format_error(str(error), context=where(), hint="use indices below the length")
        found = layout(entries, inputs, x.type.ndim)
        ndim = len(found.before) + found.ndim + len(found.after)
        return refused(IndexError(text), x, [None] * x.type.ndim, *inputs), (None,) * ndim


def _is_array(entry: Any, item: Any) -> bool:
    return not isinstance(entry, Slice) and isinstance(item, Variable)


def check_index(entries: Entries, variables: Sequence[Variable], values: Sequence[Any], x: Array) -> None:
    """Check the values of index arrays; IndexError if they do not fit each other or the tensor."""
    plan = layout(entries, variables, x.ndim)
    items = [
        item
        for entry, item in zip(entries, as_python(entries, values), strict=True)
        if item is not None and not isinstance(entry, Slice)
    ]
    check_arrays(plan, items, x.shape)


def advanced_op(entries: Entries, inputs: Sequence[Variable]) -> AdvancedSubtensor:
    """Return the op for an advanced index."""
    if entries == (Symbol.SYMBOL,) and as_index(inputs[0]).type.ndim == 1 and not is_mask(inputs[0]):
        return AdvancedSubtensor1()
    masks = any(is_mask(v) for v in inputs)
    return AdvancedBooleanSubtensor(entries) if masks else AdvancedSubtensor(entries)


# ---- Tensors in which a part, given by arrays of integers and truth values, is incremented or replaced


class AdvancedIncSubtensor(TensorOp):
    """A copy of a tensor in which the part at an index with arrays in it is incremented, or replaced.

    Parameters
    ----------
    inplace : bool
        Whether the tensor itself is changed.
    set_instead_of_inc : bool
        Whether the part is replaced. Of several values for one element the last one stays.
    ignore_duplicates : bool
        Whether an element that is indexed several times is incremented once only, by the last value; by default
        increments add up.
    entries : tuple of (int, SYMBOL, NEWAXIS or Slice), optional
        Which part; see :class:`AdvancedSubtensor`.
    """

    __props__: ClassVar[tuple[str, ...]] = ("inplace", "set_instead_of_inc", "ignore_duplicates", "entries")

    def __init__(
        self,
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        ignore_duplicates: bool = False,
        entries: Entries | None = None,
    ) -> None:
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        self.ignore_duplicates = bool(ignore_duplicates) and not self.set_instead_of_inc
        self.entries: Any = None if entries is None else tuple(entries)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x: TensorLike, y: TensorLike, *inputs: TensorLike) -> Apply:
        """Apply to a tensor, the new part (broadcast to it) and the values of the symbols.

        Raises
        ------
        TypeError
            If the dtype of the part does not fit into that of the tensor.
        ShapeError
            If shapes are known not to fit.
        IndexingError, IndexError
            If the index cannot be used.
        """
        if self.entries is None:
            op, operands = self.with_index(inputs)
            return op.make_node(x, y, *operands)
        variable, part = as_tensor_variable(x), as_tensor_variable(y)
        index = [as_index(i) for i in inputs]
        target, shape = indexed(variable, self.entries, index)
        part = fitting_part(target, part, shape, replaces=self.set_instead_of_inc)
        return Apply(self, [target, part, *index], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Copy, then change the part; IndexError or ValueError if something does not fit."""
        x, y, *numbers = inputs
        index = fill_in(self.entries, numbers)
        try:
            check_index(self.entries, node.inputs[2:], numbers, x)
            # One byte, seen in the shape of x: the shape of the part without the part.
            shape = np.broadcast_to(np.zeros((), dtype="bool"), x.shape)[index].shape
        except IndexError as error:
            raise out_of_range(error, node, x) from error
        check_values(node, y, shape)
        result = x if self.inplace else x.copy()
        if self.set_instead_of_inc:
            result[index] = y
        elif self.ignore_duplicates:
            result[index] += y
        else:
            np.add.at(result, index, y)
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the index."""
        return index_pattern(node, 2)

    def with_index(self, index: Sequence[Any]) -> tuple[AdvancedIncSubtensor, list[Variable]]:
        """Return an op with entries, and its inputs, for an index that is given with its slices and numbers."""
        entries, inputs = split_index(index)
        return type(self)(self.inplace, self.set_instead_of_inc, self.ignore_duplicates, entries), inputs

    def in_place(self) -> AdvancedIncSubtensor:
        """Return the op that changes the tensor itself."""
        return type(self)(True, self.set_instead_of_inc, self.ignore_duplicates, self.entries)

    def _what(self) -> str:
        what = "Set" if self.set_instead_of_inc else "IncOnce" if self.ignore_duplicates else "Inc"
        return f"{'Inplace' * self.inplace}{what}"

    def __str__(self) -> str:
        if self.entries is None:
            return f"{type(self).__name__}{{{self._what()}}}"
        return f"{type(self).__name__}{{{self._what()};{entries_text(self.entries)}}}"


class AdvancedBooleanIncSubtensor(AdvancedIncSubtensor):
    """A copy of a tensor with a part changed where at least one mask says so; see :class:`AdvancedIncSubtensor`."""


class AdvancedIncSubtensor1(AdvancedIncSubtensor):
    """A copy of a tensor with the rows of a vector of integers incremented, or replaced.

    Parameters
    ----------
    inplace, set_instead_of_inc, ignore_duplicates : bool
        See :class:`AdvancedIncSubtensor`.
    """

    __props__ = ("inplace", "set_instead_of_inc", "ignore_duplicates")

    def __init__(
        self, inplace: bool = False, set_instead_of_inc: bool = False, ignore_duplicates: bool = False
    ) -> None:
        super().__init__(inplace, set_instead_of_inc, ignore_duplicates, (Symbol.SYMBOL,))

    def make_node(self, x: TensorLike, y: TensorLike, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor, the new rows and a vector of integers."""
        check_vector(x, inputs)
        return super().make_node(x, y, *inputs)

    def in_place(self) -> AdvancedIncSubtensor:
        """Return the op that changes the tensor itself."""
        return AdvancedIncSubtensor1(True, self.set_instead_of_inc, self.ignore_duplicates)

    def __str__(self) -> str:
        what = "set" if self.set_instead_of_inc else "inc_once" if self.ignore_duplicates else "inc"
        return f"AdvancedIncSubtensor1{{{'inplace' if self.inplace else 'no_inplace'},{what}}}"


@overwriting_form.register(AdvancedIncSubtensor)
def _overwriting(op: Op, given: int) -> Op | None:
    return op.in_place() if isinstance(op, AdvancedIncSubtensor) and not given else None


def change_of(
    op: AdvancedSubtensor, set_instead_of_inc: bool = False, ignore_duplicates: bool = False, inplace: bool = False
) -> Op:
    """Return the op that changes the part that `op` reads."""
    if isinstance(op, AdvancedSubtensor1):
        return AdvancedIncSubtensor1(inplace, set_instead_of_inc, ignore_duplicates)
    masked = isinstance(op, AdvancedBooleanSubtensor)
    op_class = AdvancedBooleanIncSubtensor if masked else AdvancedIncSubtensor
    return op_class(inplace, set_instead_of_inc, ignore_duplicates, op.entries)


def read_of(op: AdvancedIncSubtensor) -> AdvancedSubtensor:
    """Return the op that reads the part that `op` changes."""
    if isinstance(op, AdvancedIncSubtensor1):
        return AdvancedSubtensor1()
    masked = isinstance(op, AdvancedBooleanIncSubtensor)
    return (AdvancedBooleanSubtensor if masked else AdvancedSubtensor)(op.entries)


# ---- Gradients, tangents and shapes of advanced indexing

SparseGradient = Callable[[Variable, Variable, Variable], Variable]
_SPARSE: list[SparseGradient] = []


def register_sparse_gradient(function: SparseGradient) -> SparseGradient:
    """Say how the gradient of ``x[ilist]`` becomes a sparse matrix; the last registration counts.

    Parameters
    ----------
    function : callable
        ``(x, rows, ilist) -> sparse variable`` of the shape of `x`, with `rows` added at `ilist`.

    Returns
    -------
    callable
        `function`, so that this is a decorator.
    """
    _SPARSE.append(function)
    return function


@pullback.register(AdvancedSubtensor)
def _pullback_part(node: Apply[AdvancedSubtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x, *index = node.inputs
    op, g = node.op, as_tensor_variable(cotangents[0])
    nothing: list[Variable | None] = [None] * len(index)
    if isinstance(op, AdvancedSubtensor1) and op.sparse_grad and _SPARSE:
        return [_SPARSE[-1](x, g, index[0]), *nothing]
    return [change_of(op)(zeros_like(x, dtype=g.type.dtype), g, *index), *nothing]


@pullback.register(AdvancedIncSubtensor)
def _pullback_change(node: Apply[AdvancedIncSubtensor, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    _, y, *index = node.inputs
    op, g = node.op, as_tensor_variable(cotangents[0])
    part = read_of(op)(g, *index)
    gx = g
    if op.set_instead_of_inc:
        gx = change_of(read_of(op), True)(g, constant(0, dtype=g.type.dtype), *index)
    if (op.set_instead_of_inc or op.ignore_duplicates) and not _without_duplicates(op, index):
        part = part * cast(_last_writers(node, part), g.type.dtype)
    return [gx, sum_to(part, as_tensor_variable(y)), *(None for _ in index)]


def _without_duplicates(op: AdvancedIncSubtensor, index: Sequence[Variable]) -> bool:
    """Tell whether it is known that no element is indexed twice: one mask, or one constant array."""
    arrays = [v for v in index if getattr(v.type, "ndim", 0)]
    if len(arrays) != 1:
        return False
    (array,) = arrays
    if is_mask(array):
        return True
    if not isinstance(array, Constant):
        return False
    return bool(np.unique(array.data).size == array.data.size and (array.data >= 0).all())


def _last_writers(node: Apply, part: Tensor) -> Tensor:
    """Return which elements of the part are still there after all of it has been written.

    Each element writes its own number; whoever finds it again was last.
    """
    x, _, *index = node.inputs
    op = node.op
    if isinstance(op, AdvancedIncSubtensor1):
        numbers = arange(shape_i(part, 0))
        stamps = AdvancedIncSubtensor1(set_instead_of_inc=True)(
            Alloc()(constant(np.int64(-1)), shape_i(x, 0)), numbers, *index
        )
        won = eq(AdvancedSubtensor1()(stamps, *index), numbers)
        return won.dimshuffle([0, *["x"] * (part.type.ndim - 1)])
    numbers = arange(size(part)).reshape(part.shape, ndim=part.type.ndim)
    stamps = change_of(read_of(op), True)(zeros_like(x, dtype="int64"), numbers, *index)
    return eq(read_of(op)(stamps, *index), numbers)


@pushforward.register(AdvancedSubtensor)
def _pushforward_part(node: Apply[AdvancedSubtensor, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], *node.inputs[1:])]


@pushforward.register(AdvancedIncSubtensor)
def _pushforward_change(
    node: Apply[AdvancedIncSubtensor, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    (x, y, *index), (dx, dy, *_) = node.inputs, tangents
    if dx is None and dy is None:
        return [None]
    base = zeros_like(x) if dx is None else dx
    part = zeros_like(y) if dy is None else dy
    plain = change_of(read_of(op := node.op), op.set_instead_of_inc, op.ignore_duplicates)
    return [plain(base, part, *index)]


@shape_rule.register(AdvancedIncSubtensor)
def _shape_change(node: Apply[AdvancedIncSubtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(AdvancedSubtensor)
def _shape_part(node: Apply[AdvancedSubtensor, Tensor], input_shapes: list[Any]) -> list[Any]:
    static = node.outputs[0].type.shape
    plan = layout(node.op.entries, node.inputs[1:], node.inputs[0].type.ndim)
    lengths = [
        *(_plain_length(part, input_shapes[0]) for part in plan.before),
        *(_array_length(plan, d) for d in range(plan.ndim)),
        *(_plain_length(part, input_shapes[0]) for part in plan.after),
    ]
    return [
        tuple(
            static_length if static_length is not None else make()
            for static_length, make in zip(static, lengths, strict=True)
        )
    ]


def _plain_length(part: Any, x_shape: Sequence[Any]) -> Callable[[], Any]:
    return lambda: 1 if part is None else slice_length(x_shape[part[0]], part[1])


def _array_length(found: Layout, position: int) -> Callable[[], Any]:
    """Return the length of a dimension of the index arrays as a function: that of one which does not broadcast."""

    def length() -> Any:
        total: Any = None
        for _, item in found.arrays:
            at = position - found.ndim + array_ndim(item)
            if at < 0 or array_shape(item)[at] == 1:
                continue
            if not is_mask(item):
                return shape_i(item, at)
            count = sum_over(cast(item, "int64"))
            total = count if total is None else switch(eq(total, 1), count, total)
        return 1 if total is None else total

    return length
