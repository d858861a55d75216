"""The op that draws from a generator of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Unstacked,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)

from .._core._convert import as_tensor_variable
from .._core._dtypes import INTEGER_DTYPES, ShapeLike, TensorLike
from .._core._ops import batch_length, padded
from .._core._type import Tensor, TensorType
from .._errors import DTypeError, ShapeError
from ..elemwise import cast
from ..gradient import grad_undefined
from ..indexing._getitem import getitem
from ..shape import make_vector
from ._copies import copy_state
from ._states import GeneratorType, RandomStateSharedVariable, RandomStateType
from ._variable import RandomVariable

#: How long the dimension is that a distribution adds, from the node and the shapes of its inputs.
ADDED_LENGTHS: dict[Callable[..., Any], Callable[[Apply, Sequence[Any]], Any]] = {}


class RandomFunction(Op):
    """Draw a tensor from a state, and give the state after the draw.

    Parameters
    ----------
    fn : str or callable
        The name of a method of the state, called ``method(*args, size)``, or a function that is called
        ``fn(state, *args, size)``. The size is a tuple, or None where the shape of `args` decides.
    outtype : TensorType
        Type of the draw.
    inplace : bool
        Whether the state that is given is moved itself; otherwise it is copied first.
    ndim_added : int
        How many dimensions the draw has beyond those of the size.

    Notes
    -----
    The inputs are the state, the size as a vector of integers (empty: `args` decide) and `args`; the outputs are the
    new state and the draw.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import raw_random
    >>> str(raw_random.RandomFunction("uniform", T.TensorType("float64", (None,))))
    'RandomFunction{uniform}'
    """

    __props__ = ("fn", "inplace", "ndim_added", "outtype")

    def __init__(
        self, fn: str | Callable[..., Any], outtype: TensorType, inplace: bool = False, ndim_added: int = 0
    ) -> None:
        kinds = (np.random.RandomState, np.random.Generator)
        if not (callable(fn) or (isinstance(fn, str) and any(hasattr(kind, fn) for kind in kinds))):
            raise TypeError(
                format_error(
                    f"RandomFunction: {fn!r} is neither a function nor a method of NumPy's generators",
                    hint='pass a name such as "uniform", or a function fn(state, *args, size)',
                )
            )
        if not isinstance(outtype, TensorType):
            raise TypeError(
                format_error(f"RandomFunction: outtype {outtype!r} is no TensorType", hint="pass the type of the draw")
            )
        self.fn, self.outtype, self.inplace, self.ndim_added = fn, outtype, bool(inplace), int(ndim_added)
        self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]} if self.inplace else {}

    @property
    def name(self) -> str:
        """Name of the distribution."""
        return self.fn if isinstance(self.fn, str) else getattr(self.fn, "__name__", repr(self.fn))

    def __str__(self) -> str:
        return f"RandomFunction{{{self.name}}}"

    def make_node(self, r: object, size: ShapeLike | None, *args: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a state, a size and parameters.

        Raises
        ------
        TypeError
            If `r` is no state.
        ShapeError, DTypeError
            If the size is no vector of integers, or its length does not agree with `outtype`.
        """
        if not isinstance(r, Variable) or not isinstance(r.type, (RandomStateType, GeneratorType)):
            raise TypeError(
                format_error(
                    f"{self}: the first argument is a random state, not {r!r}",
                    context=[describe(r)] if isinstance(r, Variable) else [],
                    hint="pass random_state_type(), or a shared variable: shared(numpy.random.RandomState(seed))",
                )
            )
        vector = self._size(size)
        params = [as_tensor_variable(arg) for arg in args]
        draw = RandomVariable(self.outtype)
        return Apply(self, [r, vector, *params], [r.type.make_variable(), draw])

    def _size(self, size: ShapeLike | None) -> Variable:
        empty = size is None or (isinstance(size, (tuple, list)) and not size)
        vector = as_tensor_variable(np.zeros(0, "int64") if empty else size)
        if vector.type.ndim != 1:
            raise ShapeError(
                format_error(f"{self}: the size is a vector", context=[describe(vector)], hint="pass a tuple")
            )
        if vector.type.dtype not in INTEGER_DTYPES:
            raise DTypeError(format_error(f"{self}: the size holds integers", context=[describe(vector)]))
        n_dims, length = self.outtype.ndim - self.ndim_added, vector.type.shape[0]
        if length not in (None, 0, n_dims):
            raise ShapeError(
                format_error(
                    f"{self}: {length} lengths for a draw of {n_dims} dimensions",
                    context=[describe(vector)],
                    hint="give outtype as many dimensions as the size has entries",
                )
            )
        return cast(vector, "int64")

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Draw with NumPy."""
        state, size, *args = inputs
        if not self.inplace:
            state = copy_state(state)
        shape = tuple(int(n) for n in size) or None
        draw = getattr(state, self.fn)(*args, shape) if isinstance(self.fn, str) else self.fn(state, *args, shape)
        value = np.asarray(draw)
        if value.ndim != self.outtype.ndim:
            raise ShapeError(
                format_error(
                    f"{self}: the draw has {value.ndim} dimensions, {self.outtype.ndim} were announced",
                    context=[f"size: {shape}", *(f"argument of shape {np.shape(arg)}" for arg in args)],
                    hint="say in `ndim` how many there are",
                )
            )
        output_storage[0][0] = state
        output_storage[1][0] = self._converted(value, args)

    def _converted(self, value: Any, args: Sequence[Any]) -> Any:
        dtype = self.outtype.dtype
        if value.dtype == dtype:
            return value
        converted = np.asarray(value.astype(dtype))
        if self.fn == "uniform" and dtype in ("float16", "float32"):
            # Rounding must not reach the upper bound, which is excluded.
            low, high = (np.asarray(arg).astype(dtype) for arg in args)
            reached = (converted == high) & (high != low)
            if reached.any():
                converted = np.where(reached, np.nextafter(high, low), converted).astype(dtype)
        return converted

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The draw depends on the parameters, not differentiably on state and size."""
        return [[False, False], [False, False], *([False, True] for _ in node.inputs[2:])]


@pullback.register(RandomFunction)
def _pullback(node: Apply[RandomFunction], cotangents: list[Variable]) -> list[Variable | None]:
    why = "how numbers that were drawn depend on the parameters is not defined"
    return [None, None, *(grad_undefined(node.op, i, v, why) for i, v in enumerate(node.inputs[2:], 2))]


@pushforward.register(RandomFunction)
def _pushforward(node: Apply[RandomFunction], tangents: list[Variable | None]) -> list[Variable | None]:
    moved = [i for i, tangent in enumerate(tangents) if i >= 2 and tangent is not None]
    if not moved:
        return [None, None]
    why = "how numbers that were drawn depend on the parameters is not defined"
    return [None, grad_undefined(node.op, moved[0], node.inputs[moved[0]], why)]


@batch_rule.register(RandomFunction)
def _batch(
    node: Apply[RandomFunction], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable | Unstacked] | None:
    """One draw for each entry: the size gets the length of the batch in front, or the parameters say it.

    Raises
    ------
    DTypeError
        If states or sizes differ between the entries, or the parameters are no scalars.
    """
    op = node.op
    state, size, *args = inputs
    if stacked[0] or stacked[1] or op.ndim_added:
        raise DTypeError(
            format_error(
                f"{op} cannot draw for a batch: its state, its size or its vectors of parameters differ",
                context=[describe(v) for v in node.outputs[1:]],
                hint="draw for the whole batch outside of the vectorized function, and pass the numbers",
            )
        )
    length = batch_length(inputs, stacked)
    ndim = op.outtype.ndim
    count = size.type.shape[0]
    if count is None and ndim:
        return None
    params = [padded(arg, flag, ndim) for arg, flag in zip(args, stacked[2:], strict=True)]
    lengths = [] if count == 0 and ndim else [length, *(getitem(size, k) for k in range(ndim))]
    outtype = op.outtype.clone(shape=(length if isinstance(length, int) else None, *op.outtype.shape))
    stream = _own_state(node, state)
    wide = RandomFunction(op.fn, outtype, op.inplace)
    outputs: list[Any] = wide(stream, make_vector(*lengths) if lengths else None, *params, return_list=True)
    moved, draw = outputs
    if stream is not state:
        stream.default_update = moved
    draw.rng, draw.update = stream, (stream, moved)
    return [Unstacked(moved), draw]


def _own_state(node: Apply, state: Any) -> Any:
    """Return a state for the draws of a batch: a copy where the draw of one entry moves a shared state."""
    update = getattr(state, "default_update", None)
    node_of_update = None if update is None else update.owner
    if not isinstance(state, RandomStateSharedVariable) or node_of_update is None:
        return state
    # Graphs are copied before they are applied to a batch, so that it need not be this very node.
    if node_of_update.op != node.op or node_of_update.inputs[0] is not state:
        return state
    return type(state)(state.type, copy_state(state.get_value(borrow=True)), name=state.name)


@shape_rule.register(RandomFunction)
def _shape(node: Apply[RandomFunction], input_shapes: list[Any]) -> list[Any]:
    """The size says it, or else the parameters do; distributions that add a dimension know how long it is."""
    op, size = node.op, node.inputs[1]
    added = ADDED_LENGTHS.get(op.fn) if not isinstance(op.fn, str) else None
    if op.ndim_added > 1 or (op.ndim_added == 1 and added is None):
        return [None, (None,) * op.outtype.ndim]
    tail = [] if added is None or not op.ndim_added else [added(node, input_shapes)]
    leading = op.outtype.ndim - len(tail)
    if size.type.shape[0] == 0:
        return [None, (*_common(op, node, input_shapes, leading), *tail)]
    if size.type.shape[0] is None and leading:
        # At run time it may turn out to be empty, which only the draw itself knows.
        return [None, ((None,) * leading + tuple(tail))]
    static = op.outtype.shape
    entries = [getitem(size, i) if static[i] is None else static[i] for i in range(leading)]
    return [None, (*entries, *tail)]


def _common(op: RandomFunction, node: Apply, input_shapes: list[Any], leading: int) -> list[Any]:
    found: list[Any] = []
    for i in range(leading):
        lengths: list[Any] = [op.outtype.shape[i]]
        if not op.ndim_added and lengths[0] is None:
            for variable, shape in zip(node.inputs[2:], input_shapes[2:], strict=True):
                at = i - leading + len(shape)
                if at >= 0 and variable.type.shape[at] != 1:
                    lengths = [shape[at]]
                    break
        found.append(lengths[0])
    return found
