"""The engine that an argument stands for, and the error where there is none."""

from __future__ import annotations

import importlib
from typing import Any

from theano_graph import format_error

from ._protocols import Communicator, DaskClient, JoblibParallel, Submitting

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
