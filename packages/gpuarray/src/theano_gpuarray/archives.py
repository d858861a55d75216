"""Checks before an archive's arrays come to a device."""

from __future__ import annotations

from theano_graph import UnsafeArchiveError, config, format_error
from theano_graph.safe_loading import Word

__all__ = ["require_context"]


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
