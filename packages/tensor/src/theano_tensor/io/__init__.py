"""Arrays from files, and arrays that are sent to other processes (MPI)."""

from . import _collective as _collective
from ._collective import (
    MPIAllReduce as MPIAllReduce,
    MPIBroadcast as MPIBroadcast,
    MPIReduce as MPIReduce,
    allreduce as allreduce,
    broadcast as broadcast,
    mpi_keys as mpi_keys,
    mpi_send_wait_key as mpi_send_wait_key,
    mpi_tag_key as mpi_tag_key,
    reduce as reduce,
)
from ._files import LoadFromDisk as LoadFromDisk, load as load
from ._messages import (
    MPIRecv as MPIRecv,
    MPIRecvWait as MPIRecvWait,
    MPISend as MPISend,
    MPISendWait as MPISendWait,
    irecv as irecv,
    isend as isend,
    recv as recv,
    send as send,
)

__all__ = [
    "LoadFromDisk",
    "MPIAllReduce",
    "MPIBroadcast",
    "MPIRecv",
    "MPIRecvWait",
    "MPIReduce",
    "MPISend",
    "MPISendWait",
    "allreduce",
    "broadcast",
    "irecv",
    "isend",
    "load",
    "mpi_keys",
    "mpi_send_wait_key",
    "mpi_tag_key",
    "recv",
    "reduce",
    "send",
]
