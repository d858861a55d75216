"""Memory: copies and shared memory between a program and its functions, by the argument `borrow`.

Run ``python examples/chapter_memory.py``; every statement about the results is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T


def making_shared_variables() -> None:
    """A shared variable has a copy of the array, unless it borrows it."""
    array = np.ones(2)
    default, copied = theano.shared(array), theano.shared(array, borrow=False)
    borrowed = theano.shared(array, borrow=True)
    array += 1
    assert default.get_value().tolist() == copied.get_value().tolist() == [1.0, 1.0]
    assert borrowed.get_value().tolist() == [2.0, 2.0]


def reading_and_writing() -> None:
    """`get_value` and `set_value` copy too, unless told that they need not."""
    state = theano.shared(np.zeros(3))
    outside, inside = state.get_value(), state.get_value(borrow=True)
    outside += 5
    assert state.get_value().tolist() == [0.0] * 3
    assert np.shares_memory(inside, state.get_value(borrow=True, return_internal_type=True))

    def shifted(value: Any) -> Any:
        value += 1
        return value

    state.set_value(shifted(state.get_value(borrow=True)), borrow=True)
    assert state.get_value().tolist() == [1.0] * 3
    fresh = np.full(3, 7.0)
    state.set_value(fresh)
    fresh[:] = 0
    assert state.get_value().tolist() == [7.0] * 3


def arguments_and_results() -> None:
    """A function leaves its arguments as they are, and its results belong to the caller; unless both are lent."""
    x = T.dvector("x")
    plain = theano.function([x], x * 2 + 1)
    argument = np.arange(4.0)
    first = plain(argument)
    second = plain(argument + 1)
    assert argument.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert not np.shares_memory(first, second)
    identity = theano.function([x], x)
    assert not np.shares_memory(identity(argument), argument)
    lent = theano.function([theano.In(x, borrow=True)], theano.Out(x * 2 + 1, borrow=True))
    np.testing.assert_array_equal(lent(argument.copy()), [1.0, 3.0, 5.0, 7.0])
    work = np.arange(4.0)
    overwritten = theano.function([theano.In(x, mutable=True)], x * 2)
    np.testing.assert_array_equal(overwritten(work), [0.0, 2.0, 4.0, 6.0])


class AddInPlace(theano.Op):
    """``x + y`` in the memory of x."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, *inputs: Any) -> theano.Apply:
        variables = [T.as_tensor_variable(x) for x in inputs]
        return theano.Apply(self, variables, [variables[0].type()])

    def perform(
        self, node: theano.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        x, y = inputs
        x += y
        output_storage[0][0] = x


def overwriting() -> None:
    """An op that overwrites says so; whoever reads the old value then does it earlier, and arguments are safe."""
    x, y = T.dvectors("x", "y")
    f = theano.function([x, y], [AddInPlace()(x * 1, y), x + 0], accept_inplace=True)
    argument = np.array([1.0, 2.0])
    total, before = f(argument, np.array([10.0, 20.0]))
    assert total.tolist() == [11.0, 22.0]
    assert before.tolist() == argument.tolist() == [1.0, 2.0]


def updates() -> None:
    """An update takes the memory of the old value where nobody else has it."""
    weights = theano.shared(np.zeros((200, 200)), "weights")
    step = theano.function([], updates={weights: weights + 1})
    weights_view = weights.get_value(borrow=True)
    step()
    step()
    assert weights.get_value()[0, 0] == 2.0
    assert weights_view.shape == (200, 200)
    f = theano.function([], weights.sum())
    f.free()
    assert f() == 80000.0


def main() -> None:
    making_shared_variables()
    reading_and_writing()
    arguments_and_results()
    overwriting()
    updates()
    print("memory: copies by default, borrowed where asked")


if __name__ == "__main__":
    main()
