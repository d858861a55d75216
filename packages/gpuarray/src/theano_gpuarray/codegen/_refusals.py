"""How kernels refuse a value that they find: the first one to do so writes into the status of the call."""

from __future__ import annotations

from collections.abc import Callable

from ._form import Recorder
from ._kernel_writer import KernelWriter

__all__ = ["add_refusals", "refusal"]

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
    """Add what a kernel needs that may refuse values.

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
