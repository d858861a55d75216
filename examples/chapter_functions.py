"""Functions, defaults, state that lives between calls, and shared memory: a till that counts coins.

Run ``python examples/chapter_functions.py``; every statement about the results is checked.
"""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T
from theano import In, function, shared


def prices() -> None:
    """Inputs have types, names and defaults; outputs are one array or a list of them."""
    net, rate, pieces = T.dscalars("net", "rate", "pieces")
    assert net.type is T.dscalar
    assert theano.pp(net + rate) == "(net + rate)"
    total = function([net, In(rate, value=0.25), In(pieces, value=2, name="how_many")], net * (1 + rate) * pieces)
    assert float(total(8)) == 20.0
    assert float(total(8, 0)) == 16.0
    assert float(total(8, how_many=3)) == 30.0
    assert float(total(8, how_many=1, rate=0.5)) == 12.0
    assert float((net * rate).eval({net: 3.0, rate: 0.5})) == 1.5

    a, b = T.dmatrices("a", "b")
    compare = function([a, b], [a - b, abs(a - b), (a - b) ** 2])
    price_table = compare([[4, 7], [1, 0]], [[6, 6], [1, 3]])
    for array, expected in zip(price_table, ([[-2, 1], [0, -3]], [[2, 1], [0, 3]], [[4, 1], [0, 9]]), strict=True):
        np.testing.assert_array_equal(array, expected)
    print("prices:", float(total(8)), "differences:", price_table[0].tolist())


def state() -> None:
    """A shared variable keeps its value between calls; functions may share it, and copies may have their own."""
    coins = shared(0, name="coins")
    step = T.lscalar("step")
    put = function([step], coins, updates=[(coins, coins + step)])
    take = function([step], coins, updates={coins: coins - step})
    assert int(put(7)) == 0  # the value before the update
    assert int(put(30)) == 7
    assert int(take(2)) == 37
    assert int(coins.get_value()) == 35

    guess = T.lscalar("guess")
    twice = 2 * coins + step
    supposed = function([step, guess], twice, givens=[(coins, guess)])
    assert int(supposed(1, 100)) == 201
    assert int(coins.get_value()) == 35  # a replacement by `givens` changes nothing

    other_till = shared(0)
    put_elsewhere = put.copy(swap={coins: other_till})
    put_elsewhere(11)
    assert (int(coins.get_value()), int(other_till.get_value())) == (35, 11)
    look = put.copy(delete_updates=True)
    assert int(np.asarray(look(1)).reshape(())) == 35
    assert int(coins.get_value()) == 35
    print("state:", int(coins.get_value()), "in one till,", int(other_till.get_value()), "in the other")


def swapped_at_once() -> None:
    """All updates see the values from before the call."""
    left, right = shared(np.array([1.0, 2.0])), shared(np.array([3.0, 4.0]))
    turn = function([], [], updates=[(left, right), (right, left)])
    turn()
    np.testing.assert_array_equal(left.get_value(), [3.0, 4.0])
    np.testing.assert_array_equal(right.get_value(), [1.0, 2.0])


def memory() -> None:
    """Values are copied in and out unless ``borrow=True`` says that they need not be."""
    mine = np.zeros(3)
    default, copied, lent = shared(mine), shared(mine, borrow=False), shared(mine, borrow=True)
    mine += 5
    assert [float(v.get_value()[0]) for v in (default, copied, lent)] == [0.0, 0.0, 5.0]

    inside = lent.get_value(borrow=True, return_internal_type=True)
    inside[1] = -1
    assert float(lent.get_value()[1]) == -1.0
    outside = lent.get_value()
    outside[2] = 99
    assert float(lent.get_value()[2]) == 5.0

    x = T.dmatrix("x")
    doubled = function([In(x, borrow=True)], theano.Out(x * 2, borrow=True))
    np.testing.assert_array_equal(doubled([[1, 2]]), [[2.0, 4.0]])
    same = function([x], x)
    argument = np.ones((2, 2))
    assert not np.shares_memory(same(argument), argument)  # an output never is an input
    print("memory: lent", lent.get_value().tolist(), "copied", copied.get_value().tolist())


def main() -> None:
    prices()
    state()
    swapped_at_once()
    memory()


if __name__ == "__main__":
    main()
