"""The programs of the gallery in their small form: each finds its known result."""

from __future__ import annotations

import contextlib
import importlib
import io
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from theano_testing.tiers import slow

FOLDER = Path(__file__).resolve().parents[3] / "examples"


def program(name: str) -> Any:
    """Import a program of the folder of examples."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)


def run(name: str) -> tuple[Any, str]:
    """Run the small form of a program; return its result and its output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = program(name).main(quick=True)
    return result, out.getvalue()


class TestNets(unittest.TestCase):
    @slow
    def test_convolutional_net(self) -> None:
        result, printed = run("convolutional_net")
        self.assertLess(result.losses[-1], 0.2)
        self.assertGreater(result.accuracy, 0.88)
        self.assertIn("right on unseen digits", printed)

    @slow
    def test_lstm_text(self) -> None:
        result, printed = run("lstm_text")
        self.assertAlmostEqual(result.bits[0], 5.04, delta=0.1)
        self.assertLess(np.mean(result.bits[-10:]), 3.9)
        self.assertLess(result.unseen, 4.0)
        self.assertEqual(len(result.written), 201)
        self.assertIn(result.written, printed)

    @slow
    def test_word_vectors(self) -> None:
        result, _ = run("word_vectors")
        self.assertLess(result.losses[-1], 0.9 * result.losses[0])
        expected = {"left": {"right"}, "true": {"false", "boolean"}, "async": {"await", "coroutine", "asynchronous"}}
        for word, near in expected.items():
            self.assertTrue(near & set(result.near[word]), (word, result.near[word]))

    @slow
    def test_variational_autoencoder(self) -> None:
        result, _ = run("variational_autoencoder")
        self.assertLess(result.before, -44)
        self.assertGreater(result.after, -26.5)
        self.assertGreater(result.agreement, 0.5)

    @slow
    def test_dream_digits(self) -> None:
        result, _ = run("dream_digits")
        self.assertGreater(result.objectives[-1], result.objectives[0] + 50)
        self.assertGreater(min(result.sure), 0.5)


class TestModels(unittest.TestCase):
    def test_matrix_factorisation(self) -> None:
        result, _ = run("matrix_factorisation")
        self.assertLess(result.by_factors, 0.8 * result.by_means)
        self.assertLess(result.costs[-1], 0.5 * result.costs[0])

    def test_hierarchical_nuts(self) -> None:
        result, _ = run("hierarchical_nuts")
        for (mean, deviation), (exact, exact_deviation) in zip(result, exact_schools(), strict=False):
            # Few draws, whose path depends on the last digits of gradients: deviations of means are about a third.
            self.assertAlmostEqual(mean, exact, delta=1.2)
            self.assertAlmostEqual(deviation, exact_deviation, delta=1.2)

    def test_components_and_clusters(self) -> None:
        result, _ = run("pca_kmeans")
        bunch = importlib.import_module("sklearn.datasets").load_digits()
        centred = bunch.data / 16 - bunch.data.mean(axis=0) / 16
        squares = np.linalg.svd(centred, compute_uv=False) ** 2
        self.assertAlmostEqual(result.held[0], squares[:2].sum() / squares.sum())
        self.assertAlmostEqual(result.held[1], squares[:20].sum() / squares.sum())
        self.assertLess(result.spread, 2.7)
        self.assertGreater(result.purity, 0.7)


class TestSimulations(unittest.TestCase):
    @slow
    def test_hares_and_lynxes(self) -> None:
        """The parameters are near those of other methods (0.55, 0.028, 0.024, 0.80)."""
        result, _ = run("ode_fit")
        for rate, reference in zip(result.rates, (0.55, 0.028, 0.024, 0.80), strict=True):
            self.assertAlmostEqual(rate / reference, 1, delta=0.1)
        self.assertLess(result.error, 0.25)
        self.assertAlmostEqual(result.period, 9.5, delta=0.5)

    def test_planets(self) -> None:
        planets = program("planets")
        result, _ = run("planets")
        for name, (_, _, _, measured) in planets.PLANETS.items():
            self.assertAlmostEqual(result.days[name] / measured, 1, delta=3e-4)
        self.assertLess(abs(result.lost), 1e-5)
        far = planets.PLANETS["Mars"][1]
        self.assertAlmostEqual(result.speed, 2 * np.pi * np.sqrt(2 * far / (1 + far)), delta=0.01)


def exact_schools() -> list[tuple[float, float]]:
    """Return mean and deviation of the mean and of the spread of the eight schools, by a sum over the spread."""
    schools = program("hierarchical_nuts")
    spread = np.exp(np.linspace(np.log(1e-4), np.log(300), 5001))
    variances = schools.ERRORS**2 + spread[:, None] ** 2
    precision = (1 / variances).sum(axis=1) + 1 / 25
    mean = (schools.EFFECTS / variances).sum(axis=1) / precision
    log_weight = -0.5 * (np.log(variances) + schools.EFFECTS**2 / variances).sum(axis=1)
    log_weight += 0.5 * mean**2 * precision - 0.5 * np.log(precision) - np.log(1 + (spread / 5) ** 2) + np.log(spread)
    weights = np.exp(log_weight - log_weight.max())
    weights /= weights.sum()
    moments = [(weights @ mean, weights @ (1 / precision + mean**2)), (weights @ spread, weights @ spread**2)]
    return [(first, float(np.sqrt(second - first**2))) for first, second in moments]


class TestCommandLine(unittest.TestCase):
    @slow
    def test_a_picture_is_drawn(self) -> None:
        with TemporaryDirectory() as folder:
            picture = Path(folder) / "planets.png"
            done = subprocess.run(
                [sys.executable, str(FOLDER / "planets.py"), "--quick", "--picture", str(picture)],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreater(picture.stat().st_size, 10_000)
        self.assertIn("Mercury", done.stdout)


if __name__ == "__main__":
    unittest.main()
