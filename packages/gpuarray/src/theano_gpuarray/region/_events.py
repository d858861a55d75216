"""The recorder that keeps the records of device forms, as a list of events over slots of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theano_graph import format_error, record

from ..codegen import (
    Argument,
    ConvolutionPlan,
    ConvolutionRequest,
    DeviceOperand,
    DeviceProperties,
    KernelText,
    LibraryCall,
    NoDeviceForm,
    contiguous_strides,
)
from ..contexts import GpuContext
from ._execution import STATUS_LENGTH, has_products, library_product, planned, wants_deterministic, workspace_of

if TYPE_CHECKING:
    from .. import _device


#: The slot of the memory in which all lie that do not leave.
ARENA = -1
Explain: TypeAlias = Callable[[int, int, int], Exception]


@record
class Event:
    """A launch, a copy, a fill, or a call of a library.

    Parameters
    ----------
    kind : {"launch", "copy", "fill", "product", "convolution", "call"}
    text : KernelText or None
        Of a launch.
    arguments : tuple
        Of a launch, its own; of others, the operands and numbers that they were given.
    groups, local : tuple of int
        Of a launch.
    plan : ConvolutionPlan or None
        Of a convolution.
    call : LibraryCall or None
        Of another operation of a library.
    joined : tuple of tuple of int
        Of launches that are one: the numbers of work-groups of each.
    """

    kind: Literal["launch", "copy", "fill", "product", "convolution", "call"]
    text: KernelText | None
    arguments: tuple[Argument, ...]
    groups: tuple[int, ...] = ()
    local: tuple[int, ...] = ()
    plan: ConvolutionPlan | None = None
    call: LibraryCall | None = None
    joined: tuple[tuple[int, ...], ...] = ()

    @property
    def written(self) -> tuple[bool, ...]:
        """Which operands may be written to."""
        if self.text is not None:
            return self.text.written
        count = len(self.operands)
        return (True,) * count if self.kind in ("convolution", "call") else (True,) + (False,) * (count - 1)

    @property
    def slots(self) -> tuple[set[int], set[int]]:
        """The memory that is read or written, and the one of these that may be written."""
        written = {x.slot for x, flag in zip(self.operands, self.written, strict=True) if flag}
        return {x.slot for x in self.operands}, written

    @property
    def operands(self) -> list[DeviceOperand]:
        """The arrays that are read or written."""
        return [x for x in self.arguments if isinstance(x, DeviceOperand)]

    @property
    def numbers(self) -> tuple[int | float, ...]:
        """The numbers that may follow the offset of an array: those among the arguments, and offsets of operands.

        Where the operands of a launch lie is among its arguments.
        """
        if self.kind == "launch":
            return tuple(x for x in self.arguments if not isinstance(x, DeviceOperand))
        return tuple(x.offset if isinstance(x, DeviceOperand) else x for x in self.arguments)

    @property
    def fixed(self) -> Event:
        """The event with zeros for its numbers."""
        return self.with_numbers((0,) * len(self.numbers))

    def with_numbers(self, numbers: Sequence[int | float]) -> Event:
        """Return an event with other numbers."""
        remaining = iter(numbers)
        if self.kind == "launch":
            arguments = [_placeless(x) if isinstance(x, DeviceOperand) else next(remaining) for x in self.arguments]
        else:
            arguments = [
                replace(x, offset=int(n)) if isinstance(x, DeviceOperand) else n
                for x, n in zip(self.arguments, remaining, strict=True)
            ]
        return replace(self, arguments=tuple(arguments))


def _advance(numbers: Sequence[int | float]) -> tuple[int, int] | None:
    """Return by how much a number grows from step to step, and by how much more in every second one."""
    if len(set(numbers)) == 1:
        return 0, 0
    if not all(isinstance(n, int) for n in numbers):
        return None
    first, second, *others = map(int, numbers)
    if not others:
        return second - first, 0
    linear, odd = divmod(others[0] - first, 2)
    alternating = second - first - linear
    return None if odd or others[1:] not in ([], [first + 3 * linear + alternating]) else (linear, alternating)


def moves_of(events: Sequence[Event]) -> tuple[tuple[int, int, int], ...] | None:
    """Return the changes between the first rounds of one event; None where they are not even."""
    first = events[0]
    moves = []
    for k, numbers in enumerate(zip(*(event.numbers for event in events), strict=True)):
        advance = _advance(numbers)
        if advance is None:
            return None
        if any(advance):
            moves.append((k, *advance))
    itemsize = first.operands[0].itemsize if first.kind == "product" else 1
    if any(n % itemsize for _, *moved in moves for n in moved):
        return None
    places = _places(first)
    return tuple((places[k], linear // itemsize, more // itemsize) for k, linear, more in moves)


def _places(event: Event) -> list[int]:
    """Return where a list of launches has the numbers of an event."""
    if event.kind == "launch":
        return [k for k, x in enumerate(event.arguments) if not isinstance(x, DeviceOperand)]
    return [2, 0, 1, 3, 4] if event.kind == "product" else list(range(len(event.arguments)))


def is_moved(event: Event, first: Event, moves: Sequence[tuple[int, int, int]], i: int) -> bool:
    """Tell whether the numbers of an event are those of the first round, moved on."""
    itemsize = first.operands[0].itemsize if first.kind == "product" else 1
    moved = {index: (linear * i + more * (i % 2)) * itemsize for index, linear, more in moves}
    numbers = [n + moved.get(index, 0) for n, index in zip(first.numbers, _places(first), strict=True)]
    return numbers == list(event.numbers)


@record
class StoredEvents:
    """The part of a recorder that another process takes over.

    Attributes
    ----------
    events : list of Event
    sizes : dict of int to int
    status : DeviceOperand or None
    held : dict of int to (str, bytes)
        Slots of constants, with dtype and bytes of each.
    """

    events: list[Event]
    sizes: dict[int, int]
    status: DeviceOperand | None
    held: dict[int, tuple[str, bytes]]


def _placeless(operand: DeviceOperand) -> DeviceOperand:
    return replace(operand, offset=0)


class Constants:
    """Arrays that are the same in every call, transferred once."""

    def __init__(self, context: GpuContext) -> None:
        self._context = context
        self._buffers: dict[tuple[str, bytes], _device.Buffer] = {}

    def buffer(self, value: NDArray[Any]) -> _device.Buffer:
        """Return memory that holds the elements of a contiguous array."""
        key = value.dtype.str, value.tobytes()
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._context.allocate(max(value.nbytes, 1))
            if value.nbytes:
                buffer.write(0, value)
            self._buffers[key] = buffer
        return buffer

    def content(self, buffer: _device.Buffer) -> tuple[str, bytes]:
        """Return dtype and bytes of the array for which :meth:`buffer` has returned some memory."""
        return next(key for key, found in self._buffers.items() if found is buffer)


class Kept:
    """Keeps events.

    Slots are numbered: first those of the inputs, then each array that is asked for gets the next one.

    Parameters
    ----------
    context : GpuContext
    constants : Constants
    n_inputs : int
    places : mapping of int to (int, int), optional
        Slot -> the slot in whose memory it lies, and the offset there. Without it, each array has memory of its own.

    Attributes
    ----------
    events : list of Event
    sizes : dict of int to int
        Bytes of the slots that have been asked for.
    held : dict of int to Buffer
        Slots of constants, with their memory.
    failures : list of (int, callable)
        By number, from 1 on: the step that was being recorded, and the constructor of the exception.
    workspaces : list of (LibraryCall, int or None)
        The answers of libraries about operations.
    step : int
        The number of the step that is being recorded.
    dying : set of int
        Slots that nothing reads after it.
    """

    def __init__(
        self,
        context: GpuContext,
        constants: Constants,
        n_inputs: int,
        places: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self._context = context
        self._constants = constants
        self._places = places or {}
        self._n_slots = n_inputs
        self._status: DeviceOperand | None = None
        self.workspaces: list[tuple[LibraryCall, int | None]] = []
        self.events: list[Event] = []
        #: How many events there were before each copy that is none, since both are the same memory.
        self._left_out: list[int] = []
        self.sizes: dict[int, int] = {}
        self.held: dict[int, _device.Buffer] = {}
        self.failures: list[tuple[int, Explain]] = []
        self.step = 0
        self.dying: set[int] = set()

    @property
    def properties(self) -> DeviceProperties:
        """The device."""
        return self._context.properties

    def restore(self, told: StoredEvents) -> None:
        """Take over the records of another process; the failures are not among them."""
        self.events, self.sizes = list(told.events), dict(told.sizes)
        self._status = told.status
        self.held = {
            slot: self._constants.buffer(np.frombuffer(content, dtype)) for slot, (dtype, content) in told.held.items()
        }

    def stored(self) -> StoredEvents:
        """Return the part that another process takes over."""
        held = {slot: self._constants.content(buffer) for slot, buffer in self.held.items()}
        return StoredEvents(self.events, self.sizes, self._status, held)

    @property
    def outline(self) -> tuple[int, dict[int, int]]:
        """How many events there are, copies that are none among them, and the bytes of all arrays."""
        return len(self.events) + len(self._left_out), dict(self.sizes)

    @property
    def status_slot(self) -> int | None:
        """The slot of the status; None where no kernel looks for anything wrong."""
        return None if self._status is None else self._status.slot

    def numbered(self) -> dict[int, Event]:
        """Return the events with numbers that do not depend on where arrays lie: copies that are none are counted."""
        numbers: dict[int, Event] = {}
        number, left_out = 0, list(self._left_out)
        for i, event in enumerate(self.events):
            while left_out and left_out[0] <= i:
                left_out.pop(0)
                number += 1
            numbers[number] = event
            number += 1
        return numbers

    def empty(self, dtype: str, shape: Sequence[int]) -> DeviceOperand:
        """Return a new C-contiguous array, its elements undefined."""
        strides = contiguous_strides(shape, np.dtype(dtype).itemsize)
        slot = self._next()
        operand = DeviceOperand(slot, dtype, tuple(shape), strides, self._places.get(slot, (slot, 0))[1])
        self.sizes[slot] = operand.size * operand.itemsize
        return operand

    def memory_of(self, slot: int) -> int:
        """Return the slot in whose memory another one lies."""
        return self._places.get(slot, (slot, 0))[0]

    def constant(self, value: NDArray[Any]) -> DeviceOperand:
        """Return an array with these elements, the same in every replay."""
        array = np.asarray(value, order="C")
        number = self._next()
        self.held[number] = self._constants.buffer(array)
        strides = contiguous_strides(array.shape, array.itemsize)
        return DeviceOperand(number, array.dtype.name, array.shape, strides)

    def launch(
        self, text: KernelText, arguments: Sequence[Argument], groups: Sequence[int], local: Sequence[int]
    ) -> None:
        """Keep a launch."""
        if 0 not in groups:
            operands = tuple(x if isinstance(x, (DeviceOperand, float)) else int(x) for x in arguments)
            self.events.append(Event("launch", text, operands, tuple(groups), tuple(local)))

    def copy(self, target: DeviceOperand, source: DeviceOperand) -> None:
        """Keep a copy of contiguous bytes; none where both are the same memory."""
        same = self.memory_of(target.slot) == self.memory_of(source.slot) and target.offset == source.offset
        if target.size and same:
            self._left_out.append(len(self.events))
        elif target.size:
            self.events.append(Event("copy", None, (target, source)))

    def fill(self, target: DeviceOperand, value: int = 0) -> None:
        """Keep a fill of a contiguous array."""
        if target.size:
            self.events.append(Event("fill", None, (target, value)))

    def product(
        self,
        z: DeviceOperand,
        a: DeviceOperand,
        b: DeviceOperand,
        alpha: float | DeviceOperand,
        beta: float | DeviceOperand,
    ) -> bool:
        """Keep a product by a library; return False where there is none for it."""
        result = library_product(z, a, b, (alpha, beta)) if has_products(self._context, z.dtype) else None
        if result is None:
            return False
        self.events.append(Event("product", None, (z, a, b, alpha, beta)))
        return True

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
        """Keep a convolution by a library."""
        self.events.append(Event("convolution", None, (image, filters, top, workspace), plan=plan))

    def workspace(self, call: LibraryCall) -> int | None:
        """Return the bytes that an operation of a library works in; None where no library has it."""
        memory = workspace_of(self._context, call)
        self.workspaces.append((call, memory))
        return memory

    def call(self, call: LibraryCall, operands: Sequence[DeviceOperand]) -> None:
        """Keep an operation of a library."""
        self.events.append(Event("call", None, tuple(operands), call=call))

    def status(self) -> DeviceOperand:
        """Return the array in which kernels report failures; each call begins with zeros there."""
        if self._status is None:
            self._status = DeviceOperand(self._next(), "int64", (STATUS_LENGTH,), (8,))
        return self._status

    def read(self, operand: DeviceOperand) -> NDArray[Any]:
        """Refuse: values differ from replay to replay."""
        raise NoDeviceForm(
            format_error(
                "a kernel that reads values on the way cannot be kept",
                hint="register its form with `needs_values`, so that it runs by itself",
            )
        )

    def may_overwrite(self, operand: DeviceOperand) -> bool:
        """Tell whether the memory of an operand is the region's own, and nothing reads it after the step."""
        return operand.slot in self.dying and operand.slot in self.sizes

    @property
    def deterministic(self) -> bool:
        """Whether sums are wanted that do not depend on which work-item comes first."""
        return wants_deterministic()

    def failure(self, explain: Explain) -> int:
        """Return the number of a failure."""
        self.failures.append((self.step, explain))
        return len(self.failures)

    def _next(self) -> int:
        self._n_slots += 1
        return self._n_slots - 1


__all__ = ["ARENA", "Constants", "Event", "Explain", "Kept", "StoredEvents", "is_moved", "moves_of"]
