"""Orders in which messages between processes are sent, as comparisons."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from theano_tensor.io import mpi_send_wait_key, mpi_tag_key


def key_to_cmp(key: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    """Return a comparison, -1, 0 or 1, of the results of a key function.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.key_to_cmp(len)("a", "bcd")
    -1
    """

    def compare(a: Any, b: Any) -> int:
        first, second = key(a), key(b)
        return int(first > second) - int(first < second)

    return compare


mpi_tag_cmp = key_to_cmp(mpi_tag_key)
mpi_send_wait_cmp = key_to_cmp(mpi_send_wait_key)
mpi_cmps = (mpi_send_wait_cmp, mpi_tag_cmp)
#: Whether the library for messages is there.
mpi_enabled = importlib.util.find_spec("mpi4py") is not None
