"""The real data that the demo learns: two sets that scikit-learn carries, split, scaled and one column a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

Array = npt.NDArray[np.floating]
TEST_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples for a row of yes-or-no questions, one logistic regression each.

    Attributes
    ----------
    name : str
        The name that the command line knows it by.
    x_train, x_test : Float[n, features]
        Scaled input values.
    y_train, y_test : Float[n, questions]
        1 where the answer is yes, else 0. With several questions exactly one answer a row is yes.
    feature_names, question_names : tuple[str, ...]
        Names of the columns of ``x`` and of ``y``.
    picture_shape : tuple[int, int] | None
        Rows and columns of the picture that a row of ``x`` is, or None where it is no picture.
    """

    name: str
    x_train: Array
    x_test: Array
    y_train: Array
    y_test: Array
    feature_names: tuple[str, ...]
    question_names: tuple[str, ...]
    picture_shape: tuple[int, int] | None = None

    @property
    def summary(self) -> str:
        """One line for the user: the task and the number of samples."""
        questions = len(self.question_names)
        kind = "one logistic regression" if questions == 1 else f"{questions} logistic regressions, one a class"
        return (
            f"{self.name}: {len(self.x_train)} training and {len(self.x_test)} test examples of "
            f"{len(self.feature_names)} features, {kind}"
        )


def digits(seed: int, dtype: str) -> Dataset:
    """Return 1797 handwritten digits of 8 x 8 pixels, with ten questions: "is it a 0?", ..., "is it a 9?"."""
    bunch = load_digits()
    x = bunch.data / 16.0  # pixels run from 0 to 16
    answers = (bunch.target[:, None] == np.arange(10)).astype(dtype)
    x_train, x_test, y_train, y_test = _split(x.astype(dtype), answers, bunch.target, seed)
    return Dataset(
        name="digits",
        x_train=x_train,
        x_test=x_test,
        y_train=y_train,
        y_test=y_test,
        feature_names=tuple(str(name) for name in bunch.feature_names),
        question_names=tuple(str(name) for name in bunch.target_names),
        picture_shape=(8, 8),
    )


def cancer(seed: int, dtype: str) -> Dataset:
    """Return 569 breast tumours, 30 measurements each, with the one question: "is it benign?".

    The measurements differ in scale by a factor of 10^5, so they are standardised with the mean and the deviation of
    the training part; the test part plays no role in either.
    """
    bunch = load_breast_cancer()
    answers = bunch.target[:, None].astype(dtype)  # in this set 1 is benign
    x_train, x_test, y_train, y_test = _split(bunch.data, answers, bunch.target, seed)
    mean, deviation = x_train.mean(axis=0), x_train.std(axis=0)
    return Dataset(
        name="cancer",
        x_train=((x_train - mean) / deviation).astype(dtype),
        x_test=((x_test - mean) / deviation).astype(dtype),
        y_train=y_train,
        y_test=y_test,
        feature_names=tuple(str(name) for name in bunch.feature_names),
        question_names=("benign",),
    )


def _split(x: Array, y: Array, classes: npt.NDArray[np.int_], seed: int) -> tuple[Array, Array, Array, Array]:
    """Set a quarter aside for testing, with the share of each class kept."""
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=TEST_SHARE, random_state=seed, stratify=classes)
    return x_train, x_test, y_train, y_test


DATASETS: dict[str, Callable[[int, str], Dataset]] = {"digits": digits, "cancer": cancer}
