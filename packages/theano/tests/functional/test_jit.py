"""`theano.jit`: values, structures, kinds of arguments, methods, threads, errors, and compiled functions."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import unittest
import warnings
import weakref
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import theano
import theano.tensor as T
from theano.functional import flatten
from theano.tensor.shared_randomstreams import RandomStreams
from theano_testing.tiers import slow


class Pair:
    """A container that is registered."""

    def __init__(self, children: Any) -> None:
        self.first, self.second = children


@theano.functional.parts.register
def _(pair: Pair) -> theano.functional.Parts:
    return theano.functional.Parts((pair.first, pair.second), Pair)


class Layer(NamedTuple):
    """A container of two arrays."""

    weights: Any
    bias: Any


@dataclass(frozen=True)
class Model:
    """A container with a field that is none of the program's values."""

    layers: list[Layer]
    scale: float
    kind: str = field(default="tanh", metadata={"static": True})

    @theano.jit
    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = getattr(T, self.kind)(x @ layer.weights + layer.bias)
        return self.scale * x


class Counted:
    """A function that counts how often it is called in Python."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return sum(args) + sum(kwargs.values())


class Shift:
    """An object that is no container, with a jitted method."""

    def __init__(self, by: float) -> None:
        self.by = by
        self.calls = 0

    @theano.jit
    def moved(self, x: Any, times: Any = 1) -> Any:
        """Return x, moved."""
        self.calls += 1
        return x + self.by * times


class TestValues(unittest.TestCase):
    def test_arrays_of_all_dtypes(self) -> None:
        f = theano.jit(lambda x: x + x)
        for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"):
            for shape in ((), (3,), (2, 0), (2, 1, 3)):
                x = np.ones(shape, dtype)
                result = f(x)
                self.assertEqual((result.dtype, result.shape), (x.dtype, x.shape))
                np.testing.assert_array_equal(result, x + x)

    def test_one_program_serves_all_lengths(self) -> None:
        counted = Counted()
        f = theano.jit(counted)
        for shape in ((3, 4), (5, 4), (0, 0)):
            np.testing.assert_array_equal(f(np.ones(shape), np.ones(shape)), np.full(shape, 2.0))
        self.assertEqual(counted.calls, 1)
        f(np.ones(3), np.ones(3))
        self.assertEqual(counted.calls, 2)
        for _ in range(3):  # kinds by turns
            f(np.ones(3), np.ones(3))
            f(np.ones((3, 2)), np.ones((3, 2)))
        self.assertEqual(counted.calls, 2)

    def test_lengths_are_checked_when_it_runs(self) -> None:
        f = theano.jit(lambda x, y: x + y)
        f(np.ones(3), np.ones(3))
        with self.assertRaises(ValueError):
            f(np.ones(3), np.ones(4))

    def test_length_one_broadcasts_as_in_numpy(self) -> None:
        counted = Counted()
        f = theano.jit(counted)
        x, y = np.arange(3.0).reshape(3, 1), np.arange(4.0).reshape(1, 4)
        for _ in range(2):
            np.testing.assert_array_equal(f(np.ones((3, 4)), np.ones((3, 4))), np.full((3, 4), 2.0))
            np.testing.assert_array_equal(f(x, y), x + y)
            np.testing.assert_array_equal(f(x, np.ones((3, 4))), x + np.ones((3, 4)))
        self.assertEqual(counted.calls, 3)

    def test_numbers_of_python(self) -> None:
        dtypes = {True: "bool", 3: "int64", 2.5: theano.config.floatX, 1j: "complex128"}
        f = theano.jit(lambda x: x)
        for number, dtype in dtypes.items():
            result = f(number)
            self.assertEqual((str(result.dtype), result.shape), (dtype, ()))
            self.assertEqual(result, number)
        self.assertEqual(theano.jit(lambda n: n * n)(1000), 10**6)
        self.assertEqual(theano.jit(lambda n: n * 100)(5), 500)

    def test_scalars_of_numpy_are_arrays(self) -> None:
        counted = Counted()
        f = theano.jit(counted)
        self.assertEqual(f(np.float32(1.5)).dtype, "float32")
        self.assertEqual(f(np.array(2.5, "float32")), 2.5)
        self.assertEqual(counted.calls, 1)

    def test_functions_of_numpy(self) -> None:
        @theano.jit
        def softmax(x: Any) -> Any:
            e = np.exp(x - np.max(x, axis=-1, keepdims=True))
            return np.concatenate([e / e.sum(-1, keepdims=True), np.tanh(x) @ x.T], axis=1)

        x = np.random.default_rng(0).normal(size=(4, 4))
        e = np.exp(x - x.max(-1, keepdims=True))
        expected = np.concatenate([e / e.sum(-1, keepdims=True), np.tanh(x) @ x.T], axis=1)
        np.testing.assert_allclose(softmax(x), expected)

    def test_no_arguments_and_no_results(self) -> None:
        self.assertEqual(theano.jit(lambda: T.constant(2.0) * 3)(), 6)
        self.assertIsNone(theano.jit(lambda x: None)(1.0))
        self.assertEqual(theano.jit(lambda x: ())(np.ones(2)), ())

    def test_results_that_are_not_symbolic(self) -> None:
        table = np.arange(3)
        f = theano.jit(lambda x: {"name": "f", "n": 3, "table": table, "x": x})
        first, second = f(1.0), f(1.0)
        self.assertEqual((first["name"], first["n"]), ("f", 3))
        first["table"][0] = 7
        self.assertEqual((second["table"].tolist(), table.tolist()), ([0, 1, 2], [0, 1, 2]))

    def test_arrays_of_other_byte_order_and_strides(self) -> None:
        f = theano.jit(lambda x: x * 2)
        np.testing.assert_array_equal(f(np.arange(6.0).astype(">f8")), np.arange(6.0) * 2)
        np.testing.assert_array_equal(f(np.arange(6.0)[::-2]), np.arange(6.0)[::-2] * 2)

    def test_results_do_not_share_memory_with_arguments(self) -> None:
        x = np.ones(3)
        same = theano.jit(lambda x: (x, x[1:]))(x)
        self.assertFalse(any(np.shares_memory(x, y) for y in same))

    def test_errors_of_a_call_are_not_hidden(self) -> None:
        @theano.compile.ops.as_op([T.dvector], [T.dvector])
        def failing(x: Any) -> Any:
            raise AttributeError("on purpose")

        f = theano.jit(lambda x: failing(x))
        for _ in range(2):
            with self.assertRaisesRegex(AttributeError, "on purpose"):
                f(np.ones(2))


class TestArguments(unittest.TestCase):
    def test_position_keyword_and_default(self) -> None:
        counted = Counted()

        @theano.jit
        def f(x: Any, y: Any = 2, *remainder: Any, z: Any = 0.5, **others: Any) -> Any:
            counted.calls += 1
            return [x, y, *remainder, z, *others.values()]

        def numbers(*args: Any, **kwargs: Any) -> list[float]:
            return [float(value) for value in f(*args, **kwargs)]

        self.assertEqual(numbers(1.0), [1, 2, 0.5])
        self.assertEqual(numbers(1.0, 3.0), [1, 3, 0.5])
        self.assertEqual(numbers(y=3.0, x=1.0), [1, 3, 0.5])
        self.assertEqual(numbers(x=1.0, y=3.0), [1, 3, 0.5])
        self.assertEqual(counted.calls, 2)
        self.assertEqual(numbers(1.0, 3.0, 4.0, 5.0, z=6.0, b=8.0, a=7.0), [1, 3, 4, 5, 6, 7, 8])

    def test_wrong_calls_are_told_of_as_python_does(self) -> None:
        f = theano.jit(lambda x, /, y=1: x)
        for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((), {"x": 1}), ((1, 2), {"y": 1})):
            with self.assertRaises(TypeError):
                f(*args, **kwargs)

    def test_a_default_is_seen_as_it_is(self) -> None:
        @theano.jit
        def power(x: Any, n: int = 3, how: str = "product") -> Any:
            assert how == "product"
            result = x
            for _ in range(n - 1):
                result = result * x
            return result

        self.assertEqual(power(2.0), 8)

    def test_static_arguments(self) -> None:
        counted = Counted()

        @theano.jit(static_argnames=("n", "function"))
        def f(x: Any, n: int, function: Any = T.exp) -> Any:
            counted.calls += 1
            for _ in range(n):
                x = function(x)
            return x

        for _ in range(2):
            np.testing.assert_allclose(f(np.zeros(2), 2), np.exp(np.ones(2)))
            np.testing.assert_allclose(f(np.zeros(2), n=1, function=T.cos), np.ones(2))
        self.assertEqual(counted.calls, 2)
        self.assertEqual(f.static_argnames, {"n", "function"})
        theano.jit(lambda *args: args[1], static_argnames="args")("text", 2)

    def test_static_values_that_are_equal_have_programs_of_their_own(self) -> None:
        f = theano.jit(lambda x, n: x * n, static_argnames="n")
        x = np.ones(1, "float32")
        self.assertEqual([f(x, n).dtype for n in (1, 1.0, True, np.float64(1))], ["float32"] * 3 + ["float64"])

    def test_other_objects_are_refused(self) -> None:
        f = theano.jit(lambda params, x: x)
        cases: list[tuple[Any, str]] = [
            ("text", "argument `params` is a value of type str.*(?s:.)*static_argnames='params'"),
            ({"name": "text"}, r"argument `params\['name'\]` is a value of type str"),
            ([np.ones(1), Layer(1.0, abs)], r"argument `params\[1\]\.bias` is a value of type builtin_function"),
            (np.array(["a"]), "argument `params` is an array of <U1"),
            ([np.array([None])], r"argument `params\[0\]` is an array of object"),
        ]
        for value, message in cases:
            with self.assertRaisesRegex(TypeError, message):
                f(value, 1.0)

    def test_static_values_need_a_hash(self) -> None:
        with self.assertRaisesRegex(TypeError, "static argument `x` has no hash"):
            theano.jit(lambda x: x, static_argnames="x")([1])

    def test_names_that_are_no_parameters(self) -> None:
        for option in ({"static_argnames": "y"}, {"donate": ["x", "y"]}):
            with self.assertRaisesRegex(TypeError, "no parameter 'y'"):
                theano.jit(lambda x: x, **option)

    def test_decorated_functions_keep_their_names(self) -> None:
        self.assertEqual((Shift.moved.__name__, Shift.moved.__doc__), ("moved", "Return x, moved."))
        self.assertIn("Shift.moved", repr(Shift.moved))

    def test_pickles_and_copies_are_those_of_a_function(self) -> None:
        self.assertIs(pickle.loads(pickle.dumps(Shift.moved)), Shift.moved)
        self.assertIs(copy.deepcopy([Shift.moved])[0], Shift.moved)

    def test_exceptions_of_the_function_leave_no_trace(self) -> None:
        @theano.jit
        def f(x: Any) -> Any:
            if x.ndim:
                raise KeyError("vectors")
            return x

        with self.assertRaises(KeyError):
            f(np.ones(2))
        self.assertEqual(f(1.0), 1)
        self.assertTrue(T.dscalar("x"))


class TestStructures(unittest.TestCase):
    def test_containers_go_in_and_come_out(self) -> None:
        value = {
            "a": [np.ones(2), (2.0, None)],
            "b": OrderedDict(x=Layer(np.zeros((1, 2)), 3)),
            "c": defaultdict(float, z=1.5),
            "d": Model([Layer(1.0, 2.0)], 3.0, "sin"),
            "e": (),
        }
        result = theano.jit(lambda value: value)(value)
        leaves, structure = theano.functional.flatten(value)
        same, again = theano.functional.flatten(result)
        self.assertEqual(structure, again)
        for x, y in zip(leaves, same, strict=True):
            np.testing.assert_array_equal(x, y)
        self.assertIs(result["c"].default_factory, float)
        self.assertEqual((type(result["b"]), result["d"].kind), (OrderedDict, "sin"))

    def test_methods_of_containers(self) -> None:
        model = Model([Layer(np.ones((2, 3)), np.ones(3)), Layer(np.ones((3, 1)), np.zeros(1))], 2.0)
        x = np.random.default_rng(0).normal(size=(5, 2))
        expected = 2 * np.tanh(np.tanh(x @ np.ones((2, 3)) + 1) @ np.ones((3, 1)))
        np.testing.assert_allclose(model(x), expected)
        np.testing.assert_allclose(Model(model.layers, 4.0)(x), 2 * expected)
        self.assertEqual(Model([], 1.0, "exp")(x).shape, x.shape)

    def test_containers_of_users(self) -> None:
        result = theano.jit(lambda pair: Pair([pair.second, pair.first]))(Pair([1.0, np.ones(2)]))
        self.assertEqual((result.first.tolist(), result.second), ([1, 1], 1))

    def test_wrong_numbers_of_leaves(self) -> None:
        _, structure = theano.functional.flatten([1, 2])
        for leaves in ([1], [1, 2, 3]):
            with self.assertRaises(theano.functional.StructureError):
                theano.functional.unflatten(structure, leaves)


class TestMethods(unittest.TestCase):
    def test_an_object_is_static_by_identity(self) -> None:
        one, two = Shift(1.0), Shift(2.0)
        for _ in range(2):
            self.assertEqual((one.moved(1.0), two.moved(1.0), one.moved(1.0, times=3.0)), (2, 3, 4))
        self.assertEqual((one.calls, two.calls), (2, 1))
        self.assertEqual(len(one.moved.lower(1.0).inputs), 1)

    def test_programs_of_an_object_go_with_it(self) -> None:
        one = Shift(1.0)
        one.moved(1.0)
        alive = weakref.ref(one)
        del one
        gc.collect()
        self.assertIsNone(alive())
        self.assertEqual(Shift(1.0).moved(1.0), 2)

    def test_static_methods_and_slots(self) -> None:
        class Holder:
            __slots__ = ("x",)
            x: float

            @staticmethod
            @theano.jit
            def twice(x: Any) -> Any:
                return 2 * x

            @theano.jit
            def plus(self, x: Any) -> Any:
                return x + self.x

        holder = Holder()
        holder.x = 1.0
        self.assertEqual((holder.twice(2.0), holder.plus(2.0)), (4, 3))


class TestGraphs(unittest.TestCase):
    def test_symbolic_arguments_are_inlined(self) -> None:
        f = theano.jit(lambda x, y: x * y)
        x = T.dvector("x")
        y = f(x, np.arange(3.0))
        self.assertIsInstance(y, T.TensorVariable)
        self.assertEqual(y.eval({x: np.ones(3)}).tolist(), [0, 1, 2])
        self.assertEqual(f({"a": x}["a"], y=2).eval({x: np.ones(1)}).tolist(), [2])

    def test_nested_functions(self) -> None:
        counted = Counted()
        inner = theano.jit(counted)
        outer = theano.jit(lambda x: inner(x, x) + inner(1.0, 2.0))
        self.assertEqual(outer(4.0), 11)
        self.assertEqual(outer(5.0), 13)
        self.assertEqual(counted.calls, 2)

    def test_variables_of_the_program_around_it(self) -> None:
        x = T.dscalar("x")
        y = theano.jit(lambda n: x * n)(2.0)
        self.assertEqual(y.eval({x: 3.0}), 6)

    def test_shared_variables_and_default_updates(self) -> None:
        state = theano.shared(1.0)
        f = theano.jit(lambda x: x + state)
        self.assertEqual(f(1.0), 2)
        state.set_value(5.0)
        self.assertEqual(f(1.0), 6)
        streams = RandomStreams(3)
        noise = theano.jit(lambda x: x + streams.normal((4,)))
        self.assertFalse(np.array_equal(noise(np.zeros(4)), noise(np.zeros(4))))

    def test_updates_of_loops_are_stored(self) -> None:
        streams = RandomStreams(3)

        def walk(x: Any, n: Any) -> Any:
            steps, _ = theano.scan(lambda y: y + streams.normal(()), outputs_info=x, n_steps=n)
            return steps[-1]

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f = theano.jit(walk)
            draws = [float(f(0.0, 3)) for _ in range(4)]
            self.assertEqual(len(set(draws)), 4)
            slopes = theano.grad(walk)
            self.assertEqual([float(slopes(0.0, 3)) for _ in range(2)], [1, 1])
            state = theano.shared(0.0)
            count = theano.jit(lambda n: theano.scan(lambda: ([], {state: state + 1}), n_steps=n)[0])
            count(5)
            self.assertEqual(state.get_value(), 5)

    def test_lower(self) -> None:
        f = theano.jit(lambda p, n: {"y": p["w"] * n, "z": 1}, static_argnames="n")
        lowered = f.lower({"w": np.ones(2)}, 3)
        self.assertEqual(([x.name for x in lowered.inputs], len(lowered.outputs)), (["p['w']"], 1))
        self.assertIn("mul", str(lowered))
        compiled = lowered.compile()
        self.assertIsInstance(compiled, theano.Function)
        self.assertEqual(compiled(np.ones(2))[0].tolist(), [3, 3])
        with self.assertRaisesRegex(TypeError, "symbolic"):
            f.lower({"w": T.dvector()}, 3)

    def test_donate(self) -> None:
        f = theano.jit(lambda state, x: T.inc_subtensor(state["a"][0], x), donate="state")
        a = np.zeros(1000)
        result = f({"a": a}, 1.0)
        self.assertEqual(result[0], 1)
        self.assertTrue(np.shares_memory(result, a))
        self.assertTrue(all(x.mutable for x in f.lower({"a": a}, 1.0).compile().maker.inputs[:1]))
        x = np.zeros(1000)
        theano.jit(lambda x: T.inc_subtensor(x[0], 1.0))(x)
        self.assertEqual(x[0], 0)

    def test_clear_and_mode(self) -> None:
        counted = Counted()
        f = theano.jit(counted, mode="FAST_COMPILE")
        f(np.ones(1))
        f.clear()
        f(np.ones(1))
        self.assertEqual(counted.calls, 2)

    @slow
    def test_many_static_values_keep_a_bounded_number_of_programs(self) -> None:
        f = theano.jit(lambda n: n, static_argnames="n")
        for n in range(600):
            self.assertEqual(f(n), n)
        self.assertLessEqual(len(f._programs), 512)

    def test_threads(self) -> None:
        f = theano.jit(lambda x: T.exp(x).sum() + x)
        failures: list[Exception] = []
        start = threading.Barrier(6)

        def work(k: int) -> None:
            try:
                start.wait()
                for n in range(20):
                    x = np.ones((2,) * (n % 3 + 1)) * k
                    np.testing.assert_allclose(f(x), np.exp(x).sum() + x)
            except Exception as error:  # noqa: BLE001  # the test reports any error
                failures.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class TestHints(unittest.TestCase):
    """Python's requests to symbolic values, with the user's line and the code to write."""

    def check(self, function: Any, *words: str, args: Any = (1.0,)) -> None:
        line = function.__code__.co_firstlineno
        with self.assertRaises(TypeError) as caught:
            theano.jit(function)(*args)
        for word in (f"test_jit.py:{line}", "asked at", *words):
            self.assertIn(word, str(caught.exception))

    def test_if(self) -> None:
        hints = ("T.switch", "ifelse", "theano.functional.while_loop", "theano.scan", "static_argnames")
        self.check(lambda x: x if x > 0 else -x, *hints)
        self.check(lambda x: 1.0 if x else -x, *hints)
        self.check(lambda x: not x, *hints)
        self.check(lambda x: max(x, 2 * x), *hints)
        self.check(lambda x: x and 2, *hints)

    def test_numbers(self) -> None:
        self.check(lambda x: int(x), "x.astype('int64')", "static_argnames")
        self.check(lambda x: float(x), "x.astype('float64')", "static_argnames")
        self.check(lambda x: complex(x), "complex128", "static_argnames")
        self.check(lambda n: list(range(n)), "theano.functional.fori_loop", "static_argnames", args=(3,))

    def test_loops(self) -> None:
        self.check(lambda x: [2 * y for y in x], "theano.functional.scan", args=(np.ones(3),))

    def test_old_programs_ask_whether_there_is_a_variable(self) -> None:
        self.assertTrue(T.dscalar("x"))
        with self.assertRaises(TypeError):
            theano.jit(lambda x: 1.0 if x else -x)(1.0)
        self.assertTrue(T.dscalar("x"))


class TestKindsInTurn(unittest.TestCase):
    """Calls of one function with arguments of many kinds, one after the other and again."""

    def test_each_call_has_its_program(self) -> None:
        traces: list[Any] = []

        @theano.jit
        def doubled(*args: Any) -> Any:
            traces.append(args)
            return [2 * leaf for leaf in flatten(args)[0]]

        row, column, matrix = np.ones((1, 3)), np.ones((3, 1)), np.ones((3, 2))
        kinds: list[tuple[Any, ...]] = [
            (matrix,),
            (row,),
            (column,),
            (matrix.astype("float32"),),
            (np.ones(3),),
            (np.array(1.0),),
            (1.0,),
            (1,),
            (True,),
            (matrix, matrix),
            ((matrix, 1.0),),
            ([matrix, 1.0],),
            ({"a": matrix, "b": 1.0},),
            ({"b": 1.0, "a": matrix},),
            ({"a": matrix},),
            ({"a": [matrix, (1, None)]}, None),
            ((),),
            (),
        ]
        for _ in range(3):
            for args in kinds:
                for _ in range(2):
                    results = doubled(*args)
                    self.assertEqual(len(results), len(flatten(args)[0]))
                    for result, leaf in zip(results, flatten(args)[0], strict=True):
                        self.assertEqual(result.dtype, np.asarray(leaf).dtype if leaf is not True else "int8")
                        np.testing.assert_array_equal(result, 2 * np.asarray(leaf).astype(result.dtype))
        self.assertEqual(len(traces), len(kinds))

    def test_other_lengths_are_the_same_kind(self) -> None:
        traces: list[int] = []

        @theano.jit
        def total(params: dict[str, Any]) -> Any:
            traces.append(1)
            return params["w"].sum() + params["b"]

        for n in (2, 3, 5, 2, 0):
            self.assertEqual(total({"w": np.ones((n, 4)), "b": 1.0}), 4 * n + 1)
        self.assertEqual(len(traces), 1)
        self.assertEqual(total({"w": np.ones((1, 4)), "b": 1.0}), 5)
        self.assertEqual(len(traces), 2)

    def test_what_is_no_array_after_one_that_was(self) -> None:
        f = theano.jit(lambda x: x + 1)
        self.assertEqual(f(np.array([1.0]))[0], 2.0)
        with self.assertRaises(TypeError):
            f("text")
        with self.assertRaises(TypeError):
            f(np.array(["text"]))
        x = T.dvector("x")
        self.assertIsInstance(f(x), T.TensorVariable)
        with self.assertRaises(TypeError):
            f()
        self.assertEqual(f(x=np.array([1.0]))[0], 2.0)
