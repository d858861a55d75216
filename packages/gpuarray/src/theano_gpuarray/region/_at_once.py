"""The recorder that carries out the records of device forms at once: a node by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theano_graph import Flag, config, format_error
from theano_linker_c.kernels import Kernel

from ..arrays import GpuArray
from ..codegen import (
    Argument,
    ConvolutionPlan,
    ConvolutionRequest,
    DeviceOperand,
    DeviceProperties,
    KernelText,
    LibraryCall,
    NoDeviceForm,
    Operand,
    contiguous_strides,
    device_form,
)
from ..contexts import GpuContext
from ._array import array_of, extent, operand_of, upload
from ._calls import workspace_of
from ._convolutions import planned
from ._products import library_product

if TYPE_CHECKING:
    from .. import _device

__all__ = ["AtOnce", "flags_token", "form_of", "run_kernel"]

#: The status of a call: the number of the failure, a position, a value, a length.
STATUS_LENGTH = 4
#: Flags that have been asked for.
_flags: dict[str, Flag] = {}


class AtOnce:
    """Carries out each launch when it is recorded.

    Parameters
    ----------
    context : GpuContext
    offset : int
        Bytes that are left free before each new array; not 0 in tests of device forms, which have to heed offsets.

    Attributes
    ----------
    step : int
    dying : set of int
        As any recorder of steps has them; nothing is done with them here.
    """

    def __init__(self, context: GpuContext, *, offset: int = 0) -> None:
        self._context = context
        self._offset = offset
        self._buffers: list[_device.Buffer] = []
        self._status: DeviceOperand | None = None
        self._failures: list[Callable[[int, int, int], Exception]] = []
        self.step = 0
        self.dying: set[int] = set()

    @property
    def properties(self) -> DeviceProperties:
        """The device."""
        return self._context.properties

    def operand(self, value: GpuArray) -> DeviceOperand:
        """Return an array on the device as device forms see it."""
        return operand_of(self._slot(value.buffer), value)

    def value(self, result: Operand) -> Any:
        """Return the result of a device form as an array on the device, or on the host if it is there."""
        if not isinstance(result, DeviceOperand):
            return np.asarray(result)
        return array_of(self._context, result, self._buffers[result.slot])

    def empty(self, dtype: str, shape: Sequence[int]) -> DeviceOperand:
        """Return a new C-contiguous array, its elements undefined."""
        strides = contiguous_strides(shape, np.dtype(dtype).itemsize)
        operand = DeviceOperand(len(self._buffers), dtype, tuple(shape), strides, self._offset)
        self._slot(self._context.allocate(self._offset + max(operand.size * operand.itemsize, 1)))
        return operand

    def constant(self, value: NDArray[Any]) -> DeviceOperand:
        """Return an array with these elements."""
        return self.operand(upload(self._context, value, offset=self._offset))

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        """Launch a kernel."""
        if 0 in groups:
            return
        kernel = self._context.kernel(text)
        buffers = [self._buffers[x.slot] if isinstance(x, DeviceOperand) else x for x in arguments]
        self._context.launch(kernel, tuple(groups), tuple(local), buffers)

    def copy(self, target: DeviceOperand, source: DeviceOperand) -> None:
        """Copy contiguous bytes."""
        nbytes = target.size * target.itemsize
        if nbytes:
            into, out_of = self._buffers[target.slot], self._buffers[source.slot]
            into.copy(target.offset, out_of, source.offset, nbytes)

    def fill(self, target: DeviceOperand, value: int = 0) -> None:
        """Set each byte of a contiguous array."""
        nbytes = target.size * target.itemsize
        if nbytes:
            self._buffers[target.slot].fill(target.offset, nbytes, value)

    def product(
        self,
        z: DeviceOperand,
        a: DeviceOperand,
        b: DeviceOperand,
        alpha: float | DeviceOperand,
        beta: float | DeviceOperand,
    ) -> bool:
        """Compute ``z = alpha * a @ b + beta * z`` by a library; return False where there is none for it."""
        result = library_product(z, a, b, (alpha, beta))
        if result is None:
            return False
        memory = [
            (self._buffers[x.operand.slot], x.offset, x.leading, x.stride) for x in (result.a, result.b, result.z)
        ]
        transposes = result.a.transposed, result.b.transposed
        factors = [self._factor(alpha), self._factor(beta)]
        return self._context.native.product(
            result.dtype, transposes, result.sizes, factors[0], memory[0], memory[1], factors[1], memory[2]
        )

    def plan_convolution(self, request: ConvolutionRequest) -> ConvolutionPlan | None:
        """Choose how a library computes a convolution; None where there is none for it."""
        return planned(self._context, request, self.deterministic)

    def convolve(
        self,
        plan: ConvolutionPlan,
        image: DeviceOperand,
        filters: DeviceOperand,
        top: DeviceOperand,
        workspace: DeviceOperand,
    ) -> None:
        """Compute a convolution by a library."""
        places = [(self._buffers[x.slot], x.offset) for x in (image, filters, top, workspace)]
        self._context.native.convolve(
            plan.description, plan.algorithm, places[0], places[1], places[2], places[3], plan.workspace
        )

    def workspace(self, call: LibraryCall) -> int | None:
        """Return the bytes that an operation of a library works in; None where no library has it."""
        return workspace_of(self._context, call)

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Compute by a library."""
        places = [(self._buffers[x.slot], x.offset, extent(x)) for x in operands]
        self._context.native.call(call.name, call.dtype, call.numbers, *places)

    def status(self) -> DeviceOperand:
        """Return the array in which kernels report failures."""
        if self._status is None:
            self._status = self.constant(np.zeros(STATUS_LENGTH, np.int64))
        return self._status

    def failure(self, explain: Callable[[int, int, int], Exception]) -> int:
        """Return the number of a failure."""
        self._failures.append(explain)
        return len(self._failures)

    def read(self, operand: DeviceOperand) -> NDArray[Any]:
        """Return the values of an array, when all launches so far have been carried out."""
        return np.asarray(self.value(operand))

    def may_overwrite(self, operand: DeviceOperand) -> bool:
        """Tell that operands belong to others."""
        return False

    @property
    def deterministic(self) -> bool:
        """Whether sums are wanted that do not depend on which work-item comes first."""
        return wants_deterministic()

    def check(self) -> None:
        """Wait, and raise a failure that a kernel reports; nothing is waited for where no kernel checks anything."""
        if self._status is None:
            return
        status = np.zeros(STATUS_LENGTH, np.int64)
        self._buffers[self._status.slot].read(self._status.offset, status)
        if status[0]:
            number, *details = status.tolist()
            raise self._failures[number - 1](*details)

    def _slot(self, buffer: _device.Buffer) -> int:
        self._buffers.append(buffer)
        return len(self._buffers) - 1

    def _factor(self, value: float | DeviceOperand) -> float | tuple[_device.Buffer, int]:
        if isinstance(value, DeviceOperand):
            return self._buffers[value.slot], value.offset // value.itemsize
        return float(value)


def wants_deterministic() -> bool:
    """Tell whether the flag ``deterministic`` asks for sums in a fixed order."""
    return bool(_flag("deterministic") == "more")


def flags_token() -> int:
    """Return a number that differs where flags do that recordings depend on; it is asked for in each call."""
    return 2 * bool(_flag("gpuarray.tf32")) + wants_deterministic()


def _flag(name: str) -> Any:
    flag = _flags.get(name)
    if flag is not None and flag.current is not None:
        return flag.current.value
    _flags[name] = config.flag(name)
    return attrgetter(name)(config)


def form_of(kernel: Kernel) -> Any:
    """Return the device form of a kernel.

    Raises
    ------
    NoDeviceForm
        If there is none.
    """
    form = device_form.get(kernel)
    if form is None or not form.supports(kernel):
        raise NoDeviceForm(
            format_error(
                f"{type(kernel).__name__} has no device form",
                hint="leave the node on the CPU, or register one with `register_device_form`",
            )
        )
    return form


def run_kernel(kernel: Kernel, context: GpuContext, values: Sequence[Any], *, offset: int = 0) -> list[Any]:
    """Run a kernel on a device.

    Parameters
    ----------
    kernel : Kernel
    context : GpuContext
    values : sequence
        Arrays on the device, and arrays or numbers on the host; other operands of the form are transferred.
    offset : int
        Bytes that are left free before each new array.

    Returns
    -------
    list
        The results: arrays on the device, and arrays on the host where the form leaves them there.

    Raises
    ------
    NoDeviceForm
        If the kernel has no device form.
    Exception
        The errors of the form, as on the CPU: shapes that do not fit, indices out of bounds.
    """
    form = form_of(kernel)
    recorder = AtOnce(context, offset=offset)
    stays = set(form.host_inputs(kernel, len(values)))
    operands: list[Operand] = []
    for i, value in enumerate(values):
        if isinstance(value, GpuArray):
            operands.append(recorder.operand(value))
        else:
            array = np.asarray(value)
            operands.append(array if i in stays else recorder.operand(upload(context, array, offset=offset)))
    results = form.run(kernel, recorder, operands)
    recorder.check()
    return [recorder.value(result) for result in results]
