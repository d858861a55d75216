"""Write the logistic regression of the manual as C: a step of training, and the prediction; and data for it.

Run ``python logistic.py FOLDER``, then build FOLDER with CMake, and run ``train data.txt 200 trained.state`` and
``predict_rows data.txt trained.state``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

import theano
import theano.tensor as T

ROWS, FEATURES = 200, 5
HERE = Path(__file__).resolve().parent


def main(folder: Path, steps: int = 200) -> None:
    """Write data and C files into a folder, beside the programs that use them; print the loss that Python reaches."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, FEATURES))
    labels = (features @ np.array([1.5, -2, 0.5, 0, 1]) + rng.normal(size=ROWS) > 0).astype("float64")
    np.savetxt(folder / "data.txt", np.column_stack([features, labels]), fmt="%.17g")

    x, y = T.dmatrix("x"), T.dvector("y")
    w, b = theano.shared(np.zeros(FEATURES), "w"), theano.shared(0.0, "b")
    p = 1 / (1 + T.exp(-x.dot(w) - b))
    loss = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean() + 0.01 * (w**2).sum()
    gw, gb = T.grad(loss, [w, b])
    step = theano.function([x, y], loss, updates=[(w, w - 0.5 * gw), (b, b - 0.5 * gb)])
    predict = theano.function([x], p)

    shapes = {x: (ROWS, FEATURES), y: (ROWS,)}
    theano.export_c(step, folder / "step", shapes=shapes, static=True)
    theano.export_c(predict, folder / "predict", shapes={x: (ROWS, FEATURES)}, static=True)
    for name in ("train.c", "predict_rows.cpp", "CMakeLists.txt"):
        shutil.copy(HERE / name, folder)
    for _ in range(steps):
        reached = step(features, labels)
    right = ((predict(features) > 0.5) == labels).sum()
    print(f"loss {reached:.12f}, {right} of {ROWS} right")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
