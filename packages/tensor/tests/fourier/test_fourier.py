"""Fourier transforms against NumPy: values, scaling, lengths, gradients, wrong arguments."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import DTypeError, ShapeError
from theano_tensor.fourier import Fourier, fft, ifft, irfft, rfft
from theano_testing.tensor import OpRecord, op_tests, verify_grad

RNG = np.random.default_rng(7)
ROWS, ODD, CUBE = RNG.normal(size=(2, 6)), RNG.normal(size=(3, 5)), RNG.normal(size=(2, 3, 4))
COMPLEX = CUBE + 1j * RNG.normal(size=CUBE.shape)
NORMS = (None, "ortho", "no_norm")


def _pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], -1)


def _forward(x: Any, norm: str | None) -> Any:
    axes = tuple(range(1, x.ndim))
    result = _pairs(np.fft.rfftn(x, axes=axes, norm="ortho" if norm == "ortho" else None))
    return result.astype("float32" if x.dtype == "float32" else "float64")


def _backward(y: Any, norm: str | None, is_odd: bool) -> Any:
    z = y[..., 0] + 1j * y[..., 1]
    n = (z.shape[-1] - 1) * 2 + is_odd
    axes = tuple(range(1, z.ndim))
    result = np.fft.irfftn(z, (*z.shape[1:-1], n), axes=axes, norm="ortho" if norm == "ortho" else None)
    return result * (np.prod(result.shape[1:]) if norm == "no_norm" else 1)


RECORDS = (
    OpRecord(
        "Rfft",
        lambda x: [rfft(x, norm) for norm in NORMS],
        lambda x: [_forward(x, norm) for norm in NORMS],
        [(ROWS,), (ODD,), (CUBE,), (ROWS.astype("float32"),), (np.arange(8).reshape(2, 4),)],
        [(ROWS,), (ODD,), (CUBE,), (ODD[:, :1],)],
    ),
    OpRecord(
        "Irfft",
        lambda y: [irfft(y, norm) for norm in NORMS],
        lambda y: [_backward(y, norm, False) for norm in NORMS],
        [(_forward(ROWS, None),), (_forward(CUBE, None),)],
        [(_forward(ROWS, None),), (_forward(CUBE, None),)],
    ),
    OpRecord(
        "IrfftOdd",
        lambda y: [irfft(y, norm, is_odd=True) for norm in NORMS],
        lambda y: [_backward(y, norm, True) for norm in NORMS],
        [(_forward(ODD, None),), (_forward(CUBE[..., :3], None),)],
        [(_forward(ODD, None),), (_forward(CUBE[..., :3], None),)],
    ),
    OpRecord(
        "Fft",
        lambda x: [fft(x), fft(x, 0, "ortho"), fft(x, (0, -1)), fft(x, None, "no_norm")],
        lambda x: [np.fft.fft(x), np.fft.fft(x, axis=0, norm="ortho"), np.fft.fftn(x, axes=(0, -1)), np.fft.fftn(x)],
        [(CUBE,), (COMPLEX,), (ROWS,)],
    ),
    OpRecord(
        "Ifft",
        lambda x: [ifft(x), ifft(x, 0, "ortho"), ifft(x, None), ifft(x, -1, "no_norm")],
        lambda x: [np.fft.ifft(x), np.fft.ifft(x, axis=0, norm="ortho"), np.fft.ifftn(x), np.fft.ifft(x) * x.shape[-1]],
        [(CUBE,), (COMPLEX,)],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})


class TestFourier(unittest.TestCase):
    def test_single_precision_stays(self) -> None:
        x = T.fmatrix("x")
        self.assertEqual(
            [v.dtype for v in (rfft(x), irfft(rfft(x), "ortho"), fft(x))], ["float32", "float32", "complex64"]
        )

    def test_gradient_of_complex_transforms_by_real_numbers(self) -> None:
        def power(x: Any) -> Any:
            z = fft(x, (1, 2), "ortho")
            return T.real(z) ** 2 + T.imag(z) * 3

        verify_grad(power, [CUBE], rng=RNG)
        verify_grad(lambda x: T.real(ifft(T.cast(x, "complex128") * 2)), [ROWS], rng=RNG)

    def test_inverse_gives_the_input_back(self) -> None:
        x = T.dtensor3("x")
        for norm in (None, "ortho"):
            call = function([x], irfft(rfft(x, norm), norm))
            np.testing.assert_allclose(call(CUBE), CUBE, atol=1e-12)

    def test_static_shapes(self) -> None:
        x = T.TensorType("float64", (2, 3, 5))("x")
        self.assertEqual(rfft(x).type.shape, (2, 3, 3, 2))
        self.assertEqual(irfft(rfft(x), is_odd=True).type.shape, (2, 3, 5))

    def test_wrong_arguments_are_refused(self) -> None:
        x, y, z = T.dmatrix("x"), T.dtensor3("y"), T.zmatrix("z")
        calls: tuple[tuple[type[Exception], str, Any], ...] = (
            (ShapeError, "2 dimensions at least", lambda: rfft(T.dvector("v"))),
            (ShapeError, "3 dimensions at least", lambda: irfft(x)),
            (DTypeError, "real numbers", lambda: rfft(z)),
            (ValueError, "unknown norm='backward'", lambda: rfft(x, "backward")),
            (ValueError, "unknown norm='both'", lambda: irfft(y, norm="both")),
            (ValueError, "is_odd", lambda: irfft(y, is_odd=2)),  # type: ignore[arg-type]
            (ShapeError, "axis", lambda: fft(x, 2)),
            (ShapeError, "no axis 3", lambda: Fourier((3,))(x)),
            (ValueError, "different axes", lambda: fft(x, (0, 0))),
        )
        for error, text, call in calls:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_lengths_that_do_not_fit_are_an_error_when_it_runs(self) -> None:
        x, y = T.dmatrix("x"), T.dtensor3("y")
        with self.assertRaisesRegex(ValueError, "nothing to transform"):
            function([x], rfft(x))(np.zeros((2, 0)))
        with self.assertRaisesRegex(ValueError, "nothing to transform"):
            function([x], fft(x))(np.zeros((2, 0)))
        with self.assertRaisesRegex(ValueError, "last two lengths"):
            function([y], irfft(y))(np.zeros((2, 3, 3)))


if __name__ == "__main__":
    unittest.main()
