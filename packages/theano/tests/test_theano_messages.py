"""Messages for typical mistakes, in the words of the mistake and of its correction."""

from __future__ import annotations

import itertools
import math
import unittest
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special
import scipy.stats

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.tensor.signal import pool

x, v, s = T.dmatrix("x"), T.dvector("v"), T.dscalar("s")
i, iv = T.iscalar("i"), T.ivector("iv")
w, whole = theano.shared(np.zeros(3, "float32"), name="w"), theano.shared(np.zeros(3, int), name="whole")
weights = theano.shared(np.zeros((4, 5)), name="weights")

#: The mistake -> the error, and texts that the message has.
CASES: dict[str, tuple[Callable[[], Any], type[Exception], tuple[str, ...]]] = {
    "set_value of another dtype": (
        lambda: w.set_value(np.zeros(3)),
        TypeError,
        ("set_value of `w`", "float64 to float32", "w.set_value(numpy.asarray(value, dtype='float32'))"),
    ),
    "set_value of integers": (lambda: whole.set_value(np.zeros(3)), TypeError, ("`whole`", "dtype='int64'")),
    "complex into real": (lambda: w.set_value(np.zeros(3, complex)), TypeError, ("imaginary", "numpy.real(value)")),
    "numpy.linspace of a count": (lambda: np.linspace(0, 1, i), TypeError, ("`i` is symbolic", "T.arange")),
    "numpy.interp": (lambda: np.interp(v, v, v), TypeError, ("numpy.interp has no symbolic form", "x.eval()")),
    "numpy.fft.fft": (lambda: np.fft.fft(v), TypeError, ("numpy.fft.fft", "theano.tensor.fft.rfft")),
    "numpy.random.normal": (
        lambda: np.random.default_rng(0).normal(s),
        TypeError,
        ("`s` is symbolic, so that NumPy", "float64"),
    ),
    "an array of floats": (lambda: np.asarray(v, dtype="float32"), TypeError, ("`v`", "an array of float32")),
    "a ufunc of SciPy": (lambda: scipy.special.airy(x), TypeError, ("scipy.special.airy has no symbolic form",)),
    "logsumexp": (lambda: scipy.special.logsumexp(x), TypeError, ("scipy.special.logsumexp", "T.log(T.sum(T.exp(x)")),
    "softmax": (lambda: scipy.special.softmax(x), TypeError, ("scipy.special.softmax", "T.nnet.softmax")),
    "factorial": (lambda: scipy.special.factorial(s), TypeError, ("scipy.special.factorial", "T.gamma(n + 1)")),
    "toeplitz": (lambda: scipy.linalg.toeplitz(x), TypeError, ("scipy.linalg.toeplitz has no symbolic form",)),
    "comb": (lambda: scipy.special.comb(x, x), TypeError, ("scipy.special.comb", "T.gammaln")),
    "scipy.linalg": (lambda: scipy.linalg.cholesky(x), TypeError, ("scipy.linalg.cholesky", "T.slinalg.cholesky")),
    "scipy.stats": (lambda: scipy.stats.norm.pdf(x), TypeError, ("scipy.stats.rv_continuous.pdf",)),
    "float": (lambda: float(s), TypeError, ("`s` is symbolic", "as a float", "astype('float64')")),
    "int": (lambda: int(i), TypeError, ("`i` is symbolic", "as an int", "astype('int64')")),
    "range": (lambda: range(i), TypeError, ("`i` is symbolic", "T.arange in place of range", "theano.scan")),
    "math.exp": (lambda: math.exp(s), TypeError, ("T.exp, T.sqrt, ... in place of functions of math",)),
    "numpy.zeros of a shape": (lambda: np.zeros(x.shape), TypeError, ("`x`: float64", "T.zeros(x.shape)")),
    "round to digits": (lambda: round(s, 2), TypeError, ("2 digits", "round(x * 10**2) / 10**2")),
    "a format of numbers": (lambda: f"{s:.2f}", TypeError, ("`s` is symbolic", "'.2f'", "theano.printing.Print")),
    "a condition": (lambda: 1 if s > 0 else 2, TypeError, ("has no truth value", "T.switch")),
    "a wrong keyword": (
        lambda: T.exp(x, axis=1),
        TypeError,
        ("no argument `axis`", "signature: exp(x, /, *, name=None)"),
    ),
    "too many operands": (lambda: T.exp(x, x), TypeError, ("exp takes 1 argument, got 2",)),
    "a step of too few arguments": (
        lambda: theano.scan(lambda a: a, sequences=[v], outputs_info=[s]),
        TypeError,
        ("scan passes 2 arguments to the function, which takes (a)", "(v_t, s_tm1)"),
    ),
    "a step without a value": (
        lambda: theano.scan(lambda a: None, sequences=[v]),
        ValueError,
        ("returns no value", "return new_state"),
    ),
    "T.relu": (lambda: getattr(T, "relu"), AttributeError, ("did you mean theano.tensor.nnet.relu?",)),  # noqa: B009
    "T.softmax": (lambda: getattr(T, "softmax"), AttributeError, ("did you mean theano.tensor.nnet.softmax?",)),  # noqa: B009
    "a product that does not fit": (
        lambda: theano.function([x], T.dot(x, weights))(np.zeros((2, 3))),
        ValueError,
        ("`x`: float64", "`weights`: float64", "shape (2, 3)", "shape (4, 5)", "Hint:"),
    ),
}

#: The mistake -> texts of the warning.
WARNINGS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "a shared list": (lambda: theano.shared([1, 2, 3]), ("is no tensor", "shared(numpy.asarray(numbers")),
    "a gradient of a cost of integers": (
        lambda: T.grad((s > 0).astype("int8"), s),
        ("with respect to `s` is zero", "config.warn_integer_gradient=False"),
    ),
    "a gradient of integers": (
        lambda: T.grad((iv**2).sum().astype("float64"), iv),
        ("with respect to `iv` is zero", "config.warn_integer_gradient=False"),
    ),
}


class TestMessages(unittest.TestCase):
    def test_errors(self) -> None:
        for what, (do, kind, texts) in CASES.items():
            with self.subTest(what):
                with self.assertRaises(kind) as raised:
                    do()
                for text in texts:
                    self.assertIn(text, str(raised.exception))

    def test_warnings_point_at_the_line(self) -> None:
        for what, (do, texts) in WARNINGS.items():
            with self.subTest(what), warnings.catch_warnings(record=True) as result:
                warnings.simplefilter("always")
                do()
                self.assertEqual([item.filename for item in result], [__file__])
                for text in texts:
                    self.assertIn(text, str(result[0].message))

    def test_warning_of_integers_can_be_turned_off(self) -> None:
        with warnings.catch_warnings(), theano.config.change_flags(warn_integer_gradient=False):
            warnings.simplefilter("error")
            self.assertEqual(T.grad((iv**2).sum().astype("float64"), iv).ndim, 1)

    def test_what_has_a_symbolic_form(self) -> None:
        results = [np.linspace(0, s, 3), np.linalg.norm(x), scipy.special.erf(x), round(v), math.floor(s)]
        self.assertTrue(all(isinstance(item, T.TensorVariable) for item in results))

    def test_arrays_of_variables_hold_them(self) -> None:
        self.assertIs(np.asarray(x)[()], x)
        pair = np.array([s, s], dtype=object)
        self.assertEqual((pair.shape, pair[0] is s), ((2,), True))


def bad_op(store: Callable[[Any, list[Any]], object]) -> Any:
    class Bad(theano.Op):
        def __str__(self) -> str:
            return "Bad"

        def make_node(self, *inputs: Any) -> theano.Apply:
            return theano.Apply(self, list(inputs), [inputs[0].type()])

        def perform(self, node: theano.Apply, inputs: Any, outputs: Any, params: Any = None) -> None:
            store(inputs[0], outputs)

    return Bad()


def put(value: Callable[[Any], Any]) -> Callable[[Any, list[Any]], object]:
    return lambda argument, outputs: outputs[0].__setitem__(0, value(argument))


class TestWrongPerform(unittest.TestCase):
    """A wrong `perform` is an error in every mode, with the fault."""

    STORES: dict[str, tuple[Callable[[Any, list[Any]], object], str]] = {
        "nothing": (lambda argument, outputs: None, "stored nothing"),
        "the cell": (lambda argument, outputs: outputs.__setitem__(0, [argument + 1]), "replaced the storage cell"),
        "rank": (put(lambda argument: np.zeros((2, 2))), "2 dimensions"),
        "dtype": (put(lambda argument: argument.astype("float32")), "array of float32"),
        "integers": (put(lambda argument: argument.astype("int64")), "array of int64"),
        "text": (put(lambda argument: "text"), "type str"),
        "a list": (put(list), "Python list"),
    }

    def run_in(self, mode: str, store: Callable[[Any, list[Any]], object]) -> None:
        chosen = theano.compile.NanGuardMode() if mode == "NanGuardMode" else mode
        theano.function([v], bad_op(store)(v), mode=chosen)(np.zeros(3))

    def test_messages(self) -> None:
        for (what, (store, text)), mode in itertools.product(
            self.STORES.items(), ("FAST_RUN", "FAST_COMPILE", "NanGuardMode")
        ):
            with self.subTest(what, mode=mode), self.assertRaisesRegex(TypeError, f"Bad: its `perform` .*{text}"):
                self.run_in(mode, store)

    def test_debug_mode_has_words_of_its_own(self) -> None:
        for what, (store, text) in self.STORES.items():
            with self.subTest(what), self.assertRaisesRegex(Exception, f"value does not fit its variable|{text}"):
                self.run_in("DebugMode", store)


class TestWordsOfTheOriginal(unittest.TestCase):
    """Programs look for words in the messages of errors, and catch them by the kinds that they had."""

    def test_words_and_kinds(self) -> None:
        x, m, s, i = T.dvector("x"), T.dmatrix("m"), T.dscalar("s"), T.lscalar("i")
        total = theano.shared(np.ones(3), "total")
        function, both = theano.function, [(total, total + 1), (total, total * 2)]
        add = function([m, x], T.dot(m, x))
        cases: tuple[tuple[type[Exception], str, Callable[[], object]], ...] = (
            (TypeError, "does not support iteration", lambda: list(x)),
            (TypeError, "has no len", lambda: len(x)),
            (TypeError, "Variables do not support boolean operations", lambda: bool(x > 1)),
            (TypeError, "does not support item assignment", lambda: exec("x[0] = 1", {"x": x})),
            (TypeError, "Cannot convert .* to TensorType", lambda: T.as_tensor_variable(object())),
            (TypeError, "cost must be a scalar", lambda: T.grad(x, x)),
            (ValueError, "disconnected", lambda: T.grad(T.sum(x), s)),
            (TypeError, "update target must be a SharedVariable", lambda: function([x], updates=[(x, x)])),
            (ValueError, "already has an update expression", lambda: function([], updates=both)),
            (TypeError, "must have the same type as the original", lambda: function([], updates=[(total, m)])),
            (ValueError, "is used twice in inputs", lambda: function([x, x], x)),
            (ValueError, "not part of the computational graph", lambda: function([x, m], x)),
            (TypeError, "needs numeric values and not symbolic variables", lambda: theano.shared(x)),
            (TypeError, "No suitable SharedVariable", lambda: theano.shared(1, unknown=2)),
            (TypeError, "Bad input argument to theano function", lambda: add("text", "text")),
            (TypeError, "Missing required input", lambda: add(np.ones((2, 3)))),
            (ValueError, "Shape mismatch", lambda: add(np.ones((2, 3)), np.ones(4))),
            (TypeError, "should have identical types", lambda: ifelse(i, x, m)),
            (TypeError, "with the same number of dimensions", lambda: T.join(0, x, m)),
            (ValueError, "same input dimension|may not appear twice", lambda: m.dimshuffle(0, 0)),
            (NotImplementedError, "requires a dimension >= 2", lambda: pool.pool_2d(x, (2, 2))),
            (TypeError, "must have 4 dimensions", lambda: T.nnet.conv2d(m, m)),
            (TypeError, "not the result of|result of a subtensor", lambda: T.inc_subtensor(x, 1)),
            (NotImplementedError, "padding", lambda: pool.pool_2d(m, (2, 2), ignore_border=False, pad=(1, 1))),
        )
        for kind, words, call in cases:
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                call()

    def test_words_of_test_values(self) -> None:
        words = "Cannot compute test value.*missing default value"
        with theano.config.change_flags(compute_test_value="raise"), self.assertRaisesRegex(AttributeError, words):
            T.dvector("x") + 1
