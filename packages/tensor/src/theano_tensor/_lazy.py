"""SciPy and MPI, which are imported on first use: SciPy takes longer to load than the library, MPI starts."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

from theano_graph import format_error


@cache
def scipy_fft() -> Any:
    """Return `scipy.fft`."""
    import scipy.fft

    module: ModuleType = scipy.fft
    return module


@cache
def scipy_linalg() -> Any:
    """Return `scipy.linalg`."""
    import scipy.linalg

    module: ModuleType = scipy.linalg
    return module


# ---- MPI, which is imported when a message is first sent: the import starts MPI in this process


@cache
def mpi() -> Any:
    """Return the module `mpi4py.MPI`.

    Raises
    ------
    ImportError
        If mpi4py is not installed, or finds no MPI.
    """
    try:
        import mpi4py.MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            format_error(
                f"messages between processes need mpi4py and an MPI: {error}",
                hint="pip install 'theano-stack[mpi]', and MPICH or Open MPI from the system or by pip install mpich",
            )
        ) from error
    module: ModuleType = mpi4py.MPI
    return module
