"""Calls of MPI, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_graph import Op, format_error

from ._lazy import mpi


def on_wire(array: Any) -> Any:
    """Return a view of an array for MPI, which has no half floats."""
    return array.view(np.uint16) if array.dtype == np.float16 else array


def started(call: Callable[[], Any], op: Op, rank: int | None) -> Any:
    """Return the result of an MPI call.

    Raises
    ------
    ValueError
        If there is no process of that rank, or the message does not fit.
    RuntimeError
        If MPI fails in another way.
    """
    size = mpi().COMM_WORLD.Get_size()
    if rank is not None and rank >= size:
        raise ValueError(
            format_error(
                f"{op}: there is no process {rank} among {size}",
                hint=f"start more processes (mpiexec -n {rank + 1} ...), or give a rank below {size}",
            )
        )
    try:
        return call()
    except mpi().Exception as error:
        if error.Get_error_class() == mpi().ERR_TRUNCATE:
            raise ValueError(
                format_error(
                    f"{op}: more bytes came than expected",
                    hint="receive with the shape and the dtype of the sent array",
                )
            ) from error
        raise RuntimeError(format_error(f"{op}: MPI failed: {error}", hint="look at the other processes")) from error
