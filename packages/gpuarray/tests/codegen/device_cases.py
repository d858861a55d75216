"""Shared parts of tests of device forms: OpenCL as it is, and disguised as a graphics card; and the texts of forms."""

from __future__ import annotations

import unittest
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray.codegen import Argument, KernelText
from theano_gpuarray.contexts import GpuContext, open_context
from theano_gpuarray.region import AtOnce, form_of, upload
from theano_linker_c.kernels import ElementwiseKernel, Kernel
from theano_linker_c.scalar import ScalarOp
from theano_testing.device import null_context, on_device, opencl_context
from theano_testing.gpuarray import tested_device

DEVICES = ("cpu", "card")


@cache
def contexts() -> dict[str, GpuContext]:
    """Return two contexts: forms write text for a CPU in one, and for a graphics card in the other."""
    cpu, card = opencl_context(), open_context(tested_device())
    cpu.properties = replace(cpu.properties, cpu=True)
    card.properties = replace(card.properties, cpu=False, max_local=min(256, card.properties.max_local), units=4)
    return {"cpu": cpu, "card": card}


class DeviceCase(unittest.TestCase):
    """Runs kernels in both contexts."""

    def each(self, *names: str) -> Iterator[GpuContext]:
        """Yield the contexts, or the named ones alone, each in a subtest."""
        for name in names or DEVICES:
            with self.subTest(device=name):
                yield contexts()[name]

    def check(
        self,
        kernel: Kernel,
        values: Sequence[Any],
        expected: Sequence[Any],
        rtol: float = 0.0,
        atol: float = 0.0,
        devices: Sequence[str] = (),
    ) -> None:
        """Compare the results of a kernel, their dtypes and shapes, with the expected ones."""
        for context in self.each(*devices):
            result = on_device(kernel, values, context)
            self.assertEqual(len(result), len(expected))
            for x, y in zip(result, expected, strict=True):
                self.assertEqual((x.dtype, x.shape), (np.asarray(y).dtype, np.asarray(y).shape))
                np.testing.assert_allclose(_wide(x), _wide(np.asarray(y)), rtol=rtol, atol=atol)

    def refused(self, kernel: Kernel, values: Sequence[Any], text: str) -> None:
        """Check that a kernel refuses operands with a ValueError that has some text in it."""
        for context in self.each():
            with self.assertRaises(ValueError) as caught:
                on_device(kernel, values, context)
            self.assertIn(text, str(caught.exception))


def _wide(x: NDArray[Any]) -> NDArray[Any]:
    return x.astype("float32") if x.dtype == "float16" else x


def elementwise(op: ScalarOp, *dtypes: str, broadcast: Sequence[Sequence[bool]] | None = None, ndim: int = 1) -> Any:
    """Return the kernel of a scalar op."""
    patterns = ((False,) * ndim,) * len(dtypes) if broadcast is None else tuple(map(tuple, broadcast))
    return ElementwiseKernel(op, dtypes, op.result_dtypes(*dtypes), patterns, ndim)


class _Texts(AtOnce):
    """Keeps the texts of launches, and launches nothing."""

    def __init__(self, context: GpuContext) -> None:
        super().__init__(context)
        self.found: list[KernelText] = []

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        assert len(arguments) == len(text.parameters), "each parameter is given"
        self.found.append(text)


def texts_of(kernel: Kernel, values: Sequence[Any], *, cpu: bool = False) -> list[KernelText]:
    """Return the texts that a form launches, for a graphics card with many units."""
    context = null_context()
    context.properties = replace(
        context.properties, cpu=cpu, doubles=True, max_local=1024, units=132, long_atomics=True
    )
    recorder, form = _Texts(context), form_of(kernel)
    stays = set(form.host_inputs(kernel, len(values)))
    operands = [
        np.asarray(v) if i in stays else recorder.operand(upload(context, np.asarray(v))) for i, v in enumerate(values)
    ]
    form.run(kernel, recorder, operands)
    return recorder.found
