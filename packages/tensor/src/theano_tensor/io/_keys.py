"""Which of several operations that could run comes first, where other processes take part."""

from __future__ import annotations

from theano_graph import Apply

from ._collective import CollectiveOp
from ._messages import MessageOp, MPIRecv, MPIRecvWait, MPISend, MPISendWait


def mpi_send_wait_key(a: Apply) -> int:
    """Wait as late as possible, and start to send and to receive early.

    Parameters
    ----------
    a : Apply

    Returns
    -------
    int
        -1 for the start of a message, 1 for a node that waits for other processes, 0 for everything else.
    """
    if isinstance(a.op, (MPISend, MPIRecv)):
        return -1
    return int(isinstance(a.op, (MPISendWait, MPIRecvWait, CollectiveOp)))


def mpi_tag_key(a: Apply) -> int:
    """Prefer lower tags.

    Parameters
    ----------
    a : Apply

    Returns
    -------
    int
        The tag, 0 for a node without one.
    """
    return a.op.tag if isinstance(a.op, (MessageOp, CollectiveOp)) else 0


#: The order of nodes, the first key first.
mpi_keys = (mpi_send_wait_key, mpi_tag_key)
