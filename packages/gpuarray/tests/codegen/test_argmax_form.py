"""Positions of extrema, and cumulative sums and products, on devices."""

from __future__ import annotations

import itertools
import unittest
from typing import Any

import numpy as np

from theano_linker_c.kernels import ArgmaxKernel, ArrayRoutineKernel
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from .device_cases import DeviceCase

RNG = np.random.default_rng(9)


def position(x: Any, axes: tuple[int, ...], largest: bool) -> Any:
    references = [d for d in range(x.ndim) if d not in axes]
    rows = x.transpose([*references, *axes]).reshape([*(x.shape[d] for d in references), -1])
    return np.asarray((np.argmax if largest else np.argmin)(rows, -1), "int64")


@needs_opencl
class TestArgmax(DeviceCase):
    def _checked(self, x: Any, axes: tuple[int, ...], *largest: bool) -> None:
        for choice in largest or (True, False):
            kernel = ArgmaxKernel(x.dtype.name, x.ndim, axes, choice)
            self.check(kernel, [x], [position(x, axes, choice)])

    @slow
    def test_first_of_equal_ones_over_all_axes(self) -> None:
        for shape in ((5,), (30, 40), (20, 3, 30), (3, 20, 5, 6)):
            x = RNG.integers(-3, 4, size=shape).astype("float32")
            every = [a for n in range(1, x.ndim + 1) for a in itertools.combinations(range(x.ndim), n)]
            for axes, largest in each_value(every, (True, False)):
                with self.subTest(shape=shape, axes=axes, largest=largest):
                    self._checked(x, axes, largest)

    @slow
    def test_dtypes(self) -> None:
        dtypes = ("float16", "float64", "int8", "int64", "uint8", "uint64", "bool")
        for dtype, axes, largest in each_value(dtypes, ((0,), (1,)), (True, False)):
            x = (RNG.normal(size=(30, 40)) * 2).astype(dtype)
            with self.subTest(dtype=dtype, axes=axes, largest=largest):
                self._checked(x, axes, largest)

    @slow
    def test_first_nan(self) -> None:
        x = RNG.normal(size=(100, 60)).astype("float32")
        x[3, 5] = x[3, 9] = x[8, 5] = np.nan
        x[7, 2] = np.inf
        for axes in ((0,), (1,), (0, 1)):
            self._checked(x, axes)

    @slow
    def test_strides(self) -> None:
        base = RNG.integers(0, 9, size=(60, 70))
        for view in (base[::-2, 3:50:3], base.T, base[:, ::-1]):
            for axes, largest in each_value(((0,), (1,), (0, 1)), (True, False)):
                self._checked(view, axes, largest)

    @slow
    def test_long_searches_are_split(self) -> None:
        self._checked(RNG.integers(0, 1000, size=300_003), (0,))
        self._checked(RNG.random((20_000, 3)), (0,))

    def test_no_elements(self) -> None:
        self.check(ArgmaxKernel("float32", 2, (1,)), [np.zeros((0, 3), "float32")], [np.zeros(0, "int64")])
        for largest, name in ((True, "argmax"), (False, "argmin")):
            kernel = ArgmaxKernel("float32", 2, (1,), largest)
            self.refused(kernel, [np.zeros((3, 0), "float32")], f"attempt to get {name} of an empty sequence")


@slow
@needs_opencl
class TestCumulative(DeviceCase):
    def _checked(self, task: str, x: Any, axis: int) -> None:
        function = np.cumsum if task == "cumsum" else np.cumprod
        wide = x.astype("float64") if x.dtype == "float32" else x
        result = function(wide, axis).astype(x.dtype)
        error = {"float32": 1e-3, "float64": 1e-11}.get(x.dtype.name, 0)
        self.check(ArrayRoutineKernel(task, x.dtype.name, axis), [x], [result], rtol=error)

    def test_sums(self) -> None:
        shapes = ((5,), (30, 40), (4, 30, 5), (100_000,), (3, 20_000), (20_000, 3), (1, 1))
        places = [(shape, axis) for shape in shapes for axis in range(len(shape))]
        draws = (RNG.random, lambda shape: RNG.integers(-(2**62), 2**62, size=shape))
        for (shape, axis), draw in each_value(places, draws):
            with self.subTest(shape=shape, axis=axis):
                self._checked("cumsum", draw(shape), axis)

    def test_products(self) -> None:
        places = (((30, 40), 0), ((30, 40), 1), ((20_000,), 0))
        draws = (
            lambda shape: np.asarray(1 + 0.01 * RNG.normal(size=shape), "float32"),
            lambda shape: RNG.integers(1, 2**62, size=shape).astype("uint64"),
        )
        for (shape, axis), draw in each_value(places, draws):
            self._checked("cumprod", draw(shape), axis)

    def test_strides_and_no_elements(self) -> None:
        base = RNG.random((60, 70))
        for view in (base[::-2, 3:50:3], base.T, base[:, ::-1]):
            for axis in (0, 1):
                self._checked("cumsum", view, axis)
        self._checked("cumsum", np.zeros((0, 3)), 1)


if __name__ == "__main__":
    unittest.main()
