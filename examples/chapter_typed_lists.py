"""Lists of values of one type, whose length is known when the function runs.

Run ``python examples/chapter_typed_lists.py``; every statement about the results is checked.
"""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T
import theano.typed_list
from theano.typed_list import TypedListType


def building() -> None:
    """A list takes values of its type, and variables of it can be put in anywhere."""
    rows = TypedListType(T.dvector)("rows")
    new = T.dvector("new")
    longer = theano.typed_list.append(rows, new)
    f = theano.function([rows, new], [longer, theano.typed_list.length(longer), longer[0]])
    values, count, first = f([np.array([1.0, 2.0]), np.array([3.0])], np.array([4.0]))
    assert [value.tolist() for value in values] == [[1.0, 2.0], [3.0], [4.0]]
    assert count == 3
    assert first.tolist() == [1.0, 2.0]
    lists = theano.typed_list.make_list([new, new * 2])
    assert [value.tolist() for value in theano.function([new], lists)(np.array([5.0]))] == [[5.0], [10.0]]


def changing() -> None:
    """The methods of Python's lists, as expressions: each gives a new list."""
    items = TypedListType(T.dscalar)("items")
    position, value = T.lscalar("position"), T.dscalar("value")
    inserted = items.insert(position, value)
    f = theano.function(
        [items, position, value],
        [
            inserted,
            inserted.reverse(),
            inserted.extend(items),
            inserted.remove(value),
            inserted.count(value),
            inserted.ind(value),
        ],
    )
    numbers = [np.asarray(n) for n in (1.0, 2.0)]
    results = f(numbers, 1, 9.0)
    lists = [[float(n) for n in part] for part in results[:4]]
    assert lists == [[1.0, 9.0, 2.0], [2.0, 9.0, 1.0], [1.0, 9.0, 2.0, 1.0, 2.0], [1.0, 2.0]]
    assert (int(results[4]), int(results[5])) == (1, 1)
    assert [float(n) for n in numbers] == [1.0, 2.0]


def slices() -> None:
    """A slice is a list; single items go on as tensors."""
    rows = TypedListType(T.dmatrix)("rows")
    f = theano.function([rows], [rows[1:], T.dot(rows[0], rows[1])])
    a, b = np.eye(2) * 2, np.arange(4.0).reshape(2, 2)
    remaining, product = f([a, b])
    assert len(remaining) == 1
    np.testing.assert_array_equal(product, 2 * b)


def main() -> None:
    building()
    changing()
    slices()
    print("typed lists: 3 rows of different lengths")


if __name__ == "__main__":
    main()
