"""Programs in the style of Theano 1.0, in every mode that is delivered."""

from __future__ import annotations

import pickle
from unittest import TestCase

import numpy
import numpy.typing as npt
from theano_cases import MODES, in_each_mode

import theano
import theano.tensor as T
from theano import In, Mode, function, shared

Array = npt.NDArray[numpy.float64]


def softplus(x: Array) -> Array:
    return numpy.logaddexp(0, x)


class TestFirstSteps(TestCase):
    @in_each_mode
    def test_adding_scalars(self, mode: str | Mode) -> None:
        x, y = T.dscalar("x"), T.dscalar("y")
        f = function([x, y], x + y, mode=mode)
        self.assertEqual(float(f(2, 3)), 5.0)
        self.assertTrue(numpy.allclose(f(16.3, 12.1), 28.4))
        self.assertEqual(f(2, 3).dtype, "float64")

    @in_each_mode
    def test_adding_matrices(self, mode: str | Mode) -> None:
        x, y = T.dmatrices("x", "y")
        f = function([x, y], x + y, mode=mode)
        numpy.testing.assert_array_equal(f([[1, 2], [3, 4]], [[10, 20], [30, 40]]), [[11.0, 22.0], [33.0, 44.0]])

    @in_each_mode
    def test_several_outputs(self, mode: str | Mode) -> None:
        a, b = T.dmatrices("a", "b")
        diff = a - b
        f = function([a, b], [diff, abs(diff), diff**2], mode=mode)
        results = f([[1, 1], [1, 1]], [[0, 1], [2, 3]])
        for result, expected in zip(results, ([[1, 0], [-1, -2]], [[1, 0], [1, 2]], [[1, 0], [1, 4]]), strict=True):
            numpy.testing.assert_array_equal(result, expected)

    @in_each_mode
    def test_the_logistic_function_in_two_forms(self, mode: str | Mode) -> None:
        x = T.dmatrix("x")
        value = numpy.array([[0.0, 1.0], [-1.0, -2.0]])
        expected = 1 / (1 + numpy.exp(-value))
        for form in (1 / (1 + T.exp(-x)), (1 + T.tanh(x / 2)) / 2):
            numpy.testing.assert_allclose(function([x], form, mode=mode)(value), expected, rtol=1e-14)

    def test_default_values(self) -> None:
        x, y, w = T.dscalars("x", "y", "w")
        f = function([x, In(y, value=1), In(w, value=2, name="w_by_name")], (x + y) * w)
        calls = [f(33), f(33, 2), f(33, 0, 1), f(33, w_by_name=1), f(33, w_by_name=1, y=0)]
        self.assertEqual([float(result) for result in calls], [68.0, 70.0, 33.0, 34.0, 33.0])

    def test_eval_of_an_expression(self) -> None:
        x = T.dscalar("x")
        self.assertEqual(float((x * 2).eval({x: 3.5})), 7.0)

    @in_each_mode
    def test_the_derivative_of_a_square(self, mode: str | Mode) -> None:
        x = T.dscalar("x")
        f = function([x], T.grad(x**2, x), mode=mode)
        self.assertEqual([float(f(4)), float(f(94.2))], [8.0, 188.4])

    @in_each_mode
    def test_the_derivative_of_the_logistic_function(self, mode: str | Mode) -> None:
        x = T.dmatrix("x")
        gradient = function([x], T.grad(T.sum(1 / (1 + T.exp(-x))), x), mode=mode)
        value = numpy.array([[0.0, 1.0], [-1.0, -2.0]])
        s = 1 / (1 + numpy.exp(-value))
        numpy.testing.assert_allclose(gradient(value), s * (1 - s), rtol=1e-13)


class TestState(TestCase):
    @in_each_mode
    def test_an_accumulator(self, mode: str | Mode) -> None:
        state, inc = shared(0, name="state"), T.iscalar("inc")
        accumulate = function([inc], state, updates=[(state, state + inc)], mode=mode)
        decrement = function([inc], state, updates=[(state, state - inc)], mode=mode)
        self.assertEqual([int(accumulate(1)), int(accumulate(300))], [0, 1])
        self.assertEqual(int(state.get_value()), 301)
        state.set_value(-1)
        self.assertEqual(int(accumulate(3)), -1)
        self.assertEqual(int(decrement(2)), 2)
        self.assertEqual(int(state.get_value()), 0)

    @in_each_mode
    def test_givens_replace_a_shared_variable_for_one_function(self, mode: str | Mode) -> None:
        state, inc = shared(10, name="state"), T.lscalar("inc")
        foo = T.scalar("foo", dtype=state.dtype)
        skip = function([inc, foo], state * 2 + inc, givens=[(state, foo)], mode=mode)
        self.assertEqual(int(skip(1, 3)), 7)
        self.assertEqual(int(state.get_value()), 10)

    @in_each_mode
    def test_updates_see_the_values_before_the_call(self, mode: str | Mode) -> None:
        a, b = shared(1.0, name="a"), shared(2.0, name="b")
        swap = function([], [a, b], updates=[(a, b), (b, a)], mode=mode)
        self.assertEqual([float(value) for value in swap()], [1.0, 2.0])
        self.assertEqual((float(a.get_value()), float(b.get_value())), (2.0, 1.0))
        swap()
        self.assertEqual((float(a.get_value()), float(b.get_value())), (1.0, 2.0))

    def test_a_copy_with_another_state_and_a_copy_without_updates(self) -> None:
        state, other, inc = shared(10, name="state"), shared(0, name="other"), T.iscalar("inc")
        accumulate = function([inc], state, updates=[(state, state + inc)])
        on_other = accumulate.copy(swap={state: other})
        without = accumulate.copy(delete_updates=True)
        on_other(100)
        self.assertEqual((int(other.get_value()), int(state.get_value())), (100, 10))
        without(100)
        self.assertEqual(int(state.get_value()), 10)
        accumulate(10)
        self.assertEqual((int(other.get_value()), int(state.get_value())), (100, 20))

    def test_what_comes_in_and_out_is_not_shared_with_the_state(self) -> None:
        start = numpy.zeros(3)
        state = shared(start, name="state")
        step = function([], state, updates=[(state, state + 1)])
        start[:] = 7
        out = step()
        numpy.testing.assert_array_equal(out, [0, 0, 0])
        out[:] = 9
        state.get_value()[:] = 5
        numpy.testing.assert_array_equal(state.get_value(), [1, 1, 1])

    def test_outputs_of_two_calls_are_two_arrays(self) -> None:
        x = T.dvector("x")
        f = function([x], x * 2)
        first = f([1, 2])
        f([5, 6])
        numpy.testing.assert_array_equal(first, [2, 4])

    def test_a_pickled_function_brings_its_state_along(self) -> None:
        x, w = T.dvector("x"), shared(numpy.arange(3.0), name="w")
        f = function([x], (x * w).sum(), updates=[(w, w + 1)])
        again = pickle.loads(pickle.dumps(f))
        self.assertEqual([float(again([1, 1, 1])), float(again([1, 1, 1]))], [3.0, 6.0])
        numpy.testing.assert_array_equal(w.get_value(), [0, 1, 2])


class TestLogisticRegression(TestCase):
    """The tutorial's program, against the same steps by hand in stable form."""

    examples, features, steps = 60, 20, 15

    def setUp(self) -> None:
        rng = numpy.random.RandomState(3)
        # Weights so wide that some probabilities are exactly 0 or 1 at the start, where log(1 - p_1) is not finite
        # as it stands.
        self.inputs = rng.randn(self.examples, self.features) * 6
        self.targets = rng.randint(size=self.examples, low=0, high=2).astype("float64")
        self.start = rng.randn(self.features) * 4
        probabilities = 1 / (1 + numpy.exp(-self.inputs @ self.start))
        self.assertTrue(((probabilities == 1) & (self.targets == 1)).any())

    def by_hand(self) -> tuple[Array, float, Array]:
        w, b, xent = self.start.copy(), 0.0, numpy.zeros(0)
        for _ in range(self.steps):
            score = self.inputs @ w + b
            xent = self.targets * softplus(-score) + (1 - self.targets) * softplus(score)
            residual = (1 / (1 + numpy.exp(-score)) - self.targets) / self.examples
            w, b = w - 0.1 * (self.inputs.T @ residual + 0.02 * w), b - 0.1 * residual.sum()
        return w, b, xent

    def test_training_stays_finite_and_right(self) -> None:
        for mode in ("FAST_RUN", Mode(linker="py")):
            with self.subTest(mode=str(mode)):
                self.train(mode)

    def train(self, mode: str | Mode) -> None:
        x, y = T.dmatrix("x"), T.dvector("y")
        w, b = shared(self.start, name="w"), shared(0.0, name="b")
        p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
        prediction = p_1 > 0.5
        xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
        cost = xent.mean() + 0.01 * (w**2).sum()
        gw, gb = T.grad(cost, [w, b])
        train = function(
            inputs=[x, y],
            outputs=[prediction, xent],
            updates=((w, w - 0.1 * gw), (b, b - 0.1 * gb)),
            mode=mode,
        )
        predict = function(inputs=[x], outputs=prediction, mode=mode)
        for _ in range(self.steps):
            predicted, losses = train(self.inputs, self.targets)
        w_expected, b_expected, xent_expected = self.by_hand()
        numpy.testing.assert_allclose(losses, xent_expected, rtol=1e-9, atol=1e-12)
        numpy.testing.assert_allclose(w.get_value(), w_expected, rtol=1e-10)
        numpy.testing.assert_allclose(b.get_value(), b_expected, rtol=1e-10)
        self.assertEqual(predicted.shape, (self.examples,))
        expected = self.inputs @ w_expected + b_expected > 0
        numpy.testing.assert_array_equal(predict(self.inputs).astype(bool), expected)


class TestModesAgree(TestCase):
    def test_on_a_small_network(self) -> None:
        rng = numpy.random.RandomState(0)
        x, target = T.dmatrix("x"), T.dmatrix("target")
        weights = [shared(rng.randn(*shape), name=name) for name, shape in (("v", (5, 7)), ("u", (7, 3)))]
        hidden = T.tanh(T.dot(x, weights[0]))
        cost = T.sqr(T.nnet.softmax(T.dot(hidden, weights[1])) - target).sum(axis=1).mean()
        gradients = T.grad(cost, weights)
        values = rng.randn(11, 5), rng.rand(11, 3)
        results = [function([x, target], [cost, *gradients], mode=mode)(*values) for mode in MODES]
        for result in results[1:]:
            for one, other in zip(result, results[0], strict=True):
                numpy.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


class TestPrinting(TestCase):
    def test_debugprint_of_an_expression(self) -> None:
        x, y = T.dscalars("x", "y")
        text = theano.printing.debugprint(T.exp(x + y) * y, file="str")
        self.assertEqual(
            text,
            "Elemwise{mul,no_inplace} [id A] ''   \n"
            " |Elemwise{exp,no_inplace} [id B] ''   \n"
            " | |Elemwise{add,no_inplace} [id C] ''   \n"
            " |   |x [id D]\n"
            " |   |y [id E]\n"
            " |y [id E]\n",
        )

    def test_debugprint_of_a_function_names_its_inputs(self) -> None:
        x = T.dvector("the_input")
        text = theano.printing.debugprint(function([x], T.tanh(x)), file="str")
        self.assertRegex(str(text), r"(?s)Elemwise\{.*tanh.*\} .*\|the_input \[id \w\]")
