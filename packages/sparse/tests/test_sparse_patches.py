from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np
import scipy.sparse

import theano_tensor as T
from theano_linker_c import function
from theano_sparse import ConvolutionIndices, convolve, max_pool
from theano_tensor import grad


def reference(images: Any, kernels: Any, step: tuple[int, int], mode: str) -> Any:
    """Correlate images (batch, channels, rows, columns) with kernels of one shape, position by position."""
    rows, columns = kernels.shape[2:]
    if mode == "full":
        images = np.pad(images, ((0, 0), (0, 0), (rows - 1,) * 2, (columns - 1,) * 2))
    across = range(0, images.shape[3] - columns + 1, step[0])
    down = range(0, images.shape[2] - rows + 1, step[1])
    result = np.empty((len(images), len(kernels), len(down), len(across)))
    for (b, image), (k, kernel) in itertools.product(enumerate(images), enumerate(kernels)):
        for (p, i), (q, j) in itertools.product(enumerate(down), enumerate(across)):
            result[b, k, p, q] = (image[:, i : i + rows, j : j + columns] * kernel).sum()
    return result


class TestConvolutionIndices(unittest.TestCase):
    def test_the_matrix_takes_patches(self) -> None:
        image = np.arange(1.0, 25).reshape(2, 3, 4)
        for mode, step in itertools.product(("valid", "full"), ((1, 1), (2, 1), (1, 3))):
            indices, indptr, shape, format, positions = ConvolutionIndices.evaluate((2, 3, 4), (2, 3), step, mode=mode)
            self.assertEqual(format, "csc")
            matrix = scipy.sparse.csc_matrix((np.ones(len(indices)), indices, indptr), shape=shape)
            self.assertEqual(shape, (positions[0] * positions[1] * 12, 24))
            patches = (matrix @ image.ravel()).reshape(*positions, 2, 2, 3)
            padded = np.pad(image, ((0, 0), (1, 1), (2, 2))) if mode == "full" else image
            for i, j in np.ndindex(*positions):
                a, b = i * step[1], j * step[0]
                np.testing.assert_array_equal(patches[i, j], padded[:, a : a + 2, b : b + 3])

    def test_wrong_arguments(self) -> None:
        fine: dict[str, Any] = {"inshp": (4, 5), "kshp": (2, 2)}
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"inshp": (4,)}, "an image has the shape"),
            ({"inshp": (0, 5)}, "an image has the shape"),
            ({"kshp": (2, 2, 2)}, "a kernel has the shape"),
            ({"kshp": (5, 2)}, "does not fit into an image of 4 x 5"),
            ({"strides": (0, 1)}, "two positive numbers"),
            ({"nkern": 0}, "at least one kernel"),
            ({"mode": "same"}, "no mode 'same'"),
            ({"ws": False}, "leave ws=True"),
        ]
        for change, words in wrong:
            with self.assertRaisesRegex(ValueError, words):
                ConvolutionIndices.evaluate(**{**fine, **change})


class TestConvolve(unittest.TestCase):
    def test_values(self) -> None:
        rng = np.random.default_rng(0)
        kernels, images, bias = T.dmatrix("kernels"), T.dmatrix("images"), T.dvector("bias")
        for channels, mode, step in itertools.product((1, 2), ("valid", "full"), ((1, 1), (2, 1), (2, 3))):
            a, b = rng.normal(size=(3, channels * 6)), rng.normal(size=(2, channels * 30))
            c = rng.normal(size=3)
            shape = (5, 6) if channels == 1 else (channels, 5, 6)
            expected = reference(b.reshape(2, channels, 5, 6), a.reshape(3, channels, 2, 3), step, mode)
            output, result = convolve(kernels, (2, 3), 3, images, shape, step, bias, mode)
            self.assertEqual(result, expected.shape[1:])
            added = expected + c[:, None, None]
            np.testing.assert_allclose(function([kernels, images, bias], output)(a, b, c), added.reshape(2, -1))
            output, _ = convolve(kernels, (2, 3), 3, images, shape, step, mode=mode, flatten=False)
            np.testing.assert_allclose(function([kernels, images], output)(a, b), expected.reshape(2, 3, -1))

    def test_gradient(self) -> None:
        rng = np.random.default_rng(0)
        kernels, images = T.dmatrix("kernels"), T.dmatrix("images")
        a, b = rng.normal(size=(2, 4)), rng.normal(size=(3, 12))
        for mode in ("valid", "full"):
            output, _ = convolve(kernels, (2, 2), 2, images, (3, 4), mode=mode)
            f = function([kernels, images], grad(T.sqr(output).sum(), [kernels, images]))

            def cost(values: Any, mode: str = mode) -> float:
                p, q = values[0].reshape(2, 1, 2, 2), values[1].reshape(3, 1, 3, 4)
                return float((reference(q, p, (1, 1), mode) ** 2).sum())

            for which, item in enumerate(f(a, b)):
                for index in np.ndindex(*item.shape):
                    moved = [[a.copy(), b.copy()] for _ in range(2)]
                    moved[0][which][index] += 1e-6
                    moved[1][which][index] -= 1e-6
                    self.assertAlmostEqual(float(item[index]), (cost(moved[0]) - cost(moved[1])) / 2e-6, places=4)

    def test_operands_that_are_no_matrices(self) -> None:
        with self.assertRaisesRegex(TypeError, "`images` is a matrix"):
            convolve(T.dmatrix(), (2, 2), 1, T.dtensor3(), (3, 4))
        with self.assertRaisesRegex(TypeError, "`kerns` is a matrix"):
            convolve(T.dvector(), (2, 2), 1, T.dmatrix(), (3, 4))


class TestMaxPool(unittest.TestCase):
    def test_values_and_gradient(self) -> None:
        images = T.dmatrix("images")
        for shape, area in (((4, 6), (2, 3)), ((5, 7), (2, 2)), ((2, 4, 5), (3, 1))):
            value = np.random.default_rng(0).permutation(2 * int(np.prod(shape))).astype("float64").reshape(2, -1)
            output, positions = max_pool(images, shape, area)
            self.assertEqual(positions, (shape[-2] // area[0], shape[-1] // area[1]))
            full = value.reshape(2, -1, *shape[-2:])[:, :, : positions[0] * area[0], : positions[1] * area[1]]
            parts = full.reshape(2, -1, positions[0], area[0], positions[1], area[1])
            expected = parts.max((3, 5))
            np.testing.assert_array_equal(function([images], output)(value), expected.reshape(2, -1))
            gradient = function([images], grad(output.sum(), images))(value)
            np.testing.assert_array_equal(gradient, np.isin(value, expected))
        with self.assertRaisesRegex(TypeError, "`images` is a matrix"):
            max_pool(T.dvector(), (2, 2), (1, 1))
