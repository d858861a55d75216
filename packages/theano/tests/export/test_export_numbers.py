"""Numbers at the ends of their ranges, lengths that are too large, and files of states that are damaged."""

from __future__ import annotations

import os
import tempfile
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_linker_c.straight import NoStraightForm
from theano_testing.tiers import slow

from .harness import Exported

#: Nothing is compiled for the process itself.
PLAIN = theano.Mode("py", "fast_compile")
#: Undefined behaviour in C ends the process.
UNDEFINED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-Wno-error")


def same(inputs: Any, outputs: Any, *values: Any, arguments: Any = UNDEFINED) -> None:
    """Compare exported code with the function: integers exactly, floats up to the last bit of powers in NumPy."""
    f = theano.function(inputs, outputs, mode=PLAIN, on_unused_input="ignore")
    for got, want in zip(Exported(f, arguments=arguments)(*values), f(*values), strict=True):
        assert got.dtype == want.dtype, (got.dtype, want.dtype)
        if got.dtype.kind == "f":
            np.testing.assert_array_max_ulp(got[np.isfinite(want)], want[np.isfinite(want)], maxulp=2)
            got, want = got[~np.isfinite(want)], want[~np.isfinite(want)]
        np.testing.assert_array_equal(got, want)


class TestIntegers(unittest.TestCase):
    """Overflow is that of NumPy, and defined in C."""

    @slow
    def test_overflow(self) -> None:
        """Arithmetic and sums of all integers."""
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            with self.subTest(dtype):
                x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
                info = np.iinfo(dtype)
                a = np.array([info.max, info.min, info.max, info.min, info.max // 3, 7], dtype)
                b = np.array([info.max, info.min, info.min, info.max, 5, 0], dtype)
                outputs = [x + y, x - y, x * y, x * x * x * y * y, -x, abs(x), x**2, x**3, x // y, x % y, x.dot(y)]
                sums = [f(dtype=dtype) for f in (x.sum, x.prod)]
                same([x, y], [*outputs, *sums, T.cumsum(x), T.cumprod(x), T.outer(x, y).sum(0, dtype=dtype)], a, b)

    def test_known_comparisons(self) -> None:
        """No compiler warns of comparisons that always give the same."""
        for dtype in ("uint8", "uint64", "int32", "float64", "bool"):
            with self.subTest(dtype):
                x = T.vector("x", dtype=dtype)
                outputs = [f(x, x) for f in (T.eq, T.neq, T.lt, T.le, T.gt, T.ge)]
                outputs += [f(x, 0) for f in (T.lt, T.ge)] + [f(0, x) for f in (T.gt, T.le)]
                same([x], outputs, np.array([0, 1, 1]).astype(dtype), arguments=("-O1",))


class TestLengths(unittest.TestCase):
    """Lengths whose products are larger than a number of C, and slices to the ends of the range of numbers."""

    def test_too_much_memory(self) -> None:
        """The call fails; it does not take a piece of memory that is too small."""
        n, k, x = T.lscalar("n"), T.lscalar("k"), T.dscalar("x")
        for inputs, output, calls in (
            ([n, k], T.zeros((n, k, k)) + 1, [(2**40, 2**40), (2**62, 4), (2**31, 2**31), (2**61, 1)]),
            ([n], T.arange(n), [(2**62,), (2**63 - 1,)]),
            ([n], T.eye(n), [(2**62,)]),
            ([x], T.arange(x), [(1e300,), (np.inf,)]),
        ):
            exported = Exported(theano.function(inputs, output, mode=PLAIN))
            for values in calls:
                with self.subTest(output=str(output), values=values):
                    self.assertRaisesRegex(ValueError, "there is not enough memory", exported, *values)

    def test_arena(self) -> None:
        """Static lengths that no computer has memory for are refused at once."""
        x = T.dvector("x")
        f = theano.function([x], T.outer(x, x).dot(x).sum(), mode=PLAIN)
        with self.assertRaisesRegex(NoStraightForm, "more than a computer has"):
            Exported(f, {x: (3 * 10**9,)}, static=True)

    def test_filled_arrays(self) -> None:
        """Large arrays of one number are no tables in the file, and are not computed when it is written."""
        x = T.dscalar("x")
        f = theano.function(
            [x], [T.zeros((3000, 1000)).sum() + x, T.arange(10**6)[-1] + x], mode=theano.Mode("py", None)
        )
        exported = Exported(f)
        self.assertLess(len(exported.text), 20_000)
        self.assertEqual([float(y) for y in exported(2.0)], [2.0, 10**6 + 1])

    def test_slices(self) -> None:
        """Bounds and steps of all sizes."""
        x, a, b, c = T.dvector("x"), T.lscalar("a"), T.lscalar("b"), T.lscalar("c")
        exported = Exported(theano.function([x, a, b, c], x[a:b:c], mode=PLAIN), arguments=UNDEFINED)
        ends = [-(2**63), -(2**63) + 1, -3, -1, 0, 2, 5, 2**63 - 1]
        for bounds in ((i, j, k) for i in ends for j in ends for k in ends if k):
            np.testing.assert_array_equal(exported(np.arange(4.0), *bounds)[0], np.arange(4.0)[slice(*bounds)])


class TestStates(unittest.TestCase):
    """Files of saved states."""

    def test_files_of_states(self) -> None:
        """A file that is short, or of other variables, is not loaded, and says so."""
        w, n = theano.shared(np.arange(3.0), "w"), theano.shared(np.int64(5), "n")
        exported = Exported(theano.function([], n, updates=[(w, w * 2), (n, n + 1)], mode=PLAIN))
        exported()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            exported.save(path)
            with open(path, "rb") as file:
                full = file.read()
            exported()
            self.assertEqual(exported.load(path), 0)
            self.assertEqual(int(exported()[0]), 6)
            later = _state(exported)
            self.assertEqual(later, {"w": [0.0, 4.0, 8.0], "n": 7})
            for name, data, left in (
                ("empty", b"", later),
                ("tag", full[:9], later),
                ("other", b"0" * len(full), later),
                ("short", full[:-1], {"w": [0.0, 1.0, 2.0], "n": 5}),
            ):
                with self.subTest(name):
                    with open(path, "wb") as file:
                        file.write(data)
                    self.assertEqual(exported.load(path), -1)
                    self.assertEqual(_state(exported), left)


def _state(exported: Exported) -> dict[str, Any]:
    labels = [variable["label"] for variable in exported.description["state"]]
    return dict(zip(labels, (x.tolist() for x in exported.states()), strict=True))


if __name__ == "__main__":
    unittest.main()
