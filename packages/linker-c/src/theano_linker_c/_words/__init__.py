"""The archive reader's allowlist for NumPy and this layer; see `theano_graph.safe_loading`."""

from __future__ import annotations

from collections.abc import Iterator

from theano_graph.safe_loading import Word

from ._library import library_words
from ._numpy import check_array as check_array, numpy_words


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from numpy_words()
    yield from library_words()
