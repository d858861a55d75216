"""Protocols of the engines, which have no types, or types of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable


class TaskFuture(Protocol):
    """The result of a task, which may not be there yet."""

    def result(self) -> Any:
        """Wait for the result."""

    def cancel(self) -> object:
        """Do not begin the task."""


@runtime_checkable
class Submitting(Protocol):
    """An executor of `concurrent.futures`, also that of `mpi4py.futures`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> TaskFuture:
        """Begin a task."""


@runtime_checkable
class DaskClient(Protocol):
    """A `dask.distributed.Client`."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> TaskFuture:
        """Begin a task; arguments that are futures are waited for."""

    def scatter(self, data: Any, **options: Any) -> Any:
        """Put data into the memory of the workers."""

    def nthreads(self) -> dict[str, int]:
        """Return the threads of each worker."""

    def wait_for_workers(self, n_workers: int, timeout: float | None = None) -> Any:
        """Wait until there are so many workers."""


@runtime_checkable
class Communicator(Protocol):
    """An `mpi4py.MPI.Comm`."""

    def Get_rank(self) -> int:
        """Return the number of this process."""

    def Get_size(self) -> int:
        """Return the number of processes."""

    def Allreduce(self, sendbuf: Any, recvbuf: Any) -> None:
        """Add the arrays of all processes."""

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return the objects of all processes, in each."""

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return the object of one process, in each."""


@runtime_checkable
class JoblibParallel(Protocol):
    """A `joblib.Parallel`."""

    n_jobs: int | None

    def __call__(self, tasks: Iterable[tuple[Callable[..., Any], Sequence[Any], dict[str, Any]]], /) -> Iterable[Any]:
        """Carry tasks out."""


#: The values of `executor` in :func:`map`; "dask" is the client that was made last, "mpi" all processes of the program.
Executor: TypeAlias = DaskClient | Communicator | Submitting | JoblibParallel | str
