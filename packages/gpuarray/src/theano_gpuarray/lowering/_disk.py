"""Recordings of regions on disk: a later process replays the recordings of an earlier one.

A region has a name on disk where its function has one. That stands for the rewritten graph, the library, the flags and
the devices; the key of a recording adds shapes and the flags that are asked for when steps are recorded.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable
from operator import attrgetter

from theano_graph import config

from ..contexts import find_kept, store_kept
from ..region import StoredRecording

__all__ = ["DiskShelf"]

#: Recordings that a region of one process puts on disk: whoever has many shapes seldom has the same ones again.
_MOST_RECORDINGS = 16
#: Bytes of a recording, above which making it anew is no slower than reading it.
_MOST_BYTES = 4_000_000
_ASKED_FOR = ("gpuarray.", "dnn.", "nvcc.", "deterministic")


class DiskShelf:
    """Keeps recordings of one region beside compiled kernels.

    Parameters
    ----------
    name : str
        That of the region.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._room = _MOST_RECORDINGS

    def _text(self, key: Hashable) -> str:
        flags = [f"{flag}={attrgetter(flag)(config)!r}" for flag in config.flag_names() if flag.startswith(_ASKED_FOR)]
        return "\n".join([self._name, repr(key), *flags])

    def find(self, key: Hashable) -> StoredRecording | None:
        """Return the entry of a key; None where there is nothing."""
        data = find_kept(self._text(key))
        if data is None:
            return None
        try:
            recording: StoredRecording = pickle.loads(data)
        except Exception:  # noqa: BLE001  # an object it refers to is gone: the steps are recorded
            return None
        return recording

    def put(self, key: Hashable, recording: StoredRecording) -> None:
        """Keep a recording, if it can be pickled and there is room; otherwise others make it for themselves."""
        if not self._room:
            return
        try:
            data = pickle.dumps(recording, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001  # objects of a program's own device forms raise anything
            return
        if len(data) <= _MOST_BYTES:
            self._room -= 1
            store_kept(self._text(key), data)
