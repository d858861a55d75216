"""Calls of one function for many values on the workers of an engine, and the engines."""

from __future__ import annotations

import importlib
import os
import pickle
import reprlib
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar, runtime_checkable

from theano_graph import format_error

from ._packing import Packed, check_items, check_seed, loaded, pack

# ---- Protocols of the engines, which have no types, or types of their own


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


# ---- The engine that an argument stands for, and the error where there is none

#: Name of an engine -> (module, the extra that installs it, its further requirements)
NAMED = {
    "dask": ("distributed", "dask", ""),
    "mpi": ("mpi4py.MPI", "mpi", ", and MPICH or Open MPI from the system or by pip install mpich"),
}
_CHOICES = "a dask.distributed.Client, mpi4py.MPI.COMM_WORLD, 'dask' or 'mpi'"


def import_engine(name: str) -> Any:
    """Return the module of an engine.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    module, extra, also = NAMED[name]
    try:
        return importlib.import_module(module)
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            format_error(
                f"the engine {name!r} needs {module.partition('.')[0]}: {error}",
                hint=f"pip install 'theano-stack[{extra}]'{also}",
            )
        ) from error


def _named(name: str) -> Any:
    if name not in NAMED:
        raise ValueError(
            format_error(f"no engine is called {name!r}", hint=f"give {' or '.join(repr(kind) for kind in NAMED)}")
        )
    module = import_engine(name)
    if name == "mpi":
        return module.COMM_WORLD
    try:
        return module.get_client()
    except ValueError as error:
        raise RuntimeError(
            format_error(
                "there is no Dask client in this process",
                hint="make one first: client = dask.distributed.Client(address), or Client() for this machine",
            )
        ) from error


def is_dask(engine: object) -> bool:
    """Tell whether an engine is a Dask client."""
    return isinstance(engine, DaskClient) and type(engine).__module__.partition(".")[0] == "distributed"


def is_mpi(engine: object) -> bool:
    """Tell whether an engine is a communicator."""
    return isinstance(engine, Communicator)


def check_open(client: object, function: str) -> None:
    """Check that a Dask client was not closed.

    Raises
    ------
    RuntimeError
        If it was.
    """
    if getattr(client, "status", None) in ("closing", "closed"):
        raise RuntimeError(
            format_error(
                f"{function}: this Dask client is closed",
                hint="make another one by dask.distributed.Client(address), and close it when all is done",
            )
        )


def find_engine(given: object, function: str, *, others: bool) -> Any:
    """Return the client, communicator or executor that an argument stands for.

    Parameters
    ----------
    given : object
        The user's argument.
    function : str
        Who is asked, for messages.
    others : bool
        Whether executors of `concurrent.futures` and `joblib.Parallel` will do.

    Raises
    ------
    TypeError
        If it is none.
    ValueError, ImportError, RuntimeError
        If a name stands for no engine, one that is not installed, or a client that was not made; if one was closed.
    """
    engine = _named(given) if isinstance(given, str) else given
    if is_dask(engine):
        if getattr(engine, "asynchronous", False):
            raise TypeError(
                format_error(
                    f"{function}: the Dask client is asynchronous",
                    hint="make it by dask.distributed.Client(address), or call from a thread: asyncio.to_thread(...)",
                )
            )
        check_open(engine, function)
        return engine
    if is_mpi(engine) or (others and _is_executor(engine)):
        return engine
    what = "no client was given" if engine is None else f"{engine!r:.80} is no client"
    more = ", a concurrent.futures.Executor, or a joblib.Parallel" if others else ""
    raise TypeError(format_error(f"{function}: {what}", hint=f"give {_CHOICES}{more}"))


def _is_executor(engine: object) -> bool:
    return isinstance(engine, (Submitting, JoblibParallel)) and not isinstance(engine, type)


# ---- A function of each item of a list, in many processes

R = TypeVar("R")
#: So many tasks there are for each worker, where items are many: workers that are faster do more of them.
TASKS_EACH = 4


class WorkerTraceback(Exception):
    """Where in the worker an error was raised; the cause of that error."""

    def __str__(self) -> str:
        return f"in the worker:\n{self.args[0]}"


class Failure(NamedTuple):
    """An error in a worker."""

    error: bytes
    text: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Describe an error of any class so that it can be sent."""
        trace = "".join(traceback.format_exception(error))
        text = f"{type(error).__name__}: {error}"
        try:
            data = pickle.dumps(error)
            pickle.loads(data)
        except Exception:  # noqa: BLE001  (pickling calls methods of users' classes)
            data = b""
        return cls(data, text, trace)

    def reraise(self, note: str) -> NoReturn:
        """Raise the error again, with a note that names its item."""
        try:
            error: Exception = pickle.loads(self.error) if self.error else RuntimeError(self.text)
        except Exception:  # noqa: BLE001  (as above)
            error = RuntimeError(self.text)
        error.add_note(note)
        raise error from WorkerTraceback(self.trace)


class Task(NamedTuple):
    """Some of the items, with their numbers."""

    packed: Packed
    items: list[tuple[int, Any]]
    seed: Any
    #: Whether results are pickled here, so that one that cannot be is the failure of its item.
    as_bytes: bool = False


def run_task(task: Task) -> list[tuple[int, Any]]:
    """Compute the function for some items, up to the first that fails; return numbers and results."""
    results: list[tuple[int, Any]] = []
    i = task.items[0][0]
    try:
        with loaded(task.packed) as (function, states):
            for i, item in task.items:
                states.restore()
                states.reseed(task.seed, (i,))
                result = _call(function, item)
                results.append((i, pickle.dumps(result) if task.as_bytes else result))
    except Exception as error:  # noqa: BLE001  (the caller raises it)
        results.append((i, Failure.of(error)))
    return results


def _call(function: Callable[..., Any], item: Any) -> Any:
    if isinstance(item, tuple):
        return function(*item)
    if isinstance(item, Mapping):
        return function(**item)
    return function(item)


def map(
    f: Callable[..., R],
    xs: Iterable[Any],
    executor: Executor,
    *,
    seed: int | Sequence[int] | None = None,
    chunksize: int | None = None,
) -> list[R]:
    """Call a compiled function for each item of a list, in the processes of an executor.

    Parameters
    ----------
    f : callable
        A compiled function, or a Python function that uses some (``functools.partial(chain, step)``). It is pickled
        once, and unpickled once by each worker; machine code comes from the cache of the worker's machine.
    xs : iterable
        The items. A tuple holds the arguments of a call, a dictionary its keyword arguments; anything else is the one
        argument.
    executor : Client, Comm, Executor, Parallel, or str
        A ``dask.distributed.Client``, or "dask" for the one that this process has; an executor of
        ``concurrent.futures`` or ``mpi4py.futures``; a ``joblib.Parallel``, which Ray has a backend for, too. With an
        MPI communicator (``MPI.COMM_WORLD``, or "mpi") all of its processes call `map` with the same items, and each
        of them gets all results.
    seed : int or sequence of int, optional
        For the random streams in the graphs. Item `i` has streams of its own, from the spawn key ``(i,)`` of this
        seed, so that draws depend neither on the workers nor on the other items. By default the seeds that the
        streams were made with decide.
    chunksize : int, optional
        How many items a task has; by default such that there are four tasks for each worker.

    Returns
    -------
    list
        The results, in the order of the items.

    Raises
    ------
    TypeError
        If there is no executor, or `f` or an item cannot be pickled: the message names the op or the item.
    ValueError
        If `seed` or `chunksize` is out of range.
    RuntimeError
        If the client is closed.
    Exception
        The error of `f` for the first item that fails, with a note that names the item. No further tasks are begun.

    Notes
    -----
    Each call begins with the values that shared variables had when `map` was called; their updates stay
    in the worker and ends with the item. The caller's function does not change.

    Python functions that draw numbers themselves get seeds as items:
    ``map(chain, numpy.random.SeedSequence(0).spawn(8), client)``.

    Examples
    --------
    >>> import theano, theano.tensor as T
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from theano import distributed
    >>> x, rate = T.dscalars("x", "rate")
    >>> f = theano.function([x, rate], x * T.exp(-rate))
    >>> with ThreadPoolExecutor(2) as pool:
    ...     [float(y) for y in distributed.map(f, [(1.0, 0.0), (2.0, 0.0)], pool)]
    [1.0, 2.0]
    """
    engine = find_engine(executor, "map", others=True)
    items = list(enumerate(xs))
    if not callable(f):
        raise TypeError(format_error(f"map: {f!r:.80} cannot be called", hint="give a compiled function first"))
    if chunksize is not None and chunksize < 1:
        raise ValueError(format_error(f"map: chunksize is {chunksize}", hint="give a number from 1 up"))
    check_seed(seed, "map")
    if not items:
        return []
    mpi, dask = is_mpi(engine), is_dask(engine)
    by_value = dask or not (mpi or hasattr(engine, "submit"))
    packed = pack(f, by_value=by_value)
    if mpi:
        return _collected(_in_all_processes(engine, Task(packed, items, seed, as_bytes=True)), items)
    if dask:
        check_items(items, by_value=by_value)  # Dask itself would also log items that it could not send
    size = chunksize or max(1, -(-len(items) // (TASKS_EACH * _workers(engine, dask))))
    tasks = [Task(packed, items[i : i + size], seed) for i in range(0, len(items), size)]
    results = _submitted(engine, tasks, dask) if hasattr(engine, "submit") else _in_joblib(engine, tasks)
    return _collected(results, items)


def _collected(found: Iterator[tuple[int, Any]], items: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return the results, or raise the first error that a worker met."""
    results = []
    try:
        for i, outcome in found:
            if isinstance(outcome, Failure):
                outcome.reraise(f"  in {_elements(i, i)}: {reprlib.repr(items[i][1])}")
            results.append(outcome)
    finally:
        # Tasks are cancelled now: when it is left to the collector of garbage, it may happen in a thread of the engine.
        close = getattr(found, "close", None)
        if close is not None:
            close()
    return results


def _elements(first: int, last: int) -> str:
    which = f"element {first}" if first == last else f"elements {first} to {last}"
    return f"{which} of the arguments of map, counted from 0"


def _workers(engine: Any, dask: bool) -> int:
    """Return how many tasks an engine carries out at one time, as far as it tells."""
    if dask:
        return max(1, sum(int(n) for n in engine.nthreads().values()))
    for name in ("num_workers", "_max_workers", "n_jobs"):
        count = getattr(engine, name, None)
        if isinstance(count, int) and count > 0:
            return int(count)
    return os.cpu_count() or 1


def _submitted(engine: Any, tasks: Sequence[Task], dask: bool) -> Iterator[tuple[int, Any]]:
    """Let a client or an executor carry tasks out; yield the results of items, in order."""
    futures: list[TaskFuture]
    if dask:
        packed = tasks[0].packed
        # One task holds the pickle: workers hand it on to each other, and it is there again if one of them dies.
        sent = engine.submit(_same, packed, key=f"theano-function-{packed.key}")
        futures = [engine.submit(_run_with, sent, task.items, task.seed, pure=False) for task in tasks]
    else:
        futures = [engine.submit(run_task, task) for task in tasks]
    try:
        for task, future in zip(tasks, futures, strict=True):
            try:
                result = future.result()
            except Exception as error:
                _name_item(task, error)
                error.add_note(f"  no results came for {_elements(task.items[0][0], task.items[-1][0])}")
                raise
            yield from result
    except BaseException:
        for future in futures:
            future.cancel()
        raise


def _name_item(task: Task, error: Exception) -> None:
    """Raise an error that names the item, where an engine could not pickle one."""
    if isinstance(error, (TypeError, AttributeError, pickle.PicklingError)):
        check_items(task.items, by_value=False)


def _same(packed: Packed) -> Packed:
    return packed


def _run_with(packed: Packed, items: list[tuple[int, Any]], seed: Any) -> list[tuple[int, Any]]:
    return run_task(Task(packed, items, seed))


def _in_joblib(parallel: JoblibParallel, tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
    try:
        for result in parallel((run_task, (task,), {}) for task in tasks):
            yield from result
    except (TypeError, AttributeError, pickle.PicklingError):
        check_items((item for task in tasks for item in task.items), by_value=True)
        raise


def _in_all_processes(world: Communicator, task: Task) -> Iterator[tuple[int, Any]]:
    """Compute the items of this process; yield those of all, which all processes wait for."""
    mine = task.items[world.Get_rank() :: world.Get_size()]
    results = world.allgather(run_task(task._replace(items=mine)) if mine else [])
    for i, outcome in sorted((pair for pairs in results for pair in pairs), key=itemgetter(0)):
        yield i, outcome if isinstance(outcome, Failure) else pickle.loads(outcome)
