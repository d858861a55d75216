"""Train logistic regression on real data, an example of the manual of Theano 1.0, up to a picture of the weights.

Run ``python examples/logistic_regression.py --help`` for the options.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy

try:
    from demo_data import DATASETS, Array, Dataset
    from demo_picture import History, draw, suffixes
    from tqdm import tqdm
except ModuleNotFoundError as missing:
    sys.exit(
        f"logistic_regression.py: error: the demo needs `{missing.name}`; "
        "hint: pip install scikit-learn matplotlib tqdm"
    )

import theano
import theano.tensor as T

CURVE_POINTS = 200
L2 = 0.0003


@dataclass(frozen=True, slots=True)
class Model:
    """The compiled functions, the parameters that they share, and how long the functions took to make.

    ``train(x, y)`` takes one step of gradient descent and returns the loss before it; ``evaluate(x, y)`` returns the
    loss and the share of right answers, and changes nothing.
    """

    train: Callable[[Array, Array], Any]
    evaluate: Callable[[Array, Array], Any]
    w: Any
    b: Any
    compile_seconds: float


def build(data: Dataset, learning_rate: float, mode: str | None, seed: int) -> Model:
    """Write the model down and compile it.

    Parameters
    ----------
    data : Dataset
        Says how many features and questions there are.
    learning_rate : float
        Factor of the gradient in an update.
    mode : str or None
        A mode of Theano, such as "FAST_RUN"; None takes ``theano.config.mode``.
    seed : int
        Seed of the first weights.
    """
    start = time.perf_counter()
    rng = numpy.random.RandomState(seed)
    features, questions = len(data.feature_names), len(data.question_names)

    # Declare Theano symbolic variables
    x = T.matrix("x")
    y = T.matrix("y")
    w = theano.shared(numpy.asarray(0.01 * rng.randn(features, questions), dtype=theano.config.floatX), name="w")
    b = theano.shared(numpy.zeros(questions, dtype=theano.config.floatX), name="b")

    # Construct Theano expression graph: each column is a logistic regression of its own
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))  # Probability that the answer is yes
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)  # Cross-entropy loss function
    loss = xent.sum(axis=1).mean()
    cost = loss + L2 * (w**2).sum()  # The cost to minimize
    gw, gb = T.grad(cost, [w, b])
    if questions == 1:
        right = T.eq(p_1 > 0.5, y > 0.5)
    else:
        right = T.eq(T.argmax(p_1, axis=1), T.argmax(y, axis=1))

    # Compile
    train = theano.function(
        inputs=[x, y],
        outputs=loss,
        updates=((w, w - learning_rate * gw), (b, b - learning_rate * gb)),
        mode=mode,
        name="train",
    )
    evaluate = theano.function(inputs=[x, y], outputs=[loss, right.mean()], mode=mode, name="evaluate")
    return Model(train, evaluate, w, b, time.perf_counter() - start)


def fit(model: Model, data: Dataset, steps: int) -> tuple[History, float]:
    """Train, with a progress bar, and return the curves and the seconds that the training steps alone took.

    Raises
    ------
    FloatingPointError
        If the loss is no longer finite, or ends above where it began.
    """
    every = max(1, math.ceil(steps / CURVE_POINTS))
    at: list[int] = []
    train_loss: list[float] = []
    test_loss: list[float] = []
    seconds = 0.0
    with tqdm(total=steps, desc="training", unit="step", disable=None) as bar:
        for step in range(0, steps + 1, every):
            at.append(step)
            train_loss.append(float(model.evaluate(data.x_train, data.y_train)[0]))
            test_loss.append(float(model.evaluate(data.x_test, data.y_test)[0]))
            if not math.isfinite(train_loss[-1]):
                raise FloatingPointError(f"the loss is {train_loss[-1]} after {step} steps")
            bar.set_postfix(loss=f"{train_loss[-1]:.4f}", test=f"{test_loss[-1]:.4f}", refresh=False)
            batch = min(every, steps - step)
            start = time.perf_counter()
            for _ in range(batch):
                model.train(data.x_train, data.y_train)
            seconds += time.perf_counter() - start
            bar.update(batch)
    if train_loss[-1] > train_loss[0]:
        raise FloatingPointError(f"the loss grew from {train_loss[0]:.4g} to {train_loss[-1]:.4g}")
    train_accuracy = float(model.evaluate(data.x_train, data.y_train)[1])
    test_accuracy = float(model.evaluate(data.x_test, data.y_test)[1])
    return History(at, train_loss, test_loss, train_accuracy, test_accuracy), seconds


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")


def _positive_int(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value


def _positive_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number above 0")
    return value


def _seed(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"{value} is not from 0 to 2**32 - 1")
    return value


def _mode(text: str) -> str:
    try:
        theano.compile.get_mode(text)
    except (TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error).splitlines()[0]) from None
    return text


def _output(text: str) -> Path:
    """Check before the work that the picture can be written after it; make the folder if only that is missing."""
    path = Path(text)
    if path.suffix.lower() not in suffixes():
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {' '.join(suffixes())}")
    existed = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text!r}: {error.strerror}") from None
    if not existed:
        path.unlink()
    return path


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; a wrong option or value ends the program with one line and exit code 2."""
    parser = _Parser(
        prog="logistic_regression.py",
        description="Train the logistic regression of Theano's manual on real data, and draw the loss and the weights.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--data",
        choices=sorted(DATASETS),
        default="digits",
        help="data set: digits (8 x 8 pictures, ten regressions at once) or cancer (30 measurements, one regression)",
    )
    parser.add_argument("--steps", type=_positive_int, default=1000, help="number of training steps, above 0")
    parser.add_argument("--learning-rate", type=_positive_float, default=0.5, help="size of a step, above 0")
    parser.add_argument(
        "--mode",
        type=_mode,
        default="FAST_RUN",
        help="how Theano compiles: FAST_RUN (all rewrites, native kernels), FAST_COMPILE (few rewrites), ...",
    )
    parser.add_argument(
        "--output",
        type=_output,
        default="demo-output/logistic_regression.png",
        metavar="FILE",
        help="picture to write; its suffix says the format, a missing folder is made",
    )
    parser.add_argument("--seed", type=_seed, default=0, help="seed of the split and of the first weights")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code."""
    options = parse(arguments)
    data = DATASETS[options.data](options.seed, theano.config.floatX)
    print(data.summary)
    model = build(data, options.learning_rate, options.mode, options.seed)
    print(f"compile time:   {model.compile_seconds:.3f} s (two functions, gradient included, mode {options.mode})")
    try:
        history, seconds = fit(model, data, options.steps)
    except FloatingPointError as error:
        print(f"logistic_regression.py: error: {error}; hint: a smaller --learning-rate", file=sys.stderr)
        return 1
    print(f"time per step:  {seconds / options.steps * 1e3:.3f} ms ({options.steps} steps in {seconds:.2f} s)")
    print(f"train accuracy: {history.train_accuracy:.4f}")
    print(f"test accuracy:  {history.test_accuracy:.4f}")
    draw(options.output, data, history, model.w.get_value())
    print(f"picture:        {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
