"""Arrays from files, and arrays that are sent to other processes (MPI)."""

from theano_graph import Constant as Constant, Generic as Generic, Op as Op
from theano_tensor.io import (
    LoadFromDisk as LoadFromDisk,
    MPIAllReduce as MPIAllReduce,
    MPIBroadcast as MPIBroadcast,
    MPIRecv as MPIRecv,
    MPIRecvWait as MPIRecvWait,
    MPIReduce as MPIReduce,
    MPISend as MPISend,
    MPISendWait as MPISendWait,
    allreduce as allreduce,
    broadcast as broadcast,
    irecv as irecv,
    isend as isend,
    load as load,
    mpi_keys as mpi_keys,
    mpi_send_wait_key as mpi_send_wait_key,
    mpi_tag_key as mpi_tag_key,
    recv as recv,
    reduce as reduce,
    send as send,
)

from .._lazy import lazy_names
from ._mpi import (
    key_to_cmp as key_to_cmp,
    mpi_cmps as mpi_cmps,
    mpi_enabled as mpi_enabled,
    mpi_send_wait_cmp as mpi_send_wait_cmp,
    mpi_tag_cmp as mpi_tag_cmp,
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

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
