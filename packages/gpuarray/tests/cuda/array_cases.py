"""Arguments of the CUDA driver for arrays and bridges: `test_cuda_driver` runs them with stand-ins."""

from __future__ import annotations

import ctypes
import sys
import unittest
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from theano_gpuarray._libraries import FoundLibrary
from theano_gpuarray.arrays import asarray, from_dlpack, zeros
from theano_gpuarray.bridges import (
    attach_pycuda,
    default_pycuda,
    from_cuda_array,
    from_pygpu,
    to_pycuda,
    to_pygpu,
)
from theano_gpuarray.contexts import ContextError, GpuContext, open_context

from . import cuda_cases
from .cuda_cases import FAKE, calls, driver, fake


class Holder:
    """An array of another library: gives itself as a capsule of ours, and says with which stream it was asked."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.asked: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        result: tuple[int, int] = self.x.__dlpack_device__()
        return result

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked = asked
        return self.x.__dlpack__(**asked)


class TestArrays(cuda_cases.Case):
    def setUp(self) -> None:
        super().setUp()
        self.gpu = GpuContext(self.context, "cuda0")

    def test_cuda_array_interface(self) -> None:
        x = asarray(np.arange(12, dtype="float32").reshape(3, 4), context=self.gpu)
        result = x.__cuda_array_interface__
        self.assertEqual(
            (result["shape"], result["typestr"], result["strides"], result["version"]), ((3, 4), "<f4", None, 3)
        )
        self.assertEqual(result["data"], (x.gpudata, False))
        self.assertEqual(result["stream"], self.context.queue)
        part = x[1:, ::2].__cuda_array_interface__
        self.assertEqual((part["data"][0], part["strides"]), (x.gpudata + 16, (16, 8)))
        self.assertEqual(x[:0].__cuda_array_interface__["data"][0], 0)

    def test_dlpack_both_ways(self) -> None:
        x = asarray(np.arange(12, dtype="int16").reshape(3, 4), context=self.gpu)
        for view in (x, x[1:, ::2], x.T, x[::-1]):
            holder = Holder(view)
            y = from_dlpack(holder, context=self.gpu)
            self.assertEqual(holder.asked, {"stream": self.context.queue, "max_version": (1, 0)})
            np.testing.assert_array_equal(np.asarray(y), np.asarray(view))
            self.assertEqual(y.gpudata + y.offset, view.gpudata + view.offset)
        y[0, 0] = 77
        self.assertEqual(int(np.asarray(x)[2, 0]), 77)

    def test_consumers_wait_where_they_do_not_by_themselves(self) -> None:
        x = asarray(np.arange(4.0), context=self.gpu)
        for stream, count in ((None, 0), (1, 0), (-1, 0), (self.context.queue, 0), (self.stream(), 1)):
            fake.fake_reset()
            x.__dlpack__(stream=stream)
            self.assertEqual(calls().count("cuStreamWaitEvent"), count)
            self.assertNotIn("cuStreamSynchronize", calls())
        self.assertEqual(fake.fake_events(), 0)

    def test_memory_goes_back_when_consumers_have_done_their_work(self) -> None:
        for stream, count in ((None, 0), (1, 0), (self.context.queue, 0), (-1, 1), (self.stream(), 1)):
            x = asarray(np.arange(4.0), context=self.gpu)
            capsule = x.__dlpack__(stream=stream)
            position = x.gpudata
            del x
            fake.fake_reset()
            del capsule
            self.assertEqual(calls().count("cuCtxSynchronize"), count)
            self.assertEqual(asarray(np.zeros(4), context=self.gpu).gpudata, position)

    def test_memory_that_was_told_goes_back_when_all_work_is_done(self) -> None:
        held = self.context.allocate(32)
        mine = ctypes.c_uint64(held.address)
        for late in (0, 1):
            with self.subTest(late=late):
                fake.fake_late_first(late)
                self.addCleanup(fake.fake_late_first, 0)
                x = asarray(np.arange(4.0), context=self.gpu)
                messages, stream = x.__cuda_array_interface__, ctypes.c_void_p(self.stream())
                position, event = ctypes.c_uint64(messages["data"][0]), ctypes.c_void_p()
                with self.gpu:  # as a consumer that works in a stream of its own
                    self.assertEqual(fake.cuEventCreate(ctypes.byref(event), 0), 0)
                    self.assertEqual(fake.cuEventRecord(event, ctypes.c_void_p(messages["stream"])), 0)
                    self.assertEqual(fake.cuStreamWaitEvent(stream, event, 0), 0)
                    self.assertEqual(fake.cuMemcpyDtoDAsync_v2(mine, position, ctypes.c_size_t(32), stream), 0)
                    self.assertEqual(fake.cuEventDestroy_v2(event), 0)
                del x
                y = asarray(np.zeros(4), context=self.gpu)
                self.assertEqual(y.gpudata, position.value)
                result = np.empty(4)
                with self.gpu:
                    self.assertEqual(fake.cuStreamSynchronize(ctypes.c_void_p(self.context.queue)), 0)
                    self.assertEqual(fake.cuStreamSynchronize(stream), 0)
                    size, target = ctypes.c_size_t(32), result.ctypes.data_as(ctypes.c_void_p)
                    self.assertEqual(fake.cuMemcpyDtoHAsync_v2(target, mine, size, stream), 0)
                    self.assertEqual(fake.cuStreamSynchronize(stream), 0)
                self.assertEqual(result.tolist(), [0, 1, 2, 3])

    def test_memory_that_nobody_could_wait_for_is_not_used_again(self) -> None:
        x = asarray(np.arange(4.0), context=self.gpu)
        position = x.gpudata
        x.buffer.share(None)
        with patch("sys.unraisablehook") as complained:
            fake.fake_fail(b"cuCtxSynchronize", 900, 0)
            del x
        complained.assert_called_once()
        self.assertIn("cuCtxSynchronize failed", str(complained.call_args[0][0].exc_value))
        self.assertNotEqual(asarray(np.zeros(4), context=self.gpu).gpudata, position)

    def test_memory_of_others_is_let_go_when_consumers_have_done_their_work(self) -> None:
        for stream, count in ((1, 0), (-1, 1), (self.stream(), 1)):
            owner = asarray(np.arange(4.0), context=self.gpu)
            message = SimpleNamespace(__cuda_array_interface__=owner.__cuda_array_interface__, owner=owner)
            capsule = from_cuda_array(message, self.gpu).__dlpack__(stream=stream)
            fake.fake_reset()
            del capsule
            self.assertEqual(calls().count("cuCtxSynchronize"), count)

    def test_streams_that_cannot_be_told(self) -> None:
        x = asarray(np.arange(4.0), context=self.gpu)
        with self.assertRaisesRegex(BufferError, r"the stream 0 may mean several ones\s+Hint: pass 1"):
            x.__dlpack__(stream=0)
        for call in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"):
            self.assertIn(call, self.refused(call, partial(x.__dlpack__, stream=self.stream())))
        self.assertEqual(fake.fake_events(), 0)

    def stream(self) -> int:
        """Return a stream of somebody else."""
        result = ctypes.c_void_p()
        with self.gpu:
            self.assertEqual(fake.cuStreamCreate(ctypes.byref(result), 1), 0)
        assert result.value is not None, "there is one"
        return result.value

    def test_the_memory_lives_as_long_as_somebody_has_it(self) -> None:
        x = asarray(np.arange(4.0), context=self.gpu)
        y = from_dlpack(Holder(x), context=self.gpu)
        x = asarray(np.zeros(4), context=self.gpu)
        self.assertEqual(np.asarray(y).tolist(), [0, 1, 2, 3])
        self.assertNotEqual(x.gpudata, y.gpudata)

    def test_the_context_is_current_in_a_block(self) -> None:
        with self.gpu as context:
            self.assertIs(context, self.gpu)
            self.assertEqual(fake.fake_depth(), 1)
        self.assertEqual(fake.fake_depth(), 0)

    def test_the_place_on_the_bus_is_told(self) -> None:
        self.assertEqual(self.gpu.description, "Fake GPU 0 (0000:01:00.0)")


class FakeModule(ModuleType):
    """A module that stands in for one of PyCUDA."""

    def __init__(self, **names: Any) -> None:
        super().__init__("pycuda")
        self.__dict__.update(names)


class TestBridges(cuda_cases.Case):
    def setUp(self) -> None:
        super().setUp()
        self.gpu = GpuContext(self.context, "cuda0")
        self.x = asarray(np.arange(12, dtype="float32").reshape(3, 4), context=self.gpu)

    def test_arrays_of_other_libraries(self) -> None:
        for view in (self.x, self.x[1:, ::-2], self.x.T):
            other = SimpleNamespace(__cuda_array_interface__=view.__cuda_array_interface__)
            result = from_cuda_array(other, self.gpu)
            np.testing.assert_array_equal(np.asarray(result), np.asarray(view))
            self.assertEqual(result.gpudata + result.offset, view.gpudata + view.offset)
            result[0, 0] = 99
            self.assertEqual(float(view[0, 0]), 99)

    def test_arrays_that_may_not_be_written_are_copied(self) -> None:
        message = {**self.x.__cuda_array_interface__, "data": (self.x.gpudata, True)}
        result = from_cuda_array(SimpleNamespace(__cuda_array_interface__=message), self.gpu)
        self.assertNotEqual(result.gpudata, self.x.gpudata)
        np.testing.assert_array_equal(np.asarray(result), np.asarray(self.x))

    def test_other_queues_are_waited_for(self) -> None:
        second = driver.open(0)
        for stream, count in ((None, 0), (1, 0), (self.context.queue, 0), (second.queue, 1)):
            other = SimpleNamespace(__cuda_array_interface__={**self.x.__cuda_array_interface__, "stream": stream})
            fake.fake_reset()
            with patch("theano_gpuarray.bridges.find_library", return_value=FoundLibrary(FAKE, "the test")):
                from_cuda_array(other, self.gpu)
            self.assertEqual(calls().count("cuStreamSynchronize"), count)

    def test_what_is_no_array_of_cuda(self) -> None:
        message = {**self.x.__cuda_array_interface__, "mask": self.x}
        for wrong, text in (
            (3, "int does not tell"),
            (SimpleNamespace(__cuda_array_interface__=message), "has a mask"),
        ):
            with self.assertRaisesRegex(TypeError, text):
                from_cuda_array(wrong, self.gpu)
        with self.assertRaisesRegex(ContextError, "no context on null0"):
            from_cuda_array(self.x, open_context("null0"))

    def pygpu_array(self, x: Any, kind: Any = b"cuda", address: int | None = None) -> Any:
        """Return the fields of an array of pygpu, for the memory of one of ours, and how often it was waited for."""
        waits: list[int] = []
        named = {name: getattr(x, name) for name in ("dtype", "shape", "strides", "size", "offset")}
        host = np.asarray(x)
        other = SimpleNamespace(**named, context=SimpleNamespace(kind=kind), sync=lambda: waits.append(1), waits=waits)
        other.gpudata = x.gpudata if address is None else address
        other.__array__ = lambda dtype=None, copy=None: host
        return other

    def test_arrays_of_pygpu_in_the_same_context(self) -> None:
        with patch("theano_gpuarray.bridges.find_library", return_value=FoundLibrary(FAKE, "the test")):
            for view in (self.x, self.x[1:, ::-2], self.x.T):
                other = self.pygpu_array(view)
                result = from_pygpu(other, self.gpu)
                np.testing.assert_array_equal(np.asarray(result), np.asarray(view))
                self.assertEqual(result.gpudata + result.offset, view.gpudata + view.offset)
                self.assertEqual(other.waits, [1])
            outcome: list[Any] = []

            def empty(shape: Any, dtype: Any, context: Any) -> Any:
                memory = zeros(shape, dtype, context=self.gpu)
                outcome.append((memory, context))
                return self.pygpu_array(memory)

            pygpu = FakeModule(empty=empty, array=None)
            with patch.dict(sys.modules, {"pygpu": pygpu, "pygpu.gpuarray": pygpu}):
                fake.fake_reset()
                result = to_pygpu(self.x[1:], "its context")
            ((memory, where),) = outcome
            np.testing.assert_array_equal(np.asarray(memory), np.asarray(self.x)[1:])
            self.assertEqual((result.gpudata, where), (memory.gpudata, "its context"))

    def test_arrays_of_pygpu_that_are_elsewhere_are_copied(self) -> None:
        class Other:
            def __init__(self, message: Any, values: Any) -> None:
                self.__dict__.update(vars(message))
                self.values = values

            def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
                return np.array(self.values, dtype)

        with patch("theano_gpuarray.bridges.find_library", return_value=FoundLibrary(FAKE, "the test")):
            for kind, address in ((b"opencl", None), (b"cuda", 64)):
                other = Other(self.pygpu_array(self.x, kind, address), np.asarray(self.x))
                result = from_pygpu(other, self.gpu)
                self.assertNotEqual(result.gpudata, self.x.gpudata)
                np.testing.assert_array_equal(np.asarray(result), np.asarray(self.x))
                self.assertEqual(other.waits, [])  # type: ignore[attr-defined]  # it hears of nothing

    def test_pycuda(self) -> None:
        log: list[str] = []
        attached = SimpleNamespace(detach=lambda: log.append("detach"))

        def attach() -> Any:
            log.append(f"attach with {fake.fake_depth()} context")
            return attached

        outcome = FakeModule(init=lambda: log.append("init"), Context=SimpleNamespace(attach=attach))
        arrays = FakeModule(GPUArray=lambda shape, dtype, **more: SimpleNamespace(shape=shape, dtype=dtype, **more))
        with patch.dict(sys.modules, {"pycuda": FakeModule(), "pycuda.driver": outcome, "pycuda.gpuarray": arrays}):
            self.assertIs(attach_pycuda(self.gpu), attached)
            self.assertIsNone(default_pycuda(), "no device is in use by default")
            result = to_pycuda(self.x[1:])
        self.assertEqual(log, ["init", "attach with 1 context"])
        self.context.pop()
        self.assertEqual((result.shape, result.dtype, result.strides), ((2, 4), np.dtype("float32"), (16, 4)))
        self.assertEqual((result.gpudata, result.base.offset), (self.x.gpudata + 16, 16))

    def test_libraries_that_are_not_installed(self) -> None:
        with patch.dict(sys.modules, {"pycuda": None, "pycuda.driver": None, "pycuda.gpuarray": None}):
            with self.assertRaisesRegex(ImportError, r"pip install 'theano-gpuarray\[pycuda\]'"):
                attach_pycuda(self.gpu)
            with self.assertRaisesRegex(ImportError, "pycuda.gpuarray cannot be imported"):
                to_pycuda(self.x)
        null = asarray(np.ones(3), context=open_context("null0"))
        with self.assertRaisesRegex(ContextError, "PyCUDA does not work on null0"):
            to_pycuda(null)


if __name__ == "__main__":
    unittest.main()
