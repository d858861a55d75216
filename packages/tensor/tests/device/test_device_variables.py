"""Variables on a device: shared ones, constants, operators, transfers, gradients."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.arrays import GpuArray, asarray
from theano_gpuarray.contexts import ContextNotDefined
from theano_gpuarray.types import GpuArrayType, GpuFromHost, GpuToGpu, HostFromGpu
from theano_linker_c import function, shared
from theano_tensor.device import (
    GpuArrayConstant,
    GpuArraySharedVariable,
    GpuArrayVariable,
    as_gpuarray_variable,
    gpu_supported,
    move_to_gpu,
)
from theano_testing.tiers import slow

from .contexts import NAME, OTHER, computes, context


class DeviceTestCase(unittest.TestCase):
    def setUp(self) -> None:
        context()

    def assertValues(self, result: Any, expected: Any, **options: Any) -> None:
        """Compare arrays where the device computes anything; dtype and shape everywhere."""
        result, expected = np.asarray(result), np.asarray(expected)
        self.assertEqual((result.shape, result.dtype), (expected.shape, expected.dtype))
        if computes():
            np.testing.assert_allclose(result, expected, **{"rtol": 1e-5, **options})


class TestShared(DeviceTestCase):
    def test_made_with_a_target(self) -> None:
        x = shared(np.arange(3, dtype="float32"), name="x", target=NAME)
        self.assertIsInstance(x, GpuArraySharedVariable)
        self.assertEqual((str(x), x.type), ("x", GpuArrayType("float32", (False,), NAME)))
        self.assertEqual(str(shared(np.zeros(2), target=NAME)), f"<GpuArrayType<{NAME}>(float64, (False,))>")
        self.assertValues(x.get_value(), np.arange(3, dtype="float32"))

    def test_stays_on_the_host(self) -> None:
        cases: list[tuple[Any, dict[str, Any]]] = [
            (np.zeros(3), {}),
            (np.zeros(3), {"target": "cpu"}),
            (3.0, {}),
            (np.zeros(3, "c16"), {}),
        ]
        for value, options in cases:
            self.assertNotIsInstance(shared(value, **options), GpuArraySharedVariable)

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(ContextNotDefined, "there is no context of the name 'nowhere'"):
            shared(np.zeros(3), target="nowhere")
        with self.assertRaisesRegex(TypeError, "no constructor accepts"):
            shared(np.zeros(3, "complex64"), target=NAME)
        with self.assertRaisesRegex(TypeError, "no constructor accepts"):
            shared("text", target=NAME)

    def test_broadcastable(self) -> None:
        self.assertEqual(shared(np.zeros((1, 3)), target=NAME).broadcastable, (False, False))
        row = shared(np.zeros((1, 3)), target=NAME, broadcastable=(True, False))
        self.assertEqual(row.broadcastable, (True, False))
        with self.assertRaisesRegex(TypeError, "must have length 1"):
            row.set_value(np.zeros((2, 3)))

    def test_values_are_of_the_kind_that_came_first(self) -> None:
        x = shared(np.zeros(3), target=NAME)
        self.assertIsInstance(x.get_value(), np.ndarray)
        inner = x.get_value(borrow=True, return_internal_type=True)
        self.assertIs(inner, x.container.value)
        self.assertIsNot(x.get_value(return_internal_type=True), inner)
        y = shared(asarray(np.zeros(3), context=context()), target=NAME)
        self.assertIsInstance(y.get_value(), GpuArray)
        self.assertIsInstance(y.clone().get_value(), GpuArray)

    def test_new_values(self) -> None:
        x = shared(np.zeros(3, "float32"), target=NAME)
        x.set_value(np.ones(5, "float32"))
        self.assertValues(x.get_value(), np.ones(5, "float32"))
        value = asarray(np.full(2, 7, "float32"), context=context())
        x.set_value(value, borrow=True)
        self.assertIs(x.container.value, value)
        x.set_value(value)
        self.assertIsNot(x.container.value, value)
        with self.assertRaisesRegex(TypeError, "converting from float64 to float32"):
            x.set_value(np.zeros(3))
        self.assertValues(x.get_value(), np.full(2, 7, "float32"))
        x.zero()
        self.assertValues(x.get_value(), np.zeros(2, "float32"))

    def test_a_refused_value_names_the_variable(self) -> None:
        x = shared(np.zeros(3, "float32"), name="weights", target=NAME)
        for value, what in (
            (np.zeros(3), "float64"),
            (np.zeros((3, 3), "f"), "number of dim"),
            ("a", "numbers"),
            (None, "None"),
        ):
            with self.assertRaisesRegex(
                TypeError, rf"set_value of `weights`: .*{what}[^$]*`weights`: float32.*made at"
            ):
                x.set_value(value)

    def test_the_program_s_array_is_not_kept(self) -> None:
        value = np.zeros(3)
        x = shared(value, target=NAME, borrow=True)
        value[:] = 5
        self.assertValues(x.get_value(), np.zeros(3))

    def test_copies_and_pickles(self) -> None:
        x = shared(np.arange(3.0), name="x", target=NAME)
        for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertIsInstance(twin, GpuArraySharedVariable)
            self.assertEqual((twin.name, twin.type), ("x", x.type))
            self.assertValues(twin.get_value(), np.arange(3.0))
        self.assertIs(x.clone().container, x.container)

    @slow
    def test_pickles_without_the_device(self) -> None:
        """With a flag, variables of devices that are not there are read as those of the host."""
        x = shared(np.arange(3.0), name="x", target=NAME)
        program = (
            "import pickle, sys; import theano_tensor as T; from theano_linker_c import function\n"
            "x, container, kind = pickle.load(sys.stdin.buffer)\n"
            "print(type(x).__name__, x.name, x.type == kind == T.TensorType('float64', (False,)))\n"
            "print(x.container is container, function([], x * 2)().shape, type(x.get_value()).__name__)"
        )
        data = pickle.dumps([x, x.container, x.type])
        for allowed, status in (("True", 0), ("False", 1)):
            environ = {**os.environ, "THEANO_FLAGS": f"experimental.unpickle_gpu_on_cpu={allowed}"}
            done = subprocess.run(
                [sys.executable, "-c", program], input=data, env=environ, capture_output=True, check=False
            )
            self.assertEqual(done.returncode, status, done.stderr.decode())
            if allowed == "True":
                lines = done.stdout.decode().splitlines()
                self.assertEqual(lines, ["TensorSharedVariable x True", "True (3,) ndarray"])
            else:
                self.assertIn(f"there is no context of the name '{NAME}'", done.stderr.decode())

    def test_updates(self) -> None:
        x, step = shared(np.zeros(3), target=NAME), T.dscalar("step")
        f = function([step], x.sum(), updates=[(x, x + step)])
        for k in range(3):
            self.assertValues(f(2.0), np.asarray(6.0 * k))
        self.assertIsInstance(x.container.value, GpuArray)
        self.assertValues(x.get_value(), np.full(3, 6.0))

    def test_an_update_that_does_not_fit(self) -> None:
        x = shared(np.zeros(3, "float32"), name="x", target=NAME)
        with self.assertRaisesRegex(TypeError, "the update of `x` has another type"):
            function([], updates=[(x, x + T.dvector("v"))], on_unused_input="ignore")

    def test_givens(self) -> None:
        v, x = T.dvector("v"), shared(np.arange(3.0), target=NAME)
        self.assertValues(function([], v * 2, givens={v: x})(), np.arange(3.0) * 2)
        self.assertValues(function([], v.sum(), givens={v: x[1:]})(), np.asarray(3.0))


class TestConstants(DeviceTestCase):
    def test_constants(self) -> None:
        kind = GpuArrayType("float32", (False,), NAME)
        a, b, c = (kind.make_constant(np.asarray(v, "float32")) for v in ([1, 2], [1, 2], [1, 3]))
        self.assertIsInstance(a, GpuArrayConstant)
        self.assertIsInstance(a.data, GpuArray)
        if computes():
            self.assertEqual(str(a), "GpuArrayConstant{[1. 2.]}")
            self.assertTrue(a.equals(b))
            self.assertEqual(a.signature(), b.signature())
            self.assertFalse(a.equals(c))
        self.assertFalse(a.equals(T.constant(np.asarray([1, 2], "float32"))))
        self.assertEqual(str(kind.make_constant(np.zeros(2, "float32"), name="zero")), "zero")


class TestOperators(DeviceTestCase):
    def test_operators_and_methods(self) -> None:
        value = np.arange(6, dtype="float64").reshape(2, 3)
        x = shared(value, target=NAME)
        pairs = [
            (x + 1, value + 1),
            (2 - x, 2 - value),
            (x * x, value * value),
            (-x, -value),
            (x[1], value[1]),
            (x[:, ::-1], value[:, ::-1]),
            (x.T, value.T),
            (x.sum(axis=0), value.sum(axis=0)),
            (x.mean(), value.mean()),
            (x.reshape((3, 2)), value.reshape(3, 2)),
            (x.dimshuffle(1, "x", 0), value.T[:, None]),
            (x.flatten(), value.ravel()),
            (x.astype("float32"), value.astype("float32")),
            (x.shape, np.asarray([2, 3])),
            (x.argmax(axis=1), value.argmax(axis=1)),
            (x > 2, value > 2),
            (T.dot(x, x.T), value @ value.T),
            (x.zeros_like(), np.zeros((2, 3))),
            (T.concatenate([x, x]), np.concatenate([value, value])),
        ]
        f = function([], [expression for expression, _ in pairs])
        for (expression, expected), item in zip(pairs, f(), strict=True):
            with self.subTest(str(expression)):
                self.assertValues(item, expected)

    def test_a_device_variable_is_returned_as_such(self) -> None:
        x = shared(np.arange(3.0), target=NAME)
        result = function([], x)()
        self.assertIsInstance(result, GpuArray)
        self.assertIsNot(result.buffer, x.container.value.buffer)

    def test_arguments_on_the_device(self) -> None:
        gx = GpuArrayType("float64", (False,), NAME)("gx")
        self.assertIsInstance(gx, GpuArrayVariable)
        f = function([gx], gx * 2)
        self.assertValues(f(np.arange(3.0)), np.arange(3.0) * 2)
        self.assertValues(f(asarray(np.arange(3.0), context=context())), np.arange(3.0) * 2)
        with self.assertRaisesRegex(TypeError, "(?i)wrong number of dimensions|has 1 dimension|ndim"):
            f(np.zeros((2, 2)))


class TestTransfers(DeviceTestCase):
    def test_there_and_back(self) -> None:
        v: Any = T.fmatrix("v")
        gv = v.transfer(NAME)
        self.assertEqual(gv.owner.op, GpuFromHost(NAME))
        cv = gv.transfer("cpu")
        self.assertIsInstance(cv.owner.op, HostFromGpu)
        self.assertIs(gv.transfer(NAME), gv)
        self.assertIs(cv.transfer(NAME), gv)
        self.assertEqual(gv.transfer(OTHER).owner.op, GpuToGpu(OTHER))
        with self.assertRaisesRegex(ValueError, "there is no target 'nowhere'"):
            v.transfer("nowhere")

    def test_values(self) -> None:
        v = T.fmatrix("v")
        moved = v.transfer(NAME).transfer(OTHER)
        f = function([v], [moved, moved.transfer("cpu")])
        there, back = f(np.ones((2, 3), "float32"))
        self.assertEqual(there.context.name, OTHER)
        self.assertValues(back, np.ones((2, 3), "float32"))

    def test_conversion(self) -> None:
        self.assertIsInstance(as_gpuarray_variable([1.0, 2.0], NAME), GpuArrayConstant)
        self.assertEqual(as_gpuarray_variable(T.dvector(), NAME).owner.op, GpuFromHost(NAME))
        gx = GpuArrayType("float64", (False,), NAME)("gx")
        self.assertIs(as_gpuarray_variable(HostFromGpu()(gx), NAME), gx)
        self.assertEqual(as_gpuarray_variable(gx, OTHER).owner.op, GpuToGpu(OTHER))
        with self.assertRaises(ContextNotDefined):
            as_gpuarray_variable(3.0, "nowhere")
        with self.assertRaisesRegex(TypeError, "cannot be made"):
            as_gpuarray_variable("text", NAME)

    def test_what_is_moved(self) -> None:
        self.assertEqual([gpu_supported(np.zeros(2, d)) for d in ("float16", "int8", "complex64")], [True, True, False])
        self.assertEqual([move_to_gpu(np.zeros(s)) for s in ((), 2, (2, 2))], [False, True, True])


class TestGradients(DeviceTestCase):
    def test_gradient_by_a_shared_variable(self) -> None:
        value = np.asarray([0.1, 0.2, 0.3])
        w = shared(value, target=NAME)
        g = T.grad(T.sum(T.exp(w) * w), w)
        self.assertValues(function([], g)(), np.exp(value) * (1 + value))
        f = function([], updates=[(w, w - g)])
        f()
        self.assertValues(w.get_value(), value - np.exp(value) * (1 + value))

    def test_gradient_through_transfers(self) -> None:
        v = T.dvector("v")
        cost = (v.transfer(NAME) ** 2).sum()
        self.assertValues(function([v], T.grad(cost, v))(np.arange(3.0)), 2 * np.arange(3.0))

    def test_disconnected(self) -> None:
        w, x = shared(np.zeros(3), target=NAME), T.dscalar("x")
        zero = T.grad(x * 2, w, disconnected_inputs="ignore")
        self.assertValues(function([], zero)(), np.zeros(3))


if __name__ == "__main__":
    unittest.main()
