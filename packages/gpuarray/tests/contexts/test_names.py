from __future__ import annotations

import copy
import gc
import pickle
import unittest
import weakref
from typing import Any

from theano_gpuarray._flags import parse_contexts
from theano_gpuarray.contexts import (
    ContextError,
    ContextNotDefined,
    DeviceUnavailable,
    GpuContext,
    device_names,
    get_context,
    init_dev,
    list_contexts,
    open_context,
    open_driver,
    parse_device,
    reg_context,
)
from theano_gpuarray.contexts._devices import preallocated_bytes
from theano_testing.gpuarray import needs_opencl


class TestNames(unittest.TestCase):
    def test_a_name_leads_to_its_context(self) -> None:
        context = open_context("null0")
        self.assertIsNone(context.name)
        for name in ("names_first", ("a", 1)):
            reg_context(name, context)
            self.assertIs(get_context(name), context)
        self.assertEqual(context.name, "names_first")
        self.assertLess(list_contexts().index("names_first"), list_contexts().index(("a", 1)))

    def test_a_name_is_for_one_context(self) -> None:
        reg_context("names_twice", open_context("null0"))
        with self.assertRaisesRegex(ContextError, "'names_twice' already\n  'names_twice' is <GpuContext .* on null0"):
            reg_context("names_twice", open_context("null1"))
        self.assertEqual(get_context("names_twice").devname, "null0")
        self.assertTrue(issubclass(ContextError, ValueError))

    def test_only_contexts_have_names(self) -> None:
        wrong: Any = open_context("null0").native
        with self.assertRaisesRegex(TypeError, "registered for a context"):
            reg_context("names_wrong", wrong)
        unhashable: Any = ["names"]
        with self.assertRaises(TypeError):
            reg_context(unhashable, open_context("null0"))

    def test_a_name_that_nobody_registered(self) -> None:
        reg_context("names_there", open_context("null0"))
        with self.assertRaisesRegex(
            ContextNotDefined, r"'names_none'\n.*'names_there'(.|\n)*contexts=names_none->cuda0"
        ):
            get_context("names_none")
        unhashable: Any = ["names"]
        with self.assertRaises(ContextNotDefined):
            get_context(unhashable)
        self.assertTrue(issubclass(ContextNotDefined, ValueError))

    def test_init_dev(self) -> None:
        context = init_dev("null1", "names_init")
        self.assertIs(get_context("names_init"), context)
        with self.assertRaises(ContextError):
            init_dev("null0", "names_init")

    def test_contexts_are_copied_as_themselves(self) -> None:
        context = init_dev("null0", "names_copied")
        self.assertIs(copy.copy(context), context)
        self.assertIs(copy.deepcopy([context])[0], context)
        self.assertIs(pickle.loads(pickle.dumps(context)), context)


@needs_opencl
class TestDevices(unittest.TestCase):
    def test_names_of_devices(self) -> None:
        results = [parse_device(name) for name in ("cuda", "cuda2", "opencl", "opencl1:3", "null", "null1")]
        parts = [(device.driver, device.platform, device.number) for device in results]
        expected = [("cuda", None, None), ("cuda", None, 2), ("opencl", None, None), ("opencl", 1, 3)]
        self.assertEqual(parts, [*expected, ("null", None, None), ("null", None, 1)])

    def test_what_is_no_name(self) -> None:
        for name in ("", "cpu", "gpu0", "CUDA0", "cuda0:0", "opencl0", "opencl0:", "null-1", "cuda 0"):
            with self.subTest(name), self.assertRaisesRegex(DeviceUnavailable, "names no device\n  Hint"):
                parse_device(name)

    def test_devices_that_are_not_there(self) -> None:
        with self.assertRaisesRegex(DeviceUnavailable, "there is no device null7\n  null0: null device 0\n  null1: "):
            open_context("null7")
        with self.assertRaisesRegex(DeviceUnavailable, "there is no device opencl99:0\n  opencl0:0: "):
            open_context("opencl99:0")

    def test_a_driver_chooses(self) -> None:
        self.assertEqual(open_context("null").devname, "null0")
        self.assertIn(open_context("opencl").devname, device_names(open_driver("opencl")))

    def test_what_a_context_tells(self) -> None:
        for name, kind in (("null1", "null"), ("opencl0:0", "opencl")):
            context = open_context(name)
            self.assertEqual((context.kind, context.devname, context.properties.driver), (kind, name, kind))
            self.assertGreaterEqual(context.properties.max_local, 1)
            self.assertEqual(context.driver.name, kind)
            self.assertIn(context.properties.name, repr(context))
            free = context.free_gmem
            memory = context.allocate(1 << 20)
            self.assertLessEqual(context.free_gmem, free - memory.nbytes)
            with context as entered:
                self.assertIs(entered, context)

    def test_several_contexts_in_one_process(self) -> None:
        contexts = [open_context(name) for name in ("null0", "null0", "null1", "opencl0:0")]
        buffers = [context.allocate(64) for context in contexts]
        for buffer, context in zip(buffers, contexts, strict=True):
            self.assertIs(buffer.context, context.native)
        self.assertEqual(len({id(context.native) for context in contexts}), 4)


@needs_opencl
class TestLives(unittest.TestCase):
    def test_a_context_that_nobody_has_is_closed(self) -> None:
        context = open_context("opencl0:0")
        context.load("__kernel void f(__global int *x) { x[0] = 1; }")
        gone = weakref.ref(context)
        del context
        gc.collect()
        self.assertIsNone(gone())


class TestAmounts(unittest.TestCase):
    def test_preallocate(self) -> None:
        memory = 1000 << 20
        cases = {0: 0, 0.5: 500, 1: 950, 0.99: 950, 200: 200}
        for amount, expected in cases.items():
            with self.subTest(amount):
                self.assertEqual(preallocated_bytes(amount, memory), expected << 20)
        self.assertEqual(preallocated_bytes(-0.5, memory), -1)

    def test_memory_is_taken_ahead(self) -> None:
        self.assertGreaterEqual(open_context("null0", 3).statistics()["pooled"], 3 << 20)
        context = open_context("null0", -1)
        context.allocate(1 << 20)
        self.assertEqual(context.statistics()["pooled"], 0)

    def test_contexts_of_flags(self) -> None:
        self.assertEqual(parse_contexts(""), {})
        self.assertEqual(parse_contexts(" a->cuda0 ;b->cuda0;"), {"a": "cuda0", "b": "cuda0"})
        wrong = "a ->cuda0 a-> a->b->cuda0 cudax->cuda0 opencl1->cuda0 a->cuda0;a->cuda1 a->cpu a->gpu0 a->CUDA0"
        for text in wrong.split():
            with self.subTest(text), self.assertRaises(ValueError):
                parse_contexts(text)


class TestKinds(unittest.TestCase):
    def test_classes(self) -> None:
        self.assertIsInstance(open_context("null0"), GpuContext)
        self.assertTrue(issubclass(DeviceUnavailable, RuntimeError))


if __name__ == "__main__":
    unittest.main()
