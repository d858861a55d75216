"""Expressions that are computed for each element, for C code of ops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from theano_graph import format_error, record

from ..arrays import GpuArray, broadcast_array, dtype_of_typecode, dtype_to_ctype
from ..contexts import GpuContext
from ..kernel_base import GpuKernel, load_w, work_dtype, write_w

__all__ = ["Expression"]


@record
class Operand:
    """A name in an expression: a number or an array, which is read, written or both."""

    name: str
    dtype: str
    is_number: bool
    is_read: bool
    is_written: bool


class Expression:
    """An expression in the text of a kernel, as ``z = a * b``, that is computed for each element.

    Parameters
    ----------
    context : GpuContext
    preamble : str
        Functions that it calls.
    text : str
        The expression: each name is an element of an array, or a number; of 16 bits as float.
    operands : sequence of tuple
        Name, number of the dtype, whether it is a number, whether it is read, whether it is written.
    """

    def __init__(
        self, context: GpuContext, preamble: str, text: str, operands: Sequence[tuple[str, int, int, int, int]]
    ) -> None:
        self._context = context
        self._preamble = preamble
        self._text = text
        self._operands = tuple(
            Operand(name, dtype_of_typecode(code).name, bool(number), bool(read), bool(written))
            for name, code, number, read, written in operands
        )
        self._kernel = cache(self._compiled)

    def _compiled(self, ndim: int) -> GpuKernel:
        params: list[Any] = ["size"] * (1 + ndim)
        declared = ["const ga_size count", *(f"const ga_size n{d}" for d in range(ndim))]
        before, after = [], []
        for k, x in enumerate(self._operands):
            kind, work = dtype_to_ctype(x.dtype), dtype_to_ctype(work_dtype(x.dtype))
            if x.is_number:
                params.append(x.dtype)
                declared.append(f"const {kind} number{k}")
                before.append(f"const {work} {x.name} = {load_w(x.dtype)}(number{k});")
                continue
            params += [GpuArray, "ssize", *["ssize"] * ndim]
            declared += [f"GLOBAL_MEM char *memory{k}", f"const ga_ssize offset{k}"]
            declared += [f"const ga_ssize step{k}_{d}" for d in range(ndim)]
            offset = " + ".join([f"offset{k}", *(f"i{d} * step{k}_{d}" for d in range(ndim))])
            element = f"*(GLOBAL_MEM {kind} *)(memory{k} + {offset})"
            before.append(f"{work} {x.name} = {f'{load_w(x.dtype)}({element})' if x.is_read else '0'};")
            if x.is_written:
                after.append(f"{element} = {write_w(x.dtype)}({x.name});")
        index = ["ga_size rest = i;"]
        for d in reversed(range(ndim)):
            index += [f"const ga_ssize i{d} = (ga_ssize)(rest % n{d});", f"rest /= n{d};"]
        body = "\n    ".join([*index, *before, f"{self._text};", *after])
        code = (
            f"{self._preamble}\nKERNEL void elemwise({', '.join(declared)}) {{\n"
            "  for (ga_size i = (ga_size)GID_0 * LDIM_0 + LID_0; i < count; i += (ga_size)GDIM_0 * LDIM_0) {\n"
            f"    {body}\n  }}\n}}\n"
        )
        return GpuKernel(code, "elemwise", params, self._context)

    def __call__(self, arguments: Sequence[GpuArray | bytes], broadcast: int) -> None:
        """Compute it.

        Parameters
        ----------
        arguments : sequence of GpuArray or bytes
            Arrays, and the bytes of numbers.
        broadcast : int
            Whether lengths of 1 stand for the others.

        Raises
        ------
        ValueError
            If the shapes do not fit.
        """
        arrays = [x for x in arguments if isinstance(x, GpuArray)]
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        for x, operand in zip(arguments, self._operands, strict=True):
            if isinstance(x, GpuArray) and x.shape != shape and (not broadcast or operand.is_written):
                raise ValueError(
                    format_error(
                        f"`{operand.name}` has shape {x.shape}, and the elements are those of {shape}",
                        hint="pass arrays of one shape" if broadcast else "pass the flag GE_BROADCAST",
                    )
                )
        operands: list[Any] = [count := int(np.prod(shape, dtype=np.int64)), *shape]
        for x, operand in zip(arguments, self._operands, strict=True):
            if isinstance(x, GpuArray):
                view = broadcast_array(x, shape)
                operands += [view, view.offset, *view.strides]
            else:
                operands.append(np.frombuffer(x, operand.dtype)[0])
        if count:
            self._kernel(len(shape))(*operands, n=count)
