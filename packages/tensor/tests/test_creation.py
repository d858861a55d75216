"""New tensors and tensors in other shapes: records, hypothesis, wrong arguments."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_graph import config
from theano_linker_c import Mode, function
from theano_tensor import ShapeError
from theano_testing.tensor import OpRecord, op_tests
from theano_testing.tiers import examples

RNG = np.random.default_rng(4)
MATRIX = RNG.normal(size=(3, 4))
CUBE = RNG.normal(size=(2, 3, 4))
VECTOR = np.arange(3.0)


def _np(name: str) -> Any:
    """Return a function of NumPy without its annotations."""
    return getattr(np, name)


RECORDS = (
    OpRecord(
        "Triangles",
        lambda n: [T.tri(n), T.tri(n, 3, -1), T.tri(n, 5, n, "int8")],
        lambda n: [np.tri(n), np.tri(n, 3, -1), np.tri(n, 5, n, "int8")],
        [(np.array(2),), (np.array(0),), (np.array(4, "int8"),)],
    ),
    OpRecord(
        "TriangularParts",
        lambda x: [T.tril(x), T.tril(x, 1), T.triu(x), T.triu(x, -1)],
        lambda x: [np.tril(x), np.tril(x, 1), np.triu(x), np.triu(x, -1)],
        [(MATRIX,), (CUBE,), (MATRIX.astype("int16"),), (MATRIX[:0],)],
    ),
    OpRecord(
        "TrilGradient", lambda x: T.tril(x, 1) + T.triu(x), lambda x: np.tril(x, 1) + np.triu(x), [(CUBE,)], [(CUBE,)]
    ),
    OpRecord(
        "TriangleIndices",
        lambda n: [*T.tril_indices(n), *T.triu_indices(n, 1, 5), *T.tril_indices(n, -1, 2)],
        lambda n: [*np.tril_indices(n), *np.triu_indices(n, 1, 5), *np.tril_indices(n, -1, 2)],
        [(np.array(3),), (np.array(0),)],
    ),
    OpRecord(
        "TriangleIndicesFrom",
        lambda x: [*T.tril_indices_from(x, 1), *T.triu_indices_from(x)],
        lambda x: [*np.tril_indices_from(x, 1), *np.triu_indices_from(x)],
        [(MATRIX,)],
    ),
    OpRecord(
        "Linspace",
        lambda a, b: [T.linspace(a, b, 5), T.linspace(a, b, 4, endpoint=False), T.linspace(a, b, 1)],
        lambda a, b: [np.linspace(a, b, 5), np.linspace(a, b, 4, endpoint=False), np.linspace(a, b, 1)],
        [(np.array(-1.5), np.array(2.0)), (np.array(3), np.array(1))],
    ),
    OpRecord(
        "LinspaceGradient",
        lambda a, b: T.linspace(a, b, 4),
        lambda a, b: np.linspace(a, b, 4),
        [(np.array(0.5), np.array(2.0))],
        [(np.array(0.5), np.array(2.0))],
    ),
    OpRecord(
        "Meshgrid",
        lambda a, b: [*T.meshgrid(a, b), *T.meshgrid(a, b, indexing="ij"), *T.meshgrid(a, b, sparse=True)],
        lambda a, b: [*np.meshgrid(a, b), *np.meshgrid(a, b, indexing="ij"), *np.meshgrid(a, b, sparse=True)],
        [(VECTOR, MATRIX[0]), (VECTOR[:0], MATRIX[0])],
    ),
    OpRecord(
        "Filled",
        lambda x: [T.full_like(x, 2), T.full_like(x, 7, "int8"), T.zeros_like(x), T.ones_like(x, "float32")],
        lambda x: [np.full_like(x, 2), np.full_like(x, 7, "int8"), np.zeros_like(x), np.ones_like(x, "float32")],
        [(MATRIX,), (CUBE[:0].astype("int16"),)],
    ),
    OpRecord(
        "BroadcastTo",
        lambda x: [T.broadcast_to(x, (5, 2, *[x.shape[i] for i in range(x.ndim)])), T.broadcast_to(x, x.shape)],
        lambda x: [np.broadcast_to(x, (5, 2, *x.shape)), x],
        [(VECTOR,), (MATRIX[:, :1],)],
    ),
    OpRecord(
        "BroadcastToGradient",
        lambda x: T.broadcast_to(x, (2, 3, 4)),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        [(MATRIX[:, :1],)],
        [(MATRIX[:, :1],), (MATRIX,)],
    ),
    OpRecord(
        "Roll",
        lambda x, n: [
            T.roll(x, n),
            T.roll(x, 1, 0),
            T.roll(x, (n, 1), (0, -1)),
            T.roll(x, -7, -1),
            T.roll(x, 2, n * 0),
        ],
        lambda x, n: [
            np.roll(x, n),
            np.roll(x, 1, 0),
            np.roll(x, (n, 1), (0, -1)),
            np.roll(x, -7, -1),
            np.roll(x, 2, 0),
        ],
        [(MATRIX, np.array(2)), (CUBE, np.array(-1)), (MATRIX[:0], np.array(1))],
    ),
    OpRecord(
        "RollGradient",
        lambda x: T.roll(x, 1, 1) + T.roll(x, -1),
        lambda x: np.roll(x, 1, 1) + np.roll(x, -1),
        [(MATRIX,)],
        [(MATRIX,)],
    ),
    OpRecord(
        "Flips",
        lambda x: [T.flip(x), T.flip(x, 1), T.flip(x, (0, -1)), T.flipud(x), T.fliplr(x)],
        lambda x: [np.flip(x), np.flip(x, 1), np.flip(x, (0, -1)), np.flipud(x), np.fliplr(x)],
        [(MATRIX,), (CUBE,), (CUBE[:, :0],)],
    ),
    OpRecord("FlipGradient", lambda x: T.flip(x, 1), lambda x: np.flip(x, 1), [(MATRIX,)], [(MATRIX,)]),
    OpRecord(
        "Moved",
        lambda x: [T.moveaxis(x, 0, -1), T.moveaxis(x, (0, 2), (1, 0)), T.expand_dims(x, (0, -1)), T.expand_dims(x, 1)],
        lambda x: [
            np.moveaxis(x, 0, -1),
            np.moveaxis(x, (0, 2), (1, 0)),
            np.expand_dims(x, (0, -1)),
            np.expand_dims(x, 1),
        ],
        [(CUBE,), (CUBE[:0],)],
    ),
    OpRecord(
        "AtLeast",
        lambda x: [T.atleast_1d(x), T.atleast_2d(x), T.atleast_3d(x), T.ravel(x), T.squeeze(x)],
        lambda x: [np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x), np.ravel(x), np.squeeze(x)],
        [(np.array(2.0),), (VECTOR,), (MATRIX[:, :1],), (CUBE,)],
    ),
    OpRecord(
        "Stacks",
        lambda x, y: [
            T.horizontal_stack(x, y),
            T.vertical_stack(x, y),
            T.stack([x, y], axis=-1),
            T.concatenate([x, y], 1),
        ],
        lambda x, y: [np.hstack([x, y]), np.vstack([x, y]), np.stack([x, y], axis=-1), np.concatenate([x, y], 1)],
        [(MATRIX, MATRIX * 2), (MATRIX[:0], MATRIX[:0])],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})


class TestGrids(unittest.TestCase):
    def test_as_numpy(self) -> None:
        for index in (np.s_[0:5, 0:3], np.s_[1:4:2, 0:1:5j, -2:0], np.s_[0:2.5:0.5, 3:4]):
            full, opened = _np("mgrid")[index], _np("ogrid")[index]
            np.testing.assert_allclose(T.mgrid[index].eval(), full)
            for mine, theirs in zip(T.ogrid[index], opened, strict=True):
                np.testing.assert_allclose(mine.eval(), theirs)
        np.testing.assert_array_equal(T.mgrid[0:4].eval(), np.mgrid[0:4])

    def test_open_grids_broadcast(self) -> None:
        rows, columns = T.ogrid[0:5, 0:3]
        self.assertEqual((rows.broadcastable, columns.broadcastable), ((False, True), (True, False)))
        n = T.lscalar("n")
        self.assertEqual(T.mgrid[0:n, 0:3].eval({n: 2}).shape, (2, 2, 3))

    def test_what_spans_no_grid_is_refused(self) -> None:
        for index in (3, slice(0, None), (slice(0, 3), None)):
            with self.assertRaisesRegex(TypeError, "does not span a grid"):
                T.mgrid[index]
        with self.assertRaisesRegex(ValueError, "step of zero"):
            T.ogrid[0:3:0]


class TestRanges(unittest.TestCase):
    def test_of_more_numbers_than_fit(self) -> None:
        start, stop, k = T.lscalars("start", "stop", "k")
        for mode in (None, "FAST_COMPILE", Mode(linker="py")):
            f = function([start, stop], T.arange(start, stop), mode=mode)
            for bounds in ((0, 2**63 - 1), (-(2**62), 2**62), (-(2**63), 2**63 - 1), (1, 2**61 + 1)):
                with self.assertRaisesRegex(ValueError, "Maximum allowed size|too big"):
                    f(*bounds)
            self.assertEqual(f(2**63 - 3, 2**63 - 1).tolist(), [2**63 - 3, 2**63 - 2])
            # The diagonal of a triangle may be anywhere.
            g = function([k], T.tri(2, 3, k), mode=mode)
            self.assertEqual([g(n).sum() for n in (2**63 - 1, 1, 0, -(2**63))], [6, 5, 3, 0])

    @settings(deadline=None, max_examples=examples(60))
    @given(
        st.sampled_from(("int8", "uint8", "int64", "float64")),
        st.integers(0, 120),
        st.integers(0, 120),
        st.integers(-9, 9).filter(bool),
    )
    def test_any_bounds_of_any_dtype(self, dtype: str, start: int, stop: int, step: int) -> None:
        a, b, c = (T.scalar(name, dtype=kind) for name, kind in (("a", dtype), ("b", dtype), ("c", "int8")))
        numbers = T.arange(a, b, c)
        compiled: Any = function([a, b, c], [numbers, numbers.shape], mode="FAST_RUN")
        result, shape = compiled(start, stop, step)
        expected = np.arange(start, stop, step)
        np.testing.assert_array_equal(result, expected)
        self.assertEqual(shape.tolist(), [len(expected)])
        self.assertEqual(result.dtype, dtype if dtype == "float64" else "int64")

    def test_dtypes(self) -> None:
        i, f = T.iscalar("i"), T.fscalar("f")
        for result, dtype in (
            (T.arange(5), "int64"),
            (T.arange(i), "int64"),
            (T.arange(f), "float32"),
            (T.arange(i, f), "float64"),
            (T.arange(0, 1, 0.1), "float64"),
            (T.arange(T.scalar(dtype="uint64")), "uint64"),
            (T.arange(i, dtype="int8"), "int8"),
        ):
            self.assertEqual(result.dtype, dtype)

    def test_a_step_of_zero_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "steps of zero"):
            T.arange(0, 5, 0)
        n = T.lscalar("n")
        with self.assertRaisesRegex(ValueError, "steps of zero"):
            T.arange(0, 5, n).eval({n: 0})


class TestFoldingOfAlloc(unittest.TestCase):
    """A filled tensor of constants becomes a constant, but not where that would be copied in each call."""

    def ops(self, inputs: list[Any], output: Any) -> list[str]:
        compiled: Any = function(inputs, output)
        return [str(node.op) for node in compiled.maker.fgraph.toposort()]

    def test_what_is_returned_or_written_is_made_anew(self) -> None:
        v = T.dvector("v")
        self.assertEqual(self.ops([], T.ones((2, 3))), ["Alloc"])
        written = T.set_subtensor(T.zeros((4,))[1:], v)
        self.assertIn("Alloc", self.ops([v], written))
        np.testing.assert_array_equal(written.eval({v: VECTOR}), [0, 0, 1, 2])
        result: Any = function([], T.ones((2,)))
        result()[0] = 7
        np.testing.assert_array_equal(result(), [1.0, 1.0])

    def test_what_is_only_read_is_a_constant(self) -> None:
        v = T.dvector("v")
        self.assertNotIn("Alloc", self.ops([v], T.dot(T.ones((4, 3)), v)))


class TestEmpty(unittest.TestCase):
    def test_shape_and_dtype(self) -> None:
        n = T.lscalar("n")
        x = T.empty((n, 2), "int16")
        self.assertEqual(x.type, T.TensorType("int16", (None, 2)))
        self.assertEqual(x.eval({n: 3}).shape, (3, 2))
        self.assertEqual(T.empty(3).dtype, config.floatX)
        self.assertEqual(T.empty_like(T.fmatrix("m"), "int8").type, T.bmatrix)
        with self.assertRaisesRegex(ValueError, "a length is negative"):
            x.eval({n: -1})

    def test_is_left_out_by_checks_of_values(self) -> None:
        self.assertIs(T.empty(3).tag.nan_guard_mode_check, False)


class TestWrongArguments(unittest.TestCase):
    def test_are_refused_when_the_expression_is_built(self) -> None:
        v, m = T.dvector("v"), T.dmatrix("m")
        for error, call in (
            (ShapeError, lambda: T.tril(v)),
            (ShapeError, lambda: T.tril_indices_from(v)),
            (ShapeError, lambda: T.moveaxis(m, 0, 2)),
            (ShapeError, lambda: T.moveaxis(m, (0, 0), (0, 1))),
            (ShapeError, lambda: T.moveaxis(m, (0, 1), 0)),
            (ShapeError, lambda: T.expand_dims(v, (0, 0))),
            (ShapeError, lambda: T.roll(m, 1, 2)),
            (ShapeError, lambda: T.roll(m, (1, 2), (0,))),
            (ShapeError, lambda: T.flip(m, 2)),
            (ShapeError, lambda: T.squeeze(m, 0)),
            (ShapeError, lambda: T.meshgrid(m)),
            (ValueError, lambda: T.meshgrid(v, indexing="ji")),
            (ShapeError, lambda: T.linspace(v, 1.0)),
            (ShapeError, lambda: T.broadcast_to(m, (3,))),
            (ShapeError, lambda: T.vertical_stack(m, T.dtensor3())),
        ):
            with self.assertRaises(error):
                call()

    def test_a_symbolic_axis_that_does_not_exist_is_an_error_of_the_call(self) -> None:
        m, axis = T.dmatrix("m"), T.lscalar("axis")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            compiled = function([m, axis], T.roll(m, 1, axis), mode=mode)
            np.testing.assert_array_equal(compiled(MATRIX, 1), np.roll(MATRIX, 1, 1))
            with self.assertRaisesRegex(ValueError, "axis 2 is out of range for 2 dimensions"):
                compiled(MATRIX, 2)

    def test_only_declared_dimensions_broadcast(self) -> None:
        v = T.dvector("v")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            compiled = function([v], T.alloc(v, 2, 3), mode=mode)
            self.assertEqual(compiled(VECTOR).shape, (2, 3))
            with self.assertRaisesRegex(ValueError, r"does not fit into the shape \(2, 3\)"):
                compiled(np.ones(1))


class TestShapesOfReshapes(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(40))
    @given(st.permutations([2, 3, 4]), st.integers(0, 3), st.booleans())
    def test_lengths_without_the_value(self, shape: list[int], others: int, symbolic: bool) -> None:
        expected = [-1 if i == others else n for i, n in enumerate(shape)]
        x = T.dvector("x")
        lengths = T.lvector("lengths")
        y = T.reshape(x, lengths, ndim=3) if symbolic else T.reshape(x, tuple(expected))
        compiled: Any = function([x, lengths], y.shape, on_unused_input="ignore")
        np.testing.assert_array_equal(compiled(np.zeros(24), np.asarray(expected)), shape)

    def test_reading_a_length_needs_no_elements(self) -> None:
        x, n = T.dmatrix("x"), T.lscalar("n")
        compiled = function([x, n], T.exp(x).reshape((n, -1)).shape)
        names = {str(node.op) for node in compiled.maker.fgraph.toposort()}
        self.assertFalse([name for name in names if "exp" in name or "Reshape" in name], names)
        self.assertEqual(compiled(np.zeros((4, 6)), 3).tolist(), [3, 8])


class TestLongRanges(unittest.TestCase):
    def test_lengths_that_a_count_cannot_hold(self) -> None:
        n = T.lscalar("n")
        ranges = [T.arange(-n, n), T.arange(n, -n, -1), T.arange(-n, n, 3), T.arange(0, n, 2)]
        f = function([n], [r.shape[0] for r in ranges[:3]])
        for value in (0, 3, -3, 2**53 + 1, 2**61):
            expected = [len(range(-value, value)), len(range(value, -value, -1)), len(range(-value, value, 3))]
            self.assertEqual([int(v) for v in f(value)], expected)
        for value in (2**62, 2**63 - 1):
            for r in ranges[:3]:
                with self.assertRaisesRegex(ValueError, "Maximum allowed size exceeded"):
                    function([n], r.shape[0])(value)
            self.assertEqual(int(function([n], ranges[3].shape[0])(value)), (value + 1) // 2)
