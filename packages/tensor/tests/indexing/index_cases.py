"""Random tensors and random indices, and NumPy's results for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import Tensor

MODES = ("FAST_RUN", "FAST_COMPILE")


@dataclass(frozen=True, slots=True)
class Symbolic:
    """Part of an index that becomes an input: a number, or an array."""

    value: Any


@dataclass(frozen=True, slots=True)
class Case:
    """A tensor, and an index with some of its parts symbolic."""

    x: Any
    index: tuple[Any, ...]

    def numpy_index(self) -> tuple[Any, ...]:
        """Return the index for NumPy."""
        return tuple(_plain(item) for item in self.index)

    def symbolic(self) -> tuple[Tensor, tuple[Any, ...], list[Tensor], list[Any]]:
        """Return a variable for the tensor, the index with variables in it, the inputs and their values."""
        x = T.tensor(self.x.dtype.name, shape=(None,) * self.x.ndim, name="x")
        inputs, values = [x], [self.x]

        def variable(item: Any) -> Any:
            if not isinstance(item, Symbolic):
                return item
            value = np.asarray(item.value)
            result = T.tensor(value.dtype.name, shape=(None,) * value.ndim, name=f"i{len(inputs)}")
            inputs.append(result)
            values.append(value)
            return result

        index = []
        for item in self.index:
            if isinstance(item, slice):
                start, stop = variable(item.start), variable(item.stop)
                index.append(slice(start, stop, variable(item.step)))
            else:
                index.append(variable(item))
        return x, tuple(index), inputs, values


def _plain(item: Any) -> Any:
    if isinstance(item, Symbolic):
        return item.value
    if isinstance(item, slice):
        return slice(_plain(item.start), _plain(item.stop), _plain(item.step))
    return item


_INTEGERS = ("int64", "int32", "int8", "uint8", "uint64", "int16")


@st.composite
def maybe_symbolic(draw: st.DrawFn, value: Any) -> Any:
    """Draw the number itself or an input for it."""
    if value is None or not draw(st.booleans()):
        return value
    dtype = draw(st.sampled_from(_INTEGERS if value >= 0 else _INTEGERS[:3]))
    return Symbolic(np.asarray(value, dtype=dtype))


@st.composite
def slices(draw: st.DrawFn) -> slice:
    """Draw slices with any bounds, in range or not, and steps that are not 0."""
    bounds = st.none() | st.integers(-6, 6)
    step = draw(st.none() | st.integers(-3, 3).filter(bool))
    return slice(draw(maybe_symbolic(draw(bounds))), draw(maybe_symbolic(draw(bounds))), draw(maybe_symbolic(step)))


@st.composite
def integer_arrays(draw: st.DrawFn, length: int, shape: tuple[int, ...]) -> Any:
    """Draw arrays of numbers, now and then out of range."""
    low, high = (-length, max(length - 1, 0)) if draw(st.integers(0, 9)) else (-length - 1, length)
    numbers = draw(st.lists(st.integers(low, high), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    array = np.array(numbers, dtype="int64").reshape(shape)
    if not draw(st.booleans()):
        return array
    fitting = _INTEGERS if array.size == 0 or array.min() >= 0 else _INTEGERS[:3]
    return Symbolic(array.astype(draw(st.sampled_from(fitting))))


@st.composite
def masks(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Draw masks, now and then of a wrong shape."""
    if shape and not draw(st.integers(0, 9)):
        shape = (shape[0] + 1, *shape[1:])
    size = int(np.prod(shape))
    flags = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = np.array(flags, dtype="bool").reshape(shape)
    return Symbolic(mask) if draw(st.booleans()) else mask


@st.composite
def cases(draw: st.DrawFn, dtypes: tuple[str, ...] = ("float64",), advanced: bool = True) -> Case:
    """Draw a tensor and an index for it."""
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    x = np.arange(int(np.prod(shape)), dtype="int64").reshape(shape).astype(draw(st.sampled_from(dtypes)))
    if draw(st.booleans()):
        x = x.T.copy().T
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    items: list[Any] = []
    axis = 0
    while axis < x.ndim and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(("slice", "slice", "number", "array", "array", "mask", "new")))
        if kind == "new":
            items.append(None)
            continue
        if kind == "mask" and advanced:
            ndim = draw(st.integers(1, min(2, x.ndim - axis)))
            items.append(draw(masks(x.shape[axis : axis + ndim])))
            axis += ndim
            continue
        if kind == "array" and advanced:
            items.append(draw(integer_arrays(x.shape[axis], common)))
        elif kind == "number":
            items.append(draw(maybe_symbolic(draw(st.integers(-5, 4)))))
        else:
            items.append(draw(slices()))
        axis += 1
    if draw(st.integers(0, 3)) == 0:
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return Case(x, tuple(items))


def outcome(build: Any, mode: str) -> Any:
    """Build, compile and call; return the values, or the error that came of it at any stage."""
    try:
        inputs, output, values = build()
        return function(inputs, output, mode=mode, on_unused_input="ignore")(*values)
    except (IndexError, ValueError, TypeError) as error:
        return error
