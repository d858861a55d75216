"""Operations of libraries: whether there is one, and how much memory it needs."""

from __future__ import annotations

from ..codegen import LibraryCall
from ..contexts import GpuContext, has_cudnn

__all__ = ["workspace_of"]


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
