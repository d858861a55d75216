"""The archive reader's allowlist for arrays, types and transfers of devices; see `theano_graph.safe_loading`.

Nothing of the device layer is imported before an archive asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import UnsafeArchiveError, config, format_error
from theano_graph.safe_loading import ClassWord, Function, Word, class_words, refused

if TYPE_CHECKING:
    from theano_graph.safe_loading import Reader


def require_context(name: str | None) -> None:
    """Raise an error unless arrays of a context can be loaded: there, or on the host where a flag permits that.

    Parameters
    ----------
    name : str or None

    Raises
    ------
    UnsafeArchiveError
        If neither is so.
    """
    contexts = Word("theano_gpuarray.contexts", "list_contexts").resolve()()
    if name in contexts or config.experimental.unpickle_gpu_on_cpu:
        return
    setting = "device=cuda0" if name is None else f"contexts={name}->cuda0"
    raise UnsafeArchiveError(
        format_error(
            f"the archive has arrays in the context {name!r}, which is not here",
            context=[f"names of contexts that there are: {', '.join(map(str, contexts)) or 'none'}"],
            hint=f"set THEANO_FLAGS='{setting}' (or another device), or experimental.unpickle_gpu_on_cpu=True, which "
            "loads arrays and shared variables on the host",
        )
    )


_ARRAY, _TYPE = "theano_gpuarray.arrays._array", "theano_gpuarray.types._array_type"
_CLASSES = {
    _TYPE: "GpuArrayType",
    "theano_gpuarray.types": "DeviceOp",
    "theano_gpuarray.types._transfers": "GpuContextType GpuFromHost GpuToGpu HostFromGpu",
}
_MOST_DIMENSIONS = 64


def _array(reader: Reader, host: Any, name: Any) -> Any:
    """Return an array in a context, or on the host where that is not there and a flag permits it."""
    if type(host) is not np.ndarray or host.dtype.kind not in "biuf" or not _is_name(name):
        raise refused("the archive makes an array of a device of something else than numbers")
    require_context(name)
    return Word(_ARRAY, "_unpickled").resolve()(host, name)


def _type(reader: Reader, word: Any, state: Any) -> Any:
    """Return the type of arrays in a context, or on the host where that is not there and a flag permits it."""
    if not isinstance(word, ClassWord) or str(word) != f"{_TYPE}.GpuArrayType" or type(state) is not dict:
        raise refused("the archive makes a type of arrays on devices of something else")
    dtype, shape, context, name = (state.get(key) for key in ("dtype", "shape", "context_name", "name"))
    if len(state) != 4 or type(dtype) is not str or not _is_shape(shape) or not _is_name(context) or not _is_name(name):
        raise refused("the archive has a type of arrays on devices with other attributes")
    require_context(context)
    revived = Word(_TYPE, "_revived").resolve()(word.target, state)
    return word.target(dtype, shape, context, name) if isinstance(revived, word.target) else revived


def _is_name(value: Any) -> bool:
    return value is None or type(value) is str


def _is_shape(value: Any) -> bool:
    lengths = type(value) is tuple and len(value) <= _MOST_DIMENSIONS
    return lengths and all(n is None or (type(n) is int and n >= 0) for n in value)


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from class_words(_CLASSES)
    yield Function(_ARRAY, "_unpickled", _array)
    yield Function(_TYPE, "_revived", _type)


__all__ = ["require_context"]
