"""Kernels of programs on a device, to be called with arrays and numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import format_error

from ..arrays import GpuArray
from ..codegen import KernelText
from ..contexts import GpuContext
from ._description import Kernel

__all__ = ["GpuKernel", "text_of_program"]

#: Letters of the runtime for parameters: other types cannot be passed by value.
_LETTERS = {
    "*": "P",
    "size": "q",
    "ssize": "q",
    "int64": "q",
    "uint64": "q",
    "int8": "b",
    "bool": "B",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "float16": "H",
    "int32": "i",
    "uint32": "I",
    "float32": "f",
    "float64": "d",
}
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]cluda\.h[">][ \t]*$', re.MULTILINE)
_MOST_ITEMS = 256
_SIGN = 1 << 63


class GpuKernel:
    """A kernel that has been compiled for a context.

    Parameters
    ----------
    source : str
        The text; ``#include "cluda.h"`` may stand in it.
    name : str
        The name of the function.
    types : sequence
        The kind of each parameter, as for :class:`Kernel`.
    context : GpuContext

    Raises
    ------
    TypeError
        For a parameter that cannot be passed by value.
    DeviceError
        If the text cannot be compiled; the message has the compiler's output.

    Examples
    --------
    >>> from theano_gpuarray.arrays import SIZE, zeros
    >>> from theano_gpuarray.contexts import open_context
    >>> context = open_context("null0")
    >>> k = GpuKernel("KERNEL void f(GLOBAL_MEM ga_float *x, ga_size n) {}", "f", [GpuArray, SIZE], context)
    >>> k(zeros(10, "float32", context=context), 10, n=10)
    """

    def __init__(self, source: str, name: str, types: Sequence[Any], context: GpuContext) -> None:
        kernel = Kernel(source, types, name, {})
        self.context = context
        self.name = name
        self._parameters = kernel.parameters
        for number, word in enumerate(self._parameters):
            if word not in _LETTERS:
                raise TypeError(
                    format_error(
                        f"kernel {name!r}: parameter {number} is a {word}, which no device takes by value",
                        hint="pass a wider number and convert it in the kernel, or an array",
                    )
                )
        letters = "".join(_LETTERS[word] for word in self._parameters)
        self._kernel = context.kernel(KernelText(name, text_of_program(source, name), letters))

    @property
    def maxlsize(self) -> int:
        """Work-items of a work-group at most."""
        return self._kernel.max_local

    @property
    def numargs(self) -> int:
        """Number of parameters."""
        return len(self._parameters)

    def __call__(
        self,
        *arguments: Any,
        n: int | Sequence[int] | None = None,
        gs: int | Sequence[int] | None = None,
        ls: int | Sequence[int] | None = None,
        shared: int = 0,
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        *arguments : GpuArray or number
            One for each parameter. Of an array its memory is passed; offsets and strides are parameters of their own.
        n : int or sequence of int, optional
            Elements along each dimension: there are at least so many work-items, in groups of a size that fits the
            device.
        gs, ls : int or sequence of int, optional
            In place of `n`: numbers of work-groups, and of work-items in each, along each dimension.
        shared : int
            Bytes of local memory beyond the declarations of the text.

        Raises
        ------
        TypeError
            If the number of arguments, or one of them, does not fit.
        ValueError
            If neither `n`, nor both `gs` and `ls` are given.
        """
        if len(arguments) != len(self._parameters):
            raise TypeError(
                format_error(
                    f"kernel {self.name!r} has {len(self._parameters)} parameters, got {len(arguments)} arguments",
                    hint=f"pass one for each of {', '.join(self._parameters)}",
                )
            )
        groups, local = self._sizes(n, gs, ls)
        operands = [
            self._argument(i, word, x) for i, (word, x) in enumerate(zip(self._parameters, arguments, strict=True))
        ]
        self.context.launch(self._kernel, groups, local, operands, shared)

    def _sizes(self, n: Any, gs: Any, ls: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if n is not None:
            counts = _as_tuple(n)
            most = max(1, min(_MOST_ITEMS, self.maxlsize))
            local = tuple(min(most, max(counts[0], 1)) if d == 0 else 1 for d in range(len(counts)))
            return tuple(-(-count // items) for count, items in zip(counts, local, strict=True)), local
        if gs is None or ls is None:
            raise ValueError(
                format_error(
                    f"kernel {self.name!r}: it is not said how many work-items there are",
                    hint="pass n=elements, or gs=work-groups and ls=work-items in each",
                )
            )
        return _as_tuple(gs), _as_tuple(ls)

    def _argument(self, number: int, word: str, value: Any) -> Any:
        if word == "*":
            if isinstance(value, GpuArray):
                return value.buffer
            raise TypeError(
                format_error(
                    f"kernel {self.name!r}: argument {number} is {type(value).__name__}, not an array on the device",
                    hint="pass a GpuArray",
                )
            )
        if word == "float16":
            # The kernel gets the bits.
            return int(np.asarray(value, word).view("uint16"))
        if word.startswith("float"):
            return float(value)
        whole = int(np.asarray(value)[()])
        # Parameters of 64 bits are passed with a sign.
        return whole - 2 * _SIGN if whole >= _SIGN else whole


def text_of_program(source: str, name: str) -> str:
    """Return the text of a program's kernel, to stand behind the words of ``cluda.h``.

    The line that includes them is left out, and the compiler counts lines from the first of `source`.

    Parameters
    ----------
    source, name : str
        The text, and the kernel's name, which messages of the compiler give as that of a file.
    """
    return f'#line 1 "{name}"\n{_INCLUDE.sub("", source)}'


def _as_tuple(value: Any) -> tuple[int, ...]:
    return (int(value),) if isinstance(value, (int, np.integer)) else tuple(int(v) for v in value)
