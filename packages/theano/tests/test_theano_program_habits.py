"""Uses that libraries written for Theano make of its objects besides calls: notes on them, classes of their own."""

from __future__ import annotations

import importlib
import pickle
import unittest
from typing import Any, ClassVar

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.compat import six
from theano.graph.basic import walk
from theano.sandbox import cuda, rng_mrg
from theano.sparse import SparseType


class TestNotes(unittest.TestCase):
    def test_functions_take_attributes(self) -> None:
        x = T.dscalar("x")
        f: Any = theano.function([x], x * 2)
        f.source = "x * 2"
        f.calls = 3
        self.assertEqual((f.source, f.calls, float(f(4.0))), ("x * 2", 3, 8.0))
        self.assertFalse(hasattr(f.copy(), "source"))
        self.assertEqual(float(pickle.loads(pickle.dumps(f))(4.0)), 8.0)

    def test_functions_are_named_afterwards(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + 1)
        f.name = "successor"
        self.assertEqual(f.name, "successor")
        self.assertEqual(theano.function([x], x + 1, name="next").name, "next")


class OwnLinker(gof.PerformLinker):
    """Has an attribute of its own."""

    def __init__(self, allow_gc: bool | None = None) -> None:
        super().__init__(allow_gc)
        self.label: Any = "mine"


class TestLinkers(unittest.TestCase):
    def test_classes_of_programs_have_attributes(self) -> None:
        linker = OwnLinker()
        linker.label = "changed"
        x = T.dvector("x")
        f = theano.function([x], x.sum(), mode=theano.Mode(linker, "fast_run"))
        self.assertEqual(float(f(np.arange(4.0))), 6.0)
        self.assertEqual(pickle.loads(pickle.dumps(linker)).label, "changed")
        self.assertEqual(linker.clone(allow_gc=False).label, "changed")

    def test_what_a_linker_is_stays(self) -> None:
        with self.assertRaisesRegex(AttributeError, "allow_gc"):
            OwnLinker().allow_gc = False  # type: ignore[misc]


class TestFlags(unittest.TestCase):
    def test_blocks_that_share_one_object(self) -> None:
        # A model that is entered twice keeps the second change only, and leaves that twice.
        before = theano.config.compute_test_value
        outer = theano.config.change_flags(compute_test_value="off")
        outer.__enter__()
        inner = theano.config.change_flags(compute_test_value="off")
        inner.__enter__()
        for _ in range(2):
            inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)
        self.assertEqual(theano.config.compute_test_value, before)


class TestTypes(unittest.TestCase):
    def test_text_in_the_place_of_a_type(self) -> None:
        variable = theano.Variable("stand-in")  # type: ignore[arg-type]
        self.assertEqual(variable.type, "stand-in")
        self.assertEqual({variable: 1}[variable], 1)


class Twice(theano.Op):
    """Has its methods in the form of Theano 1.1, where the graph stands before the node."""

    __props__ = ()
    graphs: ClassVar[list[Any]] = []

    def make_node(self, x: Any) -> theano.Apply:
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        self.graphs.append(fgraph)
        return shapes

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:  # type: ignore[override]  # as in Theano 1.1
        self.graphs.append(fgraph)
        return node in fgraph.apply_nodes and False


@gof.local_optimizer([Twice])  # type: ignore[arg-type]  # as in Theano 1.1
def twice_is_a_product(fgraph: Any, node: Any) -> Any:
    return [node.inputs[0] * 2] if node in fgraph.apply_nodes else False


class MethodRule(gof.opt.LocalOptimizer):
    """A class of a rule in that form."""

    def tracks(self) -> Any:
        return [Twice]

    def transform(self, fgraph: Any, node: Any) -> Any:  # type: ignore[override]  # as in Theano 1.1
        return [node.inputs[0] + node.inputs[0]] if node in fgraph.apply_nodes else False


class TestGraphBeforeNode(unittest.TestCase):
    def test_shapes_and_folding(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], Twice()(x).shape[0])
        self.assertFalse([node for node in f.maker.fgraph.toposort() if isinstance(node.op, Twice)])
        self.assertEqual(int(f([1.0, 2.0, 3.0])), 3)
        g = theano.function([], Twice()(T.constant([1.0, 2.0])))
        self.assertTrue([node for node in g.maker.fgraph.toposort() if isinstance(node.op, Twice)])
        self.assertEqual(g().tolist(), [2.0, 4.0])
        self.assertTrue(all(isinstance(fgraph, gof.FunctionGraph) for fgraph in Twice.graphs))

    def test_rules(self) -> None:
        x = T.dvector("x")
        for rule, op in ((twice_is_a_product, T.mul), (MethodRule(), T.add)):
            with self.subTest(rule=str(rule)):
                fgraph = gof.FunctionGraph([x], [Twice()(x)], clone=True)
                gof.opt.in2out(rule).optimize(fgraph)
                self.assertEqual([node.op for node in fgraph.toposort() if node.op in (T.mul, T.add)], [op])


class TestNextVersion(unittest.TestCase):
    """Names of Theano 1.1 that libraries for it import."""

    def test_loops(self) -> None:
        for name in ("basic", "checkpoints", "op", "opt", "utils", "views"):
            with self.subTest(module=name):
                old = "scan" if name == "basic" else f"scan_{name}"
                result = importlib.import_module(f"theano.scan.{name}")
                self.assertIs(result, importlib.import_module(f"theano.scan_module.{old}"))
        self.assertIs(importlib.import_module("theano.scan").until, theano.scan_module.until)
        # The function keeps its name.
        values, _ = theano.scan(lambda a: a * 2, sequences=T.arange(3))
        self.assertEqual(values.eval().tolist(), [0, 2, 4])

    def test_other_names(self) -> None:
        self.assertIs(theano.assert_op.Assert, T.opt.Assert)
        self.assertIs(rng_mrg.MRG_RandomStream, rng_mrg.MRG_RandomStreams)


if __name__ == "__main__":
    unittest.main()


class TestSmallNames(unittest.TestCase):
    def test_the_first_back_end_is_not_enabled(self) -> None:
        self.assertFalse(cuda.cuda_available or cuda.cuda_enabled)

    def test_walks(self) -> None:
        x = T.scalar()
        y = (x + 1) * 2
        for bfs in (True, False):
            results = list(walk([y], lambda v: v.owner.inputs if v.owner else None, bfs=bfs))
            self.assertLessEqual({x, y}, set(results))
        tree = {4: [3, 2], 3: [2, 1]}
        self.assertEqual(
            list(walk([4], tree.get, return_children=True)), [(4, [3, 2]), (3, [2, 1]), (2, None), (1, None)]
        )
        self.assertEqual(list(walk([4], tree.get, bfs=False)), [4, 2, 3, 1])
        self.assertEqual(list(walk([4], tree.get, hash_fn=lambda n: n % 2)), [4, 3])

    def test_values_of_types_and_ops(self) -> None:
        self.assertTrue(isinstance(T.matrix().type, theano.compile.ops.expandable_types))
        self.assertIn("float32", SparseType.dtype_set)
        ops: list[Any] = [theano.Op, gof.op.PureOp, T.exp]
        for op in ops:
            self.assertEqual(op._get_test_value(3.0), 3.0)
        for alpha, right in ((0, [0.0, 2.0]), (0.5, [-0.5, 2.0])):
            activated: Any = T.nnet.relu(np.array([-1.0, 2.0]), alpha)
            self.assertEqual((type(activated), activated.tolist()), (np.ndarray, right))
        no: Any = 0
        self.assertIs(theano.function([], [], profile=no).profile, None)
        m = T.dscalar("m")
        stacked: Any = theano.function([m], T.stack([m, T.constant(0)]), mode=theano.Mode(linker="c"))
        self.assertEqual(stacked(2.0).tolist(), [2.0, 0.0])

    def test_parts_of_tensor_modules(self) -> None:
        def sqr(a: Any) -> Any:
            """Square."""

        def neg_inplace(a: Any) -> Any:
            """Negative."""

        square, negative = T.basic._scal_elemwise(sqr), T.basic._scal_elemwise(neg_inplace)
        self.assertEqual((square, square.__doc__, negative.destroy_map), (T.sqr, "Square.", {0: [0]}))
        self.assertEqual(T.basic._scal_elemwise_with_nfunc("square", 1, 1)(sqr).nfunc_spec, ("square", 1, 1))
        x, g = T.row(), T.matrix()
        self.assertEqual(T.subtensor._sum_grad_over_bcasted_dims(x, g).type, x.type)

    def test_old_versions_of_python(self) -> None:
        self.assertEqual((six.b("a"), six.u("a"), six.int2byte(5), six.next(iter([1]))), (b"a", "a", b"\5", 1))
        with self.assertRaises(KeyError):
            six.reraise(KeyError, KeyError("a"))
