"""A builder of kernels; copies of arrays into any layout; and how kernels refuse a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from theano_linker_c.kernels import memory_type
from theano_linker_c.scalar import CValue, c_loaded

from ._form import Argument, DeviceOperand, KernelText, Operand, Recorder
from .text import Signature

# ---- The builder: parameters together with their arguments, and the statements of the body
#
# The text of a kernel depends on dtypes, numbers of dimensions and the like; lengths, strides and offsets are
# parameters,
# so that arrays of other shapes are treated by the same machine code. Addresses are computed in 64 bits.

#: Work-items of a group for kernels without a form of their own, and groups for each compute unit at most.
_LOCAL = 256
_GROUPS_OF_UNIT = 32
_SMALL = 2**31 - 2**20


def move_type(itemsize: int) -> str:
    """Return the type as which elements of some size are copied, for any dtype."""
    return f"uint{8 * itemsize}_t"


def loaded(dtype: str, address: str) -> CValue:
    """Return the value of an element in memory; `address` is of the memory type of `dtype`."""
    return CValue(c_loaded(address, dtype), dtype)


def merged_dimensions(
    shape: Sequence[int], *strides: Sequence[int], apart: Iterable[int] = ()
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return a shape and strides with as few dimensions as give the same elements in the same order.

    Parameters
    ----------
    shape : sequence of int
    *strides : sequence of int
        Those of each array.
    apart : iterable of int
        Dimensions that begin a new one of the result, however they fit to the one before.
    """
    starts = set(apart)
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    may_join = False
    for d, n in enumerate(shape):
        may_join = may_join and d not in starts
        if n == 1:
            continue
        fits = all(own[-1] == n * given[d] for own, given in zip(steps, strides, strict=True)) if may_join else False
        if fits:
            lengths[-1] *= n
        else:
            lengths.append(n)
        for own, strides_seen in zip(steps, strides, strict=True):
            if fits:
                own[-1] = strides_seen[d]
            else:
                own.append(strides_seen[d])
        may_join = True
    return tuple(lengths), [tuple(own) for own in steps]


def spread(recorder: Recorder, count: int) -> tuple[tuple[int], tuple[int]]:
    """Return groups and work-items for `count` elements, which the work-items share in turns."""
    properties = recorder.properties
    local = min(_LOCAL if not properties.cpu else 64, properties.max_local)
    groups = min(-(-count // local), max(properties.units, 1) * _GROUPS_OF_UNIT)
    return (groups,), (local,)


class KernelWriter:
    """Collects the parameters of a kernel with their arguments, and the statements of its body.

    Parameters
    ----------
    name : str
        Of the kernel function.
    light : bool
        Whether it waits for memory alone.
    """

    def __init__(self, name: str, *, light: bool = False) -> None:
        self.name = name
        self._light = light
        self.arguments: list[Argument] = []
        self.functions: list[str] = []
        #: Functions that operations bring along, which may call helpers: an operation has them as its preamble.
        self.preamble: list[str] = []
        self.lines: list[str] = []
        self._signature = Signature()
        # Of the dividend: divisions of 64 bits take several times as long.
        self._counter = "uint64_t"

    def array(self, name: str, operand: DeviceOperand, *, written: bool = False) -> None:
        """Add an array: a pointer to bytes ``name`` and the offset of the first element, ``name_at``."""
        self._signature.pointer(name, written=written)
        self.arguments.append(operand)
        self.number(f"{name}_at", operand.offset)

    def reads(self, **arrays: DeviceOperand | None) -> None:
        """Add arrays that the kernel reads, by their names; None is left out."""
        for name, operand in arrays.items():
            if operand is not None:
                self.array(name, operand)

    def writes(self, **arrays: DeviceOperand | None) -> None:
        """Add arrays that the kernel writes to, and may read, by their names; None is left out."""
        for name, operand in arrays.items():
            if operand is not None:
                self.array(name, operand, written=True)

    def local(self, kind: str, name: str, *lengths: int) -> None:
        """Add an array in local memory."""
        self._signature.local(kind, name, *lengths)

    def number(self, name: str, value: float, letter: str = "q") -> None:
        """Add a number."""
        self._signature.number(letter, name)
        self.arguments.append(value)

    def numbers(self, name: str, values: Sequence[int], letter: str = "q") -> list[str]:
        """Add whole numbers ``name0``, ``name1``, ..., and return their names."""
        names = [f"{name}{k}" for k in range(len(values))]
        for each, value in zip(names, values, strict=True):
            self.number(each, value, letter)
        return names

    def function(self, text: str) -> None:
        """Add a function that the kernel calls, once."""
        if text not in self.functions:
            self.functions.append(text.rstrip("\n") + "\n")

    def add(self, *lines: str) -> None:
        """Add statements."""
        self.lines.extend(lines)

    def walk(self, count: int) -> None:
        """Begin the loop of all work-items over the numbers ``i`` from 0 up to `count`; `end` closes it."""
        self.number("count", count)
        kind = self._counter = "uint32_t" if count < _SMALL else "uint64_t"
        self.add(
            f"for ({kind} i = ({kind})GID_0 * LDIM_0 + LID_0; i < ({kind})count; i += ({kind})GDIM_0 * LDIM_0) {{",
            f"{kind} r = i;",
        )

    def end(self) -> None:
        """Close a block."""
        self.add("}")

    def positions(self, lengths: Sequence[str]) -> list[str]:
        """Take the positions along some dimensions off ``r``, as ``j0``, ``j1``, ..., and return these names."""
        for d in reversed(range(len(lengths))):
            length = f"({self._counter}){lengths[d]}"
            self.add(f"const int64_t j{d} = r % {length}; r /= {length};" if d else "const int64_t j0 = r;")
        return [f"j{d}" for d in range(len(lengths))]

    def decode(self, lengths: Sequence[str], sums: Sequence[tuple[str, Sequence[str]]], left: bool = True) -> None:
        """Take the positions along some dimensions off ``r``, and add each times its strides to some variables.

        Parameters
        ----------
        lengths : sequence of str
            Those of the dimensions; the last one changes fastest.
        sums : sequence of (str, sequence of str)
            Variables, and a stride for each dimension.
        left : bool
            Whether nothing stays in ``r`` but the position along the first dimension.
        """
        for d in reversed(range(len(lengths))):
            if d == 0 and left:
                self.add("{ const int64_t j = r;")
            else:
                length = f"({self._counter}){lengths[d]}"
                self.add(f"{{ const int64_t j = r % {length}; r /= {length};")
            self.add(*(f"{name} += j * {strides[d]};" for name, strides in sums), "}")

    @property
    def text(self) -> KernelText:
        """The text of the kernel, helper functions included; its name ends with a digest of the text."""
        return self._signature.text(self.name, self.lines, self.functions, self.preamble, light=self._light)

    def launch(self, recorder: Recorder, groups: Sequence[int], local: Sequence[int]) -> None:
        """Launch the written statements."""
        recorder.launch(self.text, self.arguments, groups, local)


def element(dtype: str, name: str, offset: str) -> str:
    """Return the text of an element as an lvalue of its memory type."""
    return f"*(GLOBAL_MEM {memory_type(dtype)} *)({name} + {offset})"


def is_device_dtype(dtype: str) -> bool:
    """Tell whether kernels here take elements of a dtype: all but complex ones."""
    return np.dtype(dtype).kind in "biuf"


# ---- Copies of arrays into any layout


def broadcast_to(operand: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return a view with more dimensions, and other lengths where an operand has length 1."""
    more = len(shape) - operand.ndim
    strides = tuple(
        0 if d < more or (operand.shape[d - more] == 1 and n != 1) else operand.strides[d - more]
        for d, n in enumerate(shape)
    )
    return operand.view(shape, strides)


def copy_into(recorder: Recorder, target: DeviceOperand, source: DeviceOperand) -> None:
    """Copy an array of the same shape and dtype; the target may have any layout that does not overlap itself."""
    if not target.size:
        return
    if target.contiguous and source.contiguous:
        recorder.copy(target, source)
        return
    shape, (to, of) = merged_dimensions(target.shape, target.strides, source.strides)
    kind = move_type(target.itemsize)
    writer = KernelWriter("copy_strided")
    writer.writes(p=target)
    writer.reads(q=source)
    lengths, into, out_of = writer.numbers("n", shape), writer.numbers("s", to), writer.numbers("t", of)
    writer.walk(target.size)
    writer.add("int64_t a = p_at, b = q_at;")
    writer.decode(lengths, [("a", into), ("b", out_of)])
    writer.add(f"*(GLOBAL_MEM {kind} *)(p + a) = *(GLOBAL_MEM const {kind} *)(q + b);")
    writer.end()
    writer.launch(recorder, *spread(recorder, target.size))


def contiguous(recorder: Recorder, operand: DeviceOperand, copied: bool = False) -> DeviceOperand:
    """Return an array with the same elements one behind the other: itself where it is so, and no copy is wanted."""
    if operand.contiguous and not copied:
        return operand
    result = recorder.empty(operand.dtype, operand.shape)
    copy_into(recorder, result, operand)
    return result


def on_device(recorder: Recorder, operand: Operand) -> DeviceOperand:
    """Return an operand on the device; one that is a number on the host is the same in every replay."""
    return operand if isinstance(operand, DeviceOperand) else recorder.constant(np.asarray(operand))


def host_numbers(operand: Operand) -> list[int]:
    """Return whole numbers that are on the host."""
    assert not isinstance(operand, DeviceOperand), "forms say which of their inputs are on the host"
    return [int(n) for n in np.asarray(operand).reshape(-1)]


# ---- Refusals: the first value that a kernel refuses is written into the status of the call

_REFUSE = """static inline void theano_refuse(
    GLOBAL_MEM char *status, uint32_t number, int64_t place, int64_t value, int64_t length) {
  GLOBAL_MEM int64_t *const found = (GLOBAL_MEM int64_t *)status;
  if (theano_atomic_cas_uint32((GLOBAL_MEM uint32_t *)status, 0, number) == 0) {
    found[1] = place;
    found[2] = value;
    found[3] = length;
  }
}
"""


def add_refusals(
    recorder: Recorder, writer: KernelWriter, explain: Callable[[int, int, int], Exception], name: str = "refusal"
) -> None:
    """Add the parameters of a kernel that may refuse values.

    Parameters
    ----------
    recorder : Recorder
    writer : KernelWriter
    explain : callable
        Makes the exception, of the place, the value and the length that :func:`refusal` was given.
    name : str
        Of the parameter that is the number of the failure; a kernel may have several.
    """
    number = recorder.failure(explain)
    if _REFUSE not in writer.functions:
        writer.function(_REFUSE)
        writer.writes(status=recorder.status())
    writer.number(name, number, "I")


def refusal(place: str, value: str, length: str, name: str = "refusal") -> str:
    """Return the statement that refuses a value."""
    return f"theano_refuse(status + status_at, {name}, {place}, {value}, {length});"


__all__ = [
    "KernelWriter",
    "element",
    "is_device_dtype",
    "loaded",
    "merged_dimensions",
    "move_type",
    "spread",
    "broadcast_to",
    "contiguous",
    "copy_into",
    "on_device",
    "add_refusals",
    "refusal",
]
