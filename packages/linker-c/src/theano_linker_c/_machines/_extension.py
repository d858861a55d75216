"""The runtime in C, where it is there; `reason` says why it is not, and `runtime` is None then."""

from __future__ import annotations

reason = ""
try:
    import theano_linker_c._runtime as runtime
except ImportError as error:
    runtime = None  # type: ignore[assignment]
    missing = isinstance(error, ModuleNotFoundError)
    reason = "it was not built when the package was installed" if missing else str(error)

HAS_RUNTIME = not reason

__all__ = ["HAS_RUNTIME", "reason", "runtime"]
