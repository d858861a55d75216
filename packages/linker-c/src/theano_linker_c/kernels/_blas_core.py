"""The kind of processor for which OpenBLAS chooses its routines, where it would choose an older one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VARIABLE = "OPENBLAS_CORETYPE"
#: What the routines for "SkylakeX" use.
_NEEDED = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})


def core_type(facts: str) -> str | None:
    """Return the core type that OpenBLAS is to be told, or None where its own choice is right.

    Releases of OpenBLAS that are older than a processor of AMD take it for one without AVX-512, which halves their
    speed. Processors of Intel are told apart by their features.

    Parameters
    ----------
    facts : str
        What Linux tells in ``/proc/cpuinfo``.

    Examples
    --------
    >>> core_type("vendor_id : GenuineIntel") is None
    True
    """
    first, _, _ = facts.partition("\n\n")
    entries = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    told = {key.strip(): value.strip() for key, value in entries.items()}
    if told.get("vendor_id") != "AuthenticAMD" or not set(told.get("flags", "").split()) >= _NEEDED:
        return None
    return "SkylakeX"


@contextmanager
def best_core(cpuinfo: Path = Path("/proc/cpuinfo")) -> Iterator[None]:
    """Tell an OpenBLAS that is loaded inside which processor this is, unless the user does (OPENBLAS_CORETYPE)."""
    chosen = None
    if sys.platform == "linux" and _VARIABLE not in os.environ:
        try:
            chosen = core_type(cpuinfo.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            chosen = None  # no such file in some containers
    if chosen is None:
        yield
        return
    os.environ[_VARIABLE] = chosen
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
