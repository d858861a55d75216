"""Loading and saving: pickles, states that a class chooses, archives that NumPy reads, and copies of functions.

Run ``python examples/chapter_saving.py``; every statement about the results is checked.
"""

from __future__ import annotations

import pickle
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.misc.pkl_utils import StripPickler, dump, load


class Model:
    """A layer with a data set, which is too large to be saved with it."""

    def __init__(self, n: int, data: Any) -> None:
        self.weights = theano.shared(np.eye(n), name="weights")
        self.bias = theano.shared(np.arange(float(n)), name="bias")
        self.data = data
        x = T.dmatrix("x")
        self.predict = theano.function([x], T.dot(x, self.weights) + self.bias)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["data"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.data = None


def short_term(folder: Path) -> None:
    """Several objects go into one file; a function and its shared variables stay together."""
    model, other = Model(3, data=np.zeros(10)), {"epoch": 12}
    path = folder / "objects.save"
    with path.open("wb") as file:
        for item in (model, other):
            pickle.dump(item, file, protocol=pickle.HIGHEST_PROTOCOL)
    with path.open("rb") as file:
        loaded, again = (pickle.load(file) for _ in range(2))
    assert again == {"epoch": 12}
    assert loaded.data is None
    np.testing.assert_array_equal(loaded.predict(np.ones((1, 3))), [[1.0, 2.0, 3.0]])
    loaded.bias.set_value(np.zeros(3))
    np.testing.assert_array_equal(loaded.predict(np.ones((1, 3))), [[1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(model.predict(np.ones((1, 3))), [[1.0, 2.0, 3.0]])


def robust(folder: Path) -> None:
    """The arrays of an archive are files of NumPy's, named after their variables."""
    model = Model(2, data=None)
    path = folder / "model.zip"
    with path.open("wb") as file:
        dump((model.weights, model.bias), file)
    with path.open("rb") as file:
        weights, bias = load(file)
    assert weights.name == "weights"
    np.testing.assert_array_equal(bias.get_value(), [0.0, 1.0])
    arrays = np.load(path)
    np.testing.assert_array_equal(arrays["weights"], np.eye(2))
    assert "bias" in zipfile.ZipFile(path).namelist()


class Stable:
    """Parameters alone, as a tuple: its attributes may change their names."""

    def __init__(self) -> None:
        self.kernel, self.offset = np.ones(2), np.zeros(2)

    def __getstate__(self) -> tuple[Any, Any]:
        return self.kernel, self.offset

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        self.kernel, self.offset = state


def long_term() -> None:
    """A class may be saved under another name than it has today."""
    twin = pickle.loads(pickle.dumps(Stable()))
    np.testing.assert_array_equal(twin.kernel, [1.0, 1.0])


def without_origins(folder: Path) -> None:
    """A pickle may leave out where variables were made."""
    x = T.dscalar("x")
    path = folder / "graph.pkl"
    with path.open("wb") as file:
        StripPickler(file, pickle.HIGHEST_PROTOCOL).dump(x**2)
    with path.open("rb") as file:
        graph = pickle.load(file)
    assert theano.pp(graph).startswith("(x **")


def copies() -> None:
    """A function is copied with its states or with others, and without its updates."""
    state, amount = theano.shared(0.0, "state"), T.dscalar("amount")
    count = theano.function([amount], state, updates={state: state + amount})
    other = theano.shared(100.0, "other")
    twin = count.copy(swap={state: other})
    silent = count.copy(delete_updates=True)
    count(10.0)
    twin(1.0)
    silent(1000.0)
    assert float(state.get_value()) == 10.0
    assert float(other.get_value()) == 101.0


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        short_term(folder)
        robust(folder)
        without_origins(folder)
    long_term()
    copies()
    print("saving: 2 files, 1 archive, 3 copies")


if __name__ == "__main__":
    main()
