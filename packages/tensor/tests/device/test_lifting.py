"""Which nodes run on a device: the rule that moves graphs there, and how it is switched off and added to."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.types import DeviceOp, GpuArrayType, GpuFromHost, GpuToGpu, HostFromGpu, TransferOp
from theano_graph import Apply, FunctionGraph, Op, config
from theano_linker_c import Mode, function, get_mode, shared
from theano_linker_c.modes import optdb
from theano_optimize import node_rewriter
from theano_tensor.builders import OpFromGraph
from theano_tensor.device import (
    CpuOpError,
    LiftToDevice,
    as_gpuarray_variable,
    gpu_optimizer,
    op_lifter,
    register_opt,
    register_opt2,
)
from theano_tensor.shape import ShapeI
from theano_testing.tiers import slow

from .contexts import NAME, OTHER
from .test_device_variables import DeviceTestCase


def ops(f: Any) -> Any:
    return [str(node.op) for node in f.maker.fgraph.toposort()]


def on_host(f: Any) -> Any:
    """Return the ops that are neither transfers nor on a device."""
    nodes = f.maker.fgraph.toposort()
    return [n.op for n in nodes if not isinstance(n.op, (DeviceOp, TransferOp, ShapeI))]


class TestPlacement(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.value = np.linspace(0.1, 2.0, 6).reshape(2, 3)
        self.x = shared(self.value, name="x", target=NAME)

    def test_the_program_of_the_manual(self) -> None:
        v = shared(np.arange(4.0), target=NAME)
        f = function([], T.exp(v))
        self.assertEqual(
            str(f.maker.fgraph.toposort()),
            f"[GpuElemwise{{exp,no_inplace}}(<GpuArrayType<{NAME}>(float64, (False,))>), "
            "HostFromGpu(gpuarray)(GpuElemwise{exp,no_inplace}.0)]",
        )
        self.assertValues(f(), np.exp(np.arange(4.0)))
        g = function([], T.exp(v).transfer(NAME))
        self.assertEqual(ops(g), ["GpuElemwise{exp,no_inplace}"])
        self.assertValues(g(), np.exp(np.arange(4.0)))

    def test_arguments_come_along(self) -> None:
        v = T.dmatrix("v")
        f = function([v], self.x + T.exp(v))
        self.assertEqual(on_host(f), [])
        self.assertValues(f(self.value), self.value + np.exp(self.value))

    def test_functions_of_the_host_stay_there(self) -> None:
        v = T.dmatrix("v")
        f = function([v], T.exp(v) + 1)
        self.assertFalse(any(isinstance(n.op, (DeviceOp, TransferOp)) for n in f.maker.fgraph.apply_nodes))

    def test_marked_arguments(self) -> None:
        """An argument goes where its attribute `tag.target` says."""
        v = T.dmatrix("v")
        v.tag.target = NAME
        f = function([v], T.exp(v))
        self.assertEqual(ops(f), [f"GpuFromHost<{NAME}>", "GpuElemwise{exp,no_inplace}", "HostFromGpu(gpuarray)"])
        self.assertValues(f(self.value), np.exp(self.value))
        v.tag.target = "cpu"
        self.assertEqual(ops(function([v], T.exp(v))), ["Elemwise{exp,no_inplace}"])

    def test_shapes_need_no_transfer(self) -> None:
        f = function([], [self.x.shape[0] * 2, self.x.shape])
        self.assertFalse(any(isinstance(n.op, TransferOp) for n in f.maker.fgraph.apply_nodes))
        self.assertValues(f()[0], np.asarray(4))

    def test_lengths_stay_on_the_host(self) -> None:
        n = T.lvector("n")
        n.tag.target = NAME
        f = function([n], self.x.reshape(n * 1 + 0, ndim=1))
        results = [node.op for node in f.maker.fgraph.apply_nodes if isinstance(node.op, GpuFromHost)]
        self.assertEqual(results, [])
        self.assertValues(f(np.asarray([6])), self.value.ravel())

    def test_transfers_cancel(self) -> None:
        f = function([], T.exp(self.x.transfer("cpu").transfer(NAME)).transfer(NAME).transfer("cpu"))
        self.assertEqual(ops(f), ["GpuElemwise{exp,no_inplace}", "HostFromGpu(gpuarray)"])

    def test_one_transfer_for_all_uses(self) -> None:
        v = T.dmatrix("v")
        f = function([v], [self.x + v, self.x[0] * v])
        self.assertEqual(sum(isinstance(n.op, GpuFromHost) for n in f.maker.fgraph.apply_nodes), 1)

    def test_what_goes_to_a_device_is_made_there(self) -> None:
        v = T.dvector("v")
        f = function([v], T.exp(v).transfer(NAME))
        self.assertEqual(ops(f), [f"GpuFromHost<{NAME}>", "GpuElemwise{exp,no_inplace}"])
        n = T.lscalar("n")
        g = function([n], T.zeros((n, 3)).transfer(NAME))
        self.assertNotIn(f"GpuFromHost<{NAME}>", ops(g))
        self.assertValues(g(2), np.zeros((2, 3)))

    def test_constants_are_on_the_device(self) -> None:
        f = function([], self.x + np.arange(3.0))
        self.assertEqual(on_host(f), [])
        self.assertFalse(any(isinstance(n.op, GpuFromHost) for n in f.maker.fgraph.apply_nodes))
        self.assertValues(f(), self.value + np.arange(3.0))

    def test_views_that_the_host_reads_are_made_there(self) -> None:
        w = T.matrix("w", dtype="complex128")
        f = function([w], self.x.T + w)
        self.assertIn("InplaceDimShuffle{1,0}", ops(f))
        self.assertValues(f(np.ones((3, 2), "complex128")), self.value.T + np.ones((3, 2), "complex128"))

    def test_two_contexts(self) -> None:
        """Each node runs where its operand is; one with operands in both has one of them transferred."""
        y = shared(np.arange(4.0), target=OTHER)
        f = function([], [T.exp(self.x), T.exp(y)])
        self.assertEqual(on_host(f), [])
        result = [v for n in f.maker.fgraph.apply_nodes for v in n.outputs if isinstance(v.type, GpuArrayType)]
        self.assertEqual({v.type.context_name for v in result}, {NAME, OTHER})
        self.assertValues(f()[1], np.exp(np.arange(4.0)))
        g = function([], self.x[0] + y[1:])
        self.assertEqual(on_host(g), [])
        self.assertEqual(sum(isinstance(n.op, GpuToGpu) for n in g.maker.fgraph.apply_nodes), 1)
        self.assertValues(g(), self.value[0] + np.arange(1.0, 4.0))

    @slow
    def test_many_expressions(self) -> None:
        value, x = self.value, self.x
        cases = [
            (T.nnet.softmax(x), np.exp(value) / np.exp(value).sum(axis=1, keepdims=True)),
            (T.max(x, axis=0), value.max(axis=0)),
            (T.std(x), np.asarray(value.std())),
            (T.switch(x > 1, x, 0), np.where(value > 1, value, 0)),
            (x[1, 1:], value[1, 1:]),
            (x[[1, 0, 1]], value[[1, 0, 1]]),
            (T.set_subtensor(x[0], 5.0), np.concatenate([np.full((1, 3), 5.0), value[1:]])),
            (T.inc_subtensor(x[:, 1:], 1.0), value + np.asarray([0, 1, 1])),
            (T.stack([x[0], x[1] * 2]), np.stack([value[0], value[1] * 2])),
            (T.join(1, x, x * 2), np.concatenate([value, value * 2], axis=1)),
            (T.dot(x.T, x), value.T @ value),
            (T.dot(x, np.ones(3)), value @ np.ones(3)),
            (T.alloc(x[0], 2, 3), np.broadcast_to(value[0], (2, 3)).copy()),
            (T.cumsum(x, axis=1), value.cumsum(axis=1)),
            (T.sort(x, axis=1), np.sort(value, axis=1)),
            (T.diag(x[:, :2]), np.diag(value[:, :2])),
            (T.cast(x, "int32"), value.astype("int32")),
        ]
        for expression, expected in cases:
            with self.subTest(str(expression)):
                self.assertValues(function([], expression)(), expected)


class TestModes(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.x = shared(np.arange(4.0), target=NAME)

    def _is_lifted(self, mode: Any) -> Any:
        return "GpuElemwise{exp,no_inplace}" in ops(function([], T.exp(self.x), mode=mode))

    def test_python_linkers_leave_graphs_on_the_host(self) -> None:
        self.assertFalse(self._is_lifted("FAST_COMPILE"))
        self.assertFalse(self._is_lifted(Mode("py", "fast_run")))
        self.assertFalse(self._is_lifted(Mode("vm", "fast_run")))

    def test_a_fast_compilation_for_devices(self) -> None:
        for optimizer in ("fast_compile", "o1", "o2", "o3", "o4", "unsafe", "fast_run"):
            with self.subTest(optimizer):
                self.assertTrue(self._is_lifted(Mode("cvm", optimizer)))

    def test_tags(self) -> None:
        for tag in ("gpuarray", "gpuarray_opt"):
            self.assertFalse(self._is_lifted(get_mode("FAST_RUN").excluding(tag)))
        self.assertIn("gpuarray_opt", optdb.names())

    def test_values_in_modes(self) -> None:
        for mode in ("FAST_COMPILE", "FAST_RUN", "DebugMode", "NanGuardMode", Mode("c|py", "fast_run")):
            with self.subTest(str(mode)):
                if mode in ("DebugMode", "NanGuardMode") and not self.computes():
                    continue  # these look at values
                self.assertValues(function([], T.exp(self.x) * 2, mode=mode)(), np.exp(np.arange(4.0)) * 2)

    def computes(self) -> Any:
        return self.x.container.value.context.kind != "null"

    def test_functions_of_ops_stay_where_they_are(self) -> None:
        """The function inside of an op gets its arguments on the host, and does not move them again."""
        a = T.dvector("a")
        op = OpFromGraph([a], [T.exp(a) + 1])
        f = function([], op(self.x))
        self.assertValues(f(), np.exp(np.arange(4.0)) + 1)

    def test_ops_that_stay_on_the_host_are_told_of(self) -> None:
        class Own(Op):
            __props__ = ()

            def make_node(self, x: Any) -> Any:
                return Apply(self, [x], [x.type.make_variable()])

            def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
                output_storage[0][0] = inputs[0] + 1

        expression = T.exp(Own()(self.x.transfer("cpu")))
        with (
            config.change_flags(assert_no_cpu_op="raise"),
            self.assertRaisesRegex(AssertionError, "Own.*stays on the CPU"),
        ):
            function([], expression)
        with config.change_flags(assert_no_cpu_op="warn"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function([], expression)
        self.assertTrue(any("stays on the CPU (flag assert_no_cpu_op=warn)" in str(w.message) for w in caught))
        with config.change_flags(assert_no_cpu_op="raise"):
            function([], T.exp(self.x))
            v = T.dvector("v")
            function([v], T.exp(v))
        self.assertTrue(issubclass(CpuOpError, AssertionError))


class Twice(Op):
    """Twice an array, by Python."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2


class GpuTwice(Op):
    """The same on a device."""

    __props__ = ("context_name",)

    def __init__(self, context_name: Any) -> None:
        self.context_name = context_name

    def make_node(self, x: Any) -> Any:
        x = as_gpuarray_variable(x, self.context_name)
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        output_storage[0][0] = x.copy()


class Thrice(Twice):
    pass


class Refused(Twice):
    pass


@register_opt("fast_compile")
@op_lifter([Twice])
def local_gpua_twice(op: Any, context_name: Any, inputs: Any, outputs: Any) -> Any:
    return GpuTwice(context_name)


@register_opt2([Thrice], "fast_compile")
def local_gpua_thrice(op: Any, context_name: Any, inputs: Any, outputs: Any) -> Any:
    return [GpuTwice(context_name)(GpuTwice(context_name)(inputs[0]))]


@register_opt2([Refused])
def local_gpua_refused(op: Any, context_name: Any, inputs: Any, outputs: Any) -> Any:
    return None


class TestLifters(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.x = shared(np.arange(4.0), target=NAME)

    def test_an_op_of_a_program(self) -> None:
        f = function([], T.exp(Twice()(T.exp(self.x))))
        self.assertEqual(on_host(f), [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, GpuTwice)])
        self.assertEqual(sum(isinstance(n.op, HostFromGpu) for n in f.maker.fgraph.apply_nodes), 1)
        self.assertEqual(len(on_host(f)), 1)

    def test_outputs_in_place_of_an_op(self) -> None:
        f = function([], Thrice()(self.x))
        self.assertEqual([type(op) for op in on_host(f)], [GpuTwice, GpuTwice])

    def test_a_lifter_may_refuse(self) -> None:
        f = function([], T.exp(Refused()(T.exp(self.x))))
        self.assertEqual([type(op) for op in on_host(f)], [Refused])
        self.assertValues(f(), np.exp(2 * np.exp(np.arange(4.0))))

    def test_by_hand(self) -> None:
        graph = FunctionGraph([self.x], [Twice()(HostFromGpu()(self.x))], clone=False)
        (node,) = [n for n in graph.apply_nodes if isinstance(n.op, Twice)]
        (result,) = local_gpua_twice.transform(graph, node)
        self.assertIsInstance(result.owner.op, HostFromGpu)
        self.assertEqual(result.owner.inputs[0].owner.op, GpuTwice(NAME))
        self.assertEqual(local_gpua_twice.name, "local_gpua_twice")

    def test_other_rewrites_run_when_graphs_have_moved(self) -> None:
        seen = []

        @register_opt("fast_compile", name="looks_at_exp")
        @node_rewriter(None)
        def looks(fgraph: Any, node: Any) -> None:
            seen.append(str(node.op))

        try:
            function([], T.exp(self.x))
        finally:
            gpu_optimizer.remove("looks_at_exp")
        self.assertIn("GpuElemwise{exp,no_inplace}", seen)

    def test_unknown_words(self) -> None:
        with self.assertRaisesRegex(TypeError, "register_opt does not know"):
            register_opt("fast_run", place=3)

    def test_the_rewriter_alone(self) -> None:
        graph = FunctionGraph([self.x], [T.exp(HostFromGpu()(self.x))], clone=False)
        profile = LiftToDevice().rewrite(graph)
        self.assertIsInstance(graph.outputs[0].owner.op, HostFromGpu)
        self.assertIsInstance(graph.outputs[0].owner.inputs[0].type, GpuArrayType)
        self.assertIsNotNone(profile)
        plain: Any = T.exp(T.dvector("v"))
        other = FunctionGraph(list(plain.owner.inputs), [plain], clone=False)
        LiftToDevice().rewrite(other)
        self.assertIs(other.outputs[0], plain)


if __name__ == "__main__":
    unittest.main()
