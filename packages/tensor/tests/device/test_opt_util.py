"""Helpers for rewrites on devices: merging factors and sums into products, numbers behind transfers, padding."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_gpuarray.types import GpuArrayType, GpuFromHost, GpuToGpu, HostFromGpu
from theano_graph import FunctionGraph
from theano_linker_c import function, scalar, shared
from theano_tensor.device import (
    GpuAllocEmpty,
    GpuDimShuffle,
    GpuElemwise,
    GpuGemm,
    GpuReshape,
    alpha_merge,
    find_node,
    grab_cpu_scalar,
    inplace_allocempty,
    is_equal,
    output_merge,
    pad_dims,
    unpad_dims,
)

from .contexts import NAME, OTHER
from .test_device_variables import DeviceTestCase

MATRIX = ("float64", (False, False))


@alpha_merge(GpuGemm, alpha_in=1, beta_in=4)
def merge_alpha(node: Any, *inputs: Any) -> Any:
    return node.op(*inputs)


@output_merge(GpuGemm, alpha_in=1, beta_in=4, out_in=0)
def merge_output(node: Any, *inputs: Any) -> Any:
    return node.op(*inputs)


@inplace_allocempty(GpuGemm, 0)
def in_place(node: Any, inputs: Any) -> Any:
    return [GpuGemm(inplace=True)(*inputs)]


class UtilTestCase(DeviceTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.a, self.b, self.z, self.w = (GpuArrayType(*MATRIX, NAME)(name) for name in "abzw")

    def changed(self, rewriter: Any, *outputs: Any) -> Any:
        """Return the outputs of a graph after a rewriter was asked about each of its nodes."""
        leaves = [self.a, self.b, self.z, self.w]
        graph = FunctionGraph(leaves, list(outputs), clone=False)
        for node in graph.toposort():
            if rewriter.tracks() is None or isinstance(
                node.op, tuple(t for t in rewriter.tracks() if isinstance(t, type))
            ):
                result = rewriter.transform(graph, node)
                if result:
                    graph.replace_all(list(zip(node.outputs, result, strict=True)))
        return graph.outputs

    def values(self) -> Any:
        rng = np.random.default_rng(2)
        return [rng.normal(size=(2, 2)) for _ in range(4)]

    def check(self, variable: Any, expected: Any) -> None:
        f = function([self.a, self.b, self.z, self.w], variable, on_unused_input="ignore")
        self.assertValues(np.asarray(f(*self.values())), expected)


class TestSearching(UtilTestCase):
    def test_nodes_behind_transfers(self) -> None:
        product = GpuGemm()(self.z, 1.0, self.a, self.b, 0.0)
        moved = GpuFromHost(NAME)(HostFromGpu()(product))
        FunctionGraph([self.z, self.a, self.b], [moved], clone=False)
        self.assertIs(find_node(moved, GpuGemm, ignore_clients=True), product.owner)
        self.assertIsNone(find_node(moved, GpuElemwise))
        self.assertIsNone(find_node(self.a, GpuGemm))
        self.assertIsNone(find_node(GpuToGpu(OTHER)(product), GpuGemm, ignore_clients=True))

    def test_results_that_others_use(self) -> None:
        product = GpuGemm()(self.z, 1.0, self.a, self.b, 0.0)
        graph = FunctionGraph([self.z, self.a, self.b], [product, GpuElemwise(scalar.exp)(product)], clone=False)
        self.assertIsNone(find_node(product, GpuGemm))
        self.assertIs(find_node(product, GpuGemm, ignore_clients=True), product.owner)
        self.assertEqual(len(graph.outputs), 2)

    def test_numbers(self) -> None:
        x = T.dscalar("x")
        self.assertIs(grab_cpu_scalar(x.dimshuffle("x", "x"), 2), x)
        on_device = GpuDimShuffle((), ("x", "x"))(GpuFromHost(NAME)(x))
        self.assertIsInstance(grab_cpu_scalar(on_device, 2).owner.op, HostFromGpu)
        self.assertIs(grab_cpu_scalar(GpuFromHost(NAME)(x.dimshuffle("x", "x")), 2), x)
        one = GpuArrayType("float64", (True, True), NAME).make_constant(np.full((1, 1), 3.0))
        self.assertEqual(grab_cpu_scalar(one, 2).ndim, 0)
        self.assertEqual(float(grab_cpu_scalar(T.constant(np.full((1, 1), 3.0)), 2).data), 3.0)
        for variable, ndim in ((x, 2), (self.a, 2), (T.constant([1.0, 2.0]), 1), (T.exp(x), 0), (T.dvector(), 1)):
            self.assertIsNone(grab_cpu_scalar(variable, ndim))

    def test_equal_to_a_number(self) -> None:
        self.assertTrue(is_equal(T.constant([1.0, 1.0]), 1))
        self.assertFalse(is_equal(T.constant([1.0, 2.0]), 1))
        self.assertFalse(is_equal(T.dscalar(), 1))
        self.assertFalse(is_equal(T.constant(np.zeros(0)), 0))


class TestMerging(UtilTestCase):
    def test_names(self) -> None:
        self.assertEqual(
            [r.name for r in (merge_alpha, merge_output, in_place)], ["merge_alpha", "merge_output", "in_place"]
        )

    def test_factors(self) -> None:
        a, b, z, _ = self.values()
        for beta, saved in ((0.0, 0.0), (1.0, 3.0), (2.0, 6.0)):
            product = GpuGemm()(self.z, 0.5, self.a, self.b, beta)
            (result,) = self.changed(merge_alpha, GpuElemwise(scalar.mul)(product, np.full((1, 1), 3.0)))
            self.assertIsInstance(result.owner.op, GpuGemm)
            self.check(result, 1.5 * a @ b + saved * z)

    def test_arrays_are_no_factors(self) -> None:
        product = GpuGemm()(self.z, 0.5, self.a, self.b, 0.0)
        (result,) = self.changed(merge_alpha, GpuElemwise(scalar.mul)(product, self.w))
        self.assertIsInstance(result.owner.op, GpuElemwise)

    def test_sums(self) -> None:
        a, b, _, w = self.values()
        product = GpuGemm()(self.z, 0.5, self.a, self.b, 0.0)
        (result,) = self.changed(merge_output, GpuElemwise(scalar.add)(product, self.w))
        self.assertIsInstance(result.owner.op, GpuGemm)
        self.check(result, 0.5 * a @ b + w)

    def test_sums_that_stay(self) -> None:
        """Operands that broadcast, and products that are added to something already."""
        plain = GpuGemm()(self.z, 0.5, self.a, self.b, 0.0)
        (result,) = self.changed(merge_output, GpuElemwise(scalar.add)(plain, np.ones((1, 2))))
        self.assertIsInstance(result.owner.op, GpuElemwise)
        adding = GpuGemm()(self.z, 0.5, self.a, self.b, 1.0)
        (result,) = self.changed(merge_output, GpuElemwise(scalar.add)(adding, self.w))
        self.assertIsInstance(result.owner.op, GpuElemwise)

    def test_memory(self) -> None:
        empty = GpuAllocEmpty("float64", NAME)(2, 2)
        first, second = (GpuGemm()(empty, 1.0, x, self.b, 0.0) for x in (self.a, self.w))
        one, two = self.changed(in_place, first, second)
        self.assertEqual((one.owner.op, two.owner.op), (GpuGemm(inplace=True),) * 2)
        self.assertIsNot(one.owner.inputs[0], two.owner.inputs[0])
        a, b, _, w = self.values()
        self.check(one, a @ b)
        self.check(two, w @ b)


class TestPadding(UtilTestCase):
    def test_shapes(self) -> None:
        cases = [
            ((3, 5, 7), 2, 2, (1, 3, 5, 7)),
            ((3, 5, 7, 9), 2, 2, (3, 5, 7, 9)),
            ((3, 5, 7, 9, 11), 2, 2, (15, 7, 9, 11)),
            ((3, 5, 7, 9), 2, 3, (1, 3, 5, 7, 9)),
        ]
        for shape, left, right, expected in cases:
            value = np.arange(np.prod(shape), dtype="float32").reshape(shape)
            for x in (shared(value, target=NAME), shared(value)):
                with self.subTest(shape=shape, kind=str(x.type)):
                    padded = pad_dims(x, left, right)
                    back = unpad_dims(padded, x, left, right)
                    result, again = function([], [padded, back])()
                    self.assertEqual(result.shape, expected)
                    self.assertValues(np.asarray(again), value)
        x = shared(np.zeros((3, 5, 7)), target=NAME)
        self.assertIsInstance(pad_dims(x, 2, 2).owner.op, GpuReshape)
        self.assertIs(pad_dims(x, 1, 2), x)


if __name__ == "__main__":
    unittest.main()
