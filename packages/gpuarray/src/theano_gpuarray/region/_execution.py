"""The recorder that carries out the records of device forms at once: a node by itself; calls of libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from theano_graph import Flag, config, format_error, record
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
from ..contexts import GpuContext, has_cudnn

if TYPE_CHECKING:
    from .. import _device


# ---- Arrays on the host and on the device, as recorders take and give them


def upload(context: GpuContext, value: NDArray[Any], *, offset: int = 0) -> GpuArray:
    """Return a C-contiguous copy of an array on a device.

    Parameters
    ----------
    context : GpuContext
    value : ndarray
    offset : int
        Bytes that are left free before it.
    """
    array = np.asarray(value, order="C")
    strides = contiguous_strides(array.shape, array.itemsize)
    return GpuArray(uploaded(context, array, offset), array.dtype, array.shape, strides, offset, context)


def uploaded(context: GpuContext, value: NDArray[Any], offset: int = 0) -> _device.Buffer:
    """Return memory with the elements of an array in C order."""
    buffer = context.native.allocate(offset + (value.nbytes or 1))
    if value.nbytes:
        buffer.write(offset, value if value.flags.c_contiguous else np.ascontiguousarray(value), blocking=False)
    return buffer


def operand_of(slot: int, value: GpuArray) -> DeviceOperand:
    """Return an array as device forms see it, in a slot of memory."""
    return DeviceOperand(slot, value.dtype.name, value.shape, value.strides, value.offset)


def array_of(context: GpuContext, operand: DeviceOperand, buffer: _device.Buffer) -> GpuArray:
    """Return a result of a device form, with its memory, as an array."""
    return GpuArray(buffer, operand.dtype, operand.shape, operand.strides, operand.offset, context)


def extent(operand: DeviceOperand) -> int:
    """Return the bytes from the first to the last element of an array none of whose strides is negative."""
    if not operand.size:
        return 0
    return operand.itemsize + sum((n - 1) * step for n, step in zip(operand.shape, operand.strides, strict=True))


# ---- Operations of libraries: whether there is one, and how much memory it needs


def workspace_of(context: GpuContext, call: LibraryCall) -> int | None:
    """Return the bytes that an operation of a library works in.

    Parameters
    ----------
    context : GpuContext
    call : LibraryCall

    Returns
    -------
    int or None
        None where no library has it, or a flag forbids the one that does.

    Raises
    ------
    DeviceError
        If the library fails otherwise.
    """
    if call.of_cudnn and not has_cudnn(context):
        return None
    return context.native.workspace(call.name, call.dtype, call.numbers)


# ---- Products of matrices as libraries want them described

#: Lengths are 32-bit numbers there.
_MOST = 2**31 - 1
#: For each context, the dtypes that have been asked for.
_products: WeakKeyDictionary[GpuContext, dict[str, bool]] = WeakKeyDictionary()


@record
class Matrices:
    """A matrix, or a stack of them, in elements: offset, leading dimension, stride from matrix to matrix."""

    operand: DeviceOperand
    offset: int
    leading: int
    stride: int
    transposed: bool


@record
class LibraryProduct:
    """A product of row-major matrices: ``z[m, n] = a[m, k] @ b[k, n]``, maybe of a stack of them.

    Its dtype is "tf32" where matrices of float32 may be rounded before they are multiplied.
    """

    dtype: str
    sizes: tuple[int, int, int, int]
    a: Matrices
    b: Matrices
    z: Matrices


def has_products(context: GpuContext, dtype: str) -> bool:
    """Tell whether a library multiplies matrices of a dtype; found out by a product of one element."""
    products = _products.setdefault(context, {})
    if dtype not in products:
        itemsize = np.dtype(dtype).itemsize
        memory = context.allocate(3 * itemsize)
        memory.fill(0, 3 * itemsize, 0)
        a, b, z = ((memory, k, 1, 1) for k in range(3))
        products[dtype] = context.native.product(dtype, (False, False), (1, 1, 1, 1), 1.0, a, b, 0.0, z)
    return products[dtype]


def library_product(
    z: DeviceOperand, a: DeviceOperand, b: DeviceOperand, factors: Iterable[float | DeviceOperand] = ()
) -> LibraryProduct | None:
    """Describe a product for a library; None where the strides or lengths of an operand are none that libraries know.

    Parameters
    ----------
    z, a, b : DeviceOperand
    factors : iterable of float or DeviceOperand
        The scale of the product. Libraries want factors of float16 as float32, which are on the host alone.
    """
    if z.dtype == "float16" and any(isinstance(factor, DeviceOperand) for factor in factors):
        return None
    first, second, result = (_matrices(operand) for operand in (a, b, z))
    m, n = z.shape[-2:]
    sizes = m, n, a.shape[-1], z.shape[0] if z.ndim == 3 else 1
    if first is None or second is None or result is None or result.transposed:
        return None
    if max(*sizes, first.leading, second.leading, result.leading) > _MOST:
        return None
    dtype = "tf32" if z.dtype == "float32" and config.gpuarray.tf32 else z.dtype
    return LibraryProduct(dtype, sizes, first, second, result)


def _matrices(operand: DeviceOperand) -> Matrices | None:
    itemsize = operand.itemsize
    if operand.offset % itemsize or any(step % itemsize for step in operand.strides):
        return None
    rows, columns = operand.shape[-2:]
    down, across = (step // itemsize for step in operand.strides[-2:])
    stride = operand.strides[0] // itemsize if operand.ndim == 3 and operand.shape[0] > 1 else rows * columns
    offset = operand.offset // itemsize
    if (across == 1 or columns == 1) and (down >= columns or rows == 1) and stride >= 0:
        return Matrices(operand, offset, max(down if rows > 1 else columns, 1), stride, False)
    if (down == 1 or rows == 1) and (across >= rows or columns == 1) and stride >= 0:
        return Matrices(operand, offset, max(across if columns > 1 else rows, 1), stride, True)
    return None


# ---- Convolutions by cuDNN: names of algorithms, and the choices for shapes

#: The library's numbers of the algorithms that are named.
_FORWARD = {"none": 0, "small": 1, "large": 2, "fft": 4, "fft_tiling": 5, "winograd": 6, "winograd_non_fused": 7}
_DATA = {"none": 0, "deterministic": 1, "fft": 2, "fft_tiling": 3, "winograd": 4, "winograd_non_fused": 5}
_FILTER = {"none": 0, "deterministic": 1, "fft": 2, "small": 3, "winograd_non_fused": 5, "fft_tiling": 6}
_NUMBERS: Mapping[str, Mapping[str, int]] = {"forward": _FORWARD, "input_grad": _DATA, "weight_grad": _FILTER}
#: Algorithms whose results vary, since they add in any order, and their replacements.
_VARYING: Mapping[str, tuple[int, ...]] = {"forward": (), "input_grad": (0,), "weight_grad": (0, 3)}
_SAFE = {"forward": 0, "input_grad": 1, "weight_grad": 1}

#: For each context, the plan of each request.
_plans: WeakKeyDictionary[GpuContext, dict[Any, ConvolutionPlan | None]] = WeakKeyDictionary()


def planned(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> ConvolutionPlan | None:
    """Choose how cuDNN computes a convolution; choices for shapes are kept.

    Where an algorithm does not work for some operands, or there is no memory for its workspace, the one that needs
    none is taken.

    Parameters
    ----------
    context : GpuContext
    request : ConvolutionRequest
    deterministic : bool
        Whether algorithms that do not always give the same are left out.

    Returns
    -------
    ConvolutionPlan or None
        None where there is no library, or none of its algorithms works.

    Raises
    ------
    DeviceError
        If the library fails otherwise.
    """
    if not has_cudnn(context):
        return None
    plans = _plans.setdefault(context, {})
    key = request, _precision(request), deterministic
    if key not in plans:
        plans[key] = _plan(context, request, deterministic)
    return plans[key]


def _precision(request: ConvolutionRequest) -> str:
    """Return how precise sums are: those of float16 are of float32."""
    if request.dtype == "float32" and config.gpuarray.tf32:
        return "tf32"
    return "float64" if request.dtype == "float64" else "float32"


def _plan(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> ConvolutionPlan | None:
    description = (
        request.task,
        request.dtype,
        _precision(request),
        request.images,
        request.filters,
        request.top,
        request.zeros,
        request.strides,
        request.dilations,
        request.groups,
        request.flip,
    )
    most = context.total_memory - context.statistics()["in_use"]
    for kind, algorithm in _tries(context, request, deterministic):
        plan = context.native.plan_convolution(description, kind, algorithm, deterministic, most)
        if plan is not None:
            if request.chosen is not None:
                request.chosen.algorithms.setdefault(context, plan[0])
            return ConvolutionPlan(description, *plan)
    return None


def _tries(context: GpuContext, request: ConvolutionRequest, deterministic: bool) -> Iterator[tuple[str, int]]:
    """Yield the ways of choosing an algorithm, the one that is asked for first."""
    number = _NUMBERS[request.task].get(request.algorithm)
    if request.chosen is not None and context in request.chosen.algorithms:
        number = request.chosen.algorithms[context]
    if number is not None:
        varies = deterministic and number in _VARYING[request.task]
        yield "fixed", _SAFE[request.task] if varies else number
    else:
        kind, _, _ = request.algorithm.partition("_")  # "guess" or "time"
        yield kind, 0
    yield "fixed", _SAFE[request.task] if deterministic else 0


# ---- The recorder

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


__all__ = [
    "array_of",
    "extent",
    "operand_of",
    "upload",
    "uploaded",
    "workspace_of",
    "LibraryProduct",
    "has_products",
    "library_product",
    "planned",
    "AtOnce",
    "flags_token",
    "form_of",
    "run_kernel",
]
