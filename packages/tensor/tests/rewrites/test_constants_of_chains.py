"""Numbers in long expressions: copied once, given their dtype once, and looked at once."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Constant, FunctionGraph, Op
from theano_linker_c import Mode, function
from theano_linker_c.ops import Print
from theano_optimize import RewriteProfile
from theano_tensor import Tensor
from theano_tensor.elemwise import DimShuffle
from theano_testing.tiers import slow


def mixed_links(x: Tensor, number: int) -> Tensor:
    """Return a chain of so many operations, half of them with a number."""
    y = x
    for i in range(number):
        y = (T.tanh(y), y * 0.5, y + x, y - 1.5)[i % 4]
    return y


def constants_of(fgraph: FunctionGraph) -> list[Constant]:
    return [v for v in fgraph.variables if isinstance(v, Constant)]


def parts_of(profile: RewriteProfile) -> list[RewriteProfile]:
    return [profile, *(inner for part in profile.parts for inner in parts_of(part))]


class TestCopies(unittest.TestCase):
    """The graph of a function has each number, and each view of a number, once."""

    def copied(self, y: Tensor, x: Tensor) -> FunctionGraph:
        return function([x], y, mode=Mode(optimizer=None)).maker.fgraph

    def test_numbers_and_their_views_are_copied_once(self) -> None:
        x = T.dvector("x")
        graph = self.copied(mixed_links(x, 40), x)
        self.assertEqual(sorted(float(c.data) for c in constants_of(graph)), [0.5, 1.5])
        views = [node for node in graph.apply_nodes if isinstance(node.op, DimShuffle)]
        self.assertEqual(len(views), 2)

    def test_dtypes_signs_and_bits_stay_apart(self) -> None:
        x = T.dvector("x")
        values = [np.float32(0), np.float64(0), -0.0, np.int8(0), False]
        y = T.add(*[x * value for value in (*values, *values)])
        results = [(c.data.dtype.name, c.data.tobytes()) for c in constants_of(self.copied(y, x))]
        expected = [("float32", bytes(4)), ("float64", bytes(8)), ("float32", np.float32(-0.0).tobytes())]
        self.assertCountEqual(results, [*expected, ("int8", b"\0"), ("bool", b"\0")])

    def test_names_and_marks_stay_apart(self) -> None:
        x = T.dvector("x")
        named, marked = T.constant(2.5, name="rate"), T.constant(2.5)
        marked.tag.kind = "mark"
        graph = self.copied(x * named + x * marked + x * 2.5 + x * 2.5, x)
        self.assertEqual(len([c for c in constants_of(graph) if c.data == 2.5]), 3)
        self.assertEqual([c.name for c in constants_of(graph) if c.name], ["rate"])

    def test_large_constants_are_left_to_merging(self) -> None:
        x = T.dvector("x")
        table = np.arange(100.0)
        graph = self.copied(T.dot(x, table) + T.dot(x, table), x)
        self.assertEqual(len([c for c in constants_of(graph) if c.data.size == 100]), 2)

    def test_what_is_seen_from_outside_happens_each_time(self) -> None:
        shown: list[float] = []
        look = Print("number", global_fn=lambda op, value: shown.append(float(value)))
        x = T.dvector("x")
        function([x], x * look(T.constant(2.0)) + look(T.constant(2.0)), mode=Mode(optimizer=None))([1.0])
        self.assertEqual(shown, [2.0, 2.0])

    def test_ops_that_do_not_hash(self) -> None:
        class Same(Op):
            """A view of its input, as an op that cannot be put into a dictionary."""

            view_map = {0: [0]}
            __hash__ = None  # type: ignore[assignment]

            def __eq__(self, other: object) -> bool:
                return self is other

            def make_node(self, a: Tensor):  # type: ignore[no-untyped-def]
                return Apply(self, [a], [a.type()])

            def perform(self, node, inputs, outputs, params=None):  # type: ignore[no-untyped-def]
                outputs[0][0] = inputs[0]

        x = T.dvector("x")
        y = x + Same()(T.constant(2.0)) + Same()(T.constant(2.0))
        np.testing.assert_array_equal(function([x], y, mode=Mode(optimizer=None))([1.0]), [5.0])


class TestDtypes(unittest.TestCase):
    """Numbers get the dtype of the other operand before other rules look."""

    def test_each_number_is_converted_once(self) -> None:
        x = T.dvector("x")
        y = mixed_links(x, 40)
        for mode in ("FAST_COMPILE", "FAST_RUN"):
            f = function([x], y, mode=Mode("cvm", mode.lower()).excluding("fusion"))
            results = sorted((c.data.dtype.name, float(c.data.item())) for c in constants_of(f.maker.fgraph))
            self.assertEqual([dtype for dtype, _ in results], ["float64"] * 2, mode)
            values = expected = np.array([0.25, -1.0])
            for i in range(40):
                expected = (np.tanh(expected), expected * 0.5, expected + values, expected - 1.5)[i % 4]
            np.testing.assert_allclose(f(values), expected, rtol=1e-14)

    def test_the_rule_can_be_left_out(self) -> None:
        x = T.dvector("x")
        for name in ("local_upcast_elemwise_constant_inputs", "constants_in_dtype_of_result"):
            f = function([x], T.tanh(x) * 0.5, mode=Mode("cvm", "fast_compile").excluding(name))
            self.assertEqual([c.data.dtype.name for c in constants_of(f.maker.fgraph)], ["float32"], name)
        f = function([x], T.tanh(x) * 0.5, mode=Mode("cvm", "fast_compile").excluding("constants_first"))
        self.assertEqual([c.data.dtype.name for c in constants_of(f.maker.fgraph)], ["float64"])

    def test_what_would_lose_something_stays(self) -> None:
        x, full = T.fvector("x"), T.bvector("n")
        y = T.second(x, np.float64(0.1)), full + np.int8(100)
        f = function([x, full], y, mode="FAST_COMPILE")
        filled, total = f(np.ones(2, "float32"), np.full(2, 27, "int8"))
        np.testing.assert_array_equal(filled, np.full(2, 0.1))
        np.testing.assert_array_equal(total, np.full(2, 127, "int8"))


class TestSteps(unittest.TestCase):
    """The rules look at a link a bounded number of times, however many numbers there are."""

    @slow
    def test_links_are_looked_at_once_or_twice(self) -> None:
        x = T.dvector("x")
        for mode in ("FAST_COMPILE", "FAST_RUN"):
            for number in (100, 800):
                f = function([x], mixed_links(x, number), mode=mode)
                profile = f.maker.profile
                assert isinstance(profile, RewriteProfile)
                (rules,) = [part for part in parts_of(profile) if part.name == "canonicalize"]
                self.assertLessEqual(rules.visits, 2 * number, f"{number} links in {mode}")


if __name__ == "__main__":
    unittest.main()
