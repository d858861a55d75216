"""Special functions on devices against SciPy, over wide grids, in double precision and single."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from scipy import special

from theano_gpuarray.codegen import NoDeviceForm
from theano_gpuarray.codegen.text import with_helpers
from theano_linker_c import scalar as scalars
from theano_linker_c.scalar import Composite, ScalarType
from theano_testing.device import on_device
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import slow

from .device_cases import DeviceCase, contexts, elementwise


def powers(low: float, high: float, count: int) -> Any:
    return 10.0 ** np.linspace(low, high, count)


def grid(*axes: Any) -> list[Any]:
    return [x.ravel() for x in np.meshgrid(*axes, indexing="ij")]


LINE = np.linspace(-20, 20, 1601) + 1e-3
ORDERS = np.concatenate([np.linspace(0, 30, 31), np.linspace(-10, -0.1, 11), [50.3, 100, 200.5]])
#: Arguments of functions of one number.
ALONE = {
    "gamma": np.concatenate([LINE, np.linspace(-170, 171, 300) + 0.123, powers(-300, 2, 300)]),
    "gammaln": np.concatenate([np.linspace(0.01, 0.8, 100), np.linspace(2.3, 50, 300), powers(-300, 300, 300)]),
    "psi": np.concatenate([LINE, powers(-30, 300, 300), -0.9 * powers(-30, 0, 100)]),
    "erfcx": np.concatenate([np.linspace(-26, 60, 1000), powers(-30, 300, 300)]),
    "erfinv": np.concatenate([np.linspace(-0.9999, 0.9999, 1001), powers(-300, -1, 300), 1 - powers(-15, -1, 100)]),
    "erfcinv": np.concatenate([np.linspace(0.0001, 1.9999, 1001), powers(-300, -1, 300)]),
    "i0": np.concatenate([np.linspace(-700, 700, 1001), powers(-30, 2, 300)]),
    "i1": np.concatenate([np.linspace(-700, 700, 1001), powers(-30, 2, 300)]),
}
SHARES = np.concatenate([np.linspace(0.01, 0.99, 15), powers(-200, -3, 12), 1 - powers(-8, -3, 4)])
#: Arguments of functions of several numbers.
TOGETHER = {
    "iv": grid(ORDERS, np.concatenate([np.linspace(0.01, 60, 100), powers(-3, 2.8, 40)])),
    "gammainc": grid(np.concatenate([np.linspace(0.05, 30, 30), powers(-6, 8, 40)]), powers(-6, 8, 80)),
    "gammaincc": grid(np.concatenate([np.linspace(0.05, 30, 30), powers(-6, 8, 40)]), powers(-6, 8, 80)),
    "betaln": grid(powers(-3, 3, 50), powers(-3, 3, 50)),
    "ive": grid(ORDERS, np.concatenate([np.linspace(0.01, 60, 100), powers(-3, 4, 40)])),
    "kve": grid(ORDERS, np.concatenate([np.linspace(0.01, 60, 100), powers(-3, 4, 40)])),
    "owens_t": grid(np.linspace(-9, 9, 73), np.concatenate([np.linspace(-4, 4, 81), powers(-5, 5, 40)])),
    "gammaincinv": grid(np.concatenate([np.linspace(0.05, 30, 30), powers(-2, 6, 20)]), SHARES),
    "gammainccinv": grid(np.concatenate([np.linspace(0.05, 30, 30), powers(-2, 3, 20)]), SHARES),
    # Of smaller shares with equal parameters SciPy has no inverse.
    "betaincinv": grid(powers(-1, 3, 12), powers(-1, 3, 12), SHARES[SHARES > 1e-12]),
    "hyp2f1": grid([0.1, 1.3, 4.7], [0.2, 1, 2.5], [0.3, 2.2, 6], np.linspace(-0.99, 0.99, 45)),
    "betainc": grid(
        powers(-3, 4, 20), powers(-3, 4, 20), np.concatenate([np.linspace(0.001, 0.999, 30), powers(-9, -1, 9)])
    ),
}


def computed(names: list[str], values: list[Any], dtype: str = "float64") -> list[Any]:
    """Compute some functions of the same numbers of arguments by one kernel; `values` are padded to one length."""
    longest = max(len(x) for x in values)
    padded = [np.resize(x, longest).astype(dtype) for x in values]
    private = [ScalarType(dtype)() for _ in padded]
    others, outputs = list(private), []
    for name in names:
        op = getattr(scalars, name)
        outputs.append(op(*others[: op.nin]))
        others = others[op.nin :]
    kernel = elementwise(Composite(private, outputs), *[dtype] * len(private))
    return on_device(kernel, padded, contexts()["cpu"])


@needs_opencl
class TestSpecialFunctions(DeviceCase):
    def _close(self, name: str, result: Any, arguments: list[Any], rtol: float) -> None:
        with np.errstate(all="ignore"):
            expected = getattr(special, name)(*arguments)
        # SciPy's own numbers have fewer digits where they are nearly too small or too large for a double.
        plain = ~((np.abs(expected) < 1e-250) & (np.abs(result) < 1e-250)) & ~(np.abs(result) > 1e300)
        # The logarithm of the beta function is a difference of larger ones.
        atol = 1e-11 if name == "betaln" else 0.0
        np.testing.assert_allclose(result[plain], expected[plain], rtol=rtol, atol=atol, err_msg=name)

    def test_functions_of_one_number(self) -> None:
        names = list(ALONE)
        outcome = computed(names, list(ALONE.values()))
        for name, result in zip(names, outcome, strict=True):
            x = ALONE[name]
            self._close(name, result[: len(x)], [x], 1e-10)

    @slow
    def test_functions_of_several_numbers(self) -> None:
        for name, arguments in TOGETHER.items():
            (result,) = computed([name], arguments)
            self._close(name, result, arguments, 1e-10)

    def test_bessel_functions_of_the_first_kind(self) -> None:
        # Between their zeros: an error is measured by the amplitude.
        x = np.concatenate([np.linspace(-100, 100, 1001), powers(-30, 4, 300)])
        outcome = computed(["j0", "j1"], [x, x])
        amplitude = np.minimum(1, 1 / np.sqrt(np.abs(x) + 1e-9))
        for result, expected in zip(outcome, (special.j0(x), special.j1(x)), strict=True):
            self.assertLess(np.max(np.abs(result - expected) / amplitude), 1e-12)
        order, y = grid(ORDERS, np.concatenate([np.linspace(0.01, 60, 100), powers(-3, 4, 40)]))
        (found_jv,) = computed(["jv"], [order, y])
        expected = special.jv(order, y)
        error = np.abs(found_jv - expected) / np.maximum(np.abs(expected), 1e-3 * np.minimum(1, 1 / np.sqrt(y)))
        self.assertLess(np.max(error), 1e-9)

    def test_single_precision(self) -> None:
        names = list(ALONE)
        arguments = [x[(np.abs(x) < 80) & (np.abs(x) > 1e-30)] for x in ALONE.values()]
        outcome = computed(names, arguments, "float32")
        for name, result, x in zip(names, outcome, arguments, strict=True):
            operand = x.astype("float32").astype("float64")
            with np.errstate(all="ignore"):
                expected = getattr(special, name)(operand).astype("float32")
            self.assertEqual(result.dtype, np.float32)
            np.testing.assert_allclose(result[: len(x)], expected, rtol=1e-5, err_msg=name)

    def test_poles_and_infinities(self) -> None:
        x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 0.5, -0.5])
        names = ["gamma", "gammaln", "psi", "erfcx", "erfinv", "erfcinv"]
        for name, item in zip(names, computed(names, [x] * len(names)), strict=True):
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(item, getattr(special, name)(x), rtol=1e-12, err_msg=name)
        for name in ("gammainc", "gammaincc", "jv", "iv"):
            order, y = grid(x, x[np.isfinite(x)])
            if name in ("jv", "iv"):  # infinite orders have no value that all versions of SciPy agree on
                order, y = order[np.isfinite(order)], y[np.isfinite(order)]
            (item,) = computed([name], [order, y])
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(item, getattr(special, name)(order, y), rtol=1e-12, err_msg=name)

    def test_what_is_not_there(self) -> None:
        with self.assertRaisesRegex(NoDeviceForm, "zeta has no form on devices"):
            with_helpers("y = theano_special_zeta(x, 0);")


if __name__ == "__main__":
    unittest.main()
