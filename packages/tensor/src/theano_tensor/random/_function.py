"""The op that draws from a generator of NumPy, and draws that no method of a generator gives."""

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
from .._core._dtypes import INTEGER_DTYPES, Array, ShapeLike, TensorLike
from .._core._ops import batch_length, padded
from .._core._type import Tensor, TensorType, TensorVariable
from .._errors import DTypeError, ShapeError
from ..elemwise import cast
from ..gradient import grad_undefined
from ..indexing._getitem import getitem
from ..shape import make_vector, shape_i
from ._states import GeneratorType, RandomStateSharedVariable, RandomStateType, copy_state

# ---- Random variables: draws, and the states that they come from


class RandomVariable(TensorVariable):
    """A tensor of numbers that are drawn anew in each call of a function.

    Attributes
    ----------
    rng : SharedVariable
        The state that the numbers are drawn from, where a stream made the variable.
    update : tuple
        `rng`, and the expression for its state after the draw.
    permutation : Tensor
        How rows were shuffled, where they were.
    """

    __slots__ = ("permutation", "rng", "rstate", "update")
    rng: Any
    rstate: Any
    update: tuple[Any, Variable]
    permutation: Tensor


def as_random_variable(variable: Tensor) -> RandomVariable:
    """Return the result of a node that nothing uses yet as a random variable, in place of the plain one.

    Raises
    ------
    TypeError
        If nothing computes it.
    """
    if isinstance(variable, RandomVariable):
        return variable
    node = variable.owner
    if node is None or variable.index is None:
        raise TypeError(
            format_error(
                "a variable that nothing computes is not random", context=[describe(variable)], hint="apply an op"
            )
        )
    random = RandomVariable(variable.type, node, variable.index, variable.name)
    if variable.has_tag():
        random.tag = variable.tag.copy()
    node.outputs[variable.index] = random
    return random


# ---- The op that draws from a generator of NumPy

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


# ---- Draws that a generator of NumPy has no method for, or not in the form that is wanted

Shape = tuple[int, ...] | None
#: By how much probabilities may fail to add up to 1, which rounding to a narrower dtype explains.
_SLACK = 1e-5


def random_integers_helper(random_state: Any, low: Array, high: Array, size: Shape) -> Any:
    """Draw integers from `low` to `high`, both of them included; the bounds may be arrays.

    Parameters
    ----------
    random_state : numpy.random.RandomState or numpy.random.Generator
    low, high : int or ndarray of int
    size : tuple of int, or None
        None stands for the common shape of the bounds.

    Raises
    ------
    ValueError
        If a lower bound is above the upper one.
    """
    first, last = np.asarray(low), np.asarray(high)
    if (first > last).any():
        raise ValueError(
            format_error(
                "random_integers: a lower bound is above the upper one",
                context=[f"low: {low!r}", f"high: {high!r}"],
                hint="both bounds are included, so low must be at most high",
            )
        )
    if size is not None:
        # NumPy's integers may ignore a size that the bounds do not fit; ValueError here.
        for bound in (first, last):
            np.broadcast_to(bound, size)
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(low, high, size=size, endpoint=True)
    if first.ndim == 0 and last.ndim == 0:
        # Python ints, since the largest int64 has no successor.
        return random_state.randint(int(first), int(last) + 1, size=size, dtype=np.int64)
    return random_state.randint(first.astype("int64"), last.astype("int64") + 1, size=size, dtype=np.int64)


def permutation_helper(random_state: Any, n: Array, size: Shape) -> Any:
    """Draw permutations of the integers from 0 up to, and without, `n`: one for each position in `size`.

    Returns
    -------
    ndarray of int64
        Of shape ``(*size, n)``.

    Raises
    ------
    ValueError
        If `n` is negative.
    """
    length = int(n)
    if length < 0:
        raise ValueError(
            format_error(
                f"permutation: n={length} is negative", hint="n is the number of integers to permute, from 0 up"
            )
        )
    shape = size or ()
    permutations = np.empty((*shape, length), dtype="int64")
    for index in np.ndindex(*shape):
        permutations[index] = random_state.permutation(length)
    return permutations


def multinomial_helper(random_state: Any, n: Array, pvals: Array, size: Shape) -> Any:
    """Draw counts of categories in `n` trials; `n` and the leading dimensions of `pvals` broadcast to `size`.

    Parameters
    ----------
    random_state : numpy.random.RandomState or numpy.random.Generator
    n : int or ndarray of int
    pvals : ndarray of float
        Probabilities of the categories along the last dimension.
    size : tuple of int, or None

    Returns
    -------
    ndarray of int64
        Of shape ``(*size, k)`` for k categories.

    Raises
    ------
    ValueError
        If probabilities are negative or add up to more than 1.
    """
    trials, chances = np.asarray(n), _chances(pvals)
    if trials.ndim == 0 and chances.ndim == 1:
        return random_state.multinomial(int(trials), chances, size=size)
    shape = np.broadcast_shapes(trials.shape, chances.shape[:-1]) if size is None else size
    trials = np.broadcast_to(trials, shape)
    chances = np.broadcast_to(chances, (*shape, chances.shape[-1]))
    counts = np.empty(chances.shape, dtype="int64")
    for index in np.ndindex(*shape):
        counts[index] = random_state.multinomial(int(trials[index]), chances[index])
    return counts


def _chances(pvals: Array) -> Any:
    """Return probabilities as float64, without the excess over 1 that rounding explains."""
    chances = np.asarray(pvals, dtype="float64")
    total = chances.sum(axis=-1, keepdims=True)
    return np.where((total > 1) & (total < 1 + _SLACK), chances / np.where(total > 0, total, 1), chances)


def choice_helper(random_state: Any, a: Array, replace: Array, *rest: Array) -> Any:
    """Draw from the integers below `a`, or from a vector; `rest` holds the probabilities, if any, and the size."""
    *chances, size = rest
    pool = np.asarray(a)
    if pool.ndim == 0:
        pool = int(pool)  # type: ignore[assignment]  # NumPy takes either
    p = None
    if chances and np.size(chances[0]):
        p = np.asarray(chances[0], dtype="float64")
        total = p.sum()
        p = p / total if 0 < abs(total - 1) < _SLACK else p
    return random_state.choice(pool, size=size, replace=bool(replace), p=p)


def _length_of_permutation(node: Apply, input_shapes: Sequence[Any]) -> Any:
    return node.inputs[2]


def _number_of_categories(node: Apply, input_shapes: Sequence[Any]) -> Any:
    return shape_i(node.inputs[3], node.inputs[3].type.ndim - 1)


ADDED_LENGTHS[permutation_helper] = _length_of_permutation
ADDED_LENGTHS[multinomial_helper] = _number_of_categories
