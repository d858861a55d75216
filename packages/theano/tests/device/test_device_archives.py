"""Archives of device values, loaded without trust: on the same device, where it is missing, and on the host."""

from __future__ import annotations

import io
import unittest
import zipfile
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.gpuarray import basic_ops, elemwise, extra_ops, multinomial, pool, rng_mrg, sort, subtensor
from theano.gpuarray.type import GpuArraySharedVariable, GpuArrayType, get_context
from theano.misc.pkl_utils import UnsafeArchiveError, dump, load
from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.contexts import DeviceUnavailable, open_context, reg_context
from theano_graph.safe_loading import ClassWord, vocabulary
from theano_linker_c import SharedVariable
from theano_tensor import device
from theano_testing.tiers import slow

NAME = "archives"
VALUE = np.arange(6.0).reshape(2, 3)


def setUpModule() -> None:
    """Register a context."""
    try:
        reg_context(NAME, open_context("opencl"))
    except DeviceUnavailable:
        reg_context(NAME, open_context("null0"))


def computes() -> bool:
    """Tell whether values on the device can be compared."""
    return bool(get_context(NAME).kind != "null")


def archive(thing: Any) -> bytes:
    """Return the bytes of an archive."""
    file = io.BytesIO()
    dump(thing, file)
    return file.getvalue()


def loaded(data: bytes) -> Any:
    return load(io.BytesIO(data), safe=True)


class TestLoading(unittest.TestCase):
    def setUp(self) -> None:
        self.x = theano.shared(VALUE, target=NAME, name="x")

    def test_shared_variables(self) -> None:
        result = loaded(archive([self.x, theano.shared(np.float32(3), "y")]))[0]
        self.assertIsInstance(result, GpuArraySharedVariable)
        self.assertEqual((result.type, result.name), (self.x.type, "x"))
        self.assertFalse(result.get_value(return_internal_type=True) is self.x.container.value)
        if computes():
            np.testing.assert_array_equal(result.get_value(), VALUE)

    def test_arrays_and_types(self) -> None:
        array, kind = loaded(archive([self.x.get_value(return_internal_type=True), self.x.type]))
        self.assertIsInstance(array, GpuArray)
        self.assertEqual((array.shape, array.context), (VALUE.shape, get_context(NAME)))
        self.assertEqual(kind, GpuArrayType("float64", (False, False), NAME))

    def test_expressions(self) -> None:
        result = loaded(archive(T.exp(self.x) + 1))
        value = theano.function([], result)()
        if computes():
            np.testing.assert_allclose(value, np.exp(VALUE) + 1)

    @slow
    def test_ops_by_their_names(self) -> None:
        x = self.x
        cases = [
            elemwise.GpuElemwise(theano.scalar.exp)(x),
            elemwise.GpuCAReduceCuda(theano.scalar.add, reduce_mask=(1, 0))(x),
            elemwise.GpuCAReduceCPY(theano.scalar.add, 0)(x),
            elemwise.GpuDimShuffle((False, False), (1, 0), inplace=False)(x),
            basic_ops.GpuAlloc(NAME)(np.float64(1), 3),
            basic_ops.GpuEye("float32", NAME)(3, 3, 0),
            basic_ops.gpu_contiguous(x),
            basic_ops.GpuToGpu(NAME)(x),
            basic_ops.gpu_join(0, x, x),
            basic_ops.GpuReshape(1, name="flat")(x, [6]),
            *basic_ops.GpuSplit(2)(x, 0, [1, 1]),
            subtensor.GpuSubtensor([0])(x),
            subtensor.GpuAdvancedSubtensor1()(x, [0, 1]),
            subtensor.GpuIncSubtensor([0], set_instead_of_inc=True)(x, x[1]),
            subtensor.GpuAdvancedIncSubtensor1_dev20()(x, x, [0, 1]),
            subtensor.GpuExtractDiag(view=True)(x),
            subtensor.GpuAllocDiag(1)(x[0]),
            sort.GpuTopKOp(0)(x, 1)[0],
            extra_ops.GpuCumOp(0)(x),
            device.gpu_dot22(x, x.T),
            device.gpugemm_inplace(x[:, :2], 1.0, x[:, :2], x[:, :2], 1.0),
            pool.GpuPool(True)(x, (1, 1)),
            multinomial.GPUAMultinomialFromUniform("auto")(x / x.sum(1, keepdims=True), x[:, 0], 1),
            rng_mrg.GPUA_mrg_uniform.new(theano.shared(np.ones((2, 6), "int32"), target=NAME), 1, "float32", (3,))[1],
        ]
        for before, after in zip(cases, loaded(archive(cases)), strict=True):
            with self.subTest(op=str(before.owner.op)):
                self.assertEqual(after.owner.op, before.owner.op)
                self.assertEqual(str(after.owner.op), str(before.owner.op))
                values = [np.asarray(theano.function([], v, on_unused_input="ignore")()) for v in (before, after)]
                self.assertEqual(values[0].shape, values[1].shape)
                if computes():
                    np.testing.assert_array_equal(values[0], values[1])

    def test_memory_that_nobody_has_written_to(self) -> None:
        result = loaded(archive(basic_ops.GpuAllocEmpty("float32", NAME)(3)))
        self.assertEqual(np.asarray(result.eval()).shape, (3,))

    def test_each_op_of_the_modules_of_devices_has_a_word(self) -> None:
        words = {str(word) for word in vocabulary() if isinstance(word, ClassWord)}
        modules = {name.rpartition(".")[0] for name in words if name.startswith("theano_tensor.device.ops.")}
        # Archives refuse convolutions on devices, which have no words.
        apart = ("_", "BaseGpuCorr", "GpuCorr")
        for cls in _subclasses(device.NamedDeviceOp):
            if cls.__module__ in modules and not cls.__name__.startswith(apart):
                self.assertIn(f"{cls.__module__}.{cls.__name__}", words)


class TestElsewhere(unittest.TestCase):
    """The name of the context is changed in the bytes of archives, so that it is one that is not here."""

    def setUp(self) -> None:
        x = theano.shared(VALUE, target=NAME, name="x")
        things = {"shared": x, "array": x.get_value(return_internal_type=True), "type": x.type}
        self.data = {name: _elsewhere(archive(thing)) for name, thing in things.items()}

    def test_it_is_said_that_the_device_is_missing(self) -> None:
        for name, data in self.data.items():
            with (
                self.subTest(thing=name),
                self.assertRaisesRegex(UnsafeArchiveError, "the context 'nowhere!', which is not here"),
            ):
                loaded(data)

    def test_a_flag_has_it_loaded_on_the_host(self) -> None:
        with theano.config.change_flags(**{"experimental.unpickle_gpu_on_cpu": True}):
            results = {name: loaded(data) for name, data in self.data.items()}
        self.assertIsInstance(results["shared"], SharedVariable)
        self.assertEqual((results["shared"].type, results["shared"].name), (T.dmatrix, "x"))
        self.assertEqual(results["type"], T.dmatrix)
        self.assertIsInstance(results["array"], np.ndarray)
        self.assertEqual(results["shared"].get_value().shape, VALUE.shape)
        if computes():
            np.testing.assert_array_equal(results["shared"].get_value(), VALUE)


def _elsewhere(data: bytes) -> bytes:
    """Return an archive in which the context has a name of the same length that no context has."""
    return _repacked(data, NAME.encode(), b"nowhere!")


def _repacked(data: bytes, old: bytes, new: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w") as result:
        for name in source.namelist():
            result.writestr(name, source.read(name).replace(old, new))
    return target.getvalue()


def _subclasses(cls: type[Any]) -> set[type[Any]]:
    return {cls}.union(*(_subclasses(each) for each in cls.__subclasses__()))


if __name__ == "__main__":
    unittest.main()
