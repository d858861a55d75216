"""Results in the memory of operands: requests of a program, and the compiled graph."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
import theano.tensor.inplace as inplace
from theano.tensor.blas import Gemm, gemm_inplace, gemm_no_inplace, gemv_inplace, ger_destructive
from theano.tensor.elemwise import Elemwise
from theano.tensor.subtensor import AdvancedIncSubtensor1, IncSubtensor


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(4).uniform(size=shape)


def shown(f: Any) -> list[str]:
    return [str(node.op) for node in f.maker.fgraph.toposort()]


class TestOpsThatAProgramApplies(unittest.TestCase):
    def check(self, variables: list[Any], result: Any, arrays: list[np.ndarray], expected: np.ndarray) -> None:
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            with self.subTest(op=str(result.owner.op), mode=mode, strides=arrays[0].strides):
                f = theano.function(variables, result, mode=mode, accept_inplace=True)
                operands = [a.copy(order="K") if a.flags.forc else np.array(a)[...] for a in arrays]
                if not arrays[0].flags.forc:
                    operands[0] = np.repeat(arrays[0], 2, axis=0)[::2]
                value = f(*operands)
                np.testing.assert_allclose(value, expected)
                np.testing.assert_allclose(operands[0], expected)

    def test_products(self) -> None:
        z, x, y = T.dmatrices("z", "x", "y")
        v, w, a = T.dvector("v"), T.dvector("w"), T.dscalar("a")
        z0, x0, y0, v0, w0 = numbers(3, 3), numbers(3, 4), numbers(4, 3), numbers(3), numbers(4)
        for start in (z0, np.asfortranarray(z0), np.repeat(z0, 2, axis=0)[::2]):
            expected = 0.5 * start + 0.5 * x0 @ y0
            self.check([z, a, x, y], gemm_inplace(z, a, x, y, a), [start, np.array(0.5), x0, y0], expected)
            outer = start + 2 * np.outer(v0, v0 + 1)
            self.check([z, a, v, w], ger_destructive(z, a, v, w), [start, np.array(2.0), v0, v0 + 1], outer)
        expected = 2 * v0 + 2 * x0 @ w0
        self.check([v, a, x, w], gemv_inplace(v, a, x, w, a), [v0, np.array(2.0), x0, w0], expected)

    def test_elementwise(self) -> None:
        x, y = T.dmatrices("x", "y")
        x0, y0 = numbers(3, 3), numbers(3, 3)
        for start in (x0, x0.T):
            self.check([x, y], inplace.add_inplace(x, y), [start, y0], start + y0)
            self.check([x], inplace.exp_inplace(x), [start], np.exp(start))

    def test_parts(self) -> None:
        x = T.dmatrix("x")
        x0 = numbers(3, 3)
        replaced, added = x0.copy(), x0.copy()
        replaced[0] = 5
        added[[0, 2]] += 1
        self.check([x], T.set_subtensor(x[0], 5.0, inplace=True), [x0], replaced)
        self.check([x], T.inc_subtensor(x[[0, 2]], 1.0, inplace=True), [x0], added)

    def test_storage_of_a_shared_variable(self) -> None:
        s = theano.shared(numbers(2, 2))
        stored, before = s.get_value(borrow=True), s.get_value()
        theano.function([], inplace.sqr_inplace(s), accept_inplace=True)()
        np.testing.assert_allclose(stored, before**2)

    def test_a_factor_cannot_be_overwritten(self) -> None:
        z, x = T.dmatrices("z", "x")
        one = T.constant(1.0, dtype="float64")
        for factors in ((z, x), (x, z), (z.T, x), (x, z[::-1])):
            with self.assertRaises(theano.gof.InconsistencyError) as caught:
                gemm_inplace(z, one, *factors, one)
            self.assertEqual(caught.exception.args[0], Gemm.E_z_uniq)
        gemm_no_inplace(z, one, z, x, one)

    def test_kinds_of_wrong_operands(self) -> None:
        m, v, a = T.dmatrix(), T.dvector(), T.dscalar()
        for operands, kind in (
            ((m, a, v, m, a), Gemm.E_rank),
            ((m, v, m, m, a), Gemm.E_scalar),
            ((m, a, T.fmatrix(), m, a), Gemm.E_mixed),
            ((T.lmatrix(), T.lscalar(), T.lmatrix(), T.lmatrix(), T.lscalar()), Gemm.E_float),
        ):
            with self.assertRaises(TypeError) as caught:
                gemm_no_inplace(*operands)
            self.assertIs(caught.exception.args[0], kind)
            self.assertIn("Gemm takes", str(caught.exception))


class TestWhatGraphsShow(unittest.TestCase):
    def test_forms(self) -> None:
        x, y, v = T.dmatrix("x"), T.dmatrix("y"), T.lvector("v")
        outcome = T.dot(x, y)
        for result, expected in (
            (T.exp(outcome).T + outcome, "Elemwise{Add}[(0, 1)]"),
            (2.0 * x.sum(), "Elemwise{Mul}[(0, 1)]"),
            (T.set_subtensor(T.exp(x)[0], 1.0), "IncSubtensor{InplaceSet;"),
            (T.inc_subtensor(T.exp(x)[v], 1.0), "AdvancedIncSubtensor1{inplace,inc}"),
            (T.exp(x) + outcome, "Gemm{inplace}"),
        ):
            with self.subTest(expected):
                f = theano.function([x, y, v], result, mode="FAST_RUN", on_unused_input="ignore")
                last = f.maker.fgraph.outputs[0].owner
                self.assertTrue(str(last.op).startswith(expected), str(last.op))
                self.assertTrue(last.op.destroy_map, str(last.op))

    def test_a_feature_that_refuses_them(self) -> None:
        x, y = T.dmatrices("x", "y")
        feature = theano.compile.mode.AddFeatureOptimizer(theano.gof.toolbox.NoOutputFromInplace())
        mode = theano.Mode(linker="cvm", optimizer="fast_run").register((feature, 49.9))
        for chosen, overwrites in (("FAST_RUN", True), (mode, False)):
            f = theano.function([x, y], T.tanh(T.dot(x, y)), mode=chosen)
            self.assertEqual(bool(f.maker.fgraph.outputs[0].owner.op.destroy_map), overwrites)
            np.testing.assert_allclose(f(numbers(2, 2), numbers(2, 2)), np.tanh(numbers(2, 2) @ numbers(2, 2)))

    def test_what_belongs_to_others_stays(self) -> None:
        x, y = T.dmatrices("x", "y")
        e = T.exp(x)
        for outputs in ([x + y], [e, e + 1], [e.T, T.dot(e, y), e[0]], [T.set_subtensor(x[0], 1.0)]):
            f = theano.function(
                [x, y], outputs, mode=theano.Mode("cvm", None).including("inplace"), on_unused_input="ignore"
            )
            g = theano.function([x, y], outputs, mode="FAST_RUN", on_unused_input="ignore")
            for fn in (f, g):
                self.assertFalse([node for node in fn.maker.fgraph.toposort() if node.op.destroy_map])
            a, b = numbers(2, 2), numbers(2, 2) + 1
            for one, other in zip(f(a, b), g(a, b), strict=True):
                np.testing.assert_allclose(one, other)

    def test_an_input_that_may_be_changed_is_not_asked_for_by_a_mode_without_in_place_work(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], 2.0 * x.sum(), mode=theano.compile.get_mode("FAST_RUN").excluding("inplace"))
        self.assertEqual(shown(f)[-1], "Elemwise{mul,no_inplace}")

    def test_writes_into_shared_storage(self) -> None:
        s = theano.shared(numbers(3, 3))
        x = T.dmatrix("x")
        for new, form in (
            (T.set_subtensor(s[0], 1.0), IncSubtensor),
            (T.inc_subtensor(s[[0, 2]], 1.0), AdvancedIncSubtensor1),
            (s - 0.5 * T.dot(x, x), Gemm),
        ):
            f = theano.function([x], [], updates=[(s, new)], mode="FAST_RUN", on_unused_input="ignore")
            node = f.maker.fgraph.outputs[0].owner
            self.assertIsInstance(node.op, form)
            self.assertTrue(node.op.inplace)

    def test_copies_and_pickles(self) -> None:
        x = T.dmatrix("x")
        s = theano.shared(numbers(3, 3))
        f = theano.function([x], 2.0 * T.exp(x).sum(), updates=[(s, T.set_subtensor(s[0], x[0]))], mode="FAST_RUN")
        forms = sorted(shown(f))
        a = numbers(3, 3)
        expected = f(a)
        for twin in (f.copy(share_memory=True), f.copy(), pickle.loads(pickle.dumps(f))):
            self.assertEqual(sorted(shown(twin)), forms)
            np.testing.assert_allclose(twin(a), expected)
        self.assertEqual(sorted(shown(f)), forms)
        self.assertTrue(any(isinstance(n.op, Elemwise) and n.op.inplace_pattern for n in f.maker.fgraph.toposort()))


if __name__ == "__main__":
    unittest.main()
