"""Where the numbers of a transform come from, and where they go: lines of arrays along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from theano_linker_c.scalar import c_type

from .._form import DeviceOperand
from .._kernel_writer import KernelWriter, merged_dimensions

__all__ = ["Lines", "lines_of"]


@dataclass(frozen=True)
class Lines:
    """Lines of an array: all along one axis, numbered by the other dimensions.

    Parameters
    ----------
    operand : DeviceOperand
    shape, strides : tuple of int
        Of the other dimensions; strides in bytes.
    step : int
        Bytes from an element to the next one.
    part : int
        Bytes from a real to its imaginary part.
    kind : {"pairs", "half", "real"}
        Complex numbers; those of which only the first half is there, the others being their conjugates; or real ones.
    count : int
        How many elements a line has, with those that are not there.
    factors : DeviceOperand or None
        What elements are multiplied with: when they are read, or before they are written.
    padded : bool
        Whether a longer transform reads and writes them: further elements are read as 0, and not written.
    """

    operand: DeviceOperand
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    step: int
    part: int
    kind: Literal["pairs", "half", "real"]
    count: int
    factors: DeviceOperand | None = None
    padded: bool = False

    def declare(self, writer: KernelWriter, name: str, *, written: bool = False) -> None:
        """Add the parameters, whose names begin with `name`."""
        writer.array(name, self.operand, written=written)
        shape, (strides,) = merged_dimensions(self.shape, self.strides)
        writer.numbers(f"{name}n", shape)
        writer.numbers(f"{name}s", strides)
        writer.number(f"{name}_step", self.step)
        if self.kind != "real":
            writer.number(f"{name}_part", self.part)
        if self.kind == "half" or self.padded:
            writer.number(f"{name}_count", self.count)
        if self.factors is not None:
            writer.array(f"{name}f", self.factors)

    def read(self, name: str) -> list[str]:
        """Return statements that set ``re`` and ``im`` to element ``i`` of line ``row``."""
        kind, address = c_type(self.operand.dtype), f"{name} + o + k * {name}_step"
        lines = [*self._begin(name), "int64_t k = i;"]
        if self.kind == "half":
            lines.append(f"const int mirrored = i > {name}_count / 2; if (mirrored) k = {name}_count - i;")
        lines.append(f"re = *(GLOBAL_MEM const {kind} *)({address});")
        if self.kind != "real":
            lines.append(f"im = *(GLOBAL_MEM const {kind} *)({address} + {name}_part);")
        if self.kind == "half":
            lines.append("if (mirrored) im = -im;")
        lines += self._multiplied(name)
        condition = f"if (i < {name}_count) " if self.padded else ""
        return ["re = 0; im = 0;", f"{condition}{{", *lines, "}"]

    def write(self, name: str) -> list[str]:
        """Return statements that store ``re`` and ``im`` as element ``i`` of line ``row``."""
        kind, address = c_type(self.operand.dtype), f"{name} + o + i * {name}_step"
        lines = [*self._begin(name), *self._multiplied(name), f"*(GLOBAL_MEM {kind} *)({address}) = re;"]
        if self.kind != "real":
            lines.append(f"*(GLOBAL_MEM {kind} *)({address} + {name}_part) = im;")
        condition = f"if (i < {name}_count) " if self.padded else ""
        if self.kind == "half":
            condition = f"if (i <= {name}_count / 2) "
        return [f"{condition}{{", *lines, "}"]

    def _begin(self, name: str) -> list[str]:
        """Return statements that find the first element of the line."""
        shape, _ = merged_dimensions(self.shape, self.strides)
        lines = [f"int64_t o = {name}_at; uint64_t r = row;"]
        for d in reversed(range(len(shape))):
            if d:
                lines.append(f"o += (int64_t)(r % (uint64_t){name}n{d}) * {name}s{d}; r /= (uint64_t){name}n{d};")
            else:
                lines.append(f"o += (int64_t)r * {name}s0;")
        return lines

    def _multiplied(self, name: str) -> list[str]:
        if self.factors is None:
            return []
        kind = c_type(self.operand.dtype)
        return [
            f"const {kind} c = ((GLOBAL_MEM const {kind} *)({name}f + {name}f_at))[2 * i];",
            f"const {kind} d = ((GLOBAL_MEM const {kind} *)({name}f + {name}f_at))[2 * i + 1];",
            f"const {kind} turned = re * c - im * d; im = re * d + im * c; re = turned;",
        ]


def lines_of(operand: DeviceOperand, axis: int, kind: Literal["pairs", "half", "real"], count: int) -> Lines:
    """Return the lines of an array along an axis; complex numbers have their parts in its last dimension.

    Parameters
    ----------
    operand : DeviceOperand
    axis : int
    kind : {"pairs", "half", "real"}
    count : int
        How many elements a line has, with those that are not there.
    """
    ndim = operand.ndim if kind == "real" else operand.ndim - 1
    others: Sequence[int] = [d for d in range(ndim) if d != axis]
    shape, strides = (tuple(given[d] for d in others) for given in (operand.shape, operand.strides))
    part = 0 if kind == "real" else operand.strides[-1]
    return Lines(operand, shape, strides, operand.strides[axis], part, kind, count)
