"""The runtime in C, where it is there; `reason` says why it is not."""

from __future__ import annotations

try:
    import theano_linker_c._runtime as runtime
except ModuleNotFoundError:
    reason = "it was not built when the package was installed"
    HAS_RUNTIME = False
except ImportError as error:
    reason = str(error)
    HAS_RUNTIME = False
else:
    reason = ""
    HAS_RUNTIME = True

__all__ = ["HAS_RUNTIME", "reason", "runtime"]
