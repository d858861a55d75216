"""Calls of jitted functions: the short way, static values, classes and leaks."""

from __future__ import annotations

import unittest
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import theano
import theano.tensor as T
from theano.functional import Jitted, LeakError, grad, hessian, jacobian, jvp, vjp
from theano.functional._jit import MEMO


class Point(NamedTuple):
    """A container."""

    x: Any
    y: Any


@dataclass
class Scaled:
    """A container with a static field."""

    w: Any
    n: Any = field(default=3, metadata={"static": True})


class Held:
    """An object with a jitted method, and subclasses."""

    factor = 2.0

    @theano.jit
    def times(self, x: Any) -> Any:
        """Return a product."""
        return self.factor * x


class HeldMore(Held):
    """Its method uses that of the class above."""

    factor = 3.0

    def times(self, x: Any) -> Any:
        """Return a product and one."""
        return super().times(x) + 1


def parameters(x: Any, /, y: Any = 1, *more: Any, z: Any = 2, **others: Any) -> Any:
    """Have parameters of all kinds."""
    return x + 10 * y + 100 * z + sum(more) + 1000 * others.get("x", 0) + sum(others.values())


CAPTURED = 2.0


def captured(x: Any) -> Any:
    """Read a global variable."""
    return CAPTURED * x**2


class TestShortWay(unittest.TestCase):
    """The second call of a kind does not take the general way."""

    def check(self, f: Jitted, *args: Any, **kwargs: Any) -> None:
        first = f(*args, **kwargs)
        with mock.patch.object(Jitted, "_call", side_effect=AssertionError("the general way")):
            f.__call__.__globals__["_jit_otherwise"] = None
            second = f(*args, **kwargs)
        for x, y in zip(theano.functional.flatten(first)[0], theano.functional.flatten(second)[0], strict=True):
            np.testing.assert_array_equal(x, y)

    def test_keywords_defaults_and_parameters_of_all_kinds(self) -> None:
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            ((1.0,), {}),
            ((1.0, 2.0), {}),
            ((1.0,), {"y": 2.0}),
            ((1.0, 2.0, 3.0, 4.0), {"z": 5.0}),
            ((1.0,), {"b": 3.0, "x": 2.0}),
        ]
        for args, kwargs in calls:
            f = theano.jit(parameters)
            self.check(f, *args, **kwargs)
            self.assertEqual(f(*args, **kwargs), parameters(*args, **kwargs))
            for others, names in calls:  # from the check of one call to others
                f.__call__.__globals__["_jit_otherwise"] = f._call
                self.assertEqual(f(*others, **names), parameters(*others, **names))

    def test_static_values(self) -> None:
        for how in ("exp", T.exp, 2, None, True, np.exp, (1, 2), Held()):
            self.check_static(how)

    def check_static(self, how: Any) -> None:
        f = theano.jit(lambda x, how: x, static_argnames="how")
        if isinstance(how, tuple):
            self.assertEqual((f(1.0, how), f(1.0, how=how)), (1, 1))
            return
        self.check(f, np.ones(2), how)
        self.check(theano.jit(lambda x, how: x, static_argnames="how"), np.ones(2), how=how)

    def test_containers(self) -> None:
        self.check(theano.jit(lambda p: p), {"a": Point(np.ones(2), 1.0), "b": [Scaled(np.float32(2)), (None, 3)]})
        f = theano.jit(lambda s: s.w * s.n)
        self.check(f, Scaled(np.ones(2), 3))
        f.clear()
        self.assertEqual([float(f(Scaled(2.0, n))) for n in (3, 4, 3)], [6, 8, 6])

    def test_wrong_calls_are_those_of_the_function(self) -> None:
        f = theano.jit(lambda x, y: x + y)
        f(1.0, 2.0)
        for args, kwargs, message in (
            ((1.0,), {}, "missing 1 required positional argument: 'y'"),
            ((1.0, 2.0, 3.0), {}, "takes 2 positional arguments but 3"),
            ((1.0, 2.0), {"z": 1.0}, "unexpected keyword argument 'z'"),
        ):
            with self.assertRaisesRegex(TypeError, message):
                f(*args, **kwargs)

    def test_names_of_parameters_are_those_of_the_user(self) -> None:
        f = theano.jit(lambda ndarray, program, call, args, self, _jit_1=3.0: ndarray + program + call + args + _jit_1)
        self.assertEqual([float(f(1.0, 2.0, 3.0, 4.0, 5.0)) for _ in range(2)], [13, 13])

    def test_bound_methods_that_are_kept(self) -> None:
        method = Held().times
        self.assertEqual([float(method(2.0)) for _ in range(2)], [4, 4])
        self.assertIn("<theano.jit>", method.__func__.__call__.__code__.co_filename)


class TestStaticKinds(unittest.TestCase):
    def test_values_that_are_equal_to_python(self) -> None:
        x = np.ones(1, "float32")
        f = theano.jit(lambda x, n: x * n[0], static_argnames="n")
        self.assertEqual([str(f(x, (n,)).dtype) for n in (1, 1.0, True, np.float64(1))], [*["float32"] * 3, "float64"])
        g = theano.jit(lambda s: s.w * s.n)
        self.assertEqual([str(g(Scaled(x, n)).dtype) for n in (1, np.float64(1))], ["float32", "float64"])
        h = theano.jit(lambda x, n: T.constant(np.copysign(1.0, n)) * x, static_argnames="n")
        self.assertEqual([float(h(1.0, n)) for n in (0.0, -0.0, 0.0)], [1, -1, 1])

    def test_objects_that_change(self) -> None:
        class Factor:
            def __init__(self, by: float) -> None:
                self.by = by

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Factor) and self.by == other.by

            def __hash__(self) -> int:
                return hash(self.by)

        f = theano.jit(lambda a, x: a.by * x, static_argnames="a")
        factor = Factor(2.0)
        self.assertEqual([float(f(factor, 1.0)) for _ in range(2)], [2, 2])
        factor.by = 3.0
        self.assertEqual(float(f(factor, 1.0)), 3)

    def test_static_fields_need_a_hash(self) -> None:
        with self.assertRaisesRegex(ValueError, "static field of Scaled has no hash"):
            theano.jit(lambda s: s.w)(Scaled(1.0, [1]))


class TestClasses(unittest.TestCase):
    def test_calls_by_way_of_the_class(self) -> None:
        self.assertEqual((float(Held.times(Held(), 2.0)), float(HeldMore().times(2.0))), (4, 7))
        self.assertEqual(float(HeldMore.times(HeldMore(), 2.0)), 7)


class TestRefusals(unittest.TestCase):
    def test_leaked_arguments(self) -> None:
        leaked: list[Any] = []
        theano.jit(lambda x: leaked.append(3 * x) or x)(1.0)  # type: ignore[func-returns-value]  # it returns None
        with self.assertRaisesRegex(LeakError, "symbolic argument `x` of a call of <lambda>"):
            theano.jit(lambda z: leaked[0] + z)(1.0)

    def test_dtypes_that_are_not_known(self) -> None:
        for dtype in ("longdouble", "clongdouble", "datetime64[D]", "S3"):
            with self.assertRaisesRegex(TypeError, "argument `x` is an array of"):
                theano.jit(lambda x: x)(np.zeros(2, dtype))


class TestKeptDerivatives(unittest.TestCase):
    def tearDown(self) -> None:
        MEMO.clear()

    def test_functions_that_read_the_same(self) -> None:
        def of(k: Any) -> Any:
            return lambda x: k * x**2

        self.assertIs(grad(captured), grad(captured))
        self.assertIs(grad(of(2)), grad(of(2)))
        self.assertIsNot(grad(of(2)), grad(of(2.0)))
        self.assertIsNot(grad(captured), grad(captured, has_aux=True))
        self.assertIsNot(jacobian(captured), jacobian(grad(captured)))
        array = np.ones(2)
        self.assertIsNot(grad(of(array)), grad(of(array)))
        self.assertEqual((float(grad(of(2))(1.0)), float(grad(of(3))(1.0))), (4, 6))

    def test_globals_that_change(self) -> None:
        self.assertEqual(float(grad(captured)(1.0)), 4)
        with mock.patch(f"{__name__}.CAPTURED", 3.0):
            self.assertEqual(float(grad(captured)(1.0)), 6)

    def test_functions_that_are_exchanged(self) -> None:
        def of(k: int) -> Any:
            return lambda x: k * x

        def difference(a: Any, b: Any) -> Any:
            return grad(lambda x: a(x) - b(x))

        self.assertEqual([float(difference(*pair)(1.0)) for pair in ((of(2), of(3)), (of(3), of(2)))], [-1, 1])

    def test_one_call_compiles_once(self) -> None:
        def work() -> None:
            jvp(captured, (2.0,), (1.0,))
            vjp(captured, 2.0)[1](1.0)
            hessian(lambda x: captured(x))(2.0)

        work()
        with mock.patch("theano.functional._jit.lower", side_effect=AssertionError("compiled again")):
            work()

    def test_their_number_is_bounded(self) -> None:
        def of(k: int) -> Any:
            return lambda x: k * x

        for k in range(300):
            grad(of(k))
        self.assertLessEqual(len(MEMO._jitted), 256)
