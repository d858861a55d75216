"""Transfers, the type of contexts, and which context an op runs in."""

from __future__ import annotations

import pickle
import unittest
from typing import Any
from unittest import mock

import numpy as np

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.contexts import ContextNotDefined
from theano_gpuarray.types import (
    GpuArrayType,
    GpuContextType,
    GpuFromHost,
    GpuToGpu,
    HostFromGpu,
    _transfers,
    context_of,
    gpu_context_type,
    host_from_gpu,
    infer_context_name,
    is_host_array,
)
from theano_graph import FunctionGraph, Generic, pullback, pushforward, shape_rule
from theano_linker_c import as_host, function
from theano_linker_c.profiling import device_kind

from .host import Host, named_context, opencl


class TestTransfers(unittest.TestCase):
    def setUp(self) -> None:
        named_context("types0")
        named_context("types1")
        self.x = Host("float32", (None, 1)).make_variable("x")
        self.gx = GpuArrayType("float32", (None, 1), "types0")("gx")

    def test_text(self) -> None:
        self.assertEqual(str(GpuFromHost("types0")(self.x).owner), "GpuFromHost<types0>(x)")
        self.assertEqual(str(HostFromGpu()(self.gx).owner), "HostFromGpu(gpuarray)(gx)")
        self.assertEqual(str(GpuToGpu("types1")(self.gx).owner), "GpuToGpu<types1>(gx)")
        self.assertEqual(str(GpuFromHost(None)), "GpuFromHost<None>")

    def test_equality_and_pickles(self) -> None:
        self.assertEqual(GpuFromHost("types0"), GpuFromHost("types0"))
        self.assertNotEqual(GpuFromHost("types0"), GpuFromHost("types1"))
        self.assertEqual(HostFromGpu(), host_from_gpu)
        self.assertEqual(pickle.loads(pickle.dumps(GpuToGpu("types1"))), GpuToGpu("types1"))

    def test_types(self) -> None:
        self.assertEqual(GpuFromHost("types0")(self.x).type.exact, self.gx.type.exact)
        self.assertEqual(HostFromGpu()(self.gx).type, self.x.type)
        self.assertEqual(GpuToGpu("types1")(self.gx).type.context_name, "types1")

    def test_operands_that_do_not_fit(self) -> None:
        with self.assertRaisesRegex(TypeError, "is no array on the host"):
            GpuFromHost("types0")(self.gx)
        with self.assertRaisesRegex(TypeError, "is no array on the host"):
            GpuFromHost("types0")(Generic()("text"))
        with self.assertRaisesRegex(TypeError, "takes an array on a device"):
            HostFromGpu()(self.x)
        with self.assertRaisesRegex(TypeError, "takes an array on a device"):
            GpuToGpu("types0")(self.x)
        with self.assertRaisesRegex(TypeError, "3 is no variable"):
            GpuFromHost("types0")(3)
        with self.assertRaises(ContextNotDefined):
            GpuFromHost("nowhere")(self.x)

    def test_values(self) -> None:
        name = "types_opencl" if opencl() else "types0"
        moved = GpuFromHost(name)(self.x)
        f = function([self.x], [moved, HostFromGpu()(moved)])
        there, back = f(np.ones((3, 1), "float32"))
        self.assertIsInstance(there, GpuArray)
        self.assertEqual((type(back), back.shape, back.dtype), (np.ndarray, (3, 1), np.dtype("float32")))
        if opencl():
            np.testing.assert_array_equal(back, np.ones((3, 1)))
            np.testing.assert_array_equal(as_host(there), np.ones((3, 1)))

    def test_another_name_of_the_same_context_is_no_copy(self) -> None:
        value = self.gx.type.filter(np.zeros((3, 1), "float32"))
        self.assertIs(GpuToGpu("types0").move(value), value)
        self.assertIsNot(GpuToGpu("types1").move(value), value)
        self.assertEqual(GpuToGpu("types0").view_map, {0: [0]})

    def test_derivatives(self) -> None:
        """Gradients stay on the host, on any device of their variable, so that they can be added."""
        g = Host("float32", (None, 1)).make_variable("g")
        for node in (
            GpuFromHost("types0")(self.x).owner,
            HostFromGpu()(self.gx).owner,
            GpuToGpu("types1")(self.gx).owner,
        ):
            self.assertEqual(pullback.lookup(node.op)(node, [g]), [g])
            self.assertEqual(pushforward.lookup(node.op)(node, [g]), [g])
            self.assertEqual(pushforward.lookup(node.op)(node, [None]), [None])
        node = GpuFromHost("types0")(self.x).owner
        result: Any
        (result,) = pullback.lookup(node.op)(node, [self.gx])
        self.assertEqual(result.owner.op, host_from_gpu)

    def test_shapes_and_kinds(self) -> None:
        node = HostFromGpu()(self.gx).owner
        self.assertEqual(shape_rule.lookup(node.op)(node, [(5, 1)]), [(5, 1)])
        self.assertEqual(device_kind.lookup(node.op)(node), "transfer")
        self.assertFalse(node.op.do_constant_folding(node))

    def test_graphs(self) -> None:
        graph = FunctionGraph([self.x], [HostFromGpu()(GpuFromHost("types0")(self.x))])
        self.assertEqual([str(n.op) for n in graph.toposort()], ["GpuFromHost<types0>", "HostFromGpu(gpuarray)"])


class TestContexts(unittest.TestCase):
    def test_type_of_contexts(self) -> None:
        context = named_context("types0")
        self.assertEqual(gpu_context_type, GpuContextType())
        self.assertIs(gpu_context_type.filter(context), context)
        self.assertTrue(gpu_context_type.values_eq(context, context))
        with self.assertRaisesRegex(TypeError, "'cuda0' .str. is no context"):
            gpu_context_type.filter("cuda0")
        self.assertIs(gpu_context_type.get_params(GpuFromHost("types0")), context)

    def test_names_are_inferred(self) -> None:
        named_context("types0")
        gx = GpuArrayType("float32", (None,), "types0")("gx")
        plain, tagged = (Host("float32", (None,)).make_variable() for _ in range(2))
        tagged.tag.context_name = "types1"
        self.assertEqual(infer_context_name(plain, gx), "types0")
        self.assertEqual(infer_context_name(host_from_gpu(gx)), "types0")
        self.assertEqual(infer_context_name(3, tagged), "types1")
        self.assertEqual(context_of(gx), "types0")
        with self.assertRaisesRegex(TypeError, "not on a device"):
            context_of(plain)
        self.assertTrue(is_host_array(plain))
        self.assertFalse(is_host_array(gx))

    def test_nothing_tells(self) -> None:
        with (
            mock.patch.object(_transfers, "list_contexts", return_value=["types0"]),
            self.assertRaisesRegex(ValueError, "no context can be inferred"),
        ):
            infer_context_name(Host("float32", (None,)).make_variable())
        with mock.patch.object(_transfers, "list_contexts", return_value=[None]):
            self.assertIsNone(infer_context_name(Host("float32", (None,)).make_variable()))


if __name__ == "__main__":
    unittest.main()
