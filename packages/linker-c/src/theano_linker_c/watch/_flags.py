"""Flags of the modes that look at every node."""

from __future__ import annotations

from theano_graph import BoolFlag, EnumFlag, add_flag

add_flag("NanGuardMode.nan_is_error", "Whether NanGuardMode minds a NaN.", BoolFlag(True))
add_flag("NanGuardMode.inf_is_error", "Whether NanGuardMode minds an infinity.", BoolFlag(True))
add_flag("NanGuardMode.big_is_error", "Whether NanGuardMode minds a finite value beyond 1e10.", BoolFlag(True))
add_flag(
    "NanGuardMode.action",
    "NanGuardMode's reaction to a value that it minds: 'raise' an AssertionError, 'warn', or start 'pdb'.",
    EnumFlag("raise", "warn", "pdb"),
)
