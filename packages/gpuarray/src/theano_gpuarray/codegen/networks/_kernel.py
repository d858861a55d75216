"""The kernel of a layer that a library computes, or steps that do the same where it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from theano_graph import record
from theano_linker_c.kernels import Kernel

from .._form import Operand, Recorder, register_device_form

__all__ = ["Attempt", "DnnKernel", "by_library"]

#: Records kernels that compute what the library does not, ``(recorder, operands) -> results``.
Instead: TypeAlias = Callable[[Recorder, Sequence[Operand]], Sequence[Operand]]


@record
class DnnKernel(Kernel):
    """A layer that cuDNN computes where it is there and has it; else by kernels of our own.

    Parameters
    ----------
    task : str
        A name that a function was registered for by :func:`by_library`.
    dtype : str
        Of all arrays.
    options : tuple of int
        What the task says of itself.
    on_host : tuple of int
        Positions of operands that are numbers on the host.
    instead : callable
        ``(recorder, operands) -> results``: records kernels that compute the same.
    """

    task: str
    dtype: str
    options: tuple[int, ...]
    on_host: tuple[int, ...]
    instead: Instead


#: Calls the library, and returns the results; None where it does not have this.
Attempt: TypeAlias = Callable[[DnnKernel, Recorder, Sequence[Operand]], Sequence[Operand] | None]
_attempts: dict[str, Attempt] = {}


def by_library(task: str) -> Callable[[Attempt], Attempt]:
    """Return a decorator of the function that computes a task by the library."""

    def register(attempt: Attempt) -> Attempt:
        _attempts[task] = attempt
        return attempt

    return register


@register_device_form(DnnKernel, host_inputs=lambda kernel, count: kernel.on_host)
def _layer(kernel: DnnKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    results = _attempts[kernel.task](kernel, recorder, operands)
    return kernel.instead(recorder, operands) if results is None else results
