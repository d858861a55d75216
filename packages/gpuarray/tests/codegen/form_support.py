"""Recorders for tests of device forms: on OpenCL, and one that keeps the launches for a graphics card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.codegen import (
    Argument,
    DeviceOperand,
    DeviceProperties,
    KernelText,
    LibraryCall,
    Operand,
    contiguous_strides,
)
from theano_gpuarray.region import AtOnce, form_of, upload
from theano_linker_c.codegen import verify_exports
from theano_linker_c.kernels import Kernel
from theano_testing.device import opencl_context

#: Properties of a graphics card.
CARD = DeviceProperties("cuda", "card", 1024, 49152, 132, 32, True, True, True, False)
#: Every kernel text that a recorder of these tests was given, by its name.
TEXTS: dict[str, KernelText] = {}
#: Bytes of the largest memory that is compared before and after a launch.
MOST_COMPARED = 16 << 20

verify_exports()


class Recorder(AtOnce):
    """Carries out launches on OpenCL, and counts them.

    Parameters
    ----------
    card : bool
        Whether forms for graphics cards are taken, though the device is a CPU.
    deterministic, overwrites : bool
        Arguments of forms.
    """

    def __init__(self, *, card: bool = False, deterministic: bool = False, overwrites: bool = False) -> None:
        super().__init__(opencl_context(), offset=64)
        self._card, self._deterministic, self._overwrites = card, deterministic, overwrites
        self.launches = 0
        self.texts: list[KernelText] = []

    @property
    def properties(self) -> DeviceProperties:
        """The device, or the one that it stands for."""
        result = super().properties
        if not self._card:
            return result
        sizes = result.max_local, result.local_memory, result.units, result.warp
        return DeviceProperties(
            result.driver, result.name, *sizes, result.doubles, result.halves, result.long_atomics, False
        )

    @property
    def deterministic(self) -> bool:
        """The requests."""
        return self._deterministic

    def may_overwrite(self, operand: DeviceOperand) -> bool:
        """Note a request."""
        return self._overwrites

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        """Count and launch; arrays that the text does not declare as written stay as they were."""
        self.launches += 1
        self.texts.append(text)
        TEXTS[text.name] = text
        before = self._read_only(text, arguments)
        super().launch(text, arguments, groups, local)
        for slot, content in self._read_only(text, arguments).items():
            np.testing.assert_array_equal(content, before[slot], f"{text.name} writes to a declared input")

    def _read_only(self, text: KernelText, arguments: Sequence[Argument]) -> dict[int, NDArray[np.uint8]]:
        """Return the bytes of the memory that a kernel reads, but does not write to, by its slot."""
        operands = [x for x in arguments if isinstance(x, DeviceOperand)]
        written = {x.slot for x, flag in zip(operands, text.written, strict=True) if flag}
        memory = {x.slot: self._buffers[x.slot] for x in operands if x.slot not in written}
        results = {slot: np.zeros(x.nbytes, np.uint8) for slot, x in memory.items() if x.nbytes <= MOST_COMPARED}
        for slot, content in results.items():
            memory[slot].read(0, content)
        return results

    def run(self, kernel: Kernel, values: Sequence[Any]) -> list[Any]:
        """Run a kernel and return its results as arrays of NumPy.

        Parameters
        ----------
        kernel : Kernel
        values : sequence
            Arrays of either kind; arrays that the form does not take on the host are transferred.
        """
        results = self._results(kernel, values)
        self.check()
        return [np.asarray(self.value(result)) for result in results]

    def launched(self, kernel: Kernel, values: Sequence[Any]) -> DeviceOperand:
        """Run a kernel of one result, on operands or arrays, and return it as an operand."""
        (result,) = self._results(kernel, values)
        assert isinstance(result, DeviceOperand), "the result is on the device"
        return result

    def _results(self, kernel: Kernel, values: Sequence[Any]) -> Sequence[Operand]:
        form = form_of(kernel)
        stays = set(form.host_inputs(kernel, len(values)))
        operands: list[Operand] = []
        for i, value in enumerate(values):
            keeps = i in stays or isinstance(value, (GpuArray, DeviceOperand))
            operand = value if keeps else self.upload(np.asarray(value))
            operands.append(self.operand(operand) if isinstance(operand, GpuArray) else operand)
        results: Sequence[Operand] = form.run(kernel, self, operands)
        return results

    def upload(self, value: NDArray[Any]) -> GpuArray:
        """Return a copy on the device, behind some bytes of others."""
        return upload(self._context, value, offset=64)


class Card:
    """Keeps the launches for a graphics card, and runs nothing.

    Parameters
    ----------
    properties : DeviceProperties
    count : int
        The values that the host reads, at any place.
    deterministic : bool
        Arguments of forms.
    library : bool
        Whether a library multiplies matrices.
    """

    def __init__(
        self, properties: DeviceProperties = CARD, count: int = 3, deterministic: bool = False, library: bool = False
    ) -> None:
        self.properties, self.count, self.slots = properties, count, 0
        self.deterministic, self.library = deterministic, library
        self.products: list[tuple[Any, ...]] = []
        self.launches: list[tuple[KernelText, Sequence[Argument], Sequence[int], Sequence[int]]] = []

    def empty(self, dtype: str, shape: Sequence[int]) -> DeviceOperand:
        """Return an array that has no memory."""
        self.slots += 1
        return DeviceOperand(self.slots, dtype, tuple(shape), contiguous_strides(shape, np.dtype(dtype).itemsize), 32)

    def constant(self, value: NDArray[Any]) -> DeviceOperand:
        """Return an array that has no memory."""
        return self.empty(value.dtype.name, value.shape)

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        """Keep a launch; there is one argument for each parameter."""
        assert len(arguments) == len(text.parameters), "a kernel gets one argument for each parameter"
        TEXTS[text.name] = text
        self.launches.append((text, arguments, groups, local))

    def copy(self, target: DeviceOperand, source: DeviceOperand) -> None:
        """Copy nothing."""

    def fill(self, target: DeviceOperand, value: int = 0) -> None:
        """Fill nothing."""

    def product(self, *operands: Any) -> bool:
        """Keep the requests to a library, which exists or not, as the test chooses."""
        self.products.append(operands)
        return self.library

    def workspace(self, call: LibraryCall) -> int | None:
        """Tell whether a library has an operation, as was said."""
        return 64 if self.library else None

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Keep the requests to a library."""
        self.products.append((call, *operands))

    def status(self) -> DeviceOperand:
        """Return an array that has no memory."""
        return self.empty("int64", (4,))

    def failure(self, explain: Callable[[int, int, int], Exception]) -> int:
        """Return a number."""
        return 1

    def read(self, operand: DeviceOperand) -> NDArray[Any]:
        """Return `count`, everywhere."""
        return np.full(operand.shape, self.count, operand.dtype)

    def may_overwrite(self, operand: DeviceOperand) -> bool:
        """Overwrite nothing."""
        return False

    def run(self, kernel: Kernel, operands: Sequence[Any]) -> Sequence[Operand]:
        """Record the launches of a kernel."""
        return list(form_of(kernel).run(kernel, self, operands))


def on_card(array: NDArray[Any]) -> GpuArray:
    """Return an array on the device: every other element of a larger one, backwards along each dimension."""
    full = np.zeros([2 * n for n in array.shape], array.dtype)
    full[tuple(slice(None, None, -2) for _ in array.shape)] = array
    result: GpuArray = upload(opencl_context(), full, offset=64)[tuple(slice(None, None, -2) for _ in array.shape)]
    return result
