"""Configuration flags of C code that ops bring along."""

from __future__ import annotations

from theano_graph import BoolFlag, add_flag

add_flag(
    "cmodule.warn_no_version",
    "Warn when C code of an op cannot be kept on disk, since the op or a type has no c_code_cache_version.",
    BoolFlag(False),
)
